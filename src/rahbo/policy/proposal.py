"""What to evaluate next, as pure functions of all trials of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, replace

import numpy as np

from rahbo.errors import NotReadyError, SettingsError
from rahbo.model import MeanNoiseModel, as_told
from rahbo.numerics import Array, Stream, generator
from rahbo.policy.acquisition import at_observations, pessimistic_values
from rahbo.policy.blocks import complete_points, leader_to_complete
from rahbo.policy.conditions import placed, placed_best_first, seen_in
from rahbo.policy.confirmation import Contest
from rahbo.policy.constraints import Limits, jointly
from rahbo.policy.design import next_design_point
from rahbo.policy.domain import Domain, is_listed, random_point
from rahbo.policy.doubt import Doubts
from rahbo.policy.feasibility import Success
from rahbo.policy.repeats import CONFIRMED, Adaptive, Repeats
from rahbo.policy.screening import values
from rahbo.policy.search import Pool
from rahbo.policy.strategies import Situation, Strategy
from rahbo.risk import RiskMeasure
from rahbo.space import Space
from rahbo.trials import (
    Repetition,
    Source,
    Trial,
    attempts_at,
    observations_of,
    provided_points,
    tallies_of,
    valued,
)

# Of a given set of blocks, the most in which the recommended point is evaluated to confirm it.
MOST_CONFIRMED = 10
# Of thousands of points, the most that compete for the recommendation.
CONTENDERS = 512
# Posterior deviations added to what is believed of limits, in turn: as it is believed, and with
# hope, to learn where the limit is. Less hope is slower, more hope violates limits more often.
HOPES = (0.0, 1.5)


@dataclass(frozen=True, eq=False)
class PolicySettings:
    """The settings that decide where to evaluate next. `Optimizer` explains each of them.

    Attributes:
        space: Where to look.
        risk: The risk measure, in user units.
        strategy: How points are chosen and reported.
        repeats: How often a point is evaluated.
        n_initial: Distinct points before the strategy proposes.
        sign: Multiplies user values so that larger is better.
        seed: Seeds every random choice.
        blocks: The given set of blocks; empty if there is none.
        repetition: What shows that repeats are not noise; None if nothing does.
        in_doubt: Whether a few more repeats will show it.
    """

    space: Space
    risk: RiskMeasure
    strategy: Strategy
    repeats: Repeats
    n_initial: int
    sign: float
    seed: int
    blocks: tuple[str, ...] = ()
    repetition: Repetition | None = None
    in_doubt: bool = False

    def given(self, repetition: Repetition | None) -> PolicySettings:
        """Return the same settings, knowing whether repeats are noise.

        The number of repeats changes only if the user left it open.
        """
        if repetition is None or self.repetition is not None:
            return self
        repeats, n = self.repeats, repetition.n_values
        if not isinstance(repeats, Adaptive) or self.blocks:
            return self if repetition.lacking else replace(self, repetition=repetition)
        if repetition.lacking:
            return replace(self, in_doubt=True)
        fewer = replace(repeats, min=min(repeats.min, n), max=min(repeats.max, n))
        return replace(self, repeats=fewer, repetition=repetition)

    def at(self, space: Space) -> PolicySettings:
        """Return the same settings for the space at given conditions."""
        return self if space is self.space else replace(self, space=space)

    @property
    def is_spared(self) -> bool:
        """Whether points are not measured again because repeats would teach nothing."""
        chosen = isinstance(self.repeats, Adaptive) and not self.blocks
        return chosen and self.repetition is not None

    @property
    def revisit(self) -> bool:
        """Whether a point that has all its repeats may be proposed again."""
        may = self.space.revisit and self.repeats.population is None and not self.blocks
        return may and not self.is_spared

    @property
    def most(self) -> int:
        """The number of values after which a point needs no more."""
        return len(self.blocks) or self.repeats.most

    @property
    def confirmed(self) -> int:
        """The number of values after which a point may be used; 0 if it cannot be confirmed.

        A point of a given set of blocks is confirmed by evaluating it in all of them, or in ten.
        """
        if self.blocks:
            return min(len(self.blocks), MOST_CONFIRMED)
        return CONFIRMED if self.revisit and self.repetition is None else 0

    def excluded(self, trials: Iterable[Trial]) -> Set[bytes]:
        """Return the points that may not be proposed, as bytes.

        Without revisits these are the points that have, or will get, all their repeats. If only
        repeats are left, and all that speaks against them is that they teach nothing, none is
        excluded, so that a list is exhausted only where the user said so.
        """
        if self.blocks:
            return complete_points(list(trials), len(self.blocks))
        if self.revisit or self.has_all(trials := list(trials)):
            return set()
        return provided_points(trials, self.most)

    def has_all(self, trials: Iterable[Trial]) -> bool:
        """Return whether only repeats are left, which would teach nothing."""
        if not (self.is_spared and self.space.revisit and is_listed(self.space)):
            return False
        given = provided_points(trials, self.most)
        return all(x.tobytes() in given for x in self.space.enumerate())


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point to evaluate.

    Attributes:
        x: The point, ``(d,)``.
        source: Why it is proposed.
        repeats: How many evaluations are wanted there.
        own_bound: The strategy's lower bound at the point when it was chosen (Corollary 1.1), in
            user units and the sense of maximisation; None for points the strategy did not choose.
    """

    x: Array
    source: Source
    repeats: int
    own_bound: float | None = None


