"""Maximise an acquisition over the cube, a mixed space or a list of candidates.

Small finite spaces are searched exhaustively. Others are sampled, and the best samples climb.
Continuous columns follow the gradient, with all starts in one batch. Discrete parameters try
their neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rahbo.numerics import Array, BatchObjective, Index, Minimum, quasi_newton
from rahbo.policy.acquisition import Acquisition, Marginals, RiskBound
from rahbo.policy.domain import (
    AROUND,
    Domain,
    effort_for,
    is_listed,
    random_point,
    samples,
    scattered,
)
from rahbo.policy.feasibility import Hoped, Pressing
from rahbo.policy.screening import Screened, in_chunks, values

STARTS = 6  # samples that climb
SCOUTING = 6  # iterations after which only the leaders continue
LEADERS = 2  # number of leaders
SUMMIT = 100  # largest number of iterations of the leaders
CLIMBERS = 4  # neighbours that climb before they are compared
MOVES = 30  # largest number of moves in discrete parameters
POOL, CHOICE = 64, 4  # samples that several proposals choose from: at least, and for each of them
WANTED = 4  # samples with exact values, for each start


def maximise(acquisition: Acquisition, domain: Domain, rng: np.random.Generator) -> Array:
    """Return the legal point ``(d,)`` with the largest acquisition value found."""
    bound = acquisition.as_bound()
    if bound is not None and bound.is_optimistic:
        return next(maximise_widened(bound, (1.0,), domain, rng))
    X = domain.listed() if is_listed(domain.space) else samples(domain, rng)
    acquisition, F = allowing_for_failure(acquisition, values(acquisition, X), X, domain)
    order = np.argsort(-F, kind="stable")
    if is_listed(domain.space):
        return np.asarray(X[order[0]])
    ascent = _Ascent.begin(acquisition, domain, X, F, order)
    return ascent.end(*ascent.climb(rng), rng)


def maximise_widened(
    bound: RiskBound, widths: Sequence[float], domain: Domain, rng: np.random.Generator
) -> Iterator[Array]:
    """Yield what `maximise` finds for the bound widened by each factor, one after the other.

    The bound must be optimistic. The same points are predicted once for all factors, and where
    nothing but gradients guides a climb, all factors climb in one batch.
    """
    if is_listed(domain.space):
        yield from _best_listed(bound, widths, domain)
        return
    X = samples(domain, rng)
    wanted = WANTED * STARTS * effort_for(domain.space)
    found = screened(bound, widths, domain, X, wanted)
    ascents = (_Ascent.begin(a, domain, X, F, order) for a, F, order in found)
    yield from (a.end(*top, rng) for a, top in _climbed(bound, widths, ascents, domain, rng))


def _best_listed(bound: RiskBound, widths: Sequence[float], domain: Domain) -> Iterator[Array]:
    """Yield the best point of a list for the bound widened by each factor."""
    X, allowed = domain.everything()
    predicted = Marginals(*bound.model.predict_list(X))
    for wide in map(bound.widened, widths):
        _, F = allowing_for_failure(wide, wide.value_of(predicted), X, domain)
        yield np.array(X[int(np.argmax(np.where(allowed, F, -np.inf)))])


def screened(
    bound: RiskBound, widths: Sequence[float], domain: Domain, X: Array, wanted: int
) -> Iterator[tuple[Acquisition, Array, Index]]:
    """Yield, for each width, what to maximise, its values at ``X``, and the exact ones, best first.

    At least the ``wanted`` largest values are exact.
    """
    found, success = Screened.of(bound.model, X), domain.success
    chance = None if success is None else in_chunks(success.chance, X)
    for wide in map(bound.widened, widths):
        if chance is None:
            yield wide, *found.best(wide, wanted, lambda F: F)
            continue
        hoped = _hoped(wide, wide.value_of(found.found), domain)
        yield hoped, *found.best(wide, wanted, partial(hoped.weighed, chance))


def _climbed(
    bound: RiskBound,
    widths: Sequence[float],
    ascents: Iterable[_Ascent],
    domain: Domain,
    rng: np.random.Generator,
) -> Iterator[tuple[_Ascent, tuple[Array, Array]]]:
    """Yield each ascent with its tops ``(k, d)`` and their values ``(k,)``."""
    if domain.success is None and domain.space.valid is None and domain.space.continuous.all():
        together = list(ascents)
        tops = _climb_together(bound, np.asarray(widths), together)
        yield from zip(together, tops, strict=True)
    else:
        yield from ((ascent, ascent.climb(rng)) for ascent in ascents)


@dataclass(frozen=True, eq=False)
class Pool:
    """Promising points, found by one search, that several proposals choose from.

    Attributes:
        X: The points, ``(m, d)``. The model keeps its predictions there while values are added.
    """

    X: Array

    @classmethod
    def of(
        cls,
        bound: RiskBound,
        widths: Sequence[float],
        domain: Domain,
        n: int,
        rng: np.random.Generator,
    ) -> Pool:
        """Return the pool for ``n`` proposals that maximise a bound widened by some of the factors.

        It has the best samples, where they climb to, and points around, for each factor. Of a list
        it has all.
        """
        if is_listed(domain.space):
            return cls(domain.space.enumerate())
        X = samples(domain, rng)
        size = min(len(X), POOL + CHOICE * n)
        found = list(screened(bound, widths, domain, X, size))
        best = np.unique(np.concatenate([order[:size] for _, _, order in found]))
        ascents = [_Ascent.begin(a, domain, X, F, order) for a, F, order in found]
        tops = np.vstack([top[0] for _, top in _climbed(bound, widths, ascents, domain, rng)])
        near = scattered(domain.space, 0, 0, tops, AROUND, rng)
        return cls(np.vstack([tops, near[domain.allowed(near)], X[best]]))

    def maximise_widened(
        self,
        bound: RiskBound,
        widths: Sequence[float],
        domain: Domain,
        rng: np.random.Generator,
    ) -> Iterator[Array]:
        """Yield the best point of the pool for each factor."""
        included = domain.included(self.X)
        if is_listed(domain.space) or not included.any():
            yield from maximise_widened(bound, widths, domain, rng)
            return
        X = self.X[included]
        at = Marginals(*(part[included] for part in bound.model.predict_list(self.X)))
        for wide in map(bound.widened, widths):
            acquisition, F = allowing_for_failure(wide, wide.value_of(at), X, domain)
            order = np.argsort(-F, kind="stable")
            ascent = _Ascent.begin(acquisition, domain, X, F, order)
            yield ascent.end(X[order[:1]], F[order[:1]], rng)


def allowing_for_failure(
    acquisition: Acquisition, F: Array, X: Array, domain: Domain
) -> tuple[Acquisition, Array]:
    """Return an acquisition and its values at ``X (m, d)`` after allowing for failures."""
    if domain.success is None:
        return acquisition, F
    hoped = _hoped(acquisition, F, domain)
    return hoped, hoped.weighed(in_chunks(domain.success.chance, X), F)


def _hoped(acquisition: Acquisition, F: Array, domain: Domain) -> Hoped:
    """Return an acquisition with some values ``F (m,)`` after allowing for failures and limits."""
    success = domain.success
    if success is None:
        raise ValueError("The domain has no chance of success.")
    if domain.incumbent is not None and acquisition.as_bound() is not None:
        return Pressing(acquisition, success, domain.incumbent)
    return Hoped(acquisition, success, float(F.min()))


def _spaced_best(X: Array, order: Index, n: int) -> Index:
    """Return the first ``n`` points in this order, if possible none of them close to another."""
    order = order[: 20 * n]
    near = X[order]
    chosen: list[int] = []
    gap = np.full(len(order), np.inf)  # to the nearest point chosen so far
    for radius in (0.3, 0.1, 0.0):
        while len(chosen) < n and (gap > radius).any():
            chosen.append(int(np.argmax(gap > radius)))
            gap = np.minimum(gap, np.abs(near - near[chosen[-1]]).max(axis=1))
    return np.asarray(order[chosen], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class _Ascent:
    """The way from samples to the top.

    Attributes:
        uphill: How to climb.
        sampled: Samples, the best first.
        X: Samples that climb, ``(m, d)``.
        F: Their values, ``(m,)``.
    """

    uphill: _Climb
    sampled: Array
    X: Array
    F: Array

    @classmethod
    def begin(
        cls, acquisition: Acquisition, domain: Domain, X: Array, F: Array, order: Index
    ) -> _Ascent:
        """Choose where to start among samples ``X (m, d)`` with values ``F (m,)``."""
        spread = float(np.max(F) - np.median(F)) or 1.0
        starts = _spaced_best(X, order, effort_for(domain.space) * STARTS)
        return cls(_Climb(acquisition, domain, spread), X[order], X[starts], F[starts])

    def climb(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the tops ``(k, d)`` and their values ``(k,)``."""
        uphill, space, X, F = self.uphill, self.uphill.domain.space, self.X, self.F
        if not space.continuous.all():
            X, F = uphill.continuous(X, F, SCOUTING)
            lead = np.argsort(-F, kind="stable")[: effort_for(space) * LEADERS]
            X, F = uphill.discrete(X[lead], F[lead])
        X, F = uphill.continuous(X, F, SUMMIT)
        return uphill.along_borders(X, F, rng) if space.valid is not None else (X, F)

    def end(self, X: Array, F: Array, rng: np.random.Generator) -> Array:
        """Return the point ``(d,)`` to propose, given the tops ``X (k, d)``, ``F (k,)``."""
        uphill = self.uphill
        best_first = X[np.argsort(-F, kind="stable")]
        # If what was found rounds to points that may not be proposed, the best sample will do.
        found = uphill.domain.first_canonical(np.vstack([best_first, self.sampled]))
        best = random_point(uphill.domain, rng) if found is None else found
        return _prefer_known(uphill.acquisition, uphill.domain, best, uphill.spread)


