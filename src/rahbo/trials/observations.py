"""What was measured: every repeat, and the count, mean and sample variance of each distinct point.

Notation: ``X (n, d)`` distinct points in order of first round, ``rounds (t,)`` the point of each
round. Repeats of a point merge over all its rounds, so cost depends on ``n`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rahbo.numerics import Array, Index

# A rounding step below this share of the range of the values is negligible.
FINEST = 1e-4


@dataclass(frozen=True, eq=False)
class Observations:
    """All values told so far, grouped by distinct point.

    Attributes:
        X: Distinct points, ``(n, d)``.
        values: Every repeat, in order of (round, repeat), ``(N,)``.
        point: The point each value belongs to, ``(N,)``.
        rounds: The point of each round, ``(t,)``.
        count: Repeats per point, ``(n,)``.
        mean: Sample means (eq. 12), ``(n,)``.
        sample_var: Sample variances (eq. 12), ``(n,)``; NaN for a single repeat. They are unbiased
            if the values did not decide how often a point was repeated.
        sign: The factor by which the user's values were multiplied, so that larger is better.
    """

    X: Array
    values: Array
    point: Index
    rounds: Index
    count: Index
    mean: Array
    sample_var: Array
    sign: float = 1.0

    @classmethod
    def from_rounds(
        cls, points: Sequence[Array], values: Sequence[Sequence[float]], sign: float = 1.0
    ) -> Observations:
        """Return the user's values, given by round at ``points[i] (d,)``, by distinct point."""
        index: dict[bytes, int] = {}
        rounds = np.array(
            [index.setdefault(x.tobytes(), len(index)) for x in points], dtype=np.intp
        )
        first = np.unique(rounds, return_index=True)[1]
        X = np.array([points[i] for i in first], dtype=float)
        sizes = [len(v) for v in values]
        flat = sign * np.array([y for v in values for y in v], dtype=float)
        point = np.repeat(rounds, sizes)
        return cls(X, flat, point, rounds, *point_statistics(flat, point, len(X)), sign)

    def best_first(self) -> Array:
        """Return the points ``(n, d)`` in order of their sample means, the largest first."""
        return np.asarray(self.X[np.argsort(-self.mean, kind="stable")])

    @property
    def n(self) -> int:
        """The number of distinct points."""
        return len(self.X)

    @property
    def any_single(self) -> bool:
        """Whether some point has only one value."""
        return bool(np.any(self.count == 1))

    @property
    def resolution(self) -> float:
        """The rounding step of the values, 0 if they are not rounded.

        It is found with Euclid's algorithm: differences of values without a common step leave
        smaller and smaller remainders.
        """
        spread, largest = float(np.ptp(self.values)), float(np.max(np.abs(self.values)))
        nothing = 1e-9 * spread + 1e-14 * largest
        step = 0.0
        for other in np.unique(np.diff(np.unique(self.values))):
            a, b = float(other), step
            while b > nothing:
                # Rounding may turn a remainder just above zero into one just below the divisor.
                rest = math.fmod(a, b)
                a, b = b, min(rest, b - rest)
            step = a if a > nothing else step
            if step < FINEST * spread:
                return 0.0
        return step

    def repeats(self, i: int) -> Array:
        """Return every value told at point ``i``."""
        return np.asarray(self.values[self.point == i])


def point_statistics(values: Array, point: Index, n: int) -> tuple[Index, Array, Array]:
    """Return count, mean and sample variance (eq. 12) of each of ``n`` points, each ``(n,)``.

    Args:
        values: All values, ``(N,)``.
        point: The point each value belongs to, ``(N,)``. Every point has a value.
        n: The number of points.
    """
    count = np.bincount(point, minlength=n)
    mean = np.bincount(point, values, n) / count
    # A second pass removes the rounding error from the mean of large values.
    mean += np.bincount(point, values - mean[point], n) / count
    squares = np.bincount(point, (values - mean[point]) ** 2, n)
    sample_var = np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)
    return count, mean, sample_var
