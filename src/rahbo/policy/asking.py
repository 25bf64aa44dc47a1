"""What to evaluate next: a list of steps, of which the first that answers wins.

A step is a function of a state. The last one is the strategy, which may propose several points that
share a search. Whatever cuts across enters in one place: what may be proposed, what is known to be
good and the chance that an evaluation is of use are the `Domain`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, Stream, generator
from rahbo.policy import acquisition as acq
from rahbo.policy.conditions import placed_best_first, seen_in
from rahbo.policy.constraints import jointly, limits_followed
from rahbo.policy.design import next_design_point
from rahbo.policy.domain import Domain, hopeful_point, is_listed, random_point
from rahbo.policy.doubt import knows_nothing, unbelieved
from rahbo.policy.feasibility import success
from rahbo.policy.revisits import excluded, repeating
from rahbo.policy.safety import safe_point
from rahbo.policy.screening import values
from rahbo.policy.search import Pool
from rahbo.policy.strategies import Turn
from rahbo.state import State
from rahbo.trials import Source, Trial, tried_once

# Posterior deviations added to what is believed of limits, in turn: as it is believed, and with
# hope, to learn where the limit is. Less hope is slower, more hope violates limits more often.
HOPES = (0.0, 1.5)
# The share of random points as long as the data hardly show that the mean varies.
RANDOM_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point to evaluate.

    Attributes:
        x: The point, ``(d,)``.
        source: Why it is proposed.
        repeats: How many evaluations are wanted there.
        own_bound: The strategy's lower bound at the point when it was chosen (Corollary 1.1), in
            user units and the sense of maximisation; None for points the strategy did not choose.
        wish: The parameters as the user wrote them; None if the user did not ask for the point.
    """

    x: Array
    source: Source
    repeats: int
    own_bound: float | None = None
    wish: Mapping[str, Any] | None = None


def propose(state: State, n: int, also: Set[bytes] = frozenset()) -> Iterator[Proposal]:
    """Yield the next proposal, or up to ``n`` that share a search.

    Args:
        state: What the run knows, at the present conditions.
        n: How many proposals are wanted.
        also: Further points that may not be proposed, as bytes.
    """
    domain = Domain(state.space, np.empty((0, state.space.d)), excluded(state) | also)
    for step in STEPS:
        found = step(state, domain)
        if found is not None:
            yield found
            return
    yield from strategic(state, domain, n, also)


def n_asked(state: State) -> int:
    """Return how many points were asked for so far."""
    return len(state.trials) - state.counts.trials.get("user", 0)


# -- the steps ---------------------------------------------------------------------------------

Step = Callable[[State, Domain], Proposal | None]


def tried_first(state: State, domain: Domain) -> Proposal | None:
    """Return the first of the user's own settings that was not asked for yet.

    Past results there do not count: the user wants it tried all the same.
    """
    space = state.space
    if not state.settings.try_first:
        return None
    asked = seen_in(space, (t.x for t in state.trials.values() if t.source != "user"))
    for wish in map(space.with_given, state.settings.try_first):
        x = space.encode(wish)
        if x.tobytes() not in asked | domain.excluded and space.is_valid(x[None])[0]:
            return _of_design(state, x, wish)
    return None


def safe(state: State, domain: Domain) -> Proposal | None:
    """Return a point that surely keeps the limits, in a run that evaluates no other."""
    if not state.settings.safe:
        return None
    asked = n_asked(state)
    rng = generator(state.settings.seed, Stream.PROPOSAL, asked)
    return _of_strategy(state, *safe_point(state, domain, lambda: _pending(state, asked), rng))


def designed(state: State, domain: Domain) -> Proposal | None:
    """Return the next point of the initial design until enough points are told or under way.

    If every point of the design failed, the next point is a random one.
    """
    settings, trials = state.settings, state.trials.values()
    told = any(trial.n_values for trial in trials)
    under_way: set[bytes] = set()
    for trial in trials if told else ():
        if trial.evaluations.n_values or trial.n_missing:
            under_way.add(trial.x.tobytes())
        if len(under_way) >= settings.n_initial:
            return None
    x = next_design_point(state.space, seen_in(state.space, (t.x for t in trials)), settings.seed)
    if x is None and not told:
        x = random_point(domain, generator(settings.seed, Stream.PROPOSAL, n_asked(state)))
    return None if x is None else _of_design(state, x)


STEPS: tuple[Step, ...] = (tried_first, safe, designed)


def _of_design(state: State, x: Array, wish: Mapping[str, Any] | None = None) -> Proposal:
    """Return the proposal of a point that the model did not choose, with its repeats."""
    how = repeating(state)
    told = any(trial.n_values for trial in state.trials.values())
    wanted = how.repeats.initial(state.observations if told else None)
    return Proposal(x, "design", min(wanted, how.most) if how.n_blocks else wanted, wish=wish)


# -- the strategy ------------------------------------------------------------------------------


