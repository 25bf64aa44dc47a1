"""What the values of a race say about each pair of entrants, valid after every value.

Notation: ``R`` races, ``k`` entrants. Arrays have the shape ``(R, k)``. One entrant of each race is
in focus, and all the others are compared with it. Larger values are better.

A race is looked at after every value, so an ordinary t-test would sooner or later call a difference
that is not there. The threshold here is that of a normal mixture (Robbins 1970), which a random
walk without drift crosses at any time with probability ``level`` at most. Noise that is not
Gaussian, and few values, make the statistic smaller before it is compared: Student's t, the
skewness of the difference, and an allowance for values that have not been seen yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rahbo.numerics import Array, Index, Mask

# The number of pairs at which the threshold is closest to that of a single look, about.
SCALE = 20.0
# Variances are estimated as if so many values more had come, which lie where the other entrant is.
UNSEEN = 2.0


@dataclass(frozen=True, eq=False)
class Tally:
    """Count and moments of the values of each entrant, kept up to date value by value.

    Attributes:
        counts: How many values there are.
        means: Their means.
        squares: Sums of squared deviations from the mean.
        cubes: Sums of cubed deviations from the mean.
        halves: Sums of the values with an even and with an odd number, ``(2, R, k)``.
    """

    counts: Array
    means: Array
    squares: Array
    cubes: Array
    halves: Array

    @classmethod
    def empty(cls, races: int, entrants: int) -> Tally:
        """Return a tally without values."""
        moments = np.zeros((4, races, entrants))
        return cls(moments[0], moments[1], moments[2], moments[3], np.zeros((2, races, entrants)))

    def add(self, races: Index, entrants: Index, values: Array) -> None:
        """Add one value to an entrant of each of these races, by the update of Terriberry."""
        at = races, entrants
        before = self.counts[at]
        n, off = before + 1.0, values - self.means[at]
        step = off / n
        term = off * step * before
        self.cubes[at] += term * step * (n - 2.0) - 3.0 * step * self.squares[at]
        self.squares[at] += term
        self.means[at] += step
        self.halves[before.astype(int) % 2, races, entrants] += values
        self.counts[at] = n

    def take(self, races: Index | Mask) -> Tally:
        """Return the tallies of some of the races."""
        return self._each(lambda part: part[..., races, :])

    def of(self, entrants: Sequence[int]) -> Tally:
        """Return the tallies of some of the entrants."""
        return self._each(lambda part: part[..., list(entrants)])

    def _each(self, pick: Callable[[Array], Array]) -> Tally:
        moments = pick(self.counts), pick(self.means), pick(self.squares), pick(self.cubes)
        return Tally(*moments, halves=pick(self.halves))

    @property
    def variances(self) -> Array:
        """Sample variances; 0 with fewer than two values."""
        return self.squares / np.maximum(self.counts - 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The entrant in focus beside each other one. Its own column is to be ignored.

    Attributes:
        leads: By how much the mean of the entrant in focus is larger.
        errors: Standard errors of these leads.
        z: The leads in standard errors, as if these were known and the noise were Gaussian.
        sizes: How many pairs of values would give this error.
        matched: Whether the values were compared seed by seed.
    """

    leads: Array
    errors: Array
    z: Array
    sizes: Array
    matched: Mask

    def thresholds(self, level: float) -> Array:
        """Return the z from which on a lead is called, at any time with this error rate."""
        return threshold(self.sizes, level)

    def bounds(self, level: float) -> tuple[Array, Array]:
        """Return intervals of the leads that hold at all times with probability 1 - level.

        An interval reaches as far as a lead of the same error would have to be called.
        """
        width = self.errors * threshold(self.sizes, level) * self._stretch()
        return self.leads - width, self.leads + width

    def _stretch(self) -> Array:
        """Return how much larger the t statistic is than the z made from it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.errors > 0.0, self.leads / self.errors, 0.0)
            ratio = np.where(np.isfinite(self.z) & (np.abs(self.z) > 1e-6), t / self.z, 1.0)
        return np.clip(ratio, 1.0, 10.0)


def threshold(sizes: Array, level: float) -> Array:
    """Return the threshold for a lead that rests on so many pairs of values.

    c² = (1 + s/n)·(ln(1 + n/s) + 2 ln(1/level))

    It is infinite without values, smallest near ``n`` = 5·`SCALE`, and grows very slowly then.
    """
    n = np.maximum(sizes, 1e-9)
    width = (1.0 + SCALE / n) * (np.log1p(n / SCALE) + 2.0 * math.log(1.0 / level))
    return np.asarray(np.sqrt(width))


def pairs_of(tally: Tally, focus: Index) -> Pairs:
    """Compare the entrant in focus of each race with all others, by Welch's t.

    Args:
        tally: The values.
        focus: The number of an entrant for each race, ``(R,)``.
    """

    def own(part: Array) -> Array:
        return np.take_along_axis(part, focus[:, None], axis=1)

    n, var = tally.counts, tally.variances
    third = tally.cubes / np.maximum(n, 1.0)
    leads = own(tally.means) - tally.means
    unseen = UNSEEN * leads**2
    with np.errstate(divide="ignore", invalid="ignore"):
        mine = (own(var) + unseen / (own(n) + 1.0)) / own(n)
        theirs = (var + unseen / (n + 1.0)) / n
        error_var = mine + theirs
        skewness = (own(third) / own(n) ** 2 - third / n**2) / error_var**1.5
        spread = mine**2 / (own(n) - 1.0) + theirs**2 / (n - 1.0)
        df = error_var**2 / spread
        sizes = (mine * own(n) + theirs * n) / error_var
    sizes = np.where(error_var > 0.0, sizes, np.minimum(own(n), n))
    z = normal_score(leads, error_var, skewness, df)
    return Pairs(leads, np.sqrt(error_var), z, sizes, np.zeros(leads.shape, bool))


def normal_score(leads: Array, error_var: Array, skewness: Array, df: Array) -> Array:
    """Return t statistics as z, made smaller for few values and skewed noise.

    z = (8ν + 1)/(8ν + 3)·√(ν ln(1 + t²/ν))

    That is Wallace's approximation (1959). The skewness of the lead enters by Hall's transformation
    (1992), wherever it makes the statistic smaller.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = leads / np.sqrt(error_var)
        g = np.nan_to_num(skewness, posinf=0.0, neginf=0.0)
        turned = t + g * t**2 / 3.0 + g**2 * t**3 / 27.0 + g / 6.0
        least = np.minimum(np.abs(t), np.maximum(np.sign(t) * turned, 0.0))
        z = (8.0 * df + 1.0) / (8.0 * df + 3.0) * np.sqrt(df * np.log1p(least**2 / df))
    z = np.where(np.isfinite(z), z, 0.0)
    return np.asarray(np.sign(leads) * z)
