"""The effects of blocks: what the values of one fold, plate or day have in common.

Notation: points i with n_i values of noise variance rho_i^2, blocks j = 1..B, n_ij values of point
i in block j, Z the (values x blocks) matrix that says which value is in which block. The model is
    y = f(x) + b_j + noise,  f ~ GP(m, K),  b ~ N(0, v_b I)
with D = diag(rho_i^2 / n_i), R the noise variances of the values, C_ij = n_ij / rho_i^2 and
M = D - D (K + D)^-1 D, the posterior covariance of f. Eliminating f from the mixed-model equations
leaves B of them:
    S = diag_j(sum_i C_ij) - C^T M C
    r = Z^T R^-1 (y - m) - C^T M D^-1 (ybar - m)
    b_hat = (S + I / v_b)^-1 r,  Cov[b | y] = (S + I / v_b)^-1
    log p(y | v_b) = -1/2 log det(I + v_b S) + 1/2 r^T (S + I / v_b)^-1 r + const
A constant moved from f to all blocks changes nothing that can be compared. So the effects, weighted
by the number of values in their blocks, sum to zero, which is a prior conditioned on w^T b = 0.
v_b has a half-Cauchy prior on its square root. Everything is averaged over its posterior, which is
found on a grid: with the eigenvalues of S each v_b costs B operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rahbo.model.gp import cholesky, solve
from rahbo.model.kernels import Kernel
from rahbo.numerics import Array, Mask
from rahbo.trials import Observations, Removed

# The numbers of values of v_b on the grid, and how far it reaches beyond the smaller and the larger
# of noise and outputs, as factors of the standard deviation.
GRID, REACH = 161, 1e2
# The smallest share of the degrees of freedom of a sample variance that is left.
LEAST_LEFT = 0.05


@dataclass(frozen=True, eq=False)
class Effects:
    """What is known of the effects of blocks, in the model's units.

    Attributes:
        names: The blocks.
        mean: The expected effects b_hat, ``(B,)``.
        covariance: Their covariance, ``(B, B)``.
        var: The variances v_b between blocks that were considered, ``(g,)``, ascending.
        weights: The posterior probability of each, ``(g,)``.
    """

    names: tuple[str, ...]
    mean: Array
    covariance: Array
    var: Array
    weights: Array

    def std_quantiles(self, levels: Array) -> Array:
        """Return quantiles of the standard deviation between blocks."""
        below = np.cumsum(self.weights) - 0.5 * self.weights
        return np.asarray(np.exp(np.interp(levels, below, 0.5 * np.log(self.var))))

    def centred(self) -> Effects:
        """Return the effects measured from their plain mean, instead of the mean over values."""
        return replace(self, mean=self.mean - self.mean.mean())


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of the effects, without those of f.

    Attributes:
        S: The precision of the data, ``(B, B)``.
        r: The right-hand side, ``(B,)``.
        total: The number of values in each block, ``(B,)``.
    """

    S: Array
    r: Array
    total: Array

    def spectrum(self) -> tuple[Array, Array, Array]:
        """Return the eigenvalues of S where effects sum to zero, r and the eigenvectors."""
        # Any orthonormal basis of what is orthogonal to the weights will do.
        basis = np.linalg.svd(self.total[None])[2][1:].T
        values, vectors = np.linalg.eigh(basis.T @ self.S @ basis)
        vectors = basis @ vectors
        return np.maximum(values, 0.0), vectors.T @ self.r, vectors


def values_in_blocks(observations: Observations) -> Array:
    """Return the number of values of each point in each block, ``(n, B)``."""
    B, block = len(observations.blocks), observations.block
    found = np.zeros((observations.n, B))
    if block is not None:
        inside = block >= 0
        np.add.at(found, (observations.point[inside], block[inside]), 1.0)
    return found


def separated(told: Observations) -> tuple[Observations, Mask]:
    """Return the data with no block for points that are alone in theirs, and which points they are.

    If a block holds values of one point, and all values of this point, then its effect cannot be
    told from f. It adds v_b to the variance of the point's mean, and says nothing of v_b.
    """
    inside = values_in_blocks(told) > 0.0
    named = np.ones(len(told.values), dtype=bool) if told.block is None else told.block >= 0
    whole = np.bincount(told.point, ~named, told.n) == 0
    alone = whole & (inside.sum(axis=1) == 1) & (inside @ (inside.sum(axis=0) == 1.0) > 0)
    if told.block is None or not alone.any():
        return told, np.zeros(told.n, dtype=bool)
    if not values_in_blocks(told)[~alone].any():
        return replace(told, blocks=(), block=None), alone
    return replace(told, block=np.where(alone[told.point], -1, told.block)), alone


def equations_of(
    kernel: Kernel, lam: float, prior_mean: float, told: Observations, y: Array, noise_var: Array
) -> Equations:
    """Return the equations of the effects under a GP of f.

    Args:
        kernel: The kernel of f.
        lam: The regulariser lambda: the prior covariance of f is the kernel divided by it.
        prior_mean: The constant m.
        told: The data.
        y: The values as told, in the model's units, ``(N,)``.
        noise_var: The noise variance rho^2 of each point, ``(n,)``.
    """
    inside = values_in_blocks(told)
    C, D = inside / noise_var[:, None], noise_var / told.count
    mean = np.bincount(told.point, y, told.n) / told.count - prior_mean
    chol = cholesky(kernel.among(told.X)[0], lam * D)
    # M C and M D^-1 (ybar - m)
    right = np.column_stack([D[:, None] * C, mean])
    left = right - lam * D[:, None] * solve(chol, np.asfortranarray(right))
    S = np.diag(C.sum(axis=0)) - C.T @ left[:, :-1]
    r = _by_block(told, (y - prior_mean) / noise_var[told.point]) - C.T @ left[:, -1]
    return Equations(S, r, inside.sum(axis=0))


