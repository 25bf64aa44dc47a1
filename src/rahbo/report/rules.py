"""Which evaluated point to report: what each rule goes by, and what it chooses."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from rahbo.arrays import Array, Index, Mask
from rahbo.errors import NotReadyError, SettingsError
from rahbo.observations import Observations
from rahbo.policy.acquisition import RiskBound
from rahbo.report.posterior import pessimistic_values
from rahbo.risk import RiskMeasure

Rule = Literal["pessimistic", "own_round", "best_observed", "empirical"]
# What each rule makes best.
SCORES: dict[Rule, str] = {
    "pessimistic": "pessimistic value",
    "own_round": "pessimistic value when it was proposed",
    "best_observed": "sample mean",
    "empirical": "risk value of its own measurements",
}
# Points of the best scores that are looked at in any case.
SCORED = 40


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
    found = scores(rule, observations, bound=bound, own_bound=own_bound, risk=risk, legal=legal)
    return int(np.nanargmax(found))


def scores(
    rule: Rule,
    observations: Observations,
    *,
    bound: Array,
    own_bound: Array,
    risk: RiskMeasure,
    legal: Mask,
) -> Array:
    """What a rule goes by at each point, ``(n,)``; NaN where it may not choose the point.

    The arguments are those of `choose`.
    """
    of_rule: dict[Rule, Array] = {
        "pessimistic": bound,
        "own_round": own_bound,
        "best_observed": observations.mean,
        "empirical": _empirical(observations, risk),
    }
    eligible = np.where(legal, of_rule[rule], np.nan)
    if np.all(np.isnan(eligible)):
        raise NotReadyError(
            f"rule={rule!r} has no point to choose from: it needs one that was told, satisfies "
            "valid=" + (", and was chosen by the strategy." if rule == "own_round" else ".")
        )
    return eligible


def choices(
    observations: Observations, bound: RiskBound, risk: RiskMeasure, legal: Mask, own_bound: Array
) -> dict[Rule, int]:
    """The index of the point that each rule reports, by the arguments of `choose`.

    ``"own_round"`` is missing until a point that the strategy chose is told.
    """
    worst = pessimistic_values(bound, observations.X)[2]
    return {
        rule: choose(rule, observations, bound=worst, own_bound=own_bound, risk=risk, legal=legal)
        for rule in get_args(Rule)
        if rule != "own_round" or not np.isnan(np.where(legal, own_bound, np.nan)).all()
    }


def best_scored(score: Array) -> Index:
    """Rows of the best scores ``(n,)``, the best first: `SCORED` at most, none that is NaN."""
    some = min(SCORED, int(np.sum(~np.isnan(score))))
    return np.argsort(-score, kind="stable")[:some]


def _empirical(observations: Observations, risk: RiskMeasure) -> Array:
    """The risk measure of sample mean and sample variance, ``(n,)``.

    A single value says nothing of its variance: such points count only among themselves.
    """
    s2 = observations.sample_var
    single = np.isnan(s2)
    if single.all():
        return observations.mean
    return np.where(single, np.nan, risk.value(observations.mean, np.where(single, 0.0, s2)))
