"""The trials with which a run begins: those of an earlier run in the same space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rahbo.errors import DataError, SpaceError
from rahbo.numerics import Array
from rahbo.space import Candidates, Space
from rahbo.trials.trial import Trial

# How far a recorded point may be from that of its parameters, as machines round differently.
ROUNDING = 1e-9
UNLIKE = "trials= must come from the same space, but"


def listed_trials(trials: object) -> list[Trial]:
    """Return what was given as trials of a run as a list; None stands for no trials."""
    if trials is None:
        return []
    listed: list[Any] = list(trials) if isinstance(trials, Iterable) else [trials]
    for i, trial in enumerate(listed):
        if not isinstance(trial, Trial):
            raise DataError(
                f"trials= must be the trials of a run, got {type(trial).__name__} at [{i}]. Pass "
                "optimizer.trials or result.trials."
            )
    return listed


def checked_trials(trials: Sequence[Trial], space: Space) -> dict[int, Trial]:
    """Return the trials of a run by id, after checking that they are complete and fit the space."""
    by_id = {trial.id: trial for trial in sorted(trials, key=lambda trial: trial.id)}
    if list(by_id) != list(range(len(trials))):
        raise DataError("trials= must be all trials of a run, numbered from 0 without gaps.")
    odd = next((trial for trial in trials if trial.params.keys() != set(space.names)), None)
    if odd is not None:
        raise DataError(
            f"{UNLIKE} trial {odd.id} has the names {list(odd.params)} and the space "
            f"{list(space.names)}. Pass trials of a run in this space."
        )
    points = _points_of(trials, space)
    for trial, x in points:
        if not is_same_point(trial.x, x):
            raise DataError(
                f"{UNLIKE} the x of trial {trial.id} is not the point of its parameters "
                f"{trial.params!r}. Pass the results as data=[(t.params, list(t.values.values())) "
                "for t in trials if t.values], or with their blocks, outcomes and failures as "
                "data=optimizer.to_frame()."
            )
    return by_id


def _points_of(trials: Sequence[Trial], space: Space) -> list[tuple[Trial, Array]]:
    """Return the trials whose parameters are in the space, each with their point ``(d,)``.

    Rows may have been dropped from a list of candidates, but not the rows at its ends, which would
    move all other points.
    """
    found = []
    for trial in trials:
        try:
            found.append((trial, space.encode(trial.params)))
        except SpaceError as error:
            if not isinstance(space.spec, Candidates) or trial.x.shape != (space.d,):
                raise DataError(
                    f"{UNLIKE} in trial {trial.id}, {error} Results within the space can be "
                    "passed as data=."
                ) from error
    if trials and not found:
        raise DataError(f"{UNLIKE} none of its parameters is among the candidates.")
    return found


def is_same_point(x: Array, y: Array) -> bool:
    """Return whether two points are the same but for rounding."""
    return x.shape == y.shape and bool(np.abs(x - y).max() <= ROUNDING)
