import re
from fractions import Fraction

import numpy as np
import pytest

from rahbo.errors import SettingsError
from rahbo.numerics import (
    is_finite,
    is_number,
    is_real_number,
    is_whole,
    not_negative,
    positive,
    unwrapped,
)


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
        (np.timedelta64(3, "s"), False, False, False),
        (np.timedelta64("NaT"), False, False, False),
        (Fraction(1, 3), False, False, False),
        (np.ma.masked, False, False, False),
    ],
)
def test_what_counts_as_a_number(value, whole, number, finite):
    assert (is_whole(value), is_number(value), is_finite(value)) == (whole, number, finite)


BAD = [float("nan"), float("inf"), -1.0, "1", True, None, [1.0], 1j, 10**400, np.array([1.0, 2.0])]


@pytest.mark.parametrize("bad", BAD)
def test_a_setting_that_must_be_a_number_is_refused_by_name(bad):
    for check in (positive, not_negative):
        with pytest.raises(SettingsError, match=re.escape(f"got {bad!r}. Pass")) as refused:
            check("Rule(width)", bad)
        assert str(refused.value).startswith("Rule(width) must be a")


def test_a_setting_that_must_be_a_number_becomes_a_float():
    assert [positive("lam", value) for value in (2, np.float32(0.5), 1e-300)] == [2.0, 0.5, 1e-300]
    assert type(positive("lam", np.int64(2))) is float
    assert not_negative("norm", 0) == 0.0
    with pytest.raises(SettingsError, match="lam must be a positive number, got 0"):
        positive("lam", 0)


def test_a_real_number_may_be_of_any_type_and_size():
    assert all(map(is_real_number, [3, 10**400, np.float32(3), Fraction(1, 3), float("inf")]))
    assert not any(map(is_real_number, [True, np.True_, "3", 3j, np.timedelta64(3, "ns"), None]))


def test_an_array_without_dimensions_is_what_it_holds():
    for held in (np.float64(3.0), np.timedelta64(3, "ns"), np.str_("a")):
        assert unwrapped(np.array(held)) == held
        assert type(unwrapped(np.array(held))) is type(held)
    assert unwrapped("a") == "a"
    several = np.ones(2)
    assert unwrapped(several) is several
    assert all(np.isnan(unwrapped(m)) for m in (np.ma.masked, np.ma.array(3.0, mask=True)))