def _climb_together(
    bound: RiskBound, widths: Array, ascents: Sequence[_Ascent]
) -> list[tuple[Array, Array]]:
    """Return the tops of each ascent, of the bound widened by ``widths (k,)``, from one batch."""
    which = np.repeat(np.arange(len(ascents)), [len(a.X) for a in ascents])
    spread = np.array([a.uphill.spread for a in ascents])

    def descend(points: Array) -> tuple[Array, Array]:
        # The last column says which ascent a point belongs to. It does not move.
        i = points[:, -1].astype(np.intp)
        value, gradient = bound.value_and_gradient_widened(points[:, :-1], widths[i])
        unit = -1.0 / spread[i]
        return unit * value, np.column_stack([unit[:, None] * gradient, np.zeros(len(i))])

    start = np.column_stack([np.vstack([a.X for a in ascents]), which])
    lengths = np.append(bound.lengthscales, 1.0)
    upper = np.append(np.ones(start.shape[1] - 1), len(ascents))
    found = _follow(descend, start, upper, lengths, SUMMIT, which)
    tops = []
    for i, ascent in enumerate(ascents):
        mine = which == i
        X, F = found.x[mine, :-1], -found.value[mine] * spread[i]
        tops.append(ascent.uphill.improved(ascent.X, ascent.F, X, F))
    return tops