def within_points(told: Observations, y: Array) -> tuple[Equations, float, int]:
    """Return the equations from differences within points alone, for a noise variance of 1.

    Then come the sum of squares of the differences and their degrees of freedom.
    """
    inside = values_in_blocks(told)
    mean = np.bincount(told.point, y, told.n) / told.count
    off = y - mean[told.point]
    total = inside.sum(axis=0)
    S = np.diag(total) - inside.T @ (inside / told.count[:, None])
    return Equations(S, _by_block(told, off), total), float(off @ off), len(y) - told.n


def effects_from(
    names: tuple[str, ...], equations: Equations, noise_std: float, typical_std: float
) -> Effects:
    """Return what the equations say of the effects.

    Args:
        names: The blocks.
        equations: The equations under a GP of f.
        noise_std: A typical standard deviation of the noise.
        typical_std: The scale of the prior: a typical standard deviation of outputs.
    """
    s, z, vectors = equations.spectrum()
    var = _grid(noise_std, typical_std)
    log_likelihood = _log_likelihood(var, s, z)
    return _averaged(names, s, z, vectors, var, log_likelihood + _log_prior(var, typical_std))


def first_effects(
    names: tuple[str, ...], told: Observations, y: Array, floor: float, typical_std: float
) -> tuple[Effects, float]:
    """Return what differences within points say of the effects, and of one noise variance.

    It is the start of the search. The noise variance is the best for each v_b, and divides it on
    the grid.
    """
    equations, squares, dof = within_points(told, y)
    s, z, vectors = equations.spectrum()
    size = max(squares / max(dof, 1), floor)
    ratio = _grid(1.0, max(1.0, typical_std / np.sqrt(size)))
    explained = (ratio[:, None] * z**2 / (1.0 + ratio[:, None] * s)).sum(axis=1)
    noise_var = np.maximum((squares - explained) / max(dof, 1), floor)
    log_likelihood = -0.5 * np.log1p(ratio[:, None] * s).sum(axis=1)
    log_likelihood -= 0.5 * dof * np.log(noise_var)
    log_weights = log_likelihood + _log_prior(ratio * noise_var, typical_std)
    found = _averaged(names, s, z, vectors, ratio, log_weights, noise_var)
    level = float(found.weights @ noise_var)
    return replace(found, var=level * ratio), level


def removed_by(
    told: Observations, effects: Effects, noise_var: Array, scale: float, alone: Mask
) -> Removed:
    """Return what subtracting the expected effects takes from the data.

    E[sum of squares of a point] = (n_i - 1) rho^2 - tr(Z_c Cov[b] Z_c^T),  Z_c: Z less its mean

    Args:
        told: The data.
        effects: What is known of the effects.
        noise_var: The noise variance of each point, ``(n,)``, in the model's units.
        scale: One unit of the model in the user's units.
        alone: Which points are alone in their blocks, ``(n,)``.
    """
    inside, V = values_in_blocks(told), effects.covariance
    share = inside / told.count[:, None]
    mean_var = np.einsum("ij,ij->i", share @ V, share)
    lost = (inside @ V.diagonal() - told.count * mean_var) / noise_var
    most = (1.0 - LEAST_LEFT) * (told.count - 1.0)
    dof = np.clip(lost, 0.0, most)
    mean_var[alone] = effects.std_quantiles(np.array([0.5]))[0] ** 2
    return Removed(scale * effects.mean, dof, scale**2 * np.maximum(mean_var, 0.0))


def _averaged(
    names: tuple[str, ...],
    s: Array,
    z: Array,
    vectors: Array,
    var: Array,
    log_weights: Array,
    unit: Array | float = 1.0,
) -> Effects:
    """Return mean and covariance of the effects, averaged over v_b.

    The variances are multiples of ``unit``, for each v_b.
    """
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    each = var[:, None] / (1.0 + var[:, None] * s)
    typical = weights @ each
    off = (each - typical) * z
    inner = np.diag((weights * unit) @ each) + (weights[:, None] * off).T @ off
    return Effects(names, vectors @ (typical * z), vectors @ inner @ vectors.T, var, weights)


def _log_likelihood(var: Array, s: Array, z: Array) -> Array:
    """Return log p(y | v_b) for each v_b, ``(g,)``."""
    v = var[:, None]
    return np.asarray((-0.5 * np.log1p(v * s) + 0.5 * v * z**2 / (1.0 + v * s)).sum(axis=1))


def _log_prior(var: Array, scale: float) -> Array:
    """Return the log density of log v_b, if its root is half-Cauchy with this scale."""
    return np.asarray(0.5 * np.log(var) - np.log1p(var / scale**2))


def _grid(a: float, b: float) -> Array:
    return np.asarray(np.geomspace(min(a, b) / REACH, max(a, b) * REACH, GRID) ** 2)


def _by_block(told: Observations, values: Array) -> Array:
    """Return the sums of values ``(N,)`` over blocks, ``(B,)``."""
    block = np.full(len(values), -1) if told.block is None else told.block
    inside = block >= 0
    return np.asarray(np.bincount(block[inside], values[inside], len(told.blocks)), dtype=float)
