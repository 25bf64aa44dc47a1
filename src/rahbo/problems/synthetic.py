"""The paper's two synthetic problems: equal maxima, unequal noise.

Notation: X are points in user units ``(m, p)``. The sigmoid gives the noise *variance*, not the
standard deviation, and `scale` is the height s of the sigmoid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rahbo.errors import SettingsError
from rahbo.numerics import Array
from rahbo.problems.base import Problem
from rahbo.space import Float


@dataclass(frozen=True)
class _Sine(Problem):
    """The problem that `sine` makes."""

    scale: float

    def f(self, X: Array) -> Array:
        return np.asarray(np.sin(2.0 * np.pi * X[:, 0]))

    def noise_var(self, X: Array) -> Array:
        return np.asarray(self.scale * expit(30.0 * (X[:, 0] - 1.0)) + 0.1)


@dataclass(frozen=True)
class _Branin(Problem):
    """The problem that `branin` makes."""

    scale: float

    def f(self, X: Array) -> Array:
        x1, x2 = X[:, 0], X[:, 1]
        bowl = x2 - 5.1 / (4.0 * np.pi**2) * x1**2 + 5.0 / np.pi * x1 - 6.0
        wave = 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x1)
        return np.asarray(-(bowl**2 + wave + 10.0))

    def noise_var(self, X: Array) -> Array:
        across = self.scale * expit(2.0 * (X[:, 0] - 3.2)) + 0.2
        along = self.scale * expit(2.0 * X[:, 1]) + 0.2
        return np.asarray(across * along)


def sine(scale: float = 1.0) -> Problem:
    """Return the sine problem, where the right one of two equal maxima is noisy.

    f(x) = sin(2·pi·x), v(x) = scale·sigmoid(30·(x - 1)) + 0.1 on [0, 2]

    The mean is largest at 0.25 (quiet) and 1.25 (noisy).

    Args:
        scale: Height of the step in the noise variance, at least 0.

    Examples:
        >>> from rahbo.risk import MeanVariance
        >>> round(sine().optimum(MeanVariance(1.0)).params["x"], 3)
        0.25
    """
    return _Sine(scaled_name("sine", scale), {"x": Float(0.0, 2.0)}, float(scale))


def branin(scale: float = 1.0) -> Problem:
    """Return the negated Branin problem, with three equal maxima of unequal noise.

    v(x) = (scale·sigmoid(2·(x1 - 3.2)) + 0.2)·(scale·sigmoid(2·x2) + 0.2)

    The mean is largest, -0.397887, at C = (-pi, 12.275), B = (pi, 2.275) and A = (9.42478, 2.475)
    in [-5, 10] x [0, 15]. A is the noisiest of the three and C the quietest.

    Args:
        scale: Height of the steps in the noise variance, at least 0.

    Examples:
        >>> from rahbo.risk import MeanVariance
        >>> round(branin().optimum(MeanVariance(1.0)).params["x1"], 2)
        -3.14
    """
    space = {"x1": Float(-5.0, 10.0), "x2": Float(0.0, 15.0)}
    return _Branin(scaled_name("branin", scale), space, float(scale))


def scaled_name(name: str, scale: float) -> str:
    """Return a problem's name, with its scale unless that is the paper's; refuse a bad scale."""
    if not (math.isfinite(scale) and scale >= 0.0):
        raise SettingsError(
            f"{name}() needs a finite scale >= 0, got {scale!r}. Pass the height of the noise "
            f"variance's step, 1.0 by default."
        )
    return name if scale == 1.0 else f"{name}(scale={scale:g})"
