"""The methods of the paper and the default, `TopTwo`: how each proposes and reports.

Algorithm 1 is `Rahbo`. Its lines 2 and 3 are `model.joint`, line 4 is `propose`, and lines 5 to 9
are `Optimizer.tell` and the next call of `model.joint`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, is_number, is_whole
from rahbo.policy import acquisition as acq
from rahbo.policy.domain import Domain, hopeful_point, random_point
from rahbo.policy.doubt import Doubts
from rahbo.policy.search import Pool, maximise, maximise_widened
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.trials import Observations, Trial, tried_once

# Factors that widen the bounds in the search for a challenger.
WIDER = (2.0, 4.0)
# The share of random points as long as the data hardly show that the mean varies.
RANDOM_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Situation:
    """Everything that a proposal depends on.

    Attributes:
        observations: What was told.
        told: The model to propose by, given what was told.
        model: The same model, with values drawn for the evaluations under way.
        risk: The risk measure, in user units.
        domain: Where to look.
        n_chosen: How many points the strategy proposed before this one.
        rng: Seeded by the run's seed and the number of asks.
        trials: All trials of the run.
        pool: Points to choose from if several proposals share one search.
        doubts: What speaks against the model ``told``, if several proposals share it.
    """

    observations: Observations
    told: MeanNoiseModel
    model: MeanNoiseModel
    risk: RiskMeasure
    domain: Domain
    n_chosen: int
    rng: np.random.Generator
    trials: Collection[Trial] = ()
    pool: Pool | None = None
    doubts: Doubts | None = None

    def doubted(self) -> Array | None:
        """Return a point ``(d,)`` to evaluate as the model may be wrong; None if it is trusted.

        A single value that is too good to be noise is measured again. As long as the data hardly
        show that the mean varies at all, a random point is taken with probability 1/4.
        """
        doubts = self.doubts or Doubts(self.observations, self.told, self.risk)
        again = doubts.unbelieved
        again = again[self.domain.allowed(again)]
        if self.domain.limits is not None and len(again):
            again = again[self.domain.limits.room(again) > 0.0]
        for x in again:
            if tried_once(x, self.trials):
                return np.asarray(x)
        if doubts.knows_nothing and self.rng.random() < RANDOM_SHARE:
            return hopeful_point(self.domain, self.rng)
        return None

    def maximise_widened(self, bound: acq.RiskBound, widths: Sequence[float]) -> Iterator[Array]:
        """Yield the point ``(d,)`` with the largest value of the bound widened by each factor."""
        search = maximise_widened if self.pool is None else self.pool.maximise_widened
        return search(bound, widths, self.domain, self.rng)


class Strategy(ABC):
    """A way to choose the next point and the point to report.

    Attributes:
        assumes: Whether it proposes as if the mean varied, as long as the data hardly show that it
            does.
    """

    assumes: ClassVar[bool] = False

    @abstractmethod
    def propose(self, situation: Situation) -> Array:
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

    def propose(self, situation: Situation) -> Array:
        """Maximise the optimistic risk bound."""
        bound = acq.optimistic(situation.model, situation.risk)
        return next(situation.maximise_widened(bound, (1.0,)))

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

    A single value that is too good to be noise is measured again first. As long as the data hardly
    show that the mean varies at all, a proposal is a random point with probability 1/4. The others
    come from a model that assumes that the mean varies (`rahbo.model.learn_assuming`).

    Attributes:
        beside: A point is beside the leader if their prior correlation is at least this.
    """

    assumes: ClassVar[bool] = True

    beside: float = 0.95

    def __post_init__(self) -> None:
        if not (is_number(self.beside) and 0 < self.beside <= 1):
            raise SettingsError(f"TopTwo needs beside in (0, 1], got {self.beside!r}.")

    def propose(self, situation: Situation) -> Array:
        """Return a point to measure again, a random one, the optimistic choice or a challenger."""
        model, risk = situation.model, situation.risk
        doubted = situation.doubted()
        if doubted is not None:
            return doubted
        # The coin comes first, because challengers are found in the same search.
        challenged = situation.rng.random() < 0.5
        widths = (1.0, *WIDER) if challenged else (1.0,)
        choices = situation.maximise_widened(acq.optimistic(model, risk), widths)
        x = next(choices)
        leader = self._leader(situation) if challenged else None
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

    def _leader(self, situation: Situation) -> Array | None:
        """Return the legal point ``(d,)`` that would be reported; None if there is none."""
        model, X = situation.model, situation.observations.X
        lower = self.report_bound(model, situation.risk)
        if situation.domain.space.conditions:
            # What was tried under any conditions, under those that are given now.
            X = situation.domain.known
            legal, values = situation.domain.space.is_valid(X), lower.value(X)
        else:
            legal = situation.domain.space.is_valid(X)
            values = acq.at_observations(lower)
        if situation.domain.limits is not None:
            legal = situation.domain.limits.reportable(X, legal)
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

    def propose(self, situation: Situation) -> Array:
        """Sample where the noise is most uncertain, then maximise the bound at its mean."""
        bound: acq.Acquisition = acq.optimistic_at_mean_noise(situation.model, situation.risk)
        if situation.n_chosen < self.learning_rounds:
            bound = acq.NoiseUncertainty(situation.model.noise)
        return maximise(bound, situation.domain, situation.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the bound that is pessimistic in f alone."""
        return acq.pessimistic_at_mean_noise(model, risk)


@dataclass(frozen=True)
class GPUCB(Strategy):
    """GP-UCB under heteroscedastic noise (eq. 7): optimistic, and neutral to risk.

    x_t = argmax ucb_f(x), reported: argmax lcb_f(x)
    """

    def propose(self, situation: Situation) -> Array:
        """Maximise the upper bound on f."""
        bound = acq.optimistic(situation.model, MeanVariance(0.0))
        return maximise(bound, situation.domain, situation.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the lower bound on f, whatever the risk measure."""
        return acq.pessimistic(model, MeanVariance(0.0))


@dataclass(frozen=True)
class RandomSearch(Strategy):
    """Uniformly random points, reported by the pessimistic risk bound."""

    def propose(self, situation: Situation) -> Array:
        """Return a random point."""
        return random_point(situation.domain, situation.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Return the pessimistic risk bound."""
        return acq.pessimistic(model, risk)
