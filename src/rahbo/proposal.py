"""What to evaluate next, given all trials of a run: pure functions of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from rahbo.arrays import Array
from rahbo.belief import valued
from rahbo.errors import NotReadyError, SettingsError
from rahbo.ledger import Source, Trial, attempts_at, observations_of, outcomes_of, tried_once
from rahbo.model.joint import MeanNoiseModel
from rahbo.observations import Observations
from rahbo.policy.confirmation import Contest
from rahbo.policy.design import next_design_point
from rahbo.policy.feasibility import Success
from rahbo.policy.search import Domain, random_point
from rahbo.policy.strategies import Situation
from rahbo.report.posterior import pessimistic_values
from rahbo.settings import Settings


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point to evaluate.

    Attributes:
        x: The point, ``(d,)``.
        source: Why it is proposed.
        repeats: Evaluations wanted there.
        own_bound: The strategy's lower bound there at the time (Corollary 1.1), in user units;
            None for points the strategy did not choose.
    """

    x: Array
    source: Source
    repeats: int
    own_bound: float | None = None


def propose_design(
    settings: Settings, trials: Collection[Trial], domain: Domain, rng: np.random.Generator
) -> Proposal | None:
    """The next point of the initial design; None once enough points are told or under way.

    Where all points of a design failed, it is a random one.
    """
    told = valued(trials)
    under_way = {t.x.tobytes() for t in trials if t.values or t.missing}
    if told and len(under_way) >= settings.n_initial:
        return None
    x = next_design_point(settings.space, {t.x.tobytes() for t in trials}, settings.seed)
    if x is None and not told:
        x = random_point(domain, rng)
    if x is None:
        return None
    data = observations_of(told, settings.sign) if told else None
    return Proposal(x, "design", settings.repeats.initial(data))


def propose(
    settings: Settings,
    trials: Collection[Trial],
    observations: Observations,
    told: MeanNoiseModel,
    asking: MeanNoiseModel,
    domain: Domain,
    rng: np.random.Generator,
) -> Proposal:
    """The point that the strategy chooses next.

    Args:
        settings: Those of the run.
        trials: All of the run.
        observations: Their data.
        told: What is believed given the data.
        asking: The same with what is under way, see `with_pending`.
        domain: Where to look.
        rng: Seeded by the run's seed and the number of asks.
    """
    success = Success.learn(*outcomes_of(trials))
    domain = replace(domain, known=observations.best_first(), success=success)
    rounds = sum(t.source == "strategy" for t in trials)
    situation = Situation(
        observations, told, asking, settings.risk, domain, rounds, rng, tried_once(trials)
    )
    x = settings.strategy.propose(situation)
    bound = settings.strategy.report_bound(told, settings.risk)
    units = bound.model.learned
    own_bound = units.shift + units.scale * float(bound.value(x[None])[0])
    wanted = settings.repeats.wanted(asking, x)
    if not settings.revisit:
        given = sum(t.provided for t in trials if t.is_at(x))
        wanted = min(wanted, settings.repeats.most - given)
    return Proposal(x, "strategy", wanted, own_bound)


def with_pending(
    model: MeanNoiseModel, pending: Collection[Trial], rng: np.random.Generator
) -> MeanNoiseModel:
    """The model that also knows what is under way, each such point by values it draws."""
    X = np.array([t.x for t in pending]).reshape(len(pending), model.mean.kernel.d)
    count = np.array([len(t.missing) for t in pending], dtype=np.intp)
    return model.with_pending(X, count, rng)


def contest_between(
    settings: Settings, trials: Iterable[Trial], observations: Observations, model: MeanNoiseModel
) -> tuple[Array, Contest]:
    """The points ``(n, d)`` that may be recommended, and what is known of them."""
    if not settings.revisit:
        raise SettingsError(
            "Points can be confirmed only if they may be measured again, which revisit=False and "
            "Folds forbid."
        )
    X = observations.X[settings.space.is_valid(observations.X)]
    if len(X) == 0:
        raise NotReadyError("No point can be confirmed: none that was told satisfies valid=.")
    reported = pessimistic_values(settings.strategy.report_bound(model, settings.risk), X)[2]
    return X, Contest(reported, *attempts_at(X, trials))
