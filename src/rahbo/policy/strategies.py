"""The methods of the paper and the default, `TopTwo`: how each proposes and reports.

Algorithm 1 is `Rahbo`: its lines 2 and 3 are `model.joint`, line 4 is `propose`, lines 5 to 9
are `Optimizer.tell` and the next call of `model.joint`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, is_number, is_whole
from rahbo.policy import acquisition as acq
from rahbo.policy.doubt import knows_nothing, unbelieved
from rahbo.policy.search import (
    Domain,
    hopeful_point,
    index_of_best,
    maximise,
    maximise_widened,
    random_point,
)
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.trials import Observations

# How much wider the bounds are that look for a challenger.
WIDER = (2.0, 4.0)


@dataclass(frozen=True, eq=False)
class Situation:
    """All that a proposal depends on.

    Attributes:
        observations: What was told.
        told: What is believed of it.
        model: The same with pending points at values drawn from what is expected of them.
        risk: What is wanted.
        domain: Where to look.
        round: Rounds proposed by the strategy before this one.
        rng: Seeded by the run's seed and the number of asks.
        tried_once: Points asked for or told once, and nothing of it pending or failed, as bytes.
    """

    observations: Observations
    told: MeanNoiseModel
    model: MeanNoiseModel
    risk: RiskMeasure
    domain: Domain
    round: int
    rng: np.random.Generator
    tried_once: Set[bytes] = frozenset()


class Strategy(ABC):
    """A way to choose the next point and the point to report."""

    @abstractmethod
    def propose(self, situation: Situation) -> Array:
        """The next point to evaluate, ``(d,)``."""

    @abstractmethod
    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """The lower bound whose largest value among evaluated points is reported."""


@dataclass(frozen=True)
class Rahbo(Strategy):
    """Risk-averse heteroscedastic Bayesian optimisation (Algorithm 1).

    x_t = argmax ucb_f(x) - alpha lcb_var(x), reported: argmax lcb_f(x) - alpha ucb_var(x)
    """

    def propose(self, situation: Situation) -> Array:
        """Maximise the optimistic risk bound."""
        bound = acq.optimistic(situation.model, situation.risk)
        return maximise(bound, situation.domain, situation.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """The pessimistic risk bound."""
        return acq.pessimistic(model, risk)


@dataclass(frozen=True)
class TopTwo(Rahbo):
    """Algorithm 1 that does not rest on its favourite, nor on a model that may be wrong.

    Optimism alone may end at the point it would report anyway, and repeat it for ever under a
    model that is too sure of itself. Where x_t lies beside that point, the leader, a challenger is
    evaluated instead half of the time, by chance: the optimistic choice under bounds twice as wide,
    or four times where that is still beside the leader. There may be none; then it is x_t.

    A single value too good to be believed is looked at again first. And as long as the data hardly
    tell that the mean varies at all, half of the proposals, by chance, are random points.

    Attributes:
        beside: Prior correlation with the leader from which on a point is beside it.
    """

    beside: float = 0.95

    def __post_init__(self) -> None:
        if not (is_number(self.beside) and 0 < self.beside <= 1):
            raise SettingsError(f"TopTwo needs beside in (0, 1], got {self.beside!r}.")

    def propose(self, situation: Situation) -> Array:
        """A point to look at again, a random one, the optimistic choice or its challenger."""
        model, risk, domain = situation.model, situation.risk, situation.domain
        again = unbelieved(situation.observations, situation.told, risk)
        for x in again[domain.allowed(again)]:
            if x.tobytes() in situation.tried_once:
                return np.asarray(x)
        lost = knows_nothing(situation.observations, situation.told)
        if lost and situation.rng.random() < 0.5:
            anywhere = hopeful_point(domain, situation.rng)
            if anywhere is not None:
                return anywhere
        bound = acq.optimistic(model, risk)
        choices = maximise_widened(bound, (1.0, *WIDER), domain, situation.rng)
        x = next(choices)
        known = domain.known[domain.space.is_valid(domain.known)]
        if len(known) == 0:
            return x
        lower = self.report_bound(model, risk)
        leader = known[index_of_best(lower, acq.central(model, risk), known)]
        if not self._is_beside(x, leader, model) or situation.rng.random() < 0.5:
            return x
        for challenger in choices:
            if not self._is_beside(challenger, leader, model):
                return challenger
        return x

    def _is_beside(self, x: Array, leader: Array, model: MeanNoiseModel) -> bool:
        pair = np.vstack([x, leader])
        own = np.sqrt(np.prod(model.mean.kernel.diagonal(pair)))
        return bool(model.mean.kernel(pair[:1], pair[1:])[0, 0] >= self.beside * own)


@dataclass(frozen=True)
class RahboUS(Strategy):
    """RAHBO with uncertainty sampling: learn the noise first, then trust its mean.

    First argmax of the noise's posterior deviation, then x_t = argmax ucb_f(x) - alpha mu_var(x)

    Attributes:
        learning_rounds: Rounds spent on the noise after the initial design. The noise model goes
            on learning afterwards.
    """

    learning_rounds: int = 10

    def __post_init__(self) -> None:
        n = self.learning_rounds
        if not is_whole(n) or n < 0:
            raise SettingsError(f"learning_rounds must be a whole number >= 0, got {n!r}.")

    def propose(self, situation: Situation) -> Array:
        """Sample the most uncertain noise, then maximise the bound at its mean."""
        bound: acq.Acquisition = acq.optimistic_at_mean_noise(situation.model, situation.risk)
        if situation.round < self.learning_rounds:
            bound = acq.NoiseUncertainty(situation.model.noise)
        return maximise(bound, situation.domain, situation.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """Pessimistic in f alone."""
        return acq.pessimistic_at_mean_noise(model, risk)


@dataclass(frozen=True)
class GPUCB(Strategy):
    """GP-UCB under heteroscedastic noise (eq. 7): optimistic, and neutral to risk.

    x_t = argmax ucb_f(x), reported: argmax lcb_f(x)
    """

    def propose(self, situation: Situation) -> Array:
        """Maximise the upper bound of f."""
        bound = acq.optimistic(situation.model, MeanVariance(0.0))
        return maximise(bound, situation.domain, situation.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """The lower bound of f, whatever the risk measure."""
        return acq.pessimistic(model, MeanVariance(0.0))


@dataclass(frozen=True)
class RandomSearch(Strategy):
    """Uniformly random points, reported by the pessimistic risk bound."""

    def propose(self, situation: Situation) -> Array:
        """Draw a point."""
        return random_point(situation.domain, situation.rng)

    def report_bound(self, model: MeanNoiseModel, risk: RiskMeasure) -> acq.RiskBound:
        """The pessimistic risk bound."""
        return acq.pessimistic(model, risk)
