"""Maximise an acquisition over the cube, a mixed space or a list of candidates.

Small finite spaces are searched exhaustively. Others are sampled, and the best samples climb.
Continuous columns follow the gradient, with all starts in one batch. Discrete parameters try
their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from rahbo.errors import ExhaustedError, SpaceError
from rahbo.numerics import Array, Index, Mask, quasi_newton
from rahbo.policy.acquisition import Acquisition, RiskBound
from rahbo.policy.feasibility import Hoped, Success
from rahbo.space import Candidates, Space
from rahbo.trials import Observations, Trial, tallies_of

ENUMERATE = 4096  # finite spaces up to this size are searched exhaustively
SAMPLES = 320  # uniform samples of a larger space
CORNERS = 128  # samples with about half of their parameters at a bound
KNOWN = 64  # best known points among the samples
AROUND = 16  # further samples around each of the best known points
STARTS = 6  # samples that climb
SCOUTING = 8  # iterations after which only the leaders continue
LEADERS = 2  # number of leaders
SUMMIT = 100  # largest number of iterations of the leaders
CLIMBERS = 4  # neighbours that climb before they are compared
MOVES = 30  # largest number of moves in discrete parameters
FEW = 32  # points evaluated at once where most may be ruled out
CHUNK = 1024  # points evaluated at once, to bound the memory of a large list

EXHAUSTED = (
    "Every point has all its repeats, and revisit=False or Folds forbids more. "
    "Call recommend(), add points, or allow revisits."
)


@dataclass(frozen=True, eq=False)
class Domain:
    """Where to look.

    Attributes:
        space: The space.
        known: Evaluated points ``(n, d)``, best first; good places to start.
        excluded: Points that may not be proposed, as bytes.
        success: The chance of success, once an evaluation has failed.
    """

    space: Space
    known: Array
    excluded: Set[bytes]
    success: Success | None = None

    def allowed(self, X: Array) -> Mask:
        """Return which rows of ``X (m, d)`` may be proposed."""
        return self.space.is_valid(X) & self._included(X)

    def listed(self) -> Array:
        """Return every point ``(m, d)`` of a finite space that may be proposed."""
        X = self.space.enumerate()
        if len(X) == 0:
            raise SpaceError("No point of the space satisfies valid=. Check the predicate.")
        X = X[self._included(X)]
        if len(X) == 0:
            raise ExhaustedError(EXHAUSTED)
        return X

    def first_canonical(self, X: Array) -> Array | None:
        """Return the first of ``X (m, d)`` in canonical form, leaving out excluded points.

        A point that may be proposed can round to one that may not.
        """
        points = (self.space.canonical(x) for x in X)
        return next((x for x in points if x.tobytes() not in self.excluded), None)

    def _included(self, X: Array) -> Mask:
        if not self.excluded:
            return np.ones(len(X), dtype=bool)
        return np.array([x.tobytes() not in self.excluded for x in X], dtype=bool)


def whole_domain(space: Space, trials: Iterable[Trial], observations: Observations) -> Domain:
    """Return where the best setting may lie, including points that have all their repeats.

    Once an evaluation has failed, the domain knows the chance of success, because a setting that
    cannot be evaluated is not a rival.
    """
    success = Success.learn(*tallies_of(trials))
    return Domain(space, observations.best_first(), frozenset(), success)


def maximise(acquisition: Acquisition, domain: Domain, rng: np.random.Generator) -> Array:
    """Return the legal point ``(d,)`` with the largest acquisition value found."""
    X = domain.listed() if is_listed(domain.space) else _samples(domain, rng)
    return _best_from(acquisition, domain, X, values(acquisition, X), rng)


def maximise_widened(
    bound: RiskBound, widths: Sequence[float], domain: Domain, rng: np.random.Generator
) -> Iterator[Array]:
    """Yield what `maximise` finds for the bound widened by each factor, one after the other.

    A list is predicted once for all factors; a larger space is sampled for each.
    """
    listed = is_listed(domain.space)
    if listed:
        X = domain.listed()
        F = in_chunks(lambda some: bound.values_widened(some, widths), X)
    for i, width in enumerate(widths):
        wide = bound.widened(width)
        yield _best_from(wide, domain, X, F[i], rng) if listed else maximise(wide, domain, rng)


def _best_from(
    acquisition: Acquisition, domain: Domain, X: Array, F: Array, rng: np.random.Generator
) -> Array:
    """Return the best point ``(d,)`` found from samples ``X (m, d)`` with values ``F (m,)``."""
    if domain.success is not None:
        acquisition = Hoped(acquisition, domain.success, float(F.min()))
        F = acquisition.weighed(in_chunks(domain.success.chance, X), F)
    space = domain.space
    if is_listed(space):
        return np.asarray(X[int(np.argmax(F))])
    spread = float(np.max(F) - np.median(F)) or 1.0
    effort = _effort(space)
    sampled = X[np.argsort(-F, kind="stable")]
    starts = _spaced_best(X, F, effort * STARTS)
    uphill = _Climb(acquisition, domain, spread)
    X, F, curvature = uphill.continuous(X[starts], F[starts], SCOUTING)
    # Points that are behind after the first steps rarely catch up.
    lead = np.argsort(-F, kind="stable")[: effort * LEADERS]
    X, F = uphill.discrete(X[lead], F[lead])
    X, F, _ = uphill.continuous(X, F, SUMMIT, curvature[lead])
    if space.valid is not None:
        X, F = uphill.along_borders(X, F, rng)
    # If what was found rounds to points that may not be proposed, the best sample will do.
    found = domain.first_canonical(np.vstack([X[np.argsort(-F, kind="stable")], sampled]))
    best = random_point(domain, rng) if found is None else found
    return _prefer_known(acquisition, domain, best, spread)


def random_point(domain: Domain, rng: np.random.Generator) -> Array:
    """Return a legal point ``(d,)`` drawn uniformly."""
    drawn = hopeful_point(replace(domain, success=None), rng)
    if drawn is not None:
        return drawn
    if np.isfinite(domain.space.size):
        X = domain.listed()
        return np.asarray(X[int(rng.integers(len(X)))])
    if hopeful_point(replace(domain, success=None, excluded=frozenset()), rng) is not None:
        raise ExhaustedError(EXHAUSTED)
    raise SpaceError(
        "None of 4096 random points satisfies valid=. Check the predicate, or choose bounds where "
        "it holds more often."
    )


def hopeful_point(domain: Domain, rng: np.random.Generator) -> Array | None:
    """Return a legal point ``(d,)`` drawn with the weight p^2 of `Hoped`; None if none is found."""
    for _ in range(64):
        X = domain.space.from_uniform(rng.random((64, domain.space.n_uniform)))
        X = X[domain.allowed(X)]
        if domain.success is not None and len(X):
            X = X[rng.random(len(X)) < domain.success.chance(X) ** 2]
        found = domain.first_canonical(X)
        if found is not None:
            return found
    return None


def values(acquisition: Acquisition, X: Array) -> Array:
    """Return acquisition values ``(m,)``, computed a chunk at a time."""
    return in_chunks(acquisition.value, X)


def index_of_best(acquisition: Acquisition, ceiling: Acquisition, X: Array) -> int:
    """Return the index of the largest acquisition value among ``X (m, d)``.

    The ceiling is nowhere below the acquisition and is cheaper, so it rules out most points. Among
    equal values, the point with the highest ceiling wins.
    """
    highest = values(ceiling, X)
    order = np.argsort(-highest, kind="stable")
    best, largest = 0, -np.inf
    for some in np.split(order, range(FEW, len(order), FEW)):
        if highest[some[0]] < largest:
            break
        F = acquisition.value(X[some])
        if F.max() > largest:
            best, largest = int(some[np.argmax(F)]), float(F.max())
    return best


def in_chunks(function: Callable[[Array], Array], X: Array) -> Array:
    """Return ``function(X (m, d))``, computed a chunk at a time; its last axis is the points."""
    if len(X) <= CHUNK:
        return function(X)
    pieces = np.array_split(X, -(-len(X) // CHUNK))
    return np.concatenate([function(piece) for piece in pieces], axis=-1)


def is_listed(space: Space) -> bool:
    """Return whether a space is a list, or finite and small enough to try every point."""
    return space.size <= ENUMERATE or isinstance(space.spec, Candidates)


def _effort(space: Space) -> int:
    """Return the factor for samples and starts: coarse discrete moves need more of them."""
    return 1 if space.continuous.all() else 2


def scattered(
    space: Space,
    n_uniform: int,
    n_corners: int,
    centres: Array,
    n_around: int,
    rng: np.random.Generator,
) -> Array:
    """Draw points to start a search from, ``(m, d)``; they need not satisfy ``valid``.

    Args:
        space: Where to draw.
        n_uniform: Points anywhere.
        n_corners: Points with about half of their parameters at a bound. They lie far from the
            data, where an optimistic bound is often largest.
        centres: Points ``(k, d)`` whose surroundings are drawn too.
        n_around: Points around each centre, at distances from 0.003 to 0.3.
        rng: Where the draws come from.
    """
    U = rng.random((n_uniform + n_corners, space.n_uniform))
    at_bound = rng.random(U.shape) < 0.5
    at_bound[:n_uniform] = False
    U[at_bound] = np.round(U[at_bound])
    middle = np.repeat(centres, n_around, axis=0)
    radius = np.tile(np.geomspace(0.003, 0.3, n_around), len(centres))[:, None]
    near = np.clip(middle + radius * rng.standard_normal(middle.shape), 0.0, 1.0)
    return np.vstack([space.from_uniform(U), space.snap(near)])


def _samples(domain: Domain, rng: np.random.Generator) -> Array:
    """Return uniform points, points at the bounds, known points and their surroundings."""
    space, known = domain.space, domain.known[:KNOWN]
    effort = _effort(space)
    drawn = scattered(space, effort * SAMPLES, effort * CORNERS, known[:4], AROUND, rng)
    X = np.vstack([drawn, known])
    X = X[domain.allowed(X)]
    return X if len(X) else random_point(domain, rng)[None]


def _spaced_best(X: Array, F: Array, n: int) -> Index:
    """Return the indices of the ``n`` best points, if possible none of them close to another."""
    order = np.argsort(-F, kind="stable")[: 20 * n]
    near = X[order]
    chosen: list[int] = []
    gap = np.full(len(order), np.inf)  # to the nearest point chosen so far
    for radius in (0.3, 0.1, 0.0):
        while len(chosen) < n and (gap > radius).any():
            chosen.append(int(np.argmax(gap > radius)))
            gap = np.minimum(gap, np.abs(near - near[chosen[-1]]).max(axis=1))
    return np.asarray(order[chosen], dtype=np.intp)


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

    def continuous(
        self, X: Array, F: Array, iterations: int, curvature: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Climb along the gradient in the continuous columns, all points at once.

        The curvature ``(m, d, d)`` found on the way is returned, so that a later climb can use it.
        """
        fixed = ~self.domain.space.continuous
        if fixed.all() or len(X) == 0:
            return X, F, np.tile(np.eye(X.shape[1]), (len(X), 1, 1))

        def descend(points: Array) -> tuple[Array, Array]:
            value, gradient = self.acquisition.value_and_gradient(points)
            gradient[:, fixed] = 0.0
            if self.domain.space.valid is not None:
                value = np.where(self.domain.allowed(points), value, -np.inf)
            return -value / self.spread, -gradient / self.spread

        found = quasi_newton(
            descend,
            X,
            np.zeros(X.shape[1]),
            np.ones(X.shape[1]),
            hessian=curvature,
            max_step=0.25,
            max_iterations=iterations,
            gradient_tolerance=1e-6,
            value_tolerance=1e-8,
        )
        value = -found.value * self.spread
        better = (value > F) & self.domain.allowed(found.x)
        return np.where(better[:, None], found.x, X), np.where(better, value, F), found.hessian

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
                near, value, _ = self.continuous(near[few], value[few], SCOUTING)
                if len(value) == 0 or value.max() <= F[i] + 1e-9 * self.spread:
                    break
                X[i], F[i] = near[int(np.argmax(value))], value.max()
        return X, F

    def along_borders(self, X: Array, F: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Take small random steps from the best point, as gradients end at a border of `valid`."""
        best = int(np.argmax(F))
        x, f = X[best], F[best]
        for radius in np.geomspace(0.1, 1e-6, 24):
            steps = radius * rng.standard_normal((32, len(x))) * self.domain.space.continuous
            near = np.clip(x + steps, 0.0, 1.0)
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
