import math
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rahbo.pages.rounding import ALL, FEW, digits_of, rounded

EXTREMES = (
    [0.0], [], [math.nan], [math.inf, 1.0], [5e-324], [5e-324, 1e-323], [0.0, 5e-324],
    [-sys.float_info.max, sys.float_info.max], [1e300, np.nextafter(1e300, math.inf)],
    [1e-300, np.nextafter(1e-300, 1.0)], [1.0, np.nextafter(1.0, 2.0)], [1e12, 1e12 + 1e-4],
)  # fmt: skip


@pytest.mark.parametrize("numbers", EXTREMES, ids=str)
def test_extreme_numbers_stay_apart_and_stay_themselves(numbers):
    digits = digits_of(numbers)
    assert FEW <= digits <= ALL
    shown = [rounded(float(v), digits) for v in numbers]
    assert len({str(v) for v in shown}) == len({str(float(v)) for v in numbers})


@given(st.floats(-1e60, 1e60), st.floats(1e-9, 1e9))
def test_differences_keep_their_digits(offset, spread):
    """Rounding changes a number by little of the spread, or not at all."""
    numbers = [offset, offset + spread, offset + 0.123456789 * spread]
    digits, span = digits_of(numbers), max(numbers) - min(numbers)
    assume(span > 0.0)
    for number in numbers:
        assert abs(rounded(number, digits) - number) <= 1e-4 * span


def test_what_is_apart_needs_few_digits():
    assert digits_of([0.3, 0.8], [-2.0]) == FEW
    assert digits_of([3.0, 3.0, 3.0]) == FEW
    assert digits_of([1.0, 1000.0], few=3) == 3
    assert (rounded(math.pi), rounded(10**20)) == (3.14159, 10**20)
