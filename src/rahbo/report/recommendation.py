"""What to tell the user: intervals at a point, and which point to report.

Records here are in the user's units; `negated` turns a record of a maximised quantity into that
of the minimised one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from rahbo.arrays import Array, Mask
from rahbo.errors import NotReadyError, SettingsError
from rahbo.model.joint import MeanNoiseModel
from rahbo.observations import Observations
from rahbo.policy.acquisition import central, optimistic, pessimistic
from rahbo.risk import RiskMeasure

Rule = Literal["pessimistic", "own_round", "best_observed", "empirical"]


class Interval(NamedTuple):
    """A lower and an upper end."""

    lower: float
    upper: float

    def negated(self) -> Interval:
        """The interval of the negated quantity."""
        return Interval(-self.upper, -self.lower)


@dataclass(frozen=True)
class Prediction:
    """What is believed of one point, in user units.

    The intervals are the confidence bounds that the strategy works with, mu +- beta * sigma.

    Attributes:
        params: The point.
        mean: Posterior mean of the objective.
        mean_interval: Its confidence interval.
        noise_std: Standard deviation of a single evaluation.
        noise_std_interval: Its confidence interval.
        risk: The risk measure at the centres.
        risk_interval: Its pessimistic and optimistic values.
    """

    params: dict[str, Any]
    mean: float
    mean_interval: Interval
    noise_std: float
    noise_std_interval: Interval
    risk: float
    risk_interval: Interval

    def negated(self) -> Self:
        """The record of the negated objective."""
        return replace(
            self,
            mean=-self.mean,
            mean_interval=self.mean_interval.negated(),
            risk=-self.risk,
            risk_interval=self.risk_interval.negated(),
        )

    def __str__(self) -> str:
        rows = [
            ("mean", self.mean, self.mean_interval),
            ("noise std", self.noise_std, self.noise_std_interval),
            ("risk value", self.risk, self.risk_interval),
        ]
        settings = ", ".join(f"{name}={short(value)}" for name, value in self.params.items())
        lines = [
            f"{name:<11}{value:>12.5g}   [{interval.lower:.5g}, {interval.upper:.5g}]"
            for name, value, interval in rows
        ]
        return "\n".join([settings, *lines])


@dataclass(frozen=True)
class Recommendation(Prediction):
    """The reported point.

    Attributes:
        rule: By which it was chosen.
        n_evaluations: Values told at this point.
        sample_mean: Their mean.
        sample_std: Their standard deviation; None for a single value.
    """

    rule: Rule
    n_evaluations: int
    sample_mean: float
    sample_std: float | None

    def negated(self) -> Self:
        """The record of the negated objective."""
        return replace(super().negated(), sample_mean=-self.sample_mean)

    def __str__(self) -> str:
        return f"{super().__str__()}\nevaluated  {self.n_evaluations:>12d} times"


def predict(
    model: MeanNoiseModel, risk: RiskMeasure, X: Array, params: list[dict[str, Any]]
) -> list[Prediction]:
    """Intervals of mean, noise and risk at ``X (m, d)``, in the sense of maximisation."""
    shift, scale = model.learned.shift, model.learned.scale
    b = model.belief(X)
    floor = model.min_noise_var
    std_lower, std_centre, std_upper = (
        scale * np.sqrt(np.maximum(v, floor)) for v in (b.noise_lower, b.noise_var, b.noise_upper)
    )
    worst, centre, best = (
        shift + scale * end(model, risk).value(X) for end in (pessimistic, central, optimistic)
    )
    return [
        Prediction(
            params[i],
            mean=float(shift + scale * b.mu[i]),
            mean_interval=_interval(shift + scale * b.f_lower[i], shift + scale * b.f_upper[i]),
            noise_std=float(std_centre[i]),
            noise_std_interval=_interval(std_lower[i], std_upper[i]),
            risk=float(centre[i]),
            risk_interval=_interval(worst[i], best[i]),
        )
        for i in range(len(X))
    ]


def check_rule(rule: Rule, risk: RiskMeasure | None) -> None:
    """Refuse an unknown rule, and another risk measure where the rule does not ask for one."""
    if rule not in get_args(Rule):
        raise SettingsError(f"rule must be one of {', '.join(get_args(Rule))}, got {rule!r}.")
    if risk is not None and not isinstance(risk, RiskMeasure):
        raise SettingsError(
            f"risk must be a RiskMeasure such as MeanVariance(alpha=1.0), got {risk!r}."
        )
    if risk is not None and rule in ("own_round", "best_observed"):
        raise SettingsError(
            f"rule={rule!r} does not depend on a risk measure given afterwards. "
            "Leave risk= out, or use rule='pessimistic'."
        )


def choose(
    rule: Rule,
    observations: Observations,
    *,
    bound: Array,
    own_bound: Array,
    risk: RiskMeasure,
    legal: Mask,
) -> int:
    """The index of the point to report.

    Args:
        rule: ``"pessimistic"``: the largest bound of the last round. ``"own_round"``: the largest
            bound that a point had when it was chosen (Corollary 1.1). ``"best_observed"``: the
            largest sample mean. ``"empirical"``: the largest risk measure of sample mean and
            sample variance.
        observations: The data, in the sense of maximisation.
        bound: The strategy's lower bound at each point now, ``(n,)``.
        own_bound: The same when the point was chosen, ``(n,)``; NaN where no strategy chose it.
        risk: The risk measure, in user units.
        legal: Which points satisfy ``valid``, ``(n,)``.
    """
    scores: dict[Rule, Array] = {
        "pessimistic": bound,
        "own_round": own_bound,
        "best_observed": observations.mean,
        "empirical": _empirical(observations, risk),
    }
    eligible = np.where(legal, scores[rule], np.nan)
    if np.all(np.isnan(eligible)):
        raise NotReadyError(
            f"rule={rule!r} has no point to choose from: it needs one that was told, satisfies "
            "valid=" + (", and was chosen by the strategy." if rule == "own_round" else ".")
        )
    return int(np.nanargmax(eligible))


def _empirical(observations: Observations, risk: RiskMeasure) -> Array:
    """The risk measure of sample mean and sample variance, ``(n,)``.

    A single value says nothing of its variance: such points count only among themselves.
    """
    s2 = observations.sample_var
    single = np.isnan(s2)
    if single.all():
        return observations.mean
    return np.where(single, np.nan, risk.value(observations.mean, np.where(single, 0.0, s2)))


def recommendation(
    prediction: Prediction, rule: Rule, observations: Observations, i: int
) -> Recommendation:
    """The record of point ``i``."""
    s2 = observations.sample_var[i]
    return Recommendation(
        **vars(prediction),
        rule=rule,
        n_evaluations=int(observations.count[i]),
        sample_mean=float(observations.mean[i]),
        sample_std=None if math.isnan(s2) else float(np.sqrt(s2)),
    )


def _interval(lower: float, upper: float) -> Interval:
    return Interval(float(lower), float(upper))


def short(value: object) -> str:
    """A value in few digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
