"""What a table of results says about its noise, its risk and the model.

`diagnose` answers five questions, each with a verdict in plain words and the numbers behind it:
is the noise uneven, over which inputs, does risk change the decision, how many repeats are
worth their cost, and is the model calibrated. Records are in the user's units. `negated` turns a
record of the maximised quantity into one of the minimised quantity.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import betaincinv, ndtr

from rahbo.analysis.posterior import LEVEL, central_interval, risk_draws
from rahbo.analysis.recommendation import Interval, Prediction, predict
from rahbo.analysis.rules import choose
from rahbo.analysis.snapshot import Snapshot
from rahbo.analysis.unevenness import LEVELS, Answer, Unevenness, unevenness
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, FixedStream, Index, fixed_generator
from rahbo.policy import optimistic, pessimistic
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.space import Space

CalibrationAnswer = Literal["calibrated", "too narrow", "too wide", "cannot tell"]

# Points at which the noise model is evaluated.
SAMPLES = 1024
MAX_REPEATS = 100
SURE = 0.95
# The nominal band, the level of the interval of its coverage, and the fewest points for a verdict.
BAND, COVERAGE_LEVEL, MIN_RESIDUALS = 0.9, 0.95, 20
WIDTH = 88


@dataclass(frozen=True)
class InputNoise:
    """How the noise depends on one input.

    Attributes:
        name: The parameter.
        share: Share of the variation of the model's log noise variance (variance, for
            ``DirectNoise``) that would vanish with this input fixed, interactions included.
        p_value: p-value of the hypothesis that the noise does not depend on this input, corrected
            for the number of inputs; None without a test.
    """

    name: str
    share: float
    p_value: float | None


@dataclass(frozen=True)
class RiskDecision:
    """Whether the risk measure picks a different point than the mean alone.

    Attributes:
        answer: ``"yes"`` if the gain is positive with a probability of at least 0.95; ``"no"`` if
            both report the same point, out of several whose values differ; else ``"cannot tell"``.
        risk_averse: The point that the pessimistic risk bound reports.
        risk_neutral: The point that the pessimistic bound of the mean reports.
        gain: Posterior median of how much better the first is by the risk measure.
        gain_interval: Central 90 % interval of the gain.
        probability: Probability that the gain is positive.
    """

    answer: Answer
    risk_averse: Prediction
    risk_neutral: Prediction
    gain: float
    gain_interval: Interval
    probability: float

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.risk_averse.params == self.risk_neutral.params:
            if self.answer == "cannot tell":
                return "Cannot tell: there is only one point, or all values are equal."
            return (
                "No: the evaluated point with the best mean is also the best by the risk measure."
            )
        low, high = self.gain_interval
        gain = f"The gain in risk value is {self.gain:.3g} (90 % interval [{low:.3g}, {high:.3g}])."
        averse, neutral = self.risk_averse.noise_std, self.risk_neutral.noise_std
        differs = (
            "the mean alone would pick a different point, with a noise std of "
            f"{neutral:.3g} instead of {averse:.3g}"
        )
        if self.answer == "yes":
            return f"Yes: {differs}. {gain}"
        return (
            f"Cannot tell yet: {differs}. {gain} It is positive with a probability of only "
            f"{self.probability:.2f}."
        )

    def negated(self) -> RiskDecision:
        """Return the record of the negated objective; the gain keeps its sign."""
        return replace(
            self,
            risk_averse=self.risk_averse.negated(),
            risk_neutral=self.risk_neutral.negated(),
        )


@dataclass(frozen=True)
class RepeatsThatPay:
    """How many repeats of a new point are worth their cost.

    Let rho^2 be the noise variance, and u the variance of f at a point given all others. Then k
    repeats leave u / (1 + k u / rho^2). At k = rho^2 / u half of it is gone, and the next repeat
    is worth a quarter of the first.

    Attributes:
        n_repeats: This k, rounded up. It is at least 2 if the risk measure depends on the noise,
            which single values do not show. None if there is one point or all values are equal.
        noise_ratio: Median of rho^2 / u over the leading points.
        noise_std: Median noise standard deviation at the leading points.
        n_leading: Number of points whose optimistic risk value reaches the best pessimistic one.
    """

    n_repeats: int | None
    noise_ratio: float
    noise_std: float
    n_leading: int

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.n_repeats is None:
            return "Cannot tell: there is only one point, or all values are equal."
        more = " or more" if self.noise_ratio >= MAX_REPEATS else ""
        where = f"{self.n_leading} leading points" if self.n_leading > 1 else "leading point"
        return (
            f"About {self.n_repeats}{more}. At the {where}, the noise variance of one value is "
            f"{self.noise_ratio:.2g} times the variance that the mean would have without the "
            "values of that point. After that many repeats, one more is worth less than a quarter "
            "of the first."
        )


@dataclass(frozen=True)
class Calibration:
    """Whether the model's bands of the mean cover what they promise, leaving each point out.

    Attributes:
        answer: Depends on whether the interval of ``inside`` contains 0.9.
        inside: Share of the sample means inside the nominal 90 % band predicted from the others.
        inside_interval: 95 % interval of ``inside`` (Clopper and Pearson's, which takes the points
            as independent).
        rms: Root mean square of the standardised residuals; 1 if calibrated.
        n_points: Number of points, each left out in turn.
    """

    answer: CalibrationAnswer
    inside: float
    inside_interval: Interval
    rms: float
    n_points: int

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.n_points == 1:
            return "Cannot tell: there is only one point."
        low, high = self.inside_interval
        found = (
            f"{self.inside:.0%} of {self.n_points} points (95 % interval [{low:.0%}, {high:.0%}]) "
            "lie in the 90 % band that the model predicts from the other points. The RMS "
            f"standardised residual is {self.rms:.2f}, ideally 1"
        )
        words = {
            "calibrated": f"Yes, as far as the data show: {found}.",
            "too narrow": f"No, its bands are too narrow: {found}. Trust its intervals less.",
            "too wide": (
                f"Its bands are wider than necessary: {found}. They use the upper bound on the "
                "noise, to be safe."
            ),
            "cannot tell": f"Cannot tell yet: {found}.",
        }
        return words[self.answer]


@dataclass(frozen=True)
class Diagnosis:
    """The answers to five questions about a table of results, in user units.

    Attributes:
        unevenness: Is the noise uneven?
        inputs: Over which inputs does it vary? In the order of the space.
        decision: Does risk change the decision?
        repeats: How many repeats are worth their cost?
        calibration: Is the model calibrated?
    """

    unevenness: Unevenness
    inputs: tuple[InputNoise, ...]
    decision: RiskDecision
    repeats: RepeatsThatPay
    calibration: Calibration

    @property
    def inputs_verdict(self) -> str:
        """Over which inputs the noise varies, in words."""
        if self.unevenness.answer != "yes":
            return "No answer, because the noise was not shown to be uneven."
        listed = sorted(self.inputs, key=lambda i: -i.share)
        shares = ", ".join(f"{i.name} {i.share:.0%}" for i in listed)
        level = LEVELS.get(self.unevenness.source, 0.0)
        sure = [i.name for i in self.inputs if i.p_value is not None and i.p_value <= level]
        alone = ", ".join(sure) if sure else "none"
        return f"Share of the variation of the noise: {shares}. Significant on its own: {alone}."

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """The five questions, each with its answer in words."""
        return (
            ("Is the noise uneven?", self.unevenness.verdict),
            ("Over which inputs?", self.inputs_verdict),
            ("Does risk change the decision?", self.decision.verdict),
            ("How many repeats are worth their cost?", self.repeats.verdict),
            ("Is the model calibrated?", self.calibration.verdict),
        )

    def negated(self) -> Diagnosis:
        """Return the record of the negated objective."""
        return replace(self, decision=self.decision.negated())

    def __str__(self) -> str:
        return "\n".join(
            f"{title}\n{textwrap.indent(textwrap.fill(text, WIDTH), '  ')}"
            for title, text in self.answers
        )


def diagnose(known: Snapshot) -> Diagnosis:
    """Answer the five questions from what a run knows, with or without repeats.

    Raises:
        NotReadyError: No point that was told satisfies ``valid``.
    """
    # Every strategy is judged by the same bound, whichever bound it reports by.
    known = replace(known, bound=pessimistic(known.model, known.risk))
    observations, model, space = known.observations, known.model, known.space
    differ = observations.n > 1 and bool(np.ptp(observations.values) > 0.0)
    inputs = _columns(space)
    uneven, tested = unevenness(observations, model, list(inputs.values()))
    shares = noise_shares(model, space, list(inputs.values()))
    return Diagnosis(
        uneven,
        tuple(InputNoise(*row) for row in zip(inputs, shares, tested, strict=True)),
        _decision(known, differ),
        _repeats(known, differ),
        _calibration(model, differ),
    )


def _columns(space: Space) -> dict[str, Index]:
    """Return the columns of each parameter: one for a number, several for a choice among many."""
    return {
        name: np.array(
            [j for j, c in enumerate(space.columns) if c == name or c.startswith(f"{name}=")]
        )
        for name in space.names
    }


def noise_shares(model: MeanNoiseModel, space: Space, inputs: Sequence[Index]) -> list[float]:
    """Return the total effect of each input, given by its columns, on the latent noise g.

    share_j = E[(g(x) - g(x with input j drawn anew))^2] / (2 Var[g])
    """
    rng = fixed_generator(FixedStream.NOISE_SHARES)
    X, fresh = (space.from_uniform(rng.random((SAMPLES, space.n_uniform))) for _ in range(2))
    changed = np.repeat(X[None], len(inputs), axis=0)
    for block, columns in zip(changed, inputs, strict=True):
        block[:, columns] = fresh[:, columns]
    g = model.noise.centre(np.vstack([X, *changed]))
    before, after = g[:SAMPLES], g[SAMPLES:].reshape(len(inputs), SAMPLES)
    total = float(np.var(before))
    if total <= 1e-12 * float(np.mean(before**2)):
        return [0.0] * len(inputs)
    # A share is at most 1. Its estimate from samples may not be.
    shares = np.mean((after - before) ** 2, axis=1) / (2.0 * total)
    return [float(share) for share in np.minimum(shares, 1.0)]


def _decision(known: Snapshot, differ: bool) -> RiskDecision:
    """Compare the points that the risk measure and the mean alone would report."""
    model, risk = known.model, known.risk
    by_mean = replace(known, bound=pessimistic(model, MeanVariance(0.0)))
    averse, neutral = choose("pessimistic", known), choose("pessimistic", by_mean)
    X = known.observations.X[[averse, neutral]]
    params = [known.space.decode(x) for x in X]
    first, second = predict(known.bound, risk, X, params, LEVEL)
    if averse == neutral or not differ:
        same: Answer = "no" if differ and np.sum(known.legal) > 1 else "cannot tell"
        return RiskDecision(same, first, first, 0.0, Interval(0.0, 0.0), 0.0)
    gain = risk_gain(model, risk, X)
    probability, middle = float(np.mean(gain > 0.0)), float(np.median(gain))
    low, high = central_interval(gain, LEVEL).tolist()
    answer: Answer = "yes" if probability >= SURE else "cannot tell"
    return RiskDecision(answer, first, second, middle, Interval(low, high), probability)


def risk_gain(model: MeanNoiseModel, risk: RiskMeasure, X: Array) -> Array:
    """Return posterior draws of R at the first of ``X (2, d)`` minus R at the second.

    They are in user units.
    """
    value = risk_draws(model, risk, X, fixed_generator(FixedStream.RISK_GAIN))
    return np.asarray(value[:, 0] - value[:, 1])


def _repeats(known: Snapshot, differ: bool) -> RepeatsThatPay:
    """Compare the noise with the variance of f given all other points, at the leading points."""
    model, risk, X = known.model, known.risk, known.observations.X
    best = float(np.max(known.pessimistic[known.legal]))
    leading = known.legal & (model.units.to_outcome(optimistic(model, risk).value(X)) >= best)
    # The variance of f at a point given all others: that of the left-out mean minus its noise.
    unknown = np.maximum(model.mean.leave_one_out()[1] - model.mean.noise_var, 1e-300)[leading]
    noise_var = np.maximum(model.noise.variance(X[leading]), model.min_noise_var)
    ratio = float(np.median(noise_var / unknown))
    least = 2 if float(risk.gradient(0.0, 1.0)[1]) < 0.0 else 1
    return RepeatsThatPay(
        n_repeats=max(least, math.ceil(min(ratio, MAX_REPEATS))) if differ else None,
        noise_ratio=ratio,
        noise_std=float(model.units.std_to_user(np.sqrt(np.median(noise_var)))),
        n_leading=int(np.sum(leading)),
    )


def _calibration(model: MeanNoiseModel, differ: bool) -> Calibration:
    """Judge the model by the standardised leave-one-out residuals of the sample means."""
    r, var = model.mean.leave_one_out()
    z = np.abs(r) / np.sqrt(var)
    n, hits = len(z), int(np.sum(2.0 * ndtr(z) - 1.0 <= BAND))
    tail = (1.0 - COVERAGE_LEVEL) / 2.0
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1.0 - tail)) if hits < n else 1.0
    answer: CalibrationAnswer = "calibrated" if n >= MIN_RESIDUALS else "cannot tell"
    if not differ:
        answer = "cannot tell"
    elif high < BAND:
        answer = "too narrow"
    elif low > BAND:
        answer = "too wide"
    rms = float(np.sqrt(np.mean(z**2)))
    return Calibration(answer, hits / n, Interval(low, high), rms, n)
