"""Batched projected BFGS: many starts, one box, one vectorised function.

Fitting a kernel and maximising an acquisition are both smooth problems of few variables in a box.
Evaluating all starts of a search in one call turns many small linear solves into one large one,
which no general optimiser offers. With a single start the same routine fits hyperparameters and
passes its curvature on to the next fit.

Notation: ``X (m, p)`` the current points of ``m`` independent problems, ``F (m,)`` their values,
``G (m, p)`` gradients, ``B (m, p, p)`` Hessian estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rahbo.numerics.arrays import Array, Index, Mask

BatchObjective = Callable[[Array], tuple[Array, Array]]

ARMIJO = 1e-4
MAX_HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where each start ended.

    Attributes:
        x: Points, ``(m, p)``.
        value: Function values there, ``(m,)``.
        hessian: Curvature estimates there, ``(m, p, p)``; a warm start for the next search.
        evaluations: Number of calls of the vectorised function.
    """

    x: Array
    value: Array
    hessian: Array
    evaluations: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of some of the problems: their indices, points, values, gradients and Hessians.

    ``scaled (m,)`` says whose Hessian has seen curvature. The arrays belong to this record and are
    changed in place.
    """

    index: Index
    X: Array
    F: Array
    G: Array
    B: Array
    scaled: Mask

    def those(self, mask: Mask | Index) -> _Rows:
        return _Rows(
            self.index[mask],
            self.X[mask],
            self.F[mask],
            self.G[mask],
            self.B[mask],
            self.scaled[mask],
        )

    def write_into(self, other: _Rows) -> None:
        other.X[self.index], other.F[self.index], other.B[self.index] = self.X, self.F, self.B


def quasi_newton(
    objective: BatchObjective,
    start: Array,
    lower: Array,
    upper: Array,
    *,
    hessian: Array | None = None,
    max_step: float = 0.5,
    max_iterations: int = 100,
    gradient_tolerance: float = 1e-6,
    value_tolerance: float = 0.0,
    scouting: int | None = None,
    leaders: int = 2,
    groups: Index | None = None,
) -> Minimum:
    """Minimise ``m`` independent problems in the box ``[lower, upper]``.

    Args:
        objective: Maps ``X (m, p)`` to values ``(m,)`` and gradients ``(m, p)``. It is called only
            with the rows still moving, so rows must be independent of each other.
        start: Starting points ``(m, p)``, clipped to the box.
        lower: Lower bounds ``(p,)``.
        upper: Upper bounds ``(p,)``.
        hessian: Curvature ``(m, p, p)`` of an earlier, similar search.
        max_step: Largest change of one variable in one iteration.
        max_iterations: Largest number of iterations.
        gradient_tolerance: A row stops when no free component of its gradient exceeds this.
        value_tolerance: A row stops when an accepted step gains no more than this.
        scouting: After this many iterations only the leaders continue, because rows that are
            behind by then rarely catch up; None lets every row continue.
        leaders: How many rows lead in each group.
        groups: The group ``(m,)`` of each row; None if all are one group.
    """
    X = np.clip(np.asarray(start, dtype=float), lower, upper)
    m, p = X.shape
    F, G = objective(X)
    B = np.tile(np.eye(p), (m, 1, 1)) if hessian is None else np.array(hessian)
    every = _Rows(np.arange(m), X, F, G, B, np.full(m, hessian is not None))
    moving, evaluations = every.those(np.isfinite(F)), 1
    for i in range(max_iterations):
        if i == scouting:
            moving.write_into(every)
            moving = _without(moving, _leading(every.F, leaders, groups)[moving.index], every)
        steepest, free = _steepest(moving, lower, upper)
        unfinished = np.abs(steepest).max(axis=1) > gradient_tolerance
        if not unfinished.all():
            moving = _without(moving, unfinished, every)
            steepest, free = steepest[unfinished], free[unfinished]
        if moving.index.size == 0:
            break
        D = _direction(moving.B, steepest, free, moving.scaled, max_step)
        moving, gain, calls = _advanced(objective, moving, D, lower, upper)
        evaluations += calls
        moving = _without(moving, gain > value_tolerance, every)
    moving.write_into(every)
    return Minimum(every.X, every.F, every.B, evaluations)


def _advanced(
    objective: BatchObjective, rows: _Rows, D: Array, lower: Array, upper: Array
) -> tuple[_Rows, Array, int]:
    """Return the rows after a step along ``D (m, p)``, what each gained, and the calls made.

    A row whose quasi-Newton direction fails tries once along the gradient: its gain counts as
    infinite. If that fails too, the gain is minus infinity.
    """
    X, F, G, accepted, calls = _line_search(objective, rows, D, lower, upper)
    _update_curvature(rows.B, rows.scaled, X - rows.X, G - rows.G)
    gain = rows.F - F
    if not accepted.all():
        retry = ~accepted & rows.scaled
        gain[~accepted] = -np.inf
        gain[retry] = np.inf
        rows.B[retry], rows.scaled[retry] = np.eye(X.shape[1]), False
    return replace(rows, X=X, F=F, G=G), gain, calls


def _leading(F: Array, leaders: int, groups: Index | None) -> Mask:
    """Return which rows ``(m,)`` are among the lowest of their group."""
    groups = np.zeros(len(F), dtype=np.intp) if groups is None else groups
    order = np.lexsort([F, groups])  # stable
    group = groups[order]
    place = np.arange(len(F)) - np.searchsorted(group, group)
    leading = np.zeros(len(F), dtype=bool)
    leading[order[place < leaders]] = True
    return leading


def _without(rows: _Rows, keep: Mask, every: _Rows) -> _Rows:
    """Return the rows to keep, after the results of the others are written."""
    if keep.all():
        return rows
    rows.those(~keep).write_into(every)
    return rows.those(keep)


def _steepest(rows: _Rows, lower: Array, upper: Array) -> tuple[Array, Mask]:
    """Return the descent direction, and which variables may move.

    A gradient that points out of the box holds a variable at its bound.
    """
    held: Mask = ((lower >= rows.X) & (rows.G > 0)) | ((upper <= rows.X) & (rows.G < 0))
    return np.where(held, 0.0, -rows.G), ~held


def _direction(B: Array, steepest: Array, free: Mask, scaled: Mask, max_step: float) -> Array:
    """Return Newton's direction on the free variables, or steepest descent where it ascends."""
    eye = np.eye(B.shape[1])
    reduced = B if free.all() else np.where(free[:, :, None] & free[:, None, :], B, eye)
    # Rounding errors may leave B not quite positive definite.
    ridge = 1e-12 * np.abs(reduced).max(axis=(1, 2))
    D = np.linalg.solve(reduced + ridge[:, None, None] * eye, steepest[:, :, None])[:, :, 0]
    descends = _dot(D, steepest) > 0
    D = np.where(descends[:, None], D, steepest)
    # Without curvature the length of the gradient says nothing about the distance to go.
    limit = np.where(scaled & descends, max_step, 0.2 * max_step)
    return np.asarray(D * np.minimum(1.0, limit / np.abs(D).max(axis=1))[:, None])


