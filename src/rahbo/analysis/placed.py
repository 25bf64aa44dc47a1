"""What a run knows, with every choice that was tried placed under given conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rahbo.analysis.snapshot import Snapshot
from rahbo.numerics import Array, Index
from rahbo.space import Space, Time
from rahbo.trials import Observations, Trial, valued

# How long ago a value may have been told to be about now, in spans of a time.
RECENT = 0.1


@dataclass(frozen=True, eq=False)
class Placed(Snapshot):
    """What a run knows, with every choice that was tried placed under given conditions."""

    @cached_property
    def space(self) -> Space:
        """The space. A choice that was told decodes to the parameters it was told with."""
        at = self.settings.space
        told: dict[bytes, Mapping[str, Any]] = {}
        for trial in self.trials:
            told.setdefault(at.snap(trial.x[None])[0].tobytes(), trial.params)
        return at.with_told(told)

    def _placed(self, trials: Sequence[Trial]) -> Sequence[Array]:
        """Return the choice of each trial under the given conditions, each ``(d,)``."""
        return list(self.settings.space.snap(np.array([t.x for t in trials])))

    @cached_property
    def observations(self) -> Observations:
        """The values that were told at each choice, under whatever conditions."""
        told = sorted(valued(self.trials), key=lambda trial: trial.id)
        X = self._placed(told)
        values = [list(t.values.values()) for t in told]
        return Observations.from_rounds(X, values, self.settings.sign)

    @cached_property
    def count_here(self) -> Index:
        """How many values were told at each choice under these conditions, or a little earlier."""
        at, observations = self.settings.space, self.observations
        told = sorted(valued(self.trials), key=lambda trial: trial.id)
        X = np.array([t.x for t in told])
        # The column of a time counts spans.
        times = [name for name, part in at.conditions.items() if isinstance(part.declared, Time)]
        slack = np.where(np.isin(at.columns, times), RECENT, 0.0)
        here = (abs(X - at.snap(X)) <= slack)[:, at.given].all(axis=1)
        count = np.zeros(observations.n, dtype=np.intp)
        np.add.at(count, observations.rounds, np.where(here, [len(t.values) for t in told], 0))
        return count


def placed_under(known: Snapshot, at: Space) -> Placed:
    """Return what a run knows under the conditions that a space is at."""
    return Placed(replace(known.settings, space=at), known.trials, known.bound, known.limits)
