import numpy as np
import pytest

from rahbo.numerics import is_finite, is_number, is_whole


@pytest.mark.parametrize(
    ("value", "whole", "number", "finite"),
    [
        (3, True, True, True),
        (np.int64(3), True, True, True),
        (3.0, False, True, True),
        (np.float32(3.5), False, True, True),
        (float("nan"), False, True, False),
        (float("inf"), False, True, False),
        (True, False, False, False),
        (np.True_, False, False, False),
        ("3", False, False, False),
        (None, False, False, False),
        (3 + 0j, False, False, False),
        ([3], False, False, False),
        (10**400, True, False, False),
    ],
)
def test_what_counts_as_a_number(value, whole, number, finite):
    assert (is_whole(value), is_number(value), is_finite(value)) == (whole, number, finite)