def _line_search(
    objective: BatchObjective, rows: _Rows, D: Array, lower: Array, upper: Array
) -> tuple[Array, Array, Array, Mask, int]:
    """Backtrack along the projected path until Armijo's condition holds, all rows at once.

    Most first steps are accepted. Rows without an acceptable step stay where they are.
    """
    X_new, F_new, G_new, slope, accepted = _tried(objective, rows, D, lower, upper)
    pending, calls = np.flatnonzero(~accepted), 1
    if pending.size == 0:
        return X_new, F_new, G_new, accepted, calls
    X_try, f, step = rows.those(pending), F_new[pending], np.ones(len(pending))
    slope, D = slope[pending], D[pending]
    X_new[pending], F_new[pending], G_new[pending] = X_try.X, X_try.F, X_try.G
    while pending.size and calls < MAX_HALVINGS:
        # The minimiser of the parabola through F, slope and f, kept within [0.1, 0.5] of the step.
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = -0.5 * slope / (f - X_try.F - slope)
        step *= np.where(np.isfinite(shrink), np.clip(shrink, 0.1, 0.5), 0.25)
        x, f, g, slope, good = _tried(objective, X_try, step[:, None] * D, lower, upper)
        calls += 1
        done = pending[good]
        X_new[done], F_new[done], G_new[done], accepted[done] = x[good], f[good], g[good], True
        left = ~good
        pending, X_try = pending[left], X_try.those(left)
        f, slope, step, D = f[left], slope[left], step[left], D[left]
    return X_new, F_new, G_new, accepted, calls


def _tried(
    objective: BatchObjective, rows: _Rows, step: Array, lower: Array, upper: Array
) -> tuple[Array, Array, Array, Array, Mask]:
    """Return points, values and gradients after a step, its slope, and whether it is accepted."""
    x = np.minimum(np.maximum(rows.X + step, lower), upper)
    f, g = objective(x)
    slope = _dot(rows.G, x - rows.X)
    return x, f, g, slope, np.isfinite(f) & (f <= rows.F + ARMIJO * slope) & (slope < 0)


def _update_curvature(B: Array, scaled: Mask, S: Array, Y: Array) -> None:
    """Apply the BFGS update to the Hessians in place; skip rows without positive curvature."""
    sy, yy = _dot(S, Y), _dot(Y, Y)
    rows = np.flatnonzero(sy > 1e-8 * np.sqrt(_dot(S, S) * yy))
    if rows.size == 0:
        return
    S, Y, sy, b = S[rows], Y[rows], sy[rows], B[rows]
    fresh = ~scaled[rows]
    if fresh.any():
        b[fresh] *= (yy[rows] / sy)[fresh, None, None]
        scaled[rows] = True
    bs = (b @ S[:, :, None])[:, :, 0]
    gained = Y[:, :, None] * Y[:, None, :] / sy[:, None, None]
    lost = bs[:, :, None] * bs[:, None, :] / _dot(S, bs)[:, None, None]
    updated = b + gained - lost
    sound = np.isfinite(updated).all(axis=(1, 2))
    B[rows[sound]] = updated[sound]


def _dot(A: Array, B: Array) -> Array:
    """Return the product of each row of ``A (m, p)`` with the same row of ``B``, ``(m,)``."""
    # Ufuncs themselves, because einsum takes longer to begin than small sums take.
    return np.asarray(np.add.reduce(A * B, axis=1))
