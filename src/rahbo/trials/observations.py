"""What was measured: every repeat, and the count, mean and sample variance of each distinct point.

Notation: ``X (n, d)`` distinct points in order of first round, ``rounds (t,)`` the point of each
round. Repeats of a point merge over all its rounds, so cost depends on ``n`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rahbo.numerics import Array, Index, largest_first

# A rounding step below this share of the range of the values is negligible.
FINEST = 1e-4


def point_statistics(values: Array, point: Index, n: int) -> tuple[Index, Array, Array]:
    """Return count, mean and sample variance of each of n points (eq. 12), ``(n,)``.

    Args:
        values: All values, ``(N,)``.
        point: The point of each value, ``(N,)``.
        n: The number of points. Each must have a value.
    """
    count = np.bincount(point, minlength=n)
    mean = np.bincount(point, values, n) / count
    # A second pass removes the rounding error from the mean of large values.
    mean += np.bincount(point, values - mean[point], n) / count
    squares = np.bincount(point, (values - mean[point]) ** 2, n)
    return count, mean, np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)


def rounding_step(values: Array, finest: float = FINEST) -> float:
    """Return the step to multiples of which values ``(N,)`` are rounded, 0 if they are not.

    A step below the share ``finest`` of their range does not count. It is found with Euclid's
    algorithm: differences of values without a common step leave smaller and smaller remainders.
    """
    spread, largest = float(np.ptp(values)), float(np.max(np.abs(values)))
    nothing = 1e-9 * spread + 1e-14 * largest
    step, apart = 0.0, np.unique(np.diff(np.unique(values)))
    for other in apart[apart > nothing]:
        a, b = float(other), step
        while b > nothing:
            # Rounding may turn a remainder just above zero into one just below the divisor.
            rest = math.fmod(a, b)
            a, b = b, min(rest, b - rest)
        step = a if a > nothing else step
        if step < finest * spread:
            return 0.0
    return step


@dataclass(frozen=True, eq=False)
class Removed:
    """The effects of blocks, as they were subtracted from values.

    Attributes:
        effects: What was subtracted from the values of each block, ``(B,)``.
        dof: Degrees of freedom that this took from the sample variance of each point, ``(n,)``.
        mean_var: The variance that it left in the mean of each point, ``(n,)``.
    """

    effects: Array
    dof: Array
    mean_var: Array

    def at(self, points: Index) -> Removed:
        """Return the same for some of the points."""
        return Removed(self.effects, self.dof[points], self.mean_var[points])


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
        blocks: The names of the blocks that values belong to; empty if none belongs to any.
        block: The block of each value, ``(N,)``, -1 for none; None if there are no blocks.
        removed: What was subtracted from the values for their blocks; None if nothing was.
    """

    X: Array
    values: Array
    point: Index
    rounds: Index
    count: Index
    mean: Array
    sample_var: Array
    sign: float = 1.0
    blocks: tuple[str, ...] = ()
    block: Index | None = None
    removed: Removed | None = None

    @classmethod
    def from_rounds(
        cls,
        points: Sequence[Array],
        values: Sequence[Sequence[float]],
        sign: float = 1.0,
        named: Sequence[str | None] = (),
    ) -> Observations:
        """Return the user's values, given by round at ``points[i] (d,)``, by distinct point.

        The block of each value may be ``named``, in the order of all values.
        """
        place: dict[bytes, int] = {}
        rounds = np.array(
            [place.setdefault(x.tobytes(), len(place)) for x in points], dtype=np.intp
        )
        first = np.unique(rounds, return_index=True)[1]
        X = np.array([points[i] for i in first], dtype=float)
        sizes = [len(v) for v in values]
        flat = sign * np.array([y for v in values for y in v], dtype=float)
        point = np.repeat(rounds, sizes)
        found = cls(X, flat, point, rounds, *point_statistics(flat, point, len(X)), sign)
        blocks = dict.fromkeys(name for name in named if name is not None)
        if not blocks:
            return found
        number: dict[str | None, int] = {name: i for i, name in enumerate(blocks)}
        index = np.array([number.get(name, -1) for name in named], dtype=np.intp)
        return replace(found, blocks=tuple(blocks), block=index)

    def joined(self, later: Observations) -> Observations:
        """Return these observations and those of later rounds, by distinct point."""
        index = {x.tobytes(): i for i, x in enumerate(self.X)}
        place = np.array(
            [index.setdefault(x.tobytes(), len(index)) for x in later.X], dtype=np.intp
        )
        values = np.concatenate([self.values, later.values])
        point = np.concatenate([self.point, place[later.point]])
        rounds = np.concatenate([self.rounds, place[later.rounds]])
        X = np.vstack([self.X, later.X[place >= self.n]])
        found = point_statistics(values, point, len(X))
        return Observations(X, values, point, rounds, *found, self.sign)

    def best_first(self) -> Array:
        """Return the points ``(n, d)`` in order of their sample means, the largest first."""
        return np.asarray(self.X[largest_first(self.mean)])

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
        """The rounding step of the values, 0 if they are not rounded."""
        return rounding_step(self.told_values)

    @property
    def told_values(self) -> Array:
        """The values with the effects of their blocks, ``(N,)``."""
        if self.block is None or self.removed is None:
            return self.values
        effects = np.append(self.removed.effects, 0.0)
        return np.asarray(self.values + effects[self.block])

    def less(self, removed: Removed) -> Observations:
        """Return the observations with the effects of blocks subtracted from the values as told."""
        if self.block is None:
            return self
        values = self.told_values - np.append(removed.effects, 0.0)[self.block]
        count, mean, s2 = point_statistics(values, self.point, self.n)
        with np.errstate(invalid="ignore"):
            s2 = s2 * (count - 1) / (count - 1 - removed.dof)
        return replace(self, values=values, mean=mean, sample_var=s2, removed=removed)

    def thinned(self, most: int) -> Observations:
        """Return the observations of at most so many points, spread evenly over the rounds."""
        if self.n <= most:
            return self
        kept = np.linspace(0, self.n - 1, most).astype(np.intp)
        index = np.full(self.n, -1)
        index[kept] = np.arange(most)
        own, rounds = index[self.point], index[self.rounds]
        return replace(
            self,
            X=self.X[kept],
            values=self.values[own >= 0],
            point=own[own >= 0],
            rounds=rounds[rounds >= 0],
            count=self.count[kept],
            mean=self.mean[kept],
            sample_var=self.sample_var[kept],
            block=None if self.block is None else self.block[own >= 0],
            removed=None if self.removed is None else self.removed.at(kept),
        )

    def repeats(self, i: int) -> Array:
        """Return every value told at point ``i``."""
        return np.asarray(self.values[self.point == i])
