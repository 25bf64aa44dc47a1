"""What a table of results says about its noise, its risk and the model.

`diagnose` answers five questions, each with a verdict in plain words and the numbers behind it:
is the noise uneven, over which inputs, does risk change the decision, how many repeats are
worth their cost, and is the model calibrated. Records are in the user's units. `negated` turns a
record of the maximised quantity into one of the minimised quantity.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field, replace

import numpy as np

from rahbo.analysis.calibration import Calibration, calibration_of
from rahbo.analysis.markup import table
from rahbo.analysis.posterior import (
    LEVEL,
    Interval,
    central_interval,
    centre,
    joint_draws,
    risk_draws,
)
from rahbo.analysis.prediction import Prediction, predict
from rahbo.analysis.recommendation import to_confirm
from rahbo.analysis.reportable import legal, not_noise, told
from rahbo.analysis.rivals import are_alike, bolder
from rahbo.analysis.rules import best_scored, choose, scores
from rahbo.analysis.sensitivity import columns_of, sensitivity_of
from rahbo.analysis.unevenness import LEVELS, Answer, Unevenness, unevenness
from rahbo.analysis.wording import advice, in_one_line, settings_told_apart
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, FixedStream, brief, fixed_generator
from rahbo.policy import (
    Rahbo,
    at_observations,
    optimistic,
    pessimistic_values,
    repeating,
    report_bound,
)
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.state import State

MAX_REPEATS = 100
# Inputs that explain a smaller share of the noise are counted, not named, if they are several.
LEAST_TOLD = 0.005
# From this probability on risk changes the decision, and up to this one it does not.
SURE, UNLIKELY = 0.95, 1.0 - LEVEL
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

    Points that are alike count as the same one, see `are_alike`.

    Attributes:
        answer: ``"yes"`` if the gain is positive with a probability of at least 0.95 and the noise
            was shown to be uneven; ``"no"`` if both report the same point, out of several whose
            values differ, and there is no rival; else ``"cannot tell"``.
        risk_averse: The point that the pessimistic risk bound reports.
        risk_neutral: The point that the pessimistic bound of the mean reports. If that is the same
            or alike, it is the point with the best mean, unless its risk value is better too.
        gain: Posterior median of how much better the first is by the risk measure, or the rival if
            there is one.
        gain_interval: Central 90 % interval of the gain.
        probability: Probability that the gain is positive.
        uneven: Whether the noise was shown to be uneven.
        rival: If both report the same point, a quieter one with a worse mean that may be better by
            the risk measure, but is not known well enough to be reported.
    """

    answer: Answer
    risk_averse: Prediction
    risk_neutral: Prediction
    gain: float
    gain_interval: Interval
    probability: float
    uneven: bool
    rival: Prediction | None = None

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.answer == "no":
            return (
                "No: the evaluated point with the best mean is also the best by the risk measure."
            )
        quiet = self.risk_averse if self.rival is None else self.rival
        if quiet.params == self.risk_neutral.params:
            return "Cannot tell: there is only one point, or all values are equal."
        middle, low, high = self.gain_interval.texts(self.gain)
        gain = f"The gain in risk value is {middle} (90 % interval [{low}, {high}])"
        averse, neutral = (p.estimates[1].value for p in (quiet, self.risk_neutral))
        quieter = float(averse) < float(neutral)
        differs = "the mean alone would pick a different point, " + (
            f"with a noise std of {neutral} instead of {averse}"
            if quieter
            else "about whose noise less is known"
        )
        if self.rival is not None:
            (shown,) = settings_told_apart([self.rival.params])
            less = f"a noise std of {averse} instead of {neutral}" if quieter else "less noise"
            differs = (
                f"{in_one_line(shown)} has a worse mean than the point that is reported, but {less}"
            )
        found = f"{differs}. {gain}, positive with a probability of {self.probability:.2g}."
        if self.answer == "yes":
            late = "" if self.rival is None else " Too little is known about it to report it yet."
            return f"Yes: {differs}. {gain}.{late}"
        known = "" if self.uneven else " The noise was not shown to be uneven."
        return f"Cannot tell yet: {found}{known}"

    def negated(self) -> RiskDecision:
        """Return the record of the negated objective; the gain keeps its sign."""
        return replace(
            self,
            risk_averse=self.risk_averse.negated(),
            risk_neutral=self.risk_neutral.negated(),
            rival=None if self.rival is None else self.rival.negated(),
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
        confirm: How many more measurements of the recommended point are advised before relying on
            it, as in the recommendation.
    """

    n_repeats: int | None
    noise_ratio: float
    noise_std: float
    n_leading: int
    confirm: int = 0

    @property
    def verdict(self) -> str:
        """The answer in words."""
        return f"{self._of_new} {advice(self.confirm, 'the recommended point')}".rstrip()

    @property
    def _of_new(self) -> str:
        """How many repeats a new point is worth, in words."""
        if self.n_repeats is None:
            return "Cannot tell: there is only one point, or all values are equal."
        more = " or more" if self.noise_ratio >= MAX_REPEATS else ""
        where = f"{self.n_leading} leading points" if self.n_leading > 1 else "leading point"
        ratio = brief(self.noise_ratio) if self.noise_ratio >= 0.01 else "less than 0.01"
        return (
            f"About {self.n_repeats}{more} at a new point. At the {where}, the noise variance of "
            f"one value is {ratio} times the variance that the mean would have without the "
            "values of that point. After that many repeats, one more is worth less than a quarter "
            "of the first."
        )


@dataclass(frozen=True)
class Diagnosis:
    """The answers to five questions about a table of results, in user units.

    Attributes:
        unevenness: Is the noise uneven?
        inputs: Over which inputs does it vary? In the order of the space.
        decision: Does risk change the decision?
        repeats: How many repeats are worth their cost?
        calibration: Is the model calibrated?
        not_noise: What to know if repeats are not noise; empty otherwise.
    """

    unevenness: Unevenness
    inputs: tuple[InputNoise, ...]
    decision: RiskDecision
    repeats: RepeatsThatPay
    calibration: Calibration
    not_noise: str = field(default="", metadata={"if_used": True})

    @property
    def inputs_verdict(self) -> str:
        """Over which inputs the noise varies, in words."""
        if self.unevenness.answer != "yes":
            return "No answer, because the noise was not shown to be uneven."
        listed = sorted(self.inputs, key=lambda i: -i.share)
        told = [i for i in listed if i.share >= LEAST_TOLD]
        # A long list of zeros hides the others.
        if len(listed) - len(told) < 3:
            told = listed
        shares = ", ".join(f"{i.name} {100 * i.share:.0f} %" for i in told)
        if told != listed:
            shares += f", each of the other {len(listed) - len(told)} less than 1 %"
        found = f"Share of the variation of the noise: {shares}."
        if self.unevenness.p_value is None:
            return found
        level = LEVELS[self.unevenness.source]
        sure = [i.name for i in self.inputs if i.p_value is not None and i.p_value <= level]
        return f"{found} Significant on its own: {', '.join(sure) or 'none'}."

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """The five questions, each with its answer in words."""
        unknown = "Cannot tell: these values do not show the noise." if self.not_noise else ""
        enough = "Measure each setting once: these repeats teach nothing." if self.not_noise else ""
        return (
            ("Is the noise uneven?", self.not_noise or self.unevenness.verdict),
            ("Over which inputs?", self.inputs_verdict),
            ("Does risk change the decision?", unknown or self.decision.verdict),
            ("How many repeats are worth their cost?", enough or self.repeats.verdict),
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

    def _repr_html_(self) -> str:
        return table(["question", "answer"], self.answers)


def diagnose(state: State) -> Diagnosis:
    """Answer the five questions from what a run knows, with or without repeats.

    Raises:
        NotReadyError: No point that was told satisfies ``valid``.
    """
    confirm = _confirm(state)
    # Every strategy is judged by the same bound, whichever bound it reports by.
    state = state.reported_by(Rahbo())
    model, space = state.model, told(state).space
    observations = model.observations
    differ = observations.n > 1 and bool(np.ptp(observations.values) > 0.0)
    effects = sensitivity_of(model, space)
    uneven, tested = unevenness(observations, model, list(columns_of(space).values()))
    shares = effects.noise_total.tolist()
    if not_noise(state):
        uneven = replace(uneven, answer="cannot tell", p_value=None, source="nothing", n_points=0)
        tested = (None,) * len(shares)
    is_uneven = uneven.answer == "yes"
    decision = _decision(state, differ, is_uneven)
    if not_noise(state):
        decision = replace(decision, answer="cannot tell")
    return Diagnosis(
        uneven,
        tuple(InputNoise(*row) for row in zip(effects.names, shares, tested, strict=True)),
        decision,
        _repeats(state, differ, confirm),
        calibration_of(model, differ),
        not_noise(state),
    )


def _decision(state: State, differ: bool, uneven: bool) -> RiskDecision:
    """Compare the points that the risk measure and the mean alone would report."""
    model, risk, X = state.model, state.risk, told(state).observations.X
    by_mean = state.by(MeanVariance(0.0))
    averse, neutral = choose("pessimistic", state), choose("pessimistic", by_mean)
    decided = differ and bool(np.sum(legal(state)) > 1)
    same = not decided or bool(are_alike(state, X[[neutral]], X[averse])[0])
    if same and decided and (best := bolder(state, averse)) is not None:
        same, neutral = False, best
    neutral = averse if same else neutral
    quiet = _quieter(state, averse) if same and decided else averse
    some = X[[averse, neutral, quiet]]
    params = [told(state).space.decode(x) for x in some]
    first, second, third = predict(report_bound(state), risk, some, params, LEVEL)
    if quiet == neutral:
        unchanged: Answer = "no" if decided else "cannot tell"
        return RiskDecision(unchanged, first, second, 0.0, Interval(0.0, 0.0), 0.0, uneven)
    gain = risk_gain(model, risk, X[[quiet, neutral]])
    probability, middle = float(np.mean(gain > 0.0)), float(np.median(gain))
    low, high = central_interval(gain, LEVEL).tolist()
    sure = uneven and probability >= SURE and third.noise_std < second.noise_std
    answer: Answer = "yes" if sure else "cannot tell"
    rival = third if same else None
    return RiskDecision(
        answer, first, second, middle, Interval(low, high), probability, uneven, rival
    )


def _quieter(state: State, i: int) -> int:
    """Return the leading point for which risk speaks most against point ``i``, or else ``i``.

    Its mean is worse and its noise less. Its risk value is better, or may be, together with a worse
    mean, with a probability of more than 0.1.
    """
    model, risk, X = state.model, state.risk, told(state).observations.X
    rows = best_scored(scores("pessimistic", state))
    rows = np.append(i, rows[~are_alike(state, X[rows], X[i])])
    drawn = joint_draws(model, X[rows], fixed_generator(FixedStream.RISK_GAIN))
    (f, v), (F, V) = centre(model, X[rows]), drawn
    better = risk.value(F, V) > risk.value(F[:, :1], V[:, :1])
    chance = np.mean(better & (F[:, :1] > F), axis=0)
    is_better = risk.value(f, v) > risk.value(f[0], v[0])
    against = (f < f[0]) & (v < v[0]) & (is_better | (chance > UNLIKELY))
    return int(rows[np.argmax(np.where(against, 1.0 + chance, 0.0))])


def risk_gain(model: MeanNoiseModel, risk: RiskMeasure, X: Array) -> Array:
    """Return posterior draws of R at the first of ``X (2, d)`` minus R at the second.

    They are in user units.
    """
    value = risk_draws(model, risk, X, fixed_generator(FixedStream.RISK_GAIN))
    return np.asarray(value[:, 0] - value[:, 1])


def _repeats(state: State, differ: bool, confirm: int) -> RepeatsThatPay:
    """Compare the noise with the variance of f given all other points, at the leading points."""
    model, risk = state.model, state.risk
    X = model.observations.X
    valid = told(state).space.is_valid(X)
    # Of thousands of points, the model may have kept no legal one.
    valid |= not valid.any()
    best = float(np.max(pessimistic_values(report_bound(state), X)[2][valid]))
    leading = valid & (model.units.to_outcome(at_observations(optimistic(model, risk))) >= best)
    # The variance of f at a point given all others: that of the left-out mean minus its noise.
    unknown = (model.mean.leave_one_out()[1] - model.mean.noise_var)[leading]
    noise_var = np.maximum(model.noise.variance(X[leading]), model.min_noise_var)
    # The floor keeps the ratio finite.
    ratio = float(np.median(noise_var / np.maximum(unknown, 1e-300 * np.maximum(noise_var, 1.0))))
    least = 2 if float(risk.gradient(0.0, 1.0)[1]) < 0.0 else 1
    return RepeatsThatPay(
        n_repeats=max(least, math.ceil(min(ratio, MAX_REPEATS))) if differ else None,
        noise_ratio=ratio,
        noise_std=float(model.units.std_to_user(np.sqrt(np.median(noise_var)))),
        n_leading=int(np.sum(leading)),
        confirm=confirm,
    )


def _confirm(state: State) -> int:
    """Return how many more measurements of the recommended point are advised.

    In a space with conditions that depends on those to decide for, so nothing is advised here.
    """
    if told(state).space.conditions or not repeating(state).confirmed:
        return 0
    i = choose("pessimistic", state)
    (noise_var,) = centre(state.model, told(state).observations.X[[i]])[1]
    return to_confirm(state, int(told(state).count_here[i]), math.sqrt(noise_var))
