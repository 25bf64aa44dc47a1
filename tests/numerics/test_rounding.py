import math
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rahbo.numerics import (
    ALL_DIGITS,
    FEW_DIGITS,
    Justified,
    brief,
    digits_of,
    largest_first,
    percent,
    rounded,
)

# An estimate, the ends of its interval, and how the three are written.
CASES = [
    (26.7386, (26.1173, 27.3599), "26.7 26.1 27.4"),
    (1.0069, (0.98836, 1.0262), "1.007 0.988 1.026"),
    (0.051631, (0.040311, 0.066129), "0.052 0.040 0.066"),
    (-26.7386, (-27.3599, -26.1173), "-26.7 -27.4 -26.1"),
    (0.0004, (-0.5, 0.6), "0.0 -0.5 0.6"),
    (-0.0004, (-0.05, 0.06), "0.000 -0.050 0.060"),
    (56789.0, (56212.3, 57399.0), "56800 56200 57400"),
    (1e6 + 1.0, (1e6, 1e6 + 2.0), "1000001.0 1000000.0 1000002.0"),
    (3.21e12, (3.0e12, 3.4e12), "3.21e+12 3.00e+12 3.40e+12"),
    (2e-7, (1e-7, 3e-7), "2.0e-07 1.0e-07 3.0e-07"),
    (0.0, (-1e-9, 1e-9), "0 -1.0e-09 1.0e-09"),
    # The interval of a standard deviation reaches farther up than down.
    (0.05, (0.01, 3.2), "0.05 0.01 3.20"),
    # Nothing is unknown, or everything.
    (0.123456789, (0.123456789, 0.123456789), "0.12346 0.12346 0.12346"),
    (1.5, (-math.inf, math.inf), "1.5 -inf inf"),
    (math.nan, (math.nan, math.nan), "nan nan nan"),
]


@pytest.mark.parametrize(("value", "interval", "expected"), CASES, ids=lambda part: str(part))
def test_an_interval_says_how_many_digits_are_shown(value, interval, expected):
    show = Justified.by(value, interval)
    assert " ".join(show.text(number) for number in (value, *interval)) == expected


FINITE = st.floats(-sys.float_info.max / 4, sys.float_info.max / 4)


@given(st.tuples(FINITE, FINITE, FINITE).map(sorted))
def test_rounding_changes_little_of_what_is_unknown(numbers):
    lower, value, upper = numbers
    show = Justified.by(value, (lower, upper))
    width = upper - lower
    for number in numbers:
        text = show.text(number)
        assert len(text) <= 24
        precision = 1e-13 * max(abs(lower), abs(upper)) if width else 1e-4 * abs(number)
        assert abs(float(text) - number) <= max(0.1 * width, precision)


def test_all_numbers_of_one_kind_have_the_same_last_digit():
    show = Justified.by(1.0, (0.9, 1.1))
    assert [show.text(number) for number in (0.0, 1.0, 99.95, -0.001)] == [
        "0.00",
        "1.00",
        "99.95",
        "0.00",
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (0.1, "0.1"),
        (-0.04321, "-0.043"),
        (0.00012345, "0.00012"),
        (203.0, "200"),
        (13210.0, "13000"),
        (9.96e6, "10000000"),
        (3.21e12, "3.2e+12"),
        (2e-9, "2e-09"),
        (math.inf, "inf"),
    ],
)
def test_a_number_in_few_digits_has_no_exponent_if_it_is_of_ordinary_size(number, text):
    assert brief(number) == text


def test_a_probability_near_0_or_1_is_not_shown_to_many_digits():
    shares = (0.0, 0.000246, 0.001, 0.5, 0.98712, 0.999, 0.99999, 1.0)
    assert [percent(share) for share in shares] == [
        "< 0.1 %", "< 0.1 %", "0.1 %", "50 %", "98.7 %", "99.9 %", "> 99.9 %", "> 99.9 %",
    ]  # fmt: skip


def test_a_tie_is_one_in_every_unit_and_keeps_its_order():
    values = np.array([0.375, 0.1 + 0.2, 0.3, np.nan, -1.0, 0.375])
    for a, b in ((1.0, 0.0), (1e-6, 3.0), (7.0, 1e6), (1e3, -1e9)):
        assert largest_first(a * values + b).tolist() == [0, 5, 1, 2, 4, 3]
    assert largest_first(np.full(2, np.nan)).tolist() == [0, 1]
    assert largest_first(np.array([-np.inf, 1.0, np.inf])).tolist() == [2, 1, 0]


EXTREMES = (
    [0.0], [], [math.nan], [math.inf, 1.0], [5e-324], [5e-324, 1e-323], [0.0, 5e-324],
    [-sys.float_info.max, sys.float_info.max], [1e300, np.nextafter(1e300, math.inf)],
    [1e-300, np.nextafter(1e-300, 1.0)], [1.0, np.nextafter(1.0, 2.0)], [1e12, 1e12 + 1e-4],
)  # fmt: skip


@pytest.mark.parametrize("numbers", EXTREMES, ids=str)
def test_extreme_numbers_stay_apart_and_stay_themselves(numbers):
    digits = digits_of(numbers)
    assert FEW_DIGITS <= digits <= ALL_DIGITS
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
    assert digits_of([0.3, 0.8], [-2.0]) == FEW_DIGITS
    assert digits_of([3.0, 3.0, 3.0]) == FEW_DIGITS
    assert digits_of([1.0, 1000.0], few=3) == 3
    assert (rounded(math.pi), rounded(10**20)) == (3.14159, 10**20)
