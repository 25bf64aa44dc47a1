"""Numbers of a page in few digits, but in enough to tell them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable

FEW, ALL = 6, 17


def digits_of(*columns: Iterable[float], few: int = FEW) -> int:
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
    return min(ALL, few + max(0, math.floor(-math.log10(part))))


def rounded(number: float, digits: int = FEW) -> float:
    """Return a number rounded to some significant digits; an int stays as it is.

    >>> rounded(1 / 3, 2), rounded(7)
    (0.33, 7)
    """
    return number if isinstance(number, int) else float(f"{number:.{digits}g}")
