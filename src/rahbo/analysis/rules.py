"""Which evaluated point to report: the value that each rule compares, and its choice."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from rahbo.analysis.reportable import legal, own_bound, told, worst
from rahbo.errors import NotReadyError, SettingsError
from rahbo.numerics import Array, Index, largest_first
from rahbo.risk import RiskMeasure
from rahbo.state import State
from rahbo.trials import Observations

Rule = Literal["pessimistic", "own_round", "best_observed", "empirical"]
# The value that each rule compares.
SCORES: dict[Rule, str] = {
    "pessimistic": "pessimistic value",
    "own_round": "pessimistic value when it was proposed",
    "best_observed": "sample mean",
    "empirical": "risk value of its own measurements",
}
# The number of points with the best scores that are always considered.
SCORED = 40


def check_rule(rule: Rule, risk: RiskMeasure | None) -> None:
    """Raise an error for an unknown rule, or for a risk measure that the rule does not use."""
    if rule not in get_args(Rule):
        raise SettingsError(f"rule must be one of {', '.join(get_args(Rule))}, got {rule!r}.")
    if risk is not None and rule in ("own_round", "best_observed"):
        raise SettingsError(
            f"rule={rule!r} does not use risk=. Leave risk= out, or use rule='pessimistic'."
        )


def choose(rule: Rule, state: State) -> int:
    """Return the index of the point to report.

    Args:
        rule: ``"pessimistic"``: the largest bound of the last round. ``"own_round"``: the largest
            bound that a point had when it was chosen (Corollary 1.1). ``"best_observed"``: the
            largest sample mean. ``"empirical"``: the largest risk measure of sample mean and
            sample variance.
        state: What the run knows.
    """
    return int(largest_first(scores(rule, state))[0])


def scores(rule: Rule, state: State) -> Array:
    """Return the value that a rule compares at each point, ``(n,)``; NaN if it may not choose."""
    of_rule: dict[Rule, Array] = {
        "pessimistic": worst(state)[2],
        "own_round": own_bound(state),
        "best_observed": told(state).observations.mean,
        "empirical": _empirical(told(state).observations, state.risk),
    }
    eligible = np.where(legal(state), of_rule[rule], np.nan)
    if np.all(np.isnan(eligible)):
        chosen = " and was chosen by the strategy" if rule == "own_round" else ""
        raise NotReadyError(
            f"No point can be reported by rule={rule!r}. It needs one that was told and satisfies "
            f"valid={chosen}."
        )
    return eligible


def choices(state: State) -> dict[Rule, int]:
    """Return the index of the point that each rule reports.

    ``"own_round"`` is missing until a point that the strategy chose is told.
    """
    own = np.where(legal(state), own_bound(state), np.nan)
    return {
        rule: choose(rule, state)
        for rule in get_args(Rule)
        if rule != "own_round" or not np.isnan(own).all()
    }


def best_scored(score: Array) -> Index:
    """Return the rows of the best scores, the best first, at most `SCORED` and without NaN."""
    some = min(SCORED, int(np.sum(~np.isnan(score))))
    return largest_first(score)[:some]


def _empirical(observations: Observations, risk: RiskMeasure) -> Array:
    """Return the risk measure of sample mean and sample variance, ``(n,)``.

    A single value says nothing about its variance, so points with one value are compared only if
    there are no others.
    """
    s2 = observations.sample_var
    single = np.isnan(s2)
    if single.all():
        return observations.mean
    return np.where(single, np.nan, risk.value(observations.mean, np.where(single, 0.0, s2)))
