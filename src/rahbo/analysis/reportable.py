"""What was told, as a report sees it, and what may be reported of it.

Under given conditions every choice that was tried is placed under them: see `told`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rahbo.model import as_told
from rahbo.numerics import Array, Index, Mask
from rahbo.policy import Domain, limits, pessimistic_values, repeating, report_bound, whole_domain
from rahbo.space import Space, Time
from rahbo.state import State, kept
from rahbo.trials import Observations, Trial, own_bounds, valued

# How long ago a value may have been told to be about now, in spans of a time.
RECENT = 0.1


@dataclass(frozen=True, eq=False)
class Told:
    """The values by evaluated point.

    Attributes:
        observations: The data by point, in the sense of maximisation.
        count_here: How many values at each point ``(n,)`` are about the decision at hand.
        space: The space. A point that was told decodes to the parameters it was told with.
        trials: The trials that gave values at each point, by the bytes of the point.
    """

    observations: Observations
    count_here: Index
    space: Space
    trials: Mapping[bytes, Sequence[int]]

    def trials_at(self, x: Array) -> tuple[int, ...]:
        """Return the trials that gave values at an evaluated point ``x (d,)``."""
        return tuple(self.trials.get(x.tobytes(), ()))


@kept
def told(state: State) -> Told:
    """Return the values by evaluated point, or by choice under the conditions that are given."""
    rounds = sorted(valued(state.trials.values()), key=lambda trial: trial.id)
    if state.given is not None:
        return _placed(state, rounds)
    space, observations = state.space.with_told(state.params), as_told(state.model.observations)
    return Told(observations, observations.count, space, _by_point(rounds, [t.x for t in rounds]))


def _placed(state: State, rounds: Sequence[Trial]) -> Told:
    """Return the values that were told at each choice, under whatever conditions."""
    at = state.space
    X = np.array([trial.x for trial in rounds])
    choices = list(at.snap(X))
    values = [list(t.values.values()) for t in rounds]
    observations = Observations.from_rounds(choices, values, state.settings.sign)
    names: dict[bytes, Mapping[str, Any]] = {}
    for trial in state.trials.values():
        names.setdefault(at.snap(trial.x[None])[0].tobytes(), trial.params)
    # The column of a time counts spans.
    times = [name for name, part in at.conditions.items() if isinstance(part.declared, Time)]
    slack = np.where(np.isin(at.columns, times), RECENT, 0.0)
    here = (abs(X - at.snap(X)) <= slack)[:, at.given].all(axis=1)
    count = np.zeros(observations.n, dtype=np.intp)
    np.add.at(count, observations.rounds, np.where(here, [t.n_values for t in rounds], 0))
    return Told(observations, count, at.with_told(names), _by_point(rounds, choices))


def _by_point(rounds: Sequence[Trial], points: Sequence[Array]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for trial, x in zip(rounds, points, strict=True):
        found.setdefault(x.tobytes(), []).append(trial.id)
    return found


@kept
def domain(state: State) -> Domain:
    """Return where the best setting may lie."""
    return whole_domain(state, told(state).space, told(state).observations)


@kept
def legal(state: State) -> Mask:
    """Return which evaluated points may be reported, ``(n,)``.

    They satisfy ``valid`` and keep the limits of outcomes. If there are none of these, it is
    the one that violates the limits least.
    """
    X = told(state).observations.X
    valid, known = state.space.is_valid(X), limits(state)
    return valid if known is None else known.reportable(X, valid)


@kept
def own_bound(state: State) -> Array:
    """Return the strategy's bound when it chose a point, ``(n,)``; NaN if it did not choose it."""
    return own_bounds(state.trials.values(), told(state).observations)


@kept
def worst(state: State) -> tuple[Array, Array, Array]:
    """Return the mean, noise variance and value that the strategy reports by, each ``(n,)``."""
    return pessimistic_values(report_bound(state), told(state).observations.X)


@kept
def best_pessimistic(state: State) -> float | None:
    """Return the largest value that the strategy reports by; None if no evaluated point is legal.

    A point that is not sure to keep the limits of its outcomes does not count, even if there
    is no other. Of thousands of points, those count that the model has kept.
    """
    X, known = state.model.observations.X, limits(state)
    may = state.space.is_valid(X)
    if known is not None:
        may &= known.kept(X)
    value = pessimistic_values(report_bound(state), X)[2][may]
    return float(value.max()) if len(value) else None


def not_noise(state: State) -> str:
    """Return what to know if repeats are not noise; empty otherwise."""
    return str(repeating(state).repetition or "")
