"""When a run has learned enough to end before its budget is spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rahbo.arrays import Array
from rahbo.checks import is_finite
from rahbo.errors import SettingsError
from rahbo.ledger import outcomes_of
from rahbo.optimizer import Optimizer
from rahbo.policy.acquisition import optimistic, pessimistic
from rahbo.policy.feasibility import Success
from rahbo.policy.search import Domain, maximise, values
from rahbo.report.posterior import joint_posterior, leading
from rahbo.threads import one_blas_thread

__all__ = ["Gap", "PBest", "Stop", "optimality_gap"]


class Stop(ABC):
    """A reason to end a run, looked at after each suggestion once the initial design is told."""

    @abstractmethod
    def is_met(self, optimizer: Optimizer) -> bool:
        """Whether the run may end; a pure function of its settings and data."""


@dataclass(frozen=True)
class PBest(Stop):
    """The recommended point is the best of the evaluated ones with some probability.

    P(risk of the recommended point >= risk of every rival - within) >= level

    Rivals are the evaluated points, as for ``Recommendation.p_best``, and the point of the space
    with the largest optimistic value: what no one tried may be better too. Points close to each
    other share the probability of being the best, so that a continuous space needs a ``within``.

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
        X = _evaluated(optimizer)
        if len(X) == 0 or self._probability(optimizer, X) < self.level:
            return False
        rival = _most_promising(optimizer)
        if (rival == X).all(axis=1).any():
            return True
        return self._probability(optimizer, np.vstack([X, rival])) >= self.level

    def _probability(self, optimizer: Optimizer, X: Array) -> float:
        """That of the best lower bound among ``X (n, d)``, evaluated points first."""
        settings, model = optimizer.settings, optimizer.model
        with one_blas_thread():
            bound = values(settings.strategy.report_bound(model, settings.risk), X)
            reported = int(np.argmax(bound[: len(_evaluated(optimizer))]))
            points = np.union1d(leading(model, settings.risk, X), reported)
            posterior = joint_posterior(model, settings.risk, X, points, settings.seed)
        short = posterior.risk.max(axis=1) - posterior.risk[:, points == reported][:, 0]
        return float(np.mean(short <= self.within))


@dataclass(frozen=True)
class Gap(Stop):
    """No point can be better than the recommended one by more than this, as far as is known.

    max over the space of R(ucb_f, lcb_var) - max over evaluated points of R(lcb_f, ucb_var)

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
        """Whether the bounds are that close."""
        X = _evaluated(optimizer)
        # What the evaluated points leave open costs no search.
        if len(X) == 0 or _difference(optimizer, X, X) > self.width:
            return False
        return optimality_gap(optimizer) <= self.width


def optimality_gap(optimizer: Optimizer) -> float:
    """The largest optimistic value over the space less the largest pessimistic one evaluated.

    In user units; infinite before a point that satisfies ``valid`` is told.
    """
    X = _evaluated(optimizer)
    if len(X) == 0:
        return np.inf
    return _difference(optimizer, np.vstack([X, _most_promising(optimizer)]), X)


def _difference(optimizer: Optimizer, X: Array, evaluated: Array) -> float:
    """The largest optimistic value at ``X`` less the largest pessimistic one at ``evaluated``."""
    model, risk = optimizer.model, optimizer.settings.risk
    with one_blas_thread():
        best = np.max(values(optimistic(model, risk), X))
        sure = np.max(values(pessimistic(model, risk), evaluated))
    return float(model.learned.scale * (best - sure))


def _evaluated(optimizer: Optimizer) -> Array:
    """The points that may be recommended, ``(n, d)``."""
    X = optimizer.observations.X
    return np.asarray(X[optimizer.settings.space.is_valid(X)])


def _most_promising(optimizer: Optimizer) -> Array:
    """The point of the space with the largest optimistic value, ``(1, d)``.

    Where evaluations failed before, values are weighed as they are for a proposal: what cannot be
    evaluated is no rival.
    """
    settings, model = optimizer.settings, optimizer.model
    success = Success.learn(*outcomes_of(optimizer.trials))
    # A point that has its repeats may be the best too: none is left out.
    domain = Domain(settings.space, optimizer.observations.best_first(), frozenset(), success)
    rng = np.random.default_rng([settings.seed, 3, len(optimizer.trials)])
    with one_blas_thread():
        return maximise(optimistic(model, settings.risk), domain, rng)[None]