def propose_design(
    settings: PolicySettings, trials: Collection[Trial], domain: Domain, rng: np.random.Generator
) -> Proposal | None:
    """Return the next point of the initial design; None once enough points are told or under way.

    If every point of the design failed, the next point is a random one.
    """
    told = valued(trials)
    under_way: set[bytes] = set()
    for trial in trials if told else ():
        if trial.values or trial.n_missing:
            under_way.add(trial.x.tobytes())
        if len(under_way) >= settings.n_initial:
            return None
    x = next_design_point(settings.space, seen_in(settings.space, (t.x for t in trials)),
                          settings.seed)  # fmt: skip
    if x is None and not told:
        x = random_point(domain, rng)
    if x is None:
        return None
    data = observations_of(told, settings.sign) if told else None
    wanted = settings.repeats.initial(data)
    return Proposal(x, "design", min(wanted, settings.most) if settings.blocks else wanted)


def propose_first(
    settings: PolicySettings, trials: Collection[Trial], domain: Domain, points: Iterable[bytes]
) -> Proposal | None:
    """Return the first of the user's own points that was not asked for yet; None if all were.

    Past results at a point do not count: the user wants it tried all the same.

    Args:
        settings: The settings of the run.
        trials: All trials of the run.
        domain: Where to look.
        points: The user's own points, as bytes.
    """
    asked = seen_in(settings.space, (t.x for t in trials if t.source != "user"))
    told = valued(trials)
    for point in points:
        x = np.frombuffer(point).copy()
        if point in asked | domain.excluded or not settings.space.is_valid(x[None])[0]:
            continue
        wanted = settings.repeats.initial(observations_of(told, settings.sign) if told else None)
        return Proposal(x, "design", min(wanted, settings.most) if settings.blocks else wanted)
    return None


def propose_several(
    settings: PolicySettings,
    trials: Collection[Trial],
    told: MeanNoiseModel,
    pending: Collection[Trial],
    domain: Domain,
    asked: int,
    n: int,
    assumed: MeanNoiseModel | None = None,
) -> Iterator[Proposal]:
    """Yield ``n`` proposals, each as if the earlier ones had come back with values drawn for them.

    More than one share a search: they choose from the points that it found, by what is believed
    there after the drawn values. A strategy that does not maximise a bound searches for each.

    Args:
        settings: The settings of the run.
        trials: All trials of the run.
        told: The model given their values.
        pending: The trials with evaluations under way.
        domain: Where to look.
        asked: How many points were asked for before.
        n: How many proposals are wanted.
        assumed: The model to propose by, if it is another one.
    """
    by = assumed or told
    asking = with_pending(by, pending, generator(settings.seed, Stream.PENDING, asked))
    trials, pool, optimism = list(trials), None, None
    doubts = Doubts(by.observations, by, settings.risk, assumed is not None)
    domain = _informed(settings, domain, trials, told)
    others = domain.excluded - settings.excluded(trials)
    if n > 1:
        if not is_listed(settings.space):
            # Predictions at the pool are kept with the model, for as long as this one is used.
            asking = replace(asking, lists={})
        optimism = settings.strategy.optimism(asking, settings.risk)
    for i in range(asked, asked + n):
        rng = generator(settings.seed, Stream.PROPOSAL, i)
        if pool is None and optimism is not None:
            pool = Pool.of(*optimism, _with_limits(domain, 0.0), n, rng)
        found = _chosen(settings, trials, told, doubts, asking, domain, rng, pool)
        yield found
        params = settings.space.decode(found.x)
        trials.append(Trial(len(trials), params, found.x, found.repeats, found.source))
        draws = generator(settings.seed, Stream.PENDING, i + 1)
        asking = with_pending(asking, trials[-1:], draws)
        domain = replace(domain, excluded=others | settings.excluded(trials))


