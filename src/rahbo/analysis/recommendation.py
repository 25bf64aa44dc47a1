"""What to tell the user: intervals at a setting, the recommended setting, and possible rivals.

Records here are in the user's units. `negated` turns a record of the maximised quantity into one
of the minimised quantity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from rahbo.analysis.blocks import BlockEffects
from rahbo.analysis.compliance import ConstraintCheck, checks, warning
from rahbo.analysis.gain import Gain, Prospects, prospects
from rahbo.analysis.markup import paragraph, table
from rahbo.analysis.posterior import LEVEL, Interval, centre, marginals
from rahbo.analysis.rules import SCORES, Rule, best_scored, scores
from rahbo.analysis.snapshot import Snapshot
from rahbo.analysis.unit import unsuited
from rahbo.analysis.wording import in_one_line, settings_told_apart
from rahbo.model import CubeNoise, output_scale
from rahbo.numerics import Array, Justified, brief
from rahbo.policy import NEGLIGIBLE, Limits, RiskBound, is_listed, pessimistic_values
from rahbo.risk import RiskMeasure

RUNNER_UPS = 3


class Estimate(NamedTuple):
    """An estimate as texts, in the digits that its interval justifies.

    Attributes:
        name: What is estimated.
        value: The estimate.
        lower: The lower end of its interval.
        upper: The upper end of its interval.
    """

    name: str
    value: str
    lower: str
    upper: str


@dataclass(frozen=True)
class Prediction:
    """The mean, noise and risk predicted at one setting, in user units.

    Each interval is a credible interval: it contains the true value with probability ``level``. The
    interval at a setting is the same wherever it is shown.

    Attributes:
        params: The setting.
        mean: Posterior mean of the objective.
        mean_interval: Interval of the mean.
        noise_std: Standard deviation of a single evaluation.
        noise_std_interval: Interval of the noise standard deviation.
        risk: Risk measure of the mean and the central noise estimate.
        risk_interval: Interval of the risk measure.
        level: Probability of each interval.
        pessimistic: The value that the strategy reports by: the risk measure at the pessimistic
            bounds of mean and noise, or the lower bound of the mean for one that ignores the noise.
        constraints: What is known of each outcome that has a limit.
    """

    params: dict[str, Any]
    mean: float
    mean_interval: Interval
    noise_std: float
    noise_std_interval: Interval
    risk: float
    risk_interval: Interval
    level: float
    pessimistic: float
    constraints: tuple[ConstraintCheck, ...] = field(
        default=(), kw_only=True, metadata={"if_used": True}
    )

    @property
    def feasible(self) -> bool:
        """Whether every limit is kept, even by the pessimistic bound of its outcome."""
        return all(check.kept for check in self.constraints)

    def negated(self) -> Self:
        """Return the record of the negated objective."""
        return replace(
            self,
            mean=-self.mean,
            mean_interval=self.mean_interval.negated(),
            risk=-self.risk,
            risk_interval=self.risk_interval.negated(),
            pessimistic=-self.pessimistic,
        )

    @property
    def estimates(self) -> tuple[Estimate, Estimate, Estimate]:
        """The mean, the noise std and the risk value as texts."""
        return (
            Estimate("mean", *self.mean_interval.texts(self.mean)),
            Estimate("noise std", *self.noise_std_interval.texts(self.noise_std)),
            Estimate("risk value", *self.risk_interval.texts(self.risk)),
        )

    @property
    def _shown(self) -> dict[str, str]:
        """The setting as texts."""
        return settings_told_apart([self.params])[0]

    @property
    def risk_digits(self) -> Justified:
        """How to write risk values like the one here."""
        return Justified.by(self.risk, self.risk_interval)

    def __str__(self) -> str:
        named = f"{100 * self.level:g} % interval"
        lines = [
            f"{name:<11}{value:>12}   {named} [{lower}, {upper}]"
            for name, value, lower, upper in self.estimates
        ]
        decided = f"pessimistic{self.risk_digits.text(self.pessimistic):>12}"
        limits = [str(check) for check in self.constraints]
        return "\n".join([in_one_line(self._shown), *lines, *limits, decided])

    def _repr_html_(self) -> str:
        interval = f"{100 * self.level:g} % interval"
        rows = [
            *((e.name, e.value, f"{e.lower} to {e.upper}") for e in self.estimates),
            ("pessimistic", self.risk_digits.text(self.pessimistic), ""),
        ]
        return "".join([
            table(["parameter", "value"], list(self._shown.items())),
            table(["", "estimate", interval], rows),
            *(paragraph(str(check)) for check in self.constraints),
        ])  # fmt: skip


@dataclass(frozen=True)
class RunnerUp:
    """Another evaluated setting that could still be better.

    Attributes:
        params: The setting.
        risk: Risk measure of the mean and the central noise estimate.
        score: The value that the rule compares; never better than the recommended setting's.
        gain: By how much the setting may be better.
    """

    params: dict[str, Any]
    risk: float
    score: float
    gain: Gain

    def negated(self) -> RunnerUp:
        """Return the record of the negated objective."""
        return replace(self, risk=-self.risk, score=-self.score)

    def __str__(self) -> str:
        return self.line(Justified(None), settings_told_apart([self.params])[0])

    def line(self, digits: Justified, shown: Mapping[str, str]) -> str:
        """Return the setting, given as texts, in one line with its risk value in these digits."""
        gain, level = self.gain, f"{100 * self.gain.level:g} %"
        return (
            f"{in_one_line(shown)}: risk value {digits.text(self.risk)}, expected gain "
            f"{brief(gain.expected)}, with {level} probability at most {brief(gain.bound)}"
        )


@dataclass(frozen=True)
class Recommendation(Prediction):
    """The recommended setting.

    Attributes:
        rule: The rule that chose the setting.
        score: The value that the rule compares; for the default rule it is ``pessimistic``.
        n_evaluations: Number of values told at this setting.
        sample_mean: Mean of these values.
        sample_std: Standard deviation of these values; None for a single value.
        gain: What another setting of the whole space might still gain.
        runner_ups: Evaluated settings that could still be better, best score first, at most three.
        p_best: Probability that no other setting of the list is better; None unless the space is a
            list, or finite and small.
        confirm: How many more measurements of the setting are advised before relying on it.
        blocks: How much blocks differ; None if no value belongs to one.
        n_elsewhere: How many of the values were told under conditions other than the context.
        unsuited: What to know if alpha seems to be meant for another unit; empty otherwise.
    """

    rule: Rule
    score: float
    n_evaluations: int
    sample_mean: float
    sample_std: float | None
    gain: Gain
    runner_ups: tuple[RunnerUp, ...]
    p_best: float | None
    confirm: int
    blocks: BlockEffects | None = field(default=None, metadata={"if_used": True})
    n_elsewhere: int = field(default=0, metadata={"if_used": True})
    unsuited: str = field(default="", metadata={"if_used": True})

    def negated(self) -> Self:
        """Return the record of the negated objective."""
        return replace(
            super().negated(),
            score=-self.score,
            sample_mean=-self.sample_mean,
            runner_ups=tuple(other.negated() for other in self.runner_ups),
            blocks=None if self.blocks is None else self.blocks.negated(),
        )

    @property
    def elsewhere(self) -> str:
        """What to add to the number of values if some were told under other conditions."""
        if not self.n_elsewhere:
            return ""
        some = f" {self.n_elsewhere} of them" if self.n_elsewhere < self.n_evaluations else ""
        return f",{some} under other conditions"

    @property
    def _all_shown(self) -> list[dict[str, str]]:
        """The setting and the runner-ups as texts."""
        return settings_told_apart([self.params, *(other.params for other in self.runner_ups)])

    @property
    def _shown(self) -> dict[str, str]:
        return self._all_shown[0]

    @property
    def advice(self) -> str:
        """Advice on what to do before relying on the setting; empty if there is none."""
        if self.confirm == 0:
            return ""
        times = "once more" if self.confirm == 1 else f"{self.confirm} more times"
        return f"Measure this setting {times} before you rely on it."

    @property
    def warning(self) -> str:
        """What to know if no setting is sure to keep every limit; empty otherwise."""
        return warning(self.constraints)

    def __str__(self) -> str:
        times = "time" if self.n_evaluations == 1 else "times"
        lines = [f"{super().__str__()}{'   decided the choice' if self.feasible else ''}"]
        if self.rule != "pessimistic":
            named = f"{SCORES[self.rule]}, decided the choice"
            score = self.risk_digits.text(self.score)
            lines = [super().__str__(), f"score      {score:>12}   {named}"]
        lines.append(f"measured   {self.n_evaluations:>12d}   {times}{self.elsewhere}")
        if self.blocks is not None:
            lines.append(self.blocks.summary)
        if self.p_best is not None and self.feasible:
            lines.append(f"P(best)    {self.p_best:>12.2g}   among the listed settings")
        gain = str(self.gain) if self.feasible else ""
        lines += filter(None, [gain, self.advice, self.warning, self.unsuited])
        pairs = zip(self.runner_ups, self._all_shown[1:], strict=True)
        others = (other.line(self.risk_digits, shown) for other, shown in pairs)
        return "\n".join([*lines, *(f"runner-up  {other}" for other in others)])

    def _repr_html_(self) -> str:
        n, show = self.n_evaluations, self.risk_digits
        said = [f"Measured {n} time{'s' * (n != 1)}{self.elsewhere}."]
        if self.rule != "pessimistic":
            said.append(f"Its {SCORES[self.rule]}, {show.text(self.score)}, decided the choice.")
        if self.blocks is not None:
            std, low, high = self.blocks.std_interval.texts(self.blocks.std)
            said.append(f"Blocks differ with a standard deviation of {std} ({low} to {high}).")
        if self.p_best is not None and self.feasible:
            said.append(f"It is the best of the list with probability {self.p_best:.2g}.")
        said += [str(self.gain) if self.feasible else "", self.advice, self.warning, self.unsuited]
        found = super()._repr_html_() + paragraph(" ".join(filter(None, said)))
        if not self.runner_ups:
            return found
        head = ["runner-up", "risk value", "expected gain", f"{100 * self.level:g} % bound of gain"]
        pairs = zip(self.runner_ups, self._all_shown[1:], strict=True)
        rows = [(in_one_line(shown), show.text(o.risk), brief(o.gain.expected),
                 brief(o.gain.bound)) for o, shown in pairs]  # fmt: skip
        return found + table(head, rows)


def predict(
    bound: RiskBound,
    risk: RiskMeasure,
    X: Array,
    params: list[dict[str, Any]],
    level: float,
    limits: Limits | None = None,
) -> list[Prediction]:
    """Return the predictions at ``X (m, d)``, in the sense of maximisation.

    Args:
        bound: The strategy's lower bound, with the model.
        risk: The risk measure, in user units.
        X: The settings.
        params: The same settings in user units.
        level: Probability of each interval.
        limits: The limits of outcomes, if there are any.
    """
    found = marginals(bound.model, risk, X, level)
    worst = pessimistic_values(bound, X)[2]
    kept = checks(limits, X, level)
    return [
        Prediction(
            params[i],
            mean=float(found.mean[i, 1]),
            mean_interval=_interval(found.mean[i]),
            noise_std=float(found.noise_std[i, 1]),
            noise_std_interval=_interval(found.noise_std[i]),
            risk=float(found.risk[i, 1]),
            risk_interval=_interval(found.risk[i]),
            level=float(level),
            pessimistic=float(worst[i]),
            constraints=kept[i],
        )
        for i in range(len(X))
    ]


def recommend(known: Snapshot, rule: Rule = "pessimistic", level: float = LEVEL) -> Recommendation:
    """Return the point that a rule reports, in the sense of maximisation.

    Args:
        known: What the run knows.
        rule: As for `choose`.
        level: Probability of each interval and of the bound on the gain.
    """
    observations, space = known.observations, known.space
    X, score = observations.X, scores(rule, known)
    order = best_scored(score)
    i = int(order[0])
    found = prospects(known.model, known.risk, known.domain, X[order], known.settings.seed)
    s2, shortfall = observations.sample_var[i], found.shortfall(X[i])
    n, n_here = int(observations.count[i]), int(known.count_here[i])
    (here,) = predict(known.bound, known.risk, X[[i]], [space.decode(X[i])], level, known.limits)
    return Recommendation(
        **vars(here),
        rule=rule,
        score=here.pessimistic if rule == "pessimistic" else float(score[i]),
        n_evaluations=n,
        sample_mean=float(observations.mean[i]),
        sample_std=None if math.isnan(s2) else float(np.sqrt(s2)),
        gain=Gain.of(shortfall, level),
        runner_ups=_runner_ups(known, score, i, found, level),
        p_best=float(np.mean(shortfall <= 0.0)) if is_listed(space) else None,
        confirm=to_confirm(known, n_here, here.noise_std) if known.settings.confirmed else 0,
        blocks=BlockEffects.of(known.model, level),
        n_elsewhere=n - n_here,
        unsuited=unsuited(known),
    )


def _runner_ups(
    known: Snapshot, score: Array, i: int, found: Prospects, level: float
) -> tuple[RunnerUp, ...]:
    """Return evaluated points that could still be better than point ``i``, best score first."""
    X = known.observations.X
    over = found.over(X[i])
    column = {x.tobytes(): k for k, x in enumerate(found.X)}
    drawn = {j: over[:, column[x.tobytes()]] for j, x in enumerate(X) if x.tobytes() in column}
    open_still = [
        j
        for j in np.argsort(-score, kind="stable")
        if j in drawn and not math.isnan(score[j]) and np.mean(drawn[j] > 0.0) > 1.0 - level
    ]
    rows = open_still[:RUNNER_UPS]
    value = known.risk.value(*centre(known.model, X[rows]))
    return tuple(
        RunnerUp(known.space.decode(X[j]), float(v), float(score[j]), Gain.of(drawn[j], level))
        for j, v in zip(rows, value, strict=True)
    )


def to_confirm(known: Snapshot, n: int, noise_std: float) -> int:
    """Return how many measurements a point with ``n`` lacks; 0 if its noise is known or small."""
    quiet = noise_std <= NEGLIGIBLE * output_scale(known.observations)
    if quiet or isinstance(known.model.settings.noise, CubeNoise):
        return 0
    return max(0, known.settings.confirmed - n)


def _interval(found: Array) -> Interval:
    """Return the interval of a lower end, a centre and an upper end, ``(3,)``."""
    return Interval(float(found[0]), float(found[2]))
