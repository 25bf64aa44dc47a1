"""Where to look: what may be proposed, what is a list, and where a search begins."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np

from rahbo.errors import ExhaustedError, SpaceError
from rahbo.numerics import Array, Mask
from rahbo.policy.constraints import Limits, jointly, limits
from rahbo.policy.feasibility import Chance, success
from rahbo.space import Candidates, Space
from rahbo.state import State
from rahbo.trials import Observations

ENUMERATE = 4096  # finite spaces up to this size are searched exhaustively
SAMPLES = 160  # uniform samples of a larger space
CORNERS = 128  # samples with about half of their parameters at a bound
KNOWN = 32  # best known points among the samples
AROUND = 16  # further samples around each of the best known points

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
        success: The chance of success, once an evaluation has failed or if outcomes have limits.
        limits: The limits of outcomes, if there are any.
        incumbent: The pessimistic value, in the model's units, of the point that would be reported;
            None without limits, or if no point is sure to keep them.
    """

    space: Space
    known: Array
    excluded: Set[bytes]
    success: Chance | None = None
    limits: Limits | None = None
    incumbent: float | None = None

    def allowed(self, X: Array) -> Mask:
        """Return which rows of ``X (m, d)`` may be proposed."""
        allowed = self.space.is_valid(X) & self.included(X)
        return allowed & self.space.holds(X) if self.space.conditions else allowed

    def everything(self) -> tuple[Array, Mask]:
        """Return every legal point ``(m, d)`` of a finite space, and which may be proposed.

        The points are the same array each time.
        """
        X = self.space.enumerate()
        if len(X) == 0:
            raise SpaceError("No point of the space satisfies valid=. Check the predicate.")
        included = self.included(X)
        if not included.any():
            raise ExhaustedError(EXHAUSTED)
        return X, included

    def listed(self) -> Array:
        """Return every point ``(m, d)`` of a finite space that may be proposed."""
        X, included = self.everything()
        return X[included]

    def first_canonical(self, X: Array) -> Array | None:
        """Return the first of ``X (m, d)`` in canonical form, leaving out excluded points.

        A point that may be proposed can round to one that may not.
        """
        points = (self.space.canonical(x) for x in X)
        return next((x for x in points if x.tobytes() not in self.excluded), None)

    def included(self, X: Array) -> Mask:
        """Return which rows of ``X (m, d)`` are not excluded."""
        if not self.excluded:
            return np.ones(len(X), dtype=bool)
        return np.array([x.tobytes() not in self.excluded for x in X], dtype=bool)


def whole_domain(state: State, space: Space, observations: Observations) -> Domain:
    """Return where the best setting may lie, including points that have all their repeats.

    Once an evaluation has failed, the domain knows the chance of success, because a setting that
    cannot be evaluated is not a rival. Neither is one that violates the limits of outcomes.
    """
    known = limits(state)
    chance = jointly(success(state), known)
    return Domain(space, observations.best_first(), frozenset(), chance, known)


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


def is_listed(space: Space) -> bool:
    """Return whether a space is a list, or finite and small enough to try every point."""
    return space.size <= ENUMERATE or isinstance(space.spec, Candidates)


def effort_for(space: Space) -> int:
    """Return the factor for samples and starts: coarse discrete moves need more of them."""
    return 1 if (space.continuous | space.given).all() else 2


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


def samples(domain: Domain, rng: np.random.Generator) -> Array:
    """Return uniform points, points at the bounds, known points and their surroundings."""
    space, known = domain.space, domain.known[:KNOWN]
    effort = effort_for(space)
    drawn = scattered(space, effort**2 * SAMPLES, effort * CORNERS, known[:4], AROUND, rng)
    X = np.vstack([drawn, known])
    X = X[domain.allowed(X)]
    return X if len(X) else random_point(domain, rng)[None]
