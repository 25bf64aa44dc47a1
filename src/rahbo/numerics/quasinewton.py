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
from dataclasses import dataclass

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
    """
    X = np.clip(np.asarray(start, dtype=float), lower, upper)
    m, p = X.shape
    F, G = objective(X)
    evaluations = 1
    B = np.tile(np.eye(p), (m, 1, 1)) if hessian is None else np.array(hessian)
    scaled = np.full(m, hessian is not None)
    moving = np.flatnonzero(np.isfinite(F))

    for _ in range(max_iterations):
        free = _free(X[moving], G[moving], lower, upper)
        steepest = np.where(free, -G[moving], 0.0)
        unfinished = np.abs(steepest).max(axis=1) > gradient_tolerance
        moving, free, steepest = moving[unfinished], free[unfinished], steepest[unfinished]
        if moving.size == 0:
            break
        D = _direction(B[moving], steepest, free, scaled[moving], max_step)
        X_new, F_new, G_new, accepted, calls = _line_search(
            objective, X[moving], F[moving], G[moving], D, lower, upper
        )
        evaluations += calls
        steps, changes = X_new - X[moving], G_new - G[moving]
        _update_curvature(B, scaled, moving[accepted], steps[accepted], changes[accepted])
        gain = F[moving] - F_new
        X[moving], F[moving], G[moving] = X_new, F_new, G_new
        # A row whose quasi-Newton direction fails tries once along the gradient, then stops.
        retry = ~accepted & scaled[moving]
        B[moving[retry]], scaled[moving[retry]] = np.eye(p), False
        moving = moving[(accepted & (gain > value_tolerance)) | retry]
        if moving.size == 0:
            break
    return Minimum(X, F, B, evaluations)


def _free(X: Array, G: Array, lower: Array, upper: Array) -> Mask:
    """Return which variables may move: a gradient that points out of the box holds the others."""
    held: Mask = ((lower >= X) & (G > 0)) | ((upper <= X) & (G < 0))
    return ~held


def _direction(B: Array, steepest: Array, free: Mask, scaled: Mask, max_step: float) -> Array:
    """Return Newton's direction on the free variables, or steepest descent where it ascends."""
    both = free[:, :, None] & free[:, None, :]
    reduced = np.where(both, B, np.eye(B.shape[1]))
    # Rounding errors may leave B not quite positive definite.
    ridge = 1e-12 * np.abs(reduced).max(axis=(1, 2))
    reduced += ridge[:, None, None] * np.eye(B.shape[1])
    D = np.linalg.solve(reduced, steepest[:, :, None])[:, :, 0]
    descends = np.einsum("mi,mi->m", D, steepest) > 0
    D = np.where(descends[:, None], D, steepest)
    longest = np.abs(D).max(axis=1)
    # Without curvature the length of the gradient says nothing about the distance to go.
    limit = np.where(scaled & descends, max_step, 0.2 * max_step)
    return np.asarray(D * np.minimum(1.0, limit / longest)[:, None])


def _line_search(
    objective: BatchObjective, X: Array, F: Array, G: Array, D: Array, lower: Array, upper: Array
) -> tuple[Array, Array, Array, Mask, int]:
    """Backtrack along the projected path until Armijo's condition holds, all rows at once."""
    X_new, F_new, G_new = X.copy(), F.copy(), G.copy()
    accepted = np.zeros(len(X), dtype=bool)
    pending: Index = np.arange(len(X))
    step = np.ones(len(X))
    calls = 0
    while pending.size and calls < MAX_HALVINGS:
        calls += 1
        trial = np.clip(X[pending] + step[pending, None] * D[pending], lower, upper)
        f, g = objective(trial)
        slope = np.einsum("mi,mi->m", G[pending], trial - X[pending])
        good = np.isfinite(f) & (f <= F[pending] + ARMIJO * slope) & (slope < 0)
        done = pending[good]
        X_new[done], F_new[done], G_new[done] = trial[good], f[good], g[good]
        accepted[done] = True
        # The minimiser of the parabola through F, slope and f, kept within [0.1, 0.5] of the step.
        excess = f[~good] - F[pending[~good]] - slope[~good]
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = -0.5 * slope[~good] / excess
        pending = pending[~good]
        step[pending] *= np.where(np.isfinite(shrink), np.clip(shrink, 0.1, 0.5), 0.25)
    return X_new, F_new, G_new, accepted, calls


def _update_curvature(B: Array, scaled: Mask, rows: Index, S: Array, Y: Array) -> None:
    """Apply the BFGS update to the Hessians in place; skip rows without positive curvature."""
    sy = np.einsum("mi,mi->m", S, Y)
    yy = np.einsum("mi,mi->m", Y, Y)
    ss = np.einsum("mi,mi->m", S, S)
    use = sy > 1e-8 * np.sqrt(ss * yy)
    rows, S, Y, sy, yy = rows[use], S[use], Y[use], sy[use], yy[use]
    if rows.size == 0:
        return
    b = B[rows]
    fresh = ~scaled[rows]
    b[fresh] *= (yy / sy)[fresh, None, None]
    scaled[rows] = True
    bs = np.einsum("mij,mj->mi", b, S)
    gained = np.einsum("mi,mj->mij", Y, Y) / sy[:, None, None]
    lost = np.einsum("mi,mj->mij", bs, bs) / np.einsum("mi,mi->m", S, bs)[:, None, None]
    updated = b + gained - lost
    sound = np.isfinite(updated).all(axis=(1, 2))
    B[rows[sound]] = updated[sound]
