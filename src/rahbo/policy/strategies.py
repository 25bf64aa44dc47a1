"""The methods of the paper and the default, `TopTwo`: how each proposes and reports.

Algorithm 1 is `Rahbo`. Its lines 2 and 3 are `model.joint`, line 4 is `propose`, and lines 5 to 9
are `Optimizer.tell` and the next call of `model.joint`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, Registered, is_number, is_whole
from rahbo.policy import acquisition as acq
from rahbo.policy.domain import Domain, is_listed, random_point, samples
from rahbo.policy.feasibility import hoped
from rahbo.policy.screening import in_chunks
from rahbo.policy.search import Pool, maximise, maximise_widened
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.state import State

# Factors that widen the bounds in the search for a challenger.
WIDER = (2.0, 4.0)


@dataclass(frozen=True, eq=False)
class Turn:
    """What the next point is chosen from.

    A strategy maximises an `Acquisition` by `rahbo.policy.maximise`, or picks the `best` of some
    `points`. Both respect what may be proposed, the chance of failure and the limits of outcomes.

    Attributes:
        state: What the run knows.
        model: What is believed, with values drawn for the evaluations under way.
        domain: Where to look.
        rng: Seeded by the run's seed and the number of asks.
        pool: Points to choose from if several proposals share one search.
    """

    state: State
    model: MeanNoiseModel
    domain: Domain
    rng: np.random.Generator
    pool: Pool | None = None

    @property
    def risk(self) -> RiskMeasure:
        """The risk measure, in user units."""
        return self.state.settings.risk

    @property
    def told(self) -> MeanNoiseModel:
        """The model to propose by, given what was told alone."""
        return self.state.assumed or self.state.followed

    def points(self) -> Array:
        """Return points ``(m, d)`` to choose from: all of a list, else samples of the space."""
        listed = is_listed(self.domain.space)
        return self.domain.listed() if listed else samples(self.domain, self.rng)

    def best(self, X: Array, F: Array) -> Array:
        """Return the row ``(d,)`` of ``X (m, d)`` with the largest value in ``F (m,)``.

        It allows for failures and for the limits of outcomes.
        """
        success = self.domain.success
        if success is not None:
            F = hoped(in_chunks(success.chance, X), F, float(F.min()))
        return np.asarray(X[int(np.argmax(F))])

    def maximise_widened(self, bound: acq.RiskBound, widths: Sequence[float]) -> Iterator[Array]:
        """Yield the point ``(d,)`` with the largest value of the bound widened by each factor."""
        search = maximise_widened if self.pool is None else self.pool.maximise_widened
        return search(bound, widths, self.domain, self.rng)


class Strategy(Registered, ABC):
    """A way to choose the next point and the point to report.

    To write your own, make a frozen dataclass with `propose` and `report_bound`, and check it with
    `rahbo.testing.check_strategy`.

    Attributes:
        assumes: Whether it doubts the model. A single value that is too good to be noise is then
            measured again first, and as long as the data hardly show that the mean varies, points
            are proposed as if it did, or at random.
    """

    assumes: ClassVar[bool] = False

    @abstractmethod
    def propose(self, turn: Turn) -> Array:
        """Return the next point to evaluate, ``(d,)``."""

    def optimism(
        self, model: MeanNoiseModel, risk: RiskMeasure
    ) -> tuple[acq.RiskBound, Sequence[float]] | None:
        """Return the bound that is maximised, and the factors that may widen it.

        None if a proposal is not found in this way. Then several proposals cannot share a search.
        """
        return None

    @abstractmethod
    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the lower bound; the evaluated point with its largest value is reported."""


