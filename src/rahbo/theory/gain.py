"""Information gain: how much the values of some rounds tell about the function behind them.

Notation: ``X (T, d)`` are the points of T rounds in order, where a revisit is a further row.
``v (T,)`` is the noise variance of a round's value, ``lam`` the paper's lambda, f ~ GP(0,
kappa / lam), and sigma_{t-1} its posterior deviation before round t (eq. 6). The paper has three
such gains:
    gamma       about f, v = rho^2 / k, the noise being known      (eq. 10)
    gamma_hat   about f, v = max_noise_var / k                     (Theorem 1, Step 3)
    Gamma       of sample variances about rho^2, v = rho_eta^2     (Theorem 1, Step 3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model import GP, Kernel
from rahbo.numerics import Array, Index, is_whole

# Greedy maximisation of a monotone submodular function reaches this share of the maximum.
GREEDY_SHARE = 1.0 - 1.0 / math.e


def information_gain(kernel: Kernel, X: Array, noise_var: Array | float, lam: float = 1.0) -> float:
    """Return the mutual information of noisy values at ``X (T, d)`` and the function.

    I = 1/2 ln(det(K + lam Sigma) / det(lam Sigma))    (A.1.2)
    """
    v = _variances(noise_var, len(X))
    return GP.condition(kernel, X, np.zeros(len(X)), v, lam=lam).information_gain


def information_gain_terms(
    kernel: Kernel, X: Array, noise_var: Array | float, lam: float = 1.0
) -> Array:
    """Return what each round adds to the information gain, ``(T,)``; the sum is the gain.

    I = sum_t 1/2 ln(1 + sigma_{t-1}^2(x_t) / v_t)    (eq. 11)
    """
    v = _variances(noise_var, len(X))
    covariance = kernel(X, X) / lam
    terms = np.empty(len(X))
    for t in range(len(X)):
        terms[t] = 0.5 * np.log1p(_observe(covariance, t, v[t]) / v[t])
    return terms


@dataclass(frozen=True, eq=False)
class GreedyGain:
    """Lower and upper bounds of the maximum information gain of T rounds over a candidate set.

    Attributes:
        indices: The candidates chosen greedily, ``(T,)``; a candidate may repeat.
        lower: The information gain of these candidates after each round, ``(T,)``, which is a
            lower bound of the maximum.
        upper: lower / (1 - 1/e), ``(T,)``, which is an upper bound of the maximum, by
            submodularity.
    """

    indices: Index
    lower: Array
    upper: Array


def greedy_information_gain(
    kernel: Kernel, candidates: Array, noise_var: Array | float, rounds: int, lam: float = 1.0
) -> GreedyGain:
    """Return bounds of the maximum information gain over multisets of ``candidates (m, d)``.

    max_A I(y_A, f_A), |A| = T, for every T up to ``rounds``    (eq. 10)

    The greedy choices for T + 1 rounds extend those for T, so one pass serves all T. Each round
    costs one rank-one update of the posterior covariance.
    """
    if not is_whole(rounds) or rounds < 1:
        raise SettingsError(f"rounds must be a whole number >= 1, got {rounds!r}.")
    v = _variances(noise_var, len(candidates))
    covariance = kernel(candidates, candidates) / lam
    indices, gains = np.empty(rounds, dtype=np.intp), np.empty(rounds)
    for t in range(rounds):
        best = int(np.argmax(covariance.diagonal() / v))
        indices[t] = best
        gains[t] = 0.5 * np.log1p(_observe(covariance, best, v[best]) / v[best])
    lower = np.cumsum(gains)
    return GreedyGain(indices, lower, lower / GREEDY_SHARE)


def uneven_gain(
    kernel: Kernel, candidates: Array, noise_var: Array, rounds: int, lam: float = 1.0
) -> tuple[GreedyGain, GreedyGain]:
    """Return both sides of A.1.3 on ``candidates (m, d)``: gains under uneven and even noise.

    gamma^rho <= (max_noise_var / min_noise_var) gamma^sigma,  sigma^2 = max_noise_var    (A.1.3)

    The second record is the right-hand side, including the factor, so gamma^rho is at most its
    ``upper``.
    """
    highest = float(np.max(noise_var))
    ratio = highest / float(np.min(noise_var))
    even = greedy_information_gain(kernel, candidates, highest, rounds, lam)
    scaled = GreedyGain(even.indices, ratio * even.lower, ratio * even.upper)
    return greedy_information_gain(kernel, candidates, noise_var, rounds, lam), scaled


def _observe(covariance: Array, i: int, noise_var: float) -> float:
    """Condition ``covariance (m, m)`` in place on a value at i, and return its prior variance."""
    variance = max(float(covariance[i, i]), 0.0)
    column = covariance[:, i] / math.sqrt(variance + noise_var)
    covariance -= np.outer(column, column)
    return variance


def _variances(noise_var: Array | float, n: int) -> Array:
    v = np.asarray(noise_var, dtype=float)
    if v.ndim > 1 or (v.ndim == 1 and len(v) != n) or not np.all(np.isfinite(v) & (v > 0)):
        raise SettingsError(
            f"noise_var must be a positive number or one for each of {n} points, got {noise_var!r}."
        )
    return np.broadcast_to(v, n)