def _follow(
    descend: BatchObjective,
    start: Array,
    upper: Array,
    lengths: Array | None,
    iterations: int,
    groups: Index | None = None,
) -> Minimum:
    """Follow gradients down from ``start (m, p)``; after a few iterations leaders continue alone.

    Over a lengthscale, values are expected to change by one.
    """
    curvature = None if lengths is None else np.diag(np.clip(lengths, 0.01, 1.0) ** -2)
    return quasi_newton(
        descend,
        start,
        np.minimum(start.min(axis=0), 0.0),
        upper,
        hessian=None if curvature is None else np.tile(curvature, (len(start), 1, 1)),
        max_step=0.25,
        max_iterations=iterations,
        gradient_tolerance=1e-6,
        value_tolerance=1e-7,
        scouting=SCOUTING,
        leaders=LEADERS,
        groups=groups,
    )


@dataclass(frozen=True, eq=False)
class _Climb:
    """Moves uphill from points ``X (m, d)`` with values ``F (m,)``, always to legal points.

    Attributes:
        acquisition: What to climb.
        domain: Where to climb.
        spread: The size of a typical difference, which is the unit of all tolerances.
    """

    acquisition: Acquisition
    domain: Domain
    spread: float

    def continuous(self, X: Array, F: Array, iterations: int) -> tuple[Array, Array]:
        """Climb along the gradient in the continuous columns, all points at once."""
        fixed = ~self.domain.space.continuous
        if fixed.all() or len(X) == 0:
            return X, F

        def descend(points: Array) -> tuple[Array, Array]:
            value, gradient = self.acquisition.value_and_gradient(points)
            gradient[:, fixed] = 0.0
            if self.domain.space.valid is not None:
                value = np.where(self.domain.allowed(points), value, -np.inf)
            return -value / self.spread, -gradient / self.spread

        # A condition that is given may lie beyond its bounds. It does not move.
        upper = np.maximum(X.max(axis=0), 1.0)
        found = _follow(descend, X, upper, self.acquisition.lengthscales, iterations)
        return self.improved(X, F, found.x, -found.value * self.spread)

    def improved(self, X: Array, F: Array, to: Array, value: Array) -> tuple[Array, Array]:
        """Return each point, or where it climbed ``to (m, d)`` if that is legal and better."""
        better = (value > F) & self.domain.allowed(to)
        return np.where(better[:, None], to, X), np.where(better, value, F)

    def discrete(self, X: Array, F: Array) -> tuple[Array, Array]:
        """Move to neighbours in one discrete parameter, after each neighbour has climbed."""
        X, F = X.copy(), F.copy()
        moves = 0 if self.domain.space.continuous.all() else MOVES
        for i in range(len(X)):
            for _ in range(moves):
                near = self.domain.space.neighbours(X[i])
                near = near[self.domain.allowed(near)]
                value = values(self.acquisition, near) if len(near) else np.empty(0)
                # Another category may need different continuous values to show its worth.
                few = np.argsort(-value, kind="stable")[:CLIMBERS]
                near, value = self.continuous(near[few], value[few], SCOUTING)
                if len(value) == 0 or value.max() <= F[i] + 1e-9 * self.spread:
                    break
                X[i], F[i] = near[int(np.argmax(value))], value.max()
        return X, F

    def along_borders(self, X: Array, F: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Take small random steps from the best point, as gradients end at a border of `valid`."""
        best = int(np.argmax(F))
        x, f = X[best], F[best]
        for radius in np.geomspace(0.1, 1e-6, 24):
            free = self.domain.space.continuous
            steps = radius * rng.standard_normal((32, len(x))) * free
            near = np.where(free, np.clip(x + steps, 0.0, 1.0), x)
            near = near[self.domain.allowed(near)]
            if len(near):
                value = self.acquisition.value(near)
                if value.max() > f:
                    x, f = near[int(np.argmax(value))], value.max()
        return x[None], np.array([f])


def _prefer_known(acquisition: Acquisition, domain: Domain, best: Array, spread: float) -> Array:
    """Return the point ``(d,)``, or a known point beside it that is as good.

    Repeating a known point costs the model nothing. A near-duplicate adds a row and makes the
    matrix ill-conditioned.
    """
    if len(domain.known) == 0:
        return best
    gaps = np.abs(domain.known - best).max(axis=1)
    nearest = domain.known[int(np.argmin(gaps))]
    if gaps.min() > 1e-3 or not domain.allowed(nearest[None])[0]:
        return best
    pair = acquisition.value(np.vstack([best, nearest]))
    return nearest if pair[1] >= pair[0] - 1e-5 * spread else best
