"""What counts as a number, and checks of settings that must be one."""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeGuard

import numpy as np

from rahbo.errors import SettingsError

# Whole numbers beyond this do not fit into a float.
_LARGEST_WHOLE = 10**300


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; True, False and durations are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number that fits into a float, NaN or infinite included."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < _LARGEST_WHOLE
    return is_real_number(value) and isinstance(value, float | np.integer | np.floating)


def is_real_number(value: object) -> TypeGuard[Real]:
    """Return whether a value is a real number of any type and size, such as a fraction."""
    # NumPy takes a duration for a whole number.
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def unwrapped(given: object) -> object:
    """Return what an array without dimensions holds, and anything else as it is.

    NumPy's mark of a masked number becomes NaN.
    """
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    return np.nan if given is np.ma.masked else given


def is_finite(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number."""
    return is_number(value) and math.isfinite(value)


def positive(name: str, value: object) -> float:
    """Return a setting as a float; raise an error unless it is a finite number above 0."""
    if not (is_finite(value) and value > 0):
        raise SettingsError(
            f"{name} must be a positive number, got {value!r}. Pass a finite one such as 1.0."
        )
    return float(value)


def not_negative(name: str, value: object) -> float:
    """Return a setting as a float; raise an error unless it is a finite number >= 0."""
    if not (is_finite(value) and value >= 0):
        raise SettingsError(
            f"{name} must be a number >= 0, got {value!r}. Pass a finite one such as 1.0."
        )
    return float(value)