def strategic(
    state: State, domain: Domain, n: int, also: Set[bytes] = frozenset()
) -> Iterator[Proposal]:
    """Yield ``n`` proposals, each as if the earlier ones had come back with values drawn for them.

    More than one share a search: they choose from the points that it found, by what is believed
    there after the drawn values. A strategy that does not maximise a bound searches for each.
    """
    settings, space, asked = state.settings, state.space, n_asked(state)
    model, pool, optimism = _pending(state, asked), None, None
    domain = _informed(state, domain)
    if n > 1:
        if not is_listed(space):
            # Predictions at the pool are kept with the model, for as long as this one is used.
            model = replace(model, lists={})
        optimism = settings.method.strategy.optimism(model, settings.risk)
    for i in range(asked, asked + n):
        rng = generator(settings.seed, Stream.PROPOSAL, i)
        if pool is None and optimism is not None:
            pool = Pool.of(*optimism, _with_limits(domain, 0.0), n, rng)
        hope = HOPES[state.counts.trials.get("strategy", 0) % len(HOPES)]
        turn = Turn(state, model, _with_limits(domain, hope), rng, pool)
        found = _of_strategy(state, _chosen(turn), model)
        yield found
        opened = Trial(len(state.trials), space.decode(found.x), found.x, found.repeats, "strategy")
        state = state.told(opened)
        model = _with_pending(model, [opened], generator(settings.seed, Stream.PENDING, i + 1))
        domain = replace(domain, excluded=also | excluded(state))


def _chosen(turn: Turn) -> Array:
    """Return the point ``(d,)`` of the first rule that names one; the strategy always does."""
    for rule in (leader_to_complete, doubted):
        x = rule(turn)
        if x is not None:
            return x
    return turn.state.settings.method.strategy.propose(turn)


def leader_to_complete(turn: Turn) -> Array | None:
    """Return the point ``(d,)`` with the largest lower bound among those that lack blocks.

    A strategy prefers a new point beside a good one to another value of it, because neighbours tell
    about each other. But in all its blocks a point is known exactly, and nothing else shows which
    of several good points is the best. So in half of the cases it is the leader's turn.
    """
    settings = turn.state.settings
    if not settings.blocks or turn.rng.random() >= 0.5:
        return None
    X = turn.told.observations.X
    rows = np.flatnonzero(turn.domain.allowed(X))
    if len(rows) == 0:
        return None
    F = acq.at_observations(settings.method.strategy.report_bound(turn.model, settings.risk))
    return np.asarray(X[rows[np.argmax(F[rows])]])


def doubted(turn: Turn) -> Array | None:
    """Return a point ``(d,)`` to evaluate as the model may be wrong; None if it is trusted.

    A single value that is too good to be noise is measured again. As long as the data hardly show
    that the mean varies at all, a random point is taken with probability 1/4.
    """
    state, domain = turn.state, turn.domain
    if not state.settings.method.strategy.assumes:
        return None
    again = unbelieved(state)
    again = again[domain.allowed(again)]
    if domain.limits is not None and len(again):
        again = again[domain.limits.room(again) > 0.0]
    for x in again:
        if tried_once(x, state.trials.values()):
            return np.asarray(x)
    if knows_nothing(state) and turn.rng.random() < RANDOM_SHARE:
        return hopeful_point(domain, turn.rng)
    return None


def _of_strategy(state: State, x: Array, model: MeanNoiseModel) -> Proposal:
    """Return the proposal of a point ``x (d,)`` that was chosen, with its repeats and its bound."""
    told, how, settings = state.followed, repeating(state), state.settings
    bound = settings.method.strategy.report_bound(told, settings.risk)
    own_bound = told.units.to_outcome(float(bound.value(x[None])[0]))
    wanted = how.repeats.wanted(model, x)
    if how.in_doubt:
        wanted = max(wanted, min(2, how.repeats.most))
    if not how.revisit:
        given = sum(t.provided for t in state.trials.values() if t.is_at(x))
        # Where only repeats are left, one is asked for all the same: see `excluded`.
        wanted = max(1, min(wanted, how.most - given))
    return Proposal(x, "strategy", wanted, own_bound)


def _pending(state: State, asked: int) -> MeanNoiseModel:
    """Return the model to propose by, with values drawn for the evaluations under way."""
    model = state.followed if state.settings.safe else state.assumed or state.followed
    if state.given is not None:
        # Predictions at a list are kept for later asks, but not those for one condition.
        model = replace(model, lists={})
    return _with_pending(model, state.open, generator(state.settings.seed, Stream.PENDING, asked))


def _with_pending(
    model: MeanNoiseModel, pending: Collection[Trial], rng: np.random.Generator
) -> MeanNoiseModel:
    X = np.array([t.x for t in pending]).reshape(len(pending), model.mean.kernel.d)
    count = np.array([t.n_missing for t in pending], dtype=np.intp)
    return model.with_pending(X, count, rng)


def _informed(state: State, domain: Domain) -> Domain:
    """Return the domain with the known points, the chance of success and the incumbent."""
    settings, told, limits = state.settings, state.followed, limits_followed(state)
    is_placed = bool(domain.space.conditions)
    if is_placed:
        known = placed_best_first(domain.space, told, settings.risk)
    else:
        known = told.observations.best_first()
    domain = replace(domain, known=known, success=success(state), limits=limits)
    if limits is None:
        return domain
    known = known[np.argsort(limits.room(known) <= 0.0, kind="stable")]
    bound = settings.method.strategy.report_bound(told, settings.risk)
    X = known if is_placed else told.observations.X
    reported = values(bound, X) if is_placed else acq.at_observations(bound)
    kept = reported[limits.kept(X) & domain.space.is_valid(X)]
    best = float(kept.max()) if len(kept) else None
    return replace(domain, known=known, incumbent=best)


def _with_limits(domain: Domain, hope: float) -> Domain:
    """Return the domain with the chance that all limits are kept, given a hope for it."""
    if domain.limits is None:
        return domain
    return replace(domain, success=jointly(domain.success, domain.limits.hoping(hope)))