def _informed(
    settings: PolicySettings, domain: Domain, trials: Iterable[Trial], told: MeanNoiseModel
) -> Domain:
    """Return the domain with the known points, the chance of success and the incumbent."""
    failed = any(t.failures for t in trials)
    success = Success.learn(*tallies_of(trials)) if failed else None
    is_placed, limits = bool(domain.space.conditions), domain.limits
    if is_placed:
        known = placed_best_first(domain.space, told, settings.risk)
    else:
        known = told.observations.best_first()
    if limits is None:
        return replace(domain, known=known, success=success)
    known = known[np.argsort(limits.room(known) <= 0.0, kind="stable")]
    bound = settings.strategy.report_bound(told, settings.risk)
    X = known if is_placed else told.observations.X
    reported = values(bound, X) if is_placed else at_observations(bound)
    kept = reported[limits.kept(X) & settings.space.is_valid(X)]
    best = float(kept.max()) if len(kept) else None
    return replace(domain, known=known, success=success, incumbent=best)


def _with_limits(domain: Domain, hope: float) -> Domain:
    """Return the domain with the chance that all limits are kept, given a hope for it."""
    if domain.limits is None:
        return domain
    return replace(domain, success=jointly(domain.success, domain.limits.hoping(hope)))


def _chosen(
    settings: PolicySettings,
    trials: Collection[Trial],
    told: MeanNoiseModel,
    doubts: Doubts,
    asking: MeanNoiseModel,
    domain: Domain,
    rng: np.random.Generator,
    pool: Pool | None = None,
) -> Proposal:
    """Return the point that the strategy chooses, with how often to evaluate it."""
    rounds = sum(t.source == "strategy" for t in trials)
    domain = _with_limits(domain, HOPES[rounds % len(HOPES)])
    situation = Situation(
        doubts.observations,
        doubts.model,
        asking,
        settings.risk,
        domain,
        rounds,
        rng,
        trials,
        pool,
        doubts,
    )
    x = None
    if settings.blocks:
        lower = settings.strategy.report_bound(asking, settings.risk)
        x = leader_to_complete(situation, lower)
    if x is None:
        x = settings.strategy.propose(situation)
    return proposed_at(settings, trials, told, asking, x)


def proposed_at(
    settings: PolicySettings,
    trials: Collection[Trial],
    told: MeanNoiseModel,
    asking: MeanNoiseModel,
    x: Array,
) -> Proposal:
    """Return the proposal of a point ``x (d,)`` that was chosen, with its repeats and its bound."""
    bound = settings.strategy.report_bound(told, settings.risk)
    own_bound = told.units.to_outcome(float(bound.value(x[None])[0]))
    wanted = settings.repeats.wanted(asking, x)
    if settings.in_doubt:
        wanted = max(wanted, min(2, settings.repeats.most))
    if not settings.revisit:
        given = sum(t.provided for t in trials if t.is_at(x))
        # Where only repeats are left, one is asked for all the same: see `PolicySettings.excluded`.
        wanted = max(1, min(wanted, settings.most - given))
    return Proposal(x, "strategy", wanted, own_bound)


def with_pending(
    model: MeanNoiseModel, pending: Collection[Trial], rng: np.random.Generator
) -> MeanNoiseModel:
    """Return the model with values drawn from it for the evaluations under way."""
    X = np.array([t.x for t in pending]).reshape(len(pending), model.mean.kernel.d)
    count = np.array([t.n_missing for t in pending], dtype=np.intp)
    return model.with_pending(X, count, rng)


def contest_between(
    settings: PolicySettings,
    trials: Iterable[Trial],
    model: MeanNoiseModel,
    limits: Limits | None = None,
) -> tuple[Array, Contest]:
    """Return the points ``(n, d)`` that may be recommended, and the contest between them."""
    if not settings.confirmed:
        raise SettingsError(
            "Points can be confirmed only if they may be measured again, which revisit=False, "
            "Folds and noise_std=0 forbid."
        )
    bound = settings.strategy.report_bound(model, settings.risk)
    X = as_told(model.observations).X
    if settings.space.conditions:
        X = placed(settings.space, X)
    legal = settings.space.is_valid(X)
    if not legal.any():
        raise NotReadyError("No point can be confirmed: none that was told satisfies valid=.")
    if len(X) == model.observations.n:
        reported = pessimistic_values(bound, X)[2][legal]
        X = X[legal]
    else:
        # What is reported lies below the centre, which is much cheaper.
        X = X[legal]
        X = X[np.argsort(-values(bound.widened(0.0), X), kind="stable")[:CONTENDERS]]
        reported = pessimistic_values(bound, X)[2]
    tried, under_way = attempts_at(X, trials)
    if limits is not None:
        reported = limits.ranked(reported, X, tried)
    if not settings.blocks:
        return X, Contest(reported, tried, under_way)
    return X, Contest(reported, tried, under_way, settings.confirmed, settings.most)
