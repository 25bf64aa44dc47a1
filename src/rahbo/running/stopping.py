"""Criteria that end a run before its budget is spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rahbo.analysis import (
    LEVEL,
    Gain,
    among,
    best_pessimistic,
    best_scored,
    domain,
    legal,
    prospects,
    told,
    worst,
)
from rahbo.errors import SettingsError
from rahbo.numerics import Array, is_finite, one_blas_thread
from rahbo.optimizer import Optimizer

__all__ = ["Gap", "Stop", "shortfalls"]

# The number of evaluated points to compare before a search, and the sampling error of a
# probability that is estimated from their draws alone.
TRIED, SLACK = 64, 0.03


class Stop(ABC):
    """A criterion that ends a run, checked after each suggestion once the design is complete."""

    @abstractmethod
    def is_met(self, optimizer: Optimizer) -> bool:
        """Return whether the run may end; a pure function of its settings and data."""


@dataclass(frozen=True)
class Gap(Stop):
    """Stop when, with 90 % probability, no setting is better by more than ``width``.

    That is, when ``Recommendation.gain.bound`` is at most ``width``. As long as all values are
    equal, nothing shows how much ``width`` is, and the run goes on.

    Attributes:
        width: The largest difference in risk value that does not matter, in user units.
    """

    width: float

    def __post_init__(self) -> None:
        if not (is_finite(self.width) and self.width > 0.0):
            raise SettingsError(
                f"Gap needs a positive width, in units of the objective, got {self.width!r}."
            )

    def is_met(self, optimizer: Optimizer) -> bool:
        """Return whether the bound on the gain is at most ``width``."""
        return _holds(
            Gain.of(short, LEVEL - slack).bound <= self.width
            for short, slack in shortfalls(optimizer)
        )


def shortfalls(optimizer: Optimizer) -> Iterator[tuple[Array, float]]:
    """Yield draws ``(n,)`` of how far the recommended setting is below the best, in user units.

    The first draws compare it with the evaluated settings, the second with the whole space, after
    a search. Each comes with its sampling error. Nothing is yielded before a point that satisfies
    ``valid`` and surely keeps its limits is told, nor while all values are equal: they do not show
    how large a difference in the user's units would be.
    """
    state = optimizer.state
    data, model, seed = told(state).observations, state.model, state.settings.seed
    if not model.settings.have_scale(data):
        return
    score = np.where(legal(state), worst(state)[2], np.nan)
    if best_pessimistic(state) is None:
        return
    first = data.X[best_scored(score)]
    with one_blas_thread():
        tried = among(model, state.risk, first[:1], data.X[legal(state)], seed, TRIED)
    yield tried.shortfall(first[0]), SLACK
    with one_blas_thread():
        whole = prospects(model, state.risk, domain(state), first, seed)
    yield whole.shortfall(first[0]), 0.0


def _holds(looks: Iterator[bool]) -> bool:
    """Return whether all checks hold, and there is at least one; end at the first that fails."""
    return next(looks, False) and all(looks)
