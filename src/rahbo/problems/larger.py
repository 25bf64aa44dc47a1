"""Two problems with more inputs: one with two peaks of unequal noise, one with its peak on a step.

Notation: X are points of the unit cube ``(m, p)``. With `scale` 0 the noise is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rahbo.numerics import Array
from rahbo.problems.base import Problem
from rahbo.problems.synthetic import scaled_name
from rahbo.space import Float

_HEIGHT = np.array([1.0, 1.2, 3.0, 3.2])
_SHARPNESS = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_CENTRE = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)

_MIDDLE = np.array([0.6, 0.4, 0.55, 0.45, 0.5, 0.6, 0.4, 0.55, 0.45, 0.5])
_WEIGHTS = 0.7 ** np.arange(10)
_WIDTH = 0.25
_COUPLING = 0.3


@dataclass(frozen=True)
class _Hartmann(Problem):
    """The problem that `hartmann6` makes."""

    scale: float

    def f(self, X: Array) -> Array:
        squared = np.sum(_SHARPNESS * (X[:, None, :] - _CENTRE) ** 2, axis=-1)
        return np.asarray(np.exp(-squared) @ _HEIGHT)

    def noise_var(self, X: Array) -> Array:
        return np.asarray(0.5 * self.scale * expit(8.0 * (X[:, 5] - X[:, 1])) + 0.05)


@dataclass(frozen=True)
class _Ridge(Problem):
    """The problem that `ridge10` makes."""

    scale: float

    def f(self, X: Array) -> Array:
        return np.asarray(np.exp(-0.5 * (_offsets(X) / _WIDTH) ** 2) @ _WEIGHTS)

    def noise_var(self, X: Array) -> Array:
        u = _offsets(X)
        return np.asarray(0.5 * self.scale * expit(10.0 * (u[:, 0] + u[:, 2])) + 0.02)


def _offsets(X: Array) -> Array:
    """Return u ``(m, 10)``: each input's offset from its middle, minus a share of the next one's.

    u_j = z_j - 0.3·z_(j+1), z = x - middle, u_10 = z_10
    """
    u = X - _MIDDLE
    return np.asarray(u - _COUPLING * np.pad(u[:, 1:], ((0, 0), (0, 1))))


def hartmann6(scale: float = 1.0) -> Problem:
    """Return the Hartmann problem of six inputs, where the higher of two peaks is noisy.

    v(x) = 0.5·scale·sigmoid(8·(x6 - x2)) + 0.05 on [0, 1]^6

    The mean is largest, 3.32237, at (0.202, 0.150, 0.477, 0.275, 0.312, 0.657), and 3.203 on the
    quiet side, at (0.405, 0.882, 0.846, 0.574, 0.139, 0.038).

    Args:
        scale: Factor of the step in the noise variance, at least 0.

    Examples:
        >>> from rahbo.risk import MeanVariance
        >>> round(hartmann6().optimum(MeanVariance(1.0)).params["x2"], 2)
        0.88
    """
    return _Hartmann(scaled_name("hartmann6", scale), _cube(6), float(scale))


def ridge10(scale: float = 1.0) -> Problem:
    """Return a problem of ten inputs, some with little weight, whose peak is on a step of noise.

    f(x) = sum_j 0.7^(j-1)·exp(-u_j²/(2·0.25²)), v(x) = 0.5·scale·sigmoid(10·(u1 + u3)) + 0.02

    The domain is [0, 1]^10, with u_j = z_j - 0.3·z_(j+1) and z = x - middle, so the best value of
    an input depends on the next one. The mean is largest, 3.239, in the middle, u = 0. There the
    noise is half way up its step, so with alpha = 1 it pays to give up some of the mean.

    Args:
        scale: Factor of the step in the noise variance, at least 0.

    Examples:
        >>> from rahbo.risk import MeanVariance
        >>> for alpha in (0.0, 1.0):
        ...     print(round(ridge10().optimum(MeanVariance(alpha)).params["x3"], 2))
        0.55
        0.45
    """
    return _Ridge(scaled_name("ridge10", scale), _cube(10), float(scale))


def _cube(p: int) -> dict[str, Float]:
    return {f"x{j + 1}": Float(0.0, 1.0) for j in range(p)}
