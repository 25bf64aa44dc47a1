"""Maximise an acquisition over the cube, a mixed space or a list of candidates.

Finite spaces that are small enough are searched exhaustively. Others are sampled, and the best
samples climb: continuous columns along the gradient, all starts in one batch; discrete
parameters by trying their neighbours.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from rahbo.arrays import Array, Index, Mask
from rahbo.errors import ExhaustedError, SpaceError
from rahbo.policy.acquisition import Acquisition
from rahbo.quasinewton import minimize
from rahbo.space import Candidates, Space

ENUMERATE = 2000  # finite spaces up to this size are searched exhaustively
SAMPLES = 384  # uniform samples of a larger space
KNOWN = 64  # known points, the best ones, among the samples
AROUND = 16  # further samples around each of the best known points
STARTS = 6  # samples that climb
SCOUTING = 8  # iterations after which only the leaders go on
LEADERS = 2  # how many those are
CLIMBERS = 3  # of these, how many also move in discrete parameters
CHUNK = 1024  # points evaluated at once, which bounds the memory of a large list


@dataclass(frozen=True, eq=False)
class Domain:
    """Where to look.

    Attributes:
        space: The space.
        known: Points evaluated before, best first, ``(n, d)``; good places to start.
        excluded: Points that may not be proposed, as bytes.
    """

    space: Space
    known: Array
    excluded: Set[bytes]

    def allowed(self, X: Array) -> Mask:
        """Which rows of ``X (m, d)`` may be proposed."""
        mask = self.space.is_valid(X)
        if self.excluded:
            mask &= np.array([x.tobytes() not in self.excluded for x in X], dtype=bool)
        return mask


def maximise(acquisition: Acquisition, domain: Domain, rng: np.random.Generator) -> Array:
    """The legal point ``(d,)`` with the largest acquisition value found."""
    space = domain.space
    if space.size <= ENUMERATE or isinstance(space.spec, Candidates):
        X = space.enumerate()
        X = X[domain.allowed(X)]
        if len(X) == 0:
            raise ExhaustedError(
                "Every candidate has its repeats and revisit=False forbids more. "
                "Call recommend(), add candidates, or allow revisits."
            )
        return np.asarray(X[int(np.argmax(values(acquisition, X)))])
    X = _samples(domain, rng)
    F = values(acquisition, X)
    spread = float(np.max(F) - np.median(F)) or 1.0
    best = _spaced_best(X, F)
    X, F = _climb(acquisition, domain, X[best], F[best], spread)
    return _prefer_known(acquisition, domain, X, F, spread)


def random_point(domain: Domain, rng: np.random.Generator) -> Array:
    """A legal point ``(d,)`` drawn uniformly."""
    for _ in range(64):
        X = domain.space.from_uniform(rng.random((64, domain.space.n_uniform)))
        X = X[domain.allowed(X)]
        if len(X):
            return domain.space.canonical(X[0])
    if np.isfinite(domain.space.size):
        X = domain.space.enumerate()
        X = X[domain.allowed(X)]
        if len(X):
            return np.asarray(X[int(rng.integers(len(X)))])
        raise ExhaustedError("No legal point is left to propose.")
    raise SpaceError("No point that satisfies valid= was found among 4096 random ones.")


def values(acquisition: Acquisition, X: Array) -> Array:
    """Acquisition values ``(m,)``, a chunk at a time."""
    if len(X) <= CHUNK:
        return acquisition.value(X)
    pieces = np.array_split(X, -(-len(X) // CHUNK))
    return np.concatenate([acquisition.value(piece) for piece in pieces])


def _samples(domain: Domain, rng: np.random.Generator) -> Array:
    """Uniform points, the best known points and points around them; legal, ``(m, d)``."""
    space, known = domain.space, domain.known[:KNOWN]
    X = space.from_uniform(rng.random((SAMPLES, space.n_uniform)))
    centres = np.repeat(known[:4], AROUND, axis=0)
    spread = np.tile(np.geomspace(0.003, 0.3, AROUND), len(centres) // AROUND)
    near = space.snap(np.clip(centres + spread[:, None] * rng.standard_normal(centres.shape), 0, 1))
    X = np.vstack([X, near, known])
    X = X[domain.allowed(X)]
    return X if len(X) else random_point(domain, rng)[None]


def _spaced_best(X: Array, F: Array) -> Index:
    """Indices of the best points, none close to a better one."""
    order = np.argsort(-F, kind="stable")
    chosen: list[int] = []
    for radius in (0.1, 0.0):
        for i in order[: 20 * STARTS]:
            if len(chosen) == STARTS:
                break
            gaps = np.abs(X[chosen] - X[i]).max(axis=1, initial=0.0) if chosen else np.array([1.0])
            if i not in chosen and gaps.min() > radius:
                chosen.append(int(i))
    return np.array(chosen, dtype=np.intp)


def _climb(
    acquisition: Acquisition, domain: Domain, X: Array, F: Array, spread: float
) -> tuple[Array, Array]:
    """Alternate gradient steps in continuous columns and moves in discrete parameters."""
    space = domain.space
    X, F = _climb_continuous(acquisition, domain, X, F, spread)
    if space.continuous.all():
        return X, F
    top = np.argsort(-F, kind="stable")[:CLIMBERS]
    X, F = X[top], F[top]
    for i in range(len(X)):
        for _ in range(30):
            near = space.neighbours(X[i])
            near = near[domain.allowed(near)]
            if len(near) == 0:
                break
            value = values(acquisition, near)
            # A better category may need other continuous values first, so a few climb before
            # they are compared.
            few = np.argsort(-value, kind="stable")[:CLIMBERS]
            X_few, F_few = _climb_continuous(acquisition, domain, near[few], value[few], spread)
            j = int(np.argmax(F_few))
            if F_few[j] <= F[i] + 1e-9 * spread:
                break
            X[i], F[i] = X_few[j], F_few[j]
    return X, F


def _climb_continuous(
    acquisition: Acquisition, domain: Domain, X: Array, F: Array, spread: float
) -> tuple[Array, Array]:
    """Maximise over the continuous columns; a climb that ends at a forbidden point is undone."""
    if not domain.space.continuous.any():
        return X, F
    fixed = ~domain.space.continuous

    def descend(points: Array) -> tuple[Array, Array]:
        value, gradient = acquisition.value_and_gradient(points)
        gradient[:, fixed] = 0.0
        return -value / spread, -gradient / spread

    lower, upper = np.zeros(X.shape[1]), np.ones(X.shape[1])
    found = minimize(descend, X, lower, upper, max_step=0.25, max_iterations=SCOUTING)
    # What is behind after the first steps rarely catches up.
    lead = np.argsort(found.value, kind="stable")[:LEADERS]
    found = minimize(
        descend,
        found.x[lead],
        lower,
        upper,
        hessian=found.hessian[lead],
        max_step=0.25,
        gradient_tolerance=1e-6,
        value_tolerance=1e-10,
    )
    X, F = X[lead], F[lead]
    value = -found.value * spread
    better = (value > F) & domain.allowed(found.x)
    return np.where(better[:, None], found.x, X), np.where(better, value, F)


def _prefer_known(
    acquisition: Acquisition, domain: Domain, X: Array, F: Array, spread: float
) -> Array:
    """The best point in canonical form, or a known point beside it that is as good.

    Repeating a known point costs the model nothing; a near-duplicate costs a row and, in the
    end, a well-conditioned matrix.
    """
    best = domain.space.canonical(X[int(np.argmax(F))])
    if len(domain.known) == 0:
        return best
    gaps = np.abs(domain.known - best).max(axis=1)
    nearest = domain.known[int(np.argmin(gaps))]
    if gaps.min() > 1e-3 or not domain.allowed(nearest[None])[0]:
        return best
    pair = acquisition.value(np.vstack([best, nearest]))
    return nearest if pair[1] >= pair[0] - 1e-5 * spread else best
