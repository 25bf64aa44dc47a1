"""What a table of results says of its noise, of the risk in it and of the model.

`diagnose` answers five questions, each with a verdict in plain words and the numbers behind it:
is the noise uneven, over which inputs, does risk change the decision, how many repeats pay, and is
the model calibrated. Records are in the user's units; `negated` turns a record of a maximised
quantity into that of the minimised one.
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

# Points at which the noise model is looked at.
SAMPLES = 256
MAX_REPEATS = 100
SURE = 0.95
# The nominal band, the level of the interval of its coverage, and the points to speak of it.
BAND, COVERAGE_LEVEL, MIN_RESIDUALS = 0.9, 0.95, 20
WIDTH = 88


@dataclass(frozen=True)
class InputNoise:
    """How the noise depends on one input.

    Attributes:
        name: The parameter.
        share: Share of the variation of the model's log noise variance (variance, for
            ``DirectNoise``) that would vanish with this input fixed, interactions included.
        p_value: Of noise that does not depend on it, corrected for the number of inputs; None
            without a test.
    """

    name: str
    share: float
    p_value: float | None


@dataclass(frozen=True)
class RiskDecision:
    """Whether looking at the noise leads to another point than looking at the mean alone.

    Attributes:
        answer: ``"yes"`` if the gain is positive with a probability of at least 0.95; ``"no"`` if
            both report the same point, out of several whose values differ; else ``"cannot tell"``.
        risk_averse: What the pessimistic risk bound reports.
        risk_neutral: What the pessimistic bound of the mean reports.
        gain: Posterior median of how much better the first is by the risk measure.
        gain_interval: Its central 90 % interval.
        probability: That the gain is positive.
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
                return "Cannot tell: there is one point only, or all values are equal."
            return (
                "No: of the evaluated points, the one with the best mean is also the best with its "
                "noise counted."
            )
        low, high = self.gain_interval
        gain = f"{self.gain:.3g} [{low:.3g}, {high:.3g}] by the risk measure"
        stds = f"noise std {self.risk_averse.noise_std:.3g}, not {self.risk_neutral.noise_std:.3g}"
        if self.answer == "yes":
            return f"Yes: another point is reported than by the mean alone ({stds}). Gain {gain}."
        return (
            f"Cannot tell yet: another point would be reported ({stds}), but its gain of {gain} is "
            f"positive with a probability of {self.probability:.2f} only."
        )

    def negated(self) -> RiskDecision:
        """The record of the negated objective; a gain stays one."""
        return replace(
            self,
            risk_averse=self.risk_averse.negated(),
            risk_neutral=self.risk_neutral.negated(),
        )


@dataclass(frozen=True)
class RepeatsThatPay:
    """How many repeats of a new point are worth their cost.

    With noise variance rho^2, and u the variance of f at a point given all others, k repeats
    leave u / (1 + k u / rho^2). At k = rho^2 / u half of it is gone, and the next repeat is worth
    a quarter of the first.

    Attributes:
        n_repeats: That k, rounded up; at least 2 where the risk measure looks at the noise, which
            single values do not show. None of one point, or where all values are equal.
        noise_ratio: rho^2 / u, the median over the leading points.
        noise_std: The median noise standard deviation there.
        n_leading: Points whose optimistic risk value reaches the best pessimistic one.
    """

    n_repeats: int | None
    noise_ratio: float
    noise_std: float
    n_leading: int

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.n_repeats is None:
            return "Cannot tell: there is one point only, or all values are equal."
        more = " or more" if self.noise_ratio >= MAX_REPEATS else ""
        where = f"{self.n_leading} leading points" if self.n_leading > 1 else "leading point"
        return (
            f"About {self.n_repeats}{more}. At the {where} the noise variance of one value is "
            f"{self.noise_ratio:.2g} times what the other points leave unknown of the mean; from "
            "as many repeats on, the next is worth less than a quarter of the first."
        )