@dataclass(frozen=True)
class Rahbo(Strategy):
    """Risk-averse heteroscedastic Bayesian optimisation (Algorithm 1).

    x_t = argmax ucb_f(x) - alpha lcb_var(x), reported: argmax lcb_f(x) - alpha ucb_var(x)
    """

    def propose(self, turn: Turn) -> Array:
        """Maximise the optimistic risk bound."""
        bound = acq.optimistic(turn.model, turn.risk)
        return next(turn.maximise_widened(bound, (1.0,)))

    def optimism(
        self, model: MeanNoiseModel, risk: RiskMeasure
    ) -> tuple[acq.RiskBound, Sequence[float]]:
        """Return the optimistic risk bound and the factors that may widen it."""
        return acq.optimistic(model, risk), (1.0,)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the pessimistic risk bound."""
        return acq.pessimistic(model, risk)


@dataclass(frozen=True)
class TopTwo(Rahbo):
    """Algorithm 1, made robust against repeating its favourite and against a wrong model.

    Optimism alone may end at the leader, the point it would report anyway, and repeat it for ever
    under an overconfident model. If x_t lies beside the leader, a challenger is evaluated instead
    with probability 1/2. The challenger is the optimistic choice under bounds twice as wide, or
    four times as wide if that is still beside the leader. If there is none, x_t is evaluated.

    It doubts the model: see `doubted`. As long as the data hardly show that the mean varies at all,
    points are proposed by a model that assumes it (`rahbo.model.learn_assuming`).

    Attributes:
        beside: A point is beside the leader if their prior correlation is at least this.
    """

    assumes: ClassVar[bool] = True

    beside: float = 0.95

    def __post_init__(self) -> None:
        if not (is_number(self.beside) and 0 < self.beside <= 1):
            raise SettingsError(f"TopTwo needs beside in (0, 1], got {self.beside!r}.")

    def propose(self, turn: Turn) -> Array:
        """Return the optimistic choice or a challenger."""
        model, risk = turn.model, turn.risk
        # The coin comes first, because challengers are found in the same search.
        challenged = turn.rng.random() < 0.5
        widths = (1.0, *WIDER) if challenged else (1.0,)
        choices = turn.maximise_widened(acq.optimistic(model, risk), widths)
        x = next(choices)
        leader = self._leader(turn) if challenged else None
        if leader is None or not self._is_beside(x, leader, model):
            return x
        for challenger in choices:
            if not self._is_beside(challenger, leader, model):
                return challenger
        return x

    def optimism(
        self, model: MeanNoiseModel, risk: RiskMeasure
    ) -> tuple[acq.RiskBound, Sequence[float]]:
        """Return the optimistic risk bound and the factors that may widen it."""
        return acq.optimistic(model, risk), (1.0, *WIDER)

    def _leader(self, turn: Turn) -> Array | None:
        """Return the legal point ``(d,)`` that would be reported; None if there is none."""
        model, X = turn.model, turn.told.observations.X
        lower = self.report_bound(model, turn.risk)
        if turn.domain.space.conditions:
            # What was tried under any conditions, under those that are given now.
            X = turn.domain.known
            legal, values = turn.domain.space.is_valid(X), lower.value(X)
        else:
            legal = turn.domain.space.is_valid(X)
            values = acq.at_observations(lower)
        if turn.domain.limits is not None:
            legal = turn.domain.limits.reportable(X, legal)
        F = np.where(legal, values, -np.inf)
        return np.asarray(X[int(np.argmax(F))]) if legal.any() else None

    def _is_beside(self, x: Array, leader: Array, model: MeanNoiseModel) -> bool:
        return bool(model.mean.kernel.are_beside(x[None], leader, self.beside)[0])


@dataclass(frozen=True)
class RahboUS(Strategy):
    """RAHBO with uncertainty sampling: learn the noise first, then rely on its posterior mean.

    First argmax of the noise's posterior deviation, then x_t = argmax ucb_f(x) - alpha mu_var(x)

    Attributes:
        learning_rounds: Rounds spent on the noise after the initial design. The noise model keeps
            learning afterwards.
    """

    learning_rounds: int = 10

    def __post_init__(self) -> None:
        n = self.learning_rounds
        if not is_whole(n) or n < 0:
            raise SettingsError(f"learning_rounds must be a whole number >= 0, got {n!r}.")

    def propose(self, turn: Turn) -> Array:
        """Sample where the noise is most uncertain, then maximise the bound at its mean."""
        bound: acq.Acquisition = acq.optimistic_at_mean_noise(turn.model, turn.risk)
        if turn.state.counts.trials.get("strategy", 0) < self.learning_rounds:
            bound = acq.NoiseUncertainty(turn.model.noise)
        return maximise(bound, turn.domain, turn.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the bound that is pessimistic in f alone."""
        return acq.pessimistic_at_mean_noise(model, risk)


@dataclass(frozen=True)
class GPUCB(Strategy):
    """GP-UCB under heteroscedastic noise (eq. 7): optimistic, and neutral to risk.

    x_t = argmax ucb_f(x), reported: argmax lcb_f(x)
    """

    def propose(self, turn: Turn) -> Array:
        """Maximise the upper bound on f."""
        bound = acq.optimistic(turn.model, MeanVariance(0.0))
        return maximise(bound, turn.domain, turn.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the lower bound on f, whatever the risk measure."""
        return acq.pessimistic(model, MeanVariance(0.0))


@dataclass(frozen=True)
class RandomSearch(Strategy):
    """Uniformly random points, reported by the pessimistic risk bound."""

    def propose(self, turn: Turn) -> Array:
        """Return a random point."""
        return random_point(turn.domain, turn.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the pessimistic risk bound."""
        return acq.pessimistic(model, risk)
