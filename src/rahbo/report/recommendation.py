"""What to tell the user: intervals at a point, which point to report, and how sure that is.

Records here are in the user's units; `negated` turns a record of a maximised quantity into that
of the minimised one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from rahbo.arrays import Array, Mask
from rahbo.checks import is_number
from rahbo.errors import NotReadyError, SettingsError
from rahbo.model.joint import MeanNoiseModel
from rahbo.observations import Observations
from rahbo.policy.acquisition import central, optimistic, pessimistic
from rahbo.report.posterior import JointPosterior, joint_posterior, leading
from rahbo.risk import RiskMeasure
from rahbo.space import Space

RUNNER_UPS = 3

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
        lines = [
            f"{name:<11}{value:>12.5g}   [{interval.lower:.5g}, {interval.upper:.5g}]"
            for name, value, interval in rows
        ]
        return "\n".join([_params(self.params), *lines])


@dataclass(frozen=True)
class RunnerUp:
    """Another evaluated point that may be the best.

    Attributes:
        params: The point.
        risk: The risk measure at the centres.
        p_best: The probability that it is the best of the evaluated points.
    """

    params: dict[str, Any]
    risk: float
    p_best: float

    def negated(self) -> RunnerUp:
        """The record of the negated objective."""
        return replace(self, risk=-self.risk)

    def __str__(self) -> str:
        return f"{_params(self.params)}: risk value {self.risk:.5g}, P(best) {self.p_best:.2g}"


@dataclass(frozen=True)
class Recommendation(Prediction):
    """The reported point.

    Its intervals are not the bounds that the strategy works with, but credible intervals: each
    holds the truth with probability ``level``, the selection of the point accounted for.

    Attributes:
        level: The probability of each interval.
        p_best: The probability that no other evaluated point has a better risk value.
        runner_ups: The next points by that probability, three at most, none without a chance.
        rule: By which it was chosen.
        n_evaluations: Values told at this point.
        sample_mean: Their mean.
        sample_std: Their standard deviation; None for a single value.
    """

    level: float
    p_best: float
    runner_ups: tuple[RunnerUp, ...]
    rule: Rule
    n_evaluations: int
    sample_mean: float
    sample_std: float | None

    def negated(self) -> Self:
        """The record of the negated objective."""
        return replace(
            super().negated(),
            runner_ups=tuple(other.negated() for other in self.runner_ups),
            sample_mean=-self.sample_mean,
        )

    def __str__(self) -> str:
        lines = [
            f"{super().__str__()}   at {100 * self.level:g} %",
            f"P(best)    {self.p_best:>12.2g}   of the evaluated points",
            f"evaluated  {self.n_evaluations:>12d} time{'s' * (self.n_evaluations > 1)}",
            *(f"runner-up  {other}" for other in self.runner_ups),
        ]
        return "\n".join(lines)


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


def check_level(level: float) -> None:
    """Refuse what is no probability of an interval."""
    if not (is_number(level) and 0.0 < level <= 0.99):
        raise SettingsError(
            f"level must be a probability of at most 0.99, such as 0.9, got {level!r}."
        )


def recommendations(
    rules: list[Rule],
    observations: Observations,
    model: MeanNoiseModel,
    risk: RiskMeasure,
    *,
    space: Space,
    bound: Array,
    own_bound: Array,
    level: float,
    seed: int,
) -> dict[Rule, Recommendation]:
    """The point that each rule reports, and what is known of it, in the sense of maximisation.

    Args:
        rules: As for `choose`, and ``bound`` and ``own_bound`` too.
        observations: The data, in the sense of maximisation.
        model: What is believed given them.
        risk: The risk measure, in user units.
        space: Decides which points satisfy ``valid``, and their parameters.
        bound: The strategy's lower bound at each point now, ``(n,)``.
        own_bound: The same when the point was chosen, ``(n,)``.
        level: The probability of each credible interval.
        seed: Of the posterior draws.
    """
    X = observations.X
    legal = space.is_valid(X)
    at = {
        rule: choose(rule, observations, bound=bound, own_bound=own_bound, risk=risk, legal=legal)
        for rule in rules
    }
    rows = np.flatnonzero(legal)
    likely = rows[leading(model, risk, X[rows])]
    drawn: dict[bytes, JointPosterior] = {}
    found = {}
    for rule, i in at.items():
        points = likely if i in likely else np.append(likely, i)
        if points.tobytes() not in drawn:
            drawn[points.tobytes()] = joint_posterior(model, risk, X, points, seed)
        posterior = drawn[points.tobytes()]
        found[rule] = recommendation(rule, observations, model, risk, space, i, posterior, level)
    return found


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
    rule: Rule,
    observations: Observations,
    model: MeanNoiseModel,
    risk: RiskMeasure,
    space: Space,
    i: int,
    posterior: JointPosterior,
    level: float,
) -> Recommendation:
    """The record of point ``i``, with credible intervals from draws of it and its rivals."""
    points, p_best = posterior.points, posterior.p_best
    column = int(np.flatnonzero(points == i)[0])
    rivals = [j for j in np.argsort(-p_best, kind="stable") if j != column and p_best[j] > 0.0]
    rivals = rivals[:RUNNER_UPS]
    X = observations.X[np.append(i, points[rivals])]
    here, *others = predict(model, risk, X, [space.decode(x) for x in X])
    mean, noise_std, value = (_interval(*ends) for ends in posterior.ends(column, level))
    s2 = observations.sample_var[i]
    return Recommendation(
        here.params,
        mean=here.mean,
        mean_interval=mean,
        noise_std=here.noise_std,
        noise_std_interval=noise_std,
        risk=here.risk,
        risk_interval=value,
        level=float(level),
        p_best=float(p_best[column]),
        runner_ups=tuple(
            RunnerUp(other.params, other.risk, float(p_best[j]))
            for other, j in zip(others, rivals, strict=True)
        ),
        rule=rule,
        n_evaluations=int(observations.count[i]),
        sample_mean=float(observations.mean[i]),
        sample_std=None if math.isnan(s2) else float(np.sqrt(s2)),
    )


def _interval(lower: float, upper: float) -> Interval:
    return Interval(float(lower), float(upper))


def _params(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={short(value)}" for name, value in params.items())


def short(value: object) -> str:
    """A value in few digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
