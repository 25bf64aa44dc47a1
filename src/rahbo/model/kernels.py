"""Covariance functions with automatic relevance determination, and their gradients.

Notation: ``X (m, d)`` and ``Z (n, d)`` points of the unit cube, ``K (m, n)`` covariances.
``r`` is the distance after division by the lengthscales. A kernel is
    kappa(x, z) = variance * shape(r)
(Linear: variance * <x, z> after that division). Besides ``K`` each evaluation returns the
``slope`` matrix, from which every gradient is one matrix product:
    d kappa / d x_j           = slope * (z_j - x_j) / lengthscale_j^2
    d kappa / d log lengthscale_j = slope * (x_j - z_j)^2 / lengthscale_j^2
with slope = -variance * shape'(r) / r. No ``(m, n, d)`` array is ever formed.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rahbo.errors import SettingsError
from rahbo.numerics import Array, Mask, Registered, is_finite
from rahbo.space import Space

BLOCK = 64
# Below this lengthscale a product of matrices loses the small distances to rounding.
DIFFERENCES_BELOW = 1e-4
# The squares of lengthscales, and of distances divided by them, must be finite.
SHORTEST, LONGEST = 1e-100, 1e100


class Kernel(Registered, ABC):
    """A covariance function with fixed parameters.

    Args:
        lengthscales: One positive length per input column, in units of the cube.
        variance: Prior variance ``kappa(x, x)``, or the coefficient of a Linear kernel.
    """

    def __init__(self, lengthscales: Sequence[float] | Array, variance: float = 1.0) -> None:
        lengths = _as_numbers(lengthscales)
        if lengths is None or not np.all((lengths >= SHORTEST) & (lengths <= LONGEST)):
            raise SettingsError(
                f"{type(self).__name__} needs one positive lengthscale per input, from {SHORTEST} "
                f"to {LONGEST}, got {lengthscales!r}. Pass a list such as [0.2, 0.2]."
            )
        if not (is_finite(variance) and variance > 0):
            raise SettingsError(
                f"{type(self).__name__} needs a positive variance, got {variance!r}. "
                "Pass a finite one such as 1.0."
            )
        self.lengthscales, self.variance = lengths, float(variance)

    def __repr__(self) -> str:
        lengths = ", ".join(f"{length:.4g}" for length in self.lengthscales)
        return f"{type(self).__name__}([{lengths}], variance={self.variance:.4g})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Kernel)
            and type(self) is type(other)
            and np.array_equal(self.log_parameters, other.log_parameters)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.variance, self.lengthscales.tobytes()))

    def to_json(self) -> dict[str, Any]:
        """Return the keywords that make this kernel again."""
        return {"lengthscales": self.lengthscales.tolist(), "variance": self.variance}

    @property
    def d(self) -> int:
        """The number of input columns."""
        return self.lengthscales.size

    @property
    def log_parameters(self) -> Array:
        """Log lengthscales, then log variance, ``(d + 1,)``."""
        return np.asarray(np.log(np.append(self.lengthscales, self.variance)))

    @classmethod
    def from_log_parameters(cls, theta: Array) -> Self:
        """Return the kernel with parameters ``exp(theta)``, ``theta (d + 1,)``."""
        return cls(np.exp(theta[:-1]), float(np.exp(theta[-1])))

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the covariances ``(m, n)``."""
        return self.evaluate(X, Z)[0]

    def are_beside(self, X: Array, z: Array, least: float) -> Mask:
        """Return which of ``X (m, d)`` have at least this prior correlation with ``z (d,)``."""
        here, there = self.diagonal(X), self.diagonal(z[None])
        # Relative to the larger one, because the product of variances may overflow.
        most = np.maximum(np.maximum(here, there), 1e-300)
        own = most * np.sqrt((here / most) * (there / most))
        return np.asarray(self(X, z[None])[:, 0] >= least * own)

    def among(self, X: Array) -> tuple[Array, Array]:
        """Return the covariances and slopes of points with each other, each ``(n, n)``.

        Only the upper triangle of these symmetric matrices is filled, and the rest must not be
        read. This halves the work, which is done in blocks of rows that fit into the cache.
        """
        n = len(X)
        K, slope = np.zeros((n, n)), np.zeros((n, n))
        for i in range(0, n, BLOCK):
            rows = slice(i, i + BLOCK)
            K[rows, i:], slope[rows, i:] = self.evaluate(X[rows], X[i:])
        np.fill_diagonal(K, self.diagonal(X))
        return K, slope

    @abstractmethod
    def evaluate(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return the covariances and slopes, each ``(m, n)``."""

    @abstractmethod
    def diagonal(self, X: Array) -> Array:
        """Return the prior variances ``kappa(x, x)``, ``(m,)``."""

    @abstractmethod
    def diagonal_gradient(self, X: Array) -> Array:
        """Return the gradients of ``kappa(x, x)``, ``(m, d)``."""

    @abstractmethod
    def input_gradient(self, X: Array, Z: Array, weighted_slope: Array) -> Array:
        """Return the gradients in ``x`` of ``sum_i W_i kappa(x, z_i)``, ``(m, d)``.

        Args:
            X: Points ``(m, d)``.
            Z: Points ``(n, d)``.
            weighted_slope: ``W * slope``, ``(m, n)``.
        """

    @abstractmethod
    def log_parameter_gradient(self, X: Array, K: Array, slope: Array, W: Array) -> Array:
        """Return the gradient ``(d + 1,)`` of ``sum_ij W_ij kappa(x_i, x_j)`` in log parameters.

        Args:
            X: Points ``(n, d)``.
            K: Covariances ``(n, n)`` from `evaluate` or `among`.
            slope: Slopes ``(n, n)`` from the same call.
            W: Any weights ``(n, n)``, zero where `K` and `slope` are not filled; overwritten.
        """


class Stationary(Kernel):
    """A kernel that depends on the scaled distance alone."""

    @staticmethod
    @abstractmethod
    def shape(squared: Array) -> tuple[Array, Array]:
        """Return ``shape(r)`` and ``-shape'(r) / r`` for ``r^2``, which may be overwritten."""

    def evaluate(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return the covariances and slopes, each ``(m, n)``."""
        squared = self._squared_distances(X / self.lengthscales, Z / self.lengthscales)
        K, slope = self.shape(squared)
        K *= self.variance
        slope *= self.variance
        return K, slope

    def _squared_distances(self, U: Array, V: Array) -> Array:
        """Return the squared distances ``(m, n)`` between ``U (m, d)`` and ``V (n, d)``."""
        if self.lengthscales.min() < DIFFERENCES_BELOW:
            squared = np.zeros((len(U), len(V)))
            for u, v in zip(U.T, V.T, strict=True):
                squared += np.subtract.outer(u, v) ** 2
            return squared
        squared = U @ (-2.0 * V.T)
        squared += np.add.reduce(U * U, axis=1)[:, None]
        squared += np.add.reduce(V * V, axis=1)
        return np.maximum(squared, 0.0, out=squared)

    def diagonal(self, X: Array) -> Array:
        """Return the prior variances ``(m,)``."""
        return np.full(len(X), self.variance)

    def diagonal_gradient(self, X: Array) -> Array:
        """Return zeros ``(m, d)``, because the prior variance is the same everywhere."""
        return np.zeros_like(X)

    def input_gradient(self, X: Array, Z: Array, weighted_slope: Array) -> Array:
        """Return the gradients in ``x``, ``(m, d)``."""
        pull = weighted_slope @ Z - weighted_slope.sum(axis=1)[:, None] * X
        return np.asarray(pull / self.lengthscales**2)

    def log_parameter_gradient(self, X: Array, K: Array, slope: Array, W: Array) -> Array:
        """Return the gradient in the log parameters, ``(d + 1,)``."""
        in_variance = np.vdot(W, K)
        W *= slope
        spread = (W.sum(axis=0) + W.sum(axis=1)) @ X**2 - 2.0 * np.einsum("ij,ij->j", X, W @ X)
        return np.append(spread / self.lengthscales**2, in_variance)


class RBF(Stationary):
    """Squared exponential kernel.

    kappa = variance * exp(-r^2 / 2)
    """

    @staticmethod
    def shape(squared: Array) -> tuple[Array, Array]:
        """Return ``shape(r)`` and ``-shape'(r) / r``."""
        squared *= -0.5
        K = np.exp(squared, out=squared)
        return K, K.copy()


class Matern32(Stationary):
    """Matérn kernel of smoothness 3/2.

    kappa = variance * (1 + sqrt(3) r) * exp(-sqrt(3) r)
    """

    @staticmethod
    def shape(squared: Array) -> tuple[Array, Array]:
        """Return ``shape(r)`` and ``-shape'(r) / r``."""
        squared *= 3.0
        a = np.sqrt(squared, out=squared)
        slope = np.exp(-a)
        a += 1.0
        a *= slope
        slope *= 3.0
        return a, slope


class Matern52(Stationary):
    """Matérn kernel of smoothness 5/2.

    kappa = variance * (1 + sqrt(5) r + 5 r^2 / 3) * exp(-sqrt(5) r)
    """

    @staticmethod
    def shape(squared: Array) -> tuple[Array, Array]:
        """Return ``shape(r)`` and ``-shape'(r) / r``."""
        squared *= 5.0
        a = np.sqrt(squared)
        decay = np.exp(-a)
        a += 1.0
        squared *= 1.0 / 3.0
        squared += a
        squared *= decay
        a *= decay
        a *= 5.0 / 3.0
        return squared, a


class Linear(Kernel):
    """Linear kernel through the origin of the cube.

    kappa = variance * sum_j x_j z_j / lengthscale_j^2

    The slope matrix is the constant ``variance``.
    """

    def evaluate(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return the covariances and slopes, each ``(m, n)``."""
        K = (X * (self.variance / self.lengthscales**2)) @ Z.T
        return K, np.full_like(K, self.variance)

    def diagonal(self, X: Array) -> Array:
        """Return the prior variances ``(m,)``."""
        return np.asarray((X / self.lengthscales) ** 2 @ np.full(self.d, self.variance))

    def diagonal_gradient(self, X: Array) -> Array:
        """Return the gradients of the prior variance, ``(m, d)``."""
        return np.asarray(2.0 * self.variance * X / self.lengthscales**2)

    def input_gradient(self, X: Array, Z: Array, weighted_slope: Array) -> Array:
        """Return the gradients in ``x``, ``(m, d)``."""
        return np.asarray(weighted_slope @ Z / self.lengthscales**2)

    def log_parameter_gradient(self, X: Array, K: Array, slope: Array, W: Array) -> Array:
        """Return the gradient in the log parameters, ``(d + 1,)``."""
        spread = np.einsum("ij,ij->j", X, W @ X)
        in_lengths = -2.0 * self.variance * spread / self.lengthscales**2
        return np.append(in_lengths, np.vdot(W, K))


def require_kernel(name: str, kernel: object) -> None:
    """Raise an error unless a setting is a kernel, or a class of kernels that can be made."""
    if isinstance(kernel, type) and issubclass(kernel, Kernel) and not inspect.isabstract(kernel):
        return
    if not isinstance(kernel, Kernel):
        raise SettingsError(
            f"{name} must be a Kernel such as Matern52 or Matern52([0.2], variance=1.0), "
            f"got {kernel!r}."
        )


def require_columns(name: str, kernel: type[Kernel] | Kernel, space: Space) -> None:
    """Raise an error unless a given kernel has one lengthscale for each column of a space."""
    if isinstance(kernel, Kernel) and kernel.d != space.d:
        raise SettingsError(
            f"{name} must have one lengthscale for each of the {space.d} columns of the space "
            f"({', '.join(space.columns)}), got {kernel!r} with {kernel.d}."
        )


def _as_numbers(values: object) -> Array | None:
    """Return a new array of one or more numbers ``(d,)``; None if the values are not numbers."""
    try:
        found = np.array(values, ndmin=1)
    except ValueError:
        return None
    return found.astype(float) if found.dtype.kind in "iuf" and found.ndim == 1 else None