@dataclass(frozen=True)
class Calibration:
    """Whether the model's bands of the mean hold what they promise, leaving each point out.

    Attributes:
        answer: By whether the interval of ``inside`` holds 0.9.
        inside: Share of the sample means inside the nominal 90 % band that the others predict.
        inside_interval: Its 95 % interval (Clopper and Pearson's, as for independent points).
        rms: Root mean square of the standardised residuals; 1 if calibrated.
        n_points: Points left out in turn.
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
            return "Cannot tell: there is one point only."
        low, high = self.inside_interval
        found = (
            f"{self.inside:.0%} of {self.n_points} points [{low:.0%}, {high:.0%}] lie in the 90 % "
            f"band that the others predict; standardised residuals have size {self.rms:.2f}"
        )
        words = {
            "calibrated": f"Yes, as far as can be seen: {found}.",
            "too narrow": f"No, its bands are too narrow: {found}. Trust its intervals less.",
            "too wide": (
                f"Its bands are wider than needed: {found}. The noise counts at its upper bound "
                "in them, to be careful."
            ),
            "cannot tell": f"Cannot tell yet: {found}.",
        }
        return words[self.answer]


@dataclass(frozen=True)
class Diagnosis:
    """What a table of results says, in user units.

    Attributes:
        unevenness: Is the noise uneven?
        inputs: Over which inputs it varies, in the order of the space.
        decision: Does risk change the decision?
        repeats: What number of repeats would pay?
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
            return "Not told, as the noise is not shown to be uneven."
        listed = sorted(self.inputs, key=lambda i: -i.share)
        shares = ", ".join(f"{i.name} {i.share:.0%}" for i in listed)
        level = LEVELS.get(self.unevenness.source, 0.0)
        sure = [i.name for i in self.inputs if i.p_value is not None and i.p_value <= level]
        by_itself = ", ".join(sure) if sure else "none"
        return f"Share of the variation of the noise: {shares}. Shown by itself: {by_itself}."

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """The five questions, each with its answer in words."""
        return (
            ("Is the noise uneven?", self.unevenness.verdict),
            ("Over which inputs?", self.inputs_verdict),
            ("Does risk change the decision?", self.decision.verdict),
            ("How many repeats pay?", self.repeats.verdict),
            ("Is the model calibrated?", self.calibration.verdict),
        )

    def negated(self) -> Diagnosis:
        """The record of the negated objective."""
        return replace(self, decision=self.decision.negated())

    def __str__(self) -> str:
        return "\n".join(
            f"{title}\n{textwrap.indent(textwrap.fill(text, WIDTH), '  ')}"
            for title, text in self.answers
        )


def diagnose(known: Snapshot) -> Diagnosis:
    """Answer the five questions from what a run knows, repeated measurements or not.

    Raises:
        NotReadyError: No point that was told satisfies ``valid``.
    """
    # Every strategy is judged by the same bound, whatever it reports by itself.
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
    """The columns of each parameter: one of a number, several of a choice among many."""
    return {
        name: np.array(
            [j for j, c in enumerate(space.columns) if c == name or c.startswith(f"{name}=")]
        )
        for name in space.names
    }


def noise_shares(model: MeanNoiseModel, space: Space, inputs: Sequence[Index]) -> list[float]:
    """Total effect of each input, given by its columns, on the latent noise g over the space.

    share_j = E[(g(x) - g(x with input j drawn anew))^2] / (2 Var[g])
    """
    rng = fixed_generator(FixedStream.NOISE_SHARES)
    X, fresh = (space.from_uniform(rng.random((SAMPLES, space.n_uniform))) for _ in range(2))
    changed = np.repeat(X[None], len(inputs), axis=0)
    for block, columns in zip(changed, inputs, strict=True):
        block[:, columns] = fresh[:, columns]
    g, _ = model.noise.latent(np.vstack([X, *changed]))
    before, after = g[:SAMPLES], g[SAMPLES:].reshape(len(inputs), SAMPLES)
    total = float(np.var(before))
    if total <= 1e-12 * float(np.mean(before**2)):
        return [0.0] * len(inputs)
    return [float(share) for share in np.mean((after - before) ** 2, axis=1) / (2.0 * total)]


def _decision(known: Snapshot, differ: bool) -> RiskDecision:
    """Compare what the risk measure and what the mean alone would report."""
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
    """Posterior draws of R at the first of ``X (2, d)`` less R at the second, in user units."""
    value = risk_draws(model, risk, X, fixed_generator(FixedStream.RISK_GAIN))
    return np.asarray(value[:, 0] - value[:, 1])


def _repeats(known: Snapshot, differ: bool) -> RepeatsThatPay:
    """Compare the noise with what the neighbours leave unknown, at points that may be the best."""
    model, risk, X = known.model, known.risk, known.observations.X
    best = float(np.max(known.pessimistic[known.legal]))
    leading = known.legal & (model.units.to_outcome(optimistic(model, risk).value(X)) >= best)
    # The variance of f at a point given all others: that of the left-out mean less its noise.
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
    """Standardised leave-one-out residuals of the sample means."""
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
