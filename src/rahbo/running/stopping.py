"""When a run has learned enough to end before its budget is spent.

Both criteria go by what a recommendation says of other settings: its ``gain``, over the whole
space. What the evaluated points leave open is looked at first, as that costs no search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rahbo.analysis import LEVEL, Gain, among, best_scored, prospects
from rahbo.errors import SettingsError
from rahbo.numerics import Array, is_finite, one_blas_thread
from rahbo.optimizer import Optimizer

__all__ = ["Gap", "PBest", "Stop", "shortfalls"]

# Evaluated points that are looked at before a search, and how far a probability from their draws
# alone may be off by chance.
TRIED, SLACK = 64, 0.03


class Stop(ABC):
    """A reason to end a run, looked at after each suggestion once the initial design is told."""

    @abstractmethod
    def is_met(self, optimizer: Optimizer) -> bool:
        """Whether the run may end; a pure function of its settings and data."""


@dataclass(frozen=True)
class PBest(Stop):
    """No other setting is better than the recommended one, with some probability.

    P(risk of the recommended setting >= risk of every other one - within) >= level

    Other settings are those of the whole space, tried or not. On a list it is
    ``Recommendation.p_best``. Settings close to each other share the probability of being the best,
    so that a continuous space needs a ``within``.

    Attributes:
        level: The probability, between 0 and 1.
        within: A difference in risk value that does not matter, in user units.
    """

    level: float = 0.95
    within: float = 0.0

    def __post_init__(self) -> None:
        if not (is_finite(self.level) and 0.0 < self.level < 1.0):
            raise SettingsError(
                f"PBest needs a probability between 0 and 1, such as 0.95, got {self.level!r}."
            )
        if not (is_finite(self.within) and self.within >= 0.0):
            raise SettingsError(
                f"PBest needs within >= 0, in units of the objective, got {self.within!r}."
            )

    def is_met(self, optimizer: Optimizer) -> bool:
        """Whether the recommendation is that sure."""
        return _holds(
            bool(np.mean(short <= self.within) >= self.level - slack)
            for short, slack in shortfalls(optimizer)
        )


@dataclass(frozen=True)
class Gap(Stop):
    """No setting is better than the recommended one by more than this, with 90 % probability.

    It is met once ``Recommendation.gain.bound`` is at most ``width``.

    Attributes:
        width: The largest difference in risk value that does not matter, in user units.
    """

    width: float

    def __post_init__(self) -> None:
        if not (is_finite(self.width) and self.width > 0.0):
            raise SettingsError(
                f"Gap needs a positive number, in units of the objective, got {self.width!r}."
            )

    def is_met(self, optimizer: Optimizer) -> bool:
        """Whether no more can be gained."""
        return _holds(
            Gain.of(short, LEVEL - slack).bound <= self.width
            for short, slack in shortfalls(optimizer)
        )


def shortfalls(optimizer: Optimizer) -> Iterator[tuple[Array, float]]:
    """Draws of how far the recommended setting is below the best, ``(n,)``, in user units.

    First below the best of the evaluated settings, then, after a search, below the best of the
    whole space. Each comes with its sampling error. None before a point
    that satisfies ``valid`` is told.
    """
    known = optimizer.snapshot()
    X, seed = known.observations.X, known.settings.seed
    with one_blas_thread():
        score = np.where(known.legal, known.pessimistic, np.nan)
    if not known.legal.any():
        return
    first = X[best_scored(score)]
    with one_blas_thread():
        tried = among(known.model, known.risk, first[:1], X[known.legal], seed, TRIED)
    yield tried.shortfall(first[0]), SLACK
    with one_blas_thread():
        whole = prospects(known.model, known.risk, known.domain, first, seed)
    yield whole.shortfall(first[0]), 0.0


def _holds(looks: Iterator[bool]) -> bool:
    """Whether there is something to look at and all of it holds. Ends at what does not."""
    return next(looks, False) and all(looks)
