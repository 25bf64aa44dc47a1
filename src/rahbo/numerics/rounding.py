"""Numbers in few digits: enough to tell them apart, or as many as an interval justifies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rahbo.numerics.arrays import Array, Index

# Numbers that differ by so small a share of the largest one may differ by rounding alone.
ROUNDING = 2.0**-48
FEW_DIGITS, ALL_DIGITS = 6, 17
# Significant digits of a number without an interval, and of what is unknown about one with it.
DEFAULT, UNKNOWN = 5, 2
# Intervals whose larger end lies between these are written without an exponent.
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-4, 1e7
# An interval that is much longer on one side of its centre counts as at least this share of itself.
LEAST_SHARE = 0.1


def digits_of(*columns: Iterable[float], few: int = FEW_DIGITS) -> int:
    """Return how many digits show the differences between some numbers.

    Values near 10¹² that differ by 10⁻⁴ need more than those near 1 that differ by 1.

    Args:
        columns: The numbers, which are shown together. Those that are not finite do not count.
        few: The digits that the differences are to have.

    >>> digits_of([0.0, 1.0]), digits_of([1000.0, 1001.0]), digits_of([1.0, 1.0 + 2**-52])
    (6, 9, 17)
    """
    numbers = [number for column in columns for number in column if math.isfinite(number)]
    if not numbers:
        return few
    low, high = min(numbers), max(numbers)
    size = max(abs(low), abs(high))
    # Halves, because the whole may overflow.
    part = (high / 2 - low / 2) / (size / 2) if size / 2 > 0.0 else 1.0
    if part <= 0.0:
        return few
    return min(ALL_DIGITS, few + max(0, math.floor(-math.log10(part))))


def rounded(number: float, digits: int = FEW_DIGITS) -> float:
    """Return a number rounded to some significant digits; an int stays as it is.

    >>> rounded(1 / 3, 2), rounded(7)
    (0.33, 7)
    """
    return number if isinstance(number, int) else float(f"{number:.{digits}g}")


def largest_first(numbers: Array) -> Index:
    """Return the order of numbers ``(n,)``, the largest first and NaN last.

    Numbers that may differ by rounding alone keep their order, so that a tie between outputs is
    one in all units.

    >>> largest_first(np.array([1.0, np.nan, 3.0, 3.0 + 1e-15])).tolist()
    [2, 3, 0, 1]
    """
    order = np.argsort(-numbers, kind="stable")
    size = np.max(np.abs(numbers[np.isfinite(numbers)]), initial=0.0)
    with np.errstate(invalid="ignore"):
        step = -np.diff(numbers[order])
    # NaN is apart from any number.
    apart = (step > ROUNDING * size) | np.isnan(numbers[order][1:])
    rank = np.concatenate([[0], np.cumsum(apart)])[: len(order)]
    return np.asarray(order[np.lexsort((order, rank))])


def brief(number: float, digits: int = 2) -> str:
    """Return a number in few digits, with an exponent only if it is extremely large or small.

    >>> brief(0.04321), brief(13210.0), brief(13210.0, 3), brief(2e-9)
    ('0.043', '13000', '13200', '2e-09')
    """
    if not SMALLEST_PLAIN <= abs(number) < LARGEST_PLAIN:
        return f"{number:.{digits}g}"
    return f"{rounded(float(number), digits):.{ALL_DIGITS - 2}g}"


def percent(share: float) -> str:
    """Return a probability in percent, without digits that nobody needs near 0 and 1.

    >>> percent(0.98712), percent(3e-8), percent(1.0)
    ('98.7 %', '< 0.1 %', '> 99.9 %')
    """
    if share < 0.001 or share > 0.999:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    return f"{100 * share:.3g} %"


@dataclass(frozen=True)
class Justified:
    """How to write an estimate, the ends of its interval, and other numbers of its kind.

    What is unknown about the estimate gets two digits, so numbers that the interval cannot tell
    apart look alike.

    Attributes:
        place: The power of ten of the last digit; None if the interval has no length, or none that
            is finite. Numbers then have five digits.
        plain: Whether numbers are written without an exponent.

    >>> show = Justified.by(26.7386, (26.1173, 27.3599))
    >>> show.text(26.7386), show.text(26.1173), show.text(27.3599)
    ('26.7', '26.1', '27.4')
    """

    place: int | None
    plain: bool = True

    @classmethod
    def by(cls, value: float, interval: tuple[float, float]) -> Justified:
        """Return how to write an estimate with this interval."""
        lower, upper = interval
        # Halves, because the whole may overflow.
        half = upper / 2 - lower / 2
        size = max(abs(lower), abs(upper))
        if not (math.isfinite(half) and half > 0.0):
            return cls(None)
        nearer = min(upper - value, value - lower)
        half = max(nearer, LEAST_SHARE * half) if math.isfinite(nearer) else half
        place = math.floor(math.log10(half) + math.log10(2.0)) - (UNKNOWN - 1)
        # A float has no more digits than these.
        place = max(place, math.floor(math.log10(size)) - (ALL_DIGITS - 3))
        return cls(place, SMALLEST_PLAIN <= size < LARGEST_PLAIN)

    def of_size(self, number: float) -> str:
        """Return a positive number in the digits that are justified, but never as zero.

        >>> Justified(-2).of_size(0.051), Justified(-2).of_size(0.0051)
        ('0.05', 'less than 0.01')
        """
        if self.place is not None and number < 10.0**self.place:
            return f"less than {self.text(10.0**self.place)}"
        return self.text(number)

    def text(self, number: float) -> str:
        """Return a number in the digits that are justified.

        >>> Justified(-3).text(0.04), Justified(2).text(12345.0), Justified(-9, False).text(3e-7)
        ('0.040', '12300', '3.00e-07')
        """
        if self.place is None or not math.isfinite(number):
            return f"{number:.{DEFAULT}g}"
        if self.plain:
            tidy = number if self.place <= 0 else round(number / 10**self.place) * 10**self.place
            return f"{tidy:z.{max(0, -self.place)}f}"
        digits = -1 if number == 0.0 else math.floor(math.log10(abs(number))) - self.place
        return f"{number:.{digits}e}" if digits >= 0 else "0"
