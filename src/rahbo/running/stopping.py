"""Criteria that end a run before its budget is spent.

A criterion is any function of a `State` that returns whether the run may end. It is called after
each suggestion once the initial design is complete. It may have a method ``check(settings)``, which
raises an error at the start of a run that it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from rahbo.settings import Settings
from rahbo.state import State

__all__ = ["Gap", "Stop", "checked_stop", "shortfalls"]

# The number of evaluated points to compare before a search, and the sampling error of a
# probability that is estimated from their draws alone.
TRIED, SLACK = 64, 0.03


Stop = Callable[[State], bool]


def checked_stop(given: object, settings: Settings | None = None) -> Stop | None:
    """Return a criterion, after checking that it is a function and fits the settings of a run."""
    if given is None or (callable(given) and not isinstance(given, type)):
        check = getattr(given, "check", None)
        if settings is not None and check is not None:
            check(settings)
        return given
    if hasattr(given, "is_met"):
        raise SettingsError(
            f"stop= is a function of the run's state, got {given!r}. Rename its method "
            "is_met(self, optimizer) to __call__(self, state); the state is optimizer.state."
        )
    raise SettingsError(
        f"stop must be Gap(0.1) or a function of the run's state, such as "
        f"lambda state: len(state.trials) >= 20, got {given!r}."
    )


@dataclass(frozen=True)
class Gap:
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

    def check(self, settings: Settings) -> None:
        """Raise an error for a space with conditions."""
        if settings.space.conditions:
            raise SettingsError(
                f"stop={self!r} compares settings under the same conditions, but the space has "
                f"the conditions {list(settings.space.conditions)}. Leave it out."
            )

    def __call__(self, state: State) -> bool:
        """Return whether the bound on the gain is at most ``width``."""
        return _holds(
            Gain.of(short, LEVEL - slack).bound <= self.width for short, slack in shortfalls(state)
        )


def shortfalls(state: State) -> Iterator[tuple[Array, float]]:
    """Yield draws ``(n,)`` of how far the recommended setting is below the best, in user units.

    The first draws compare it with the evaluated settings, the second with the whole space, after
    a search. Each comes with its sampling error. Nothing is yielded before a point that satisfies
    ``valid`` and surely keeps its limits is told, nor while all values are equal: they do not show
    how large a difference in the user's units would be.
    """
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
