"""Parameters: how a user's value becomes columns of the unit cube, and back.

Notation: ``X`` holds points ``(m, d)`` in ``[0, 1]^d``, ``x`` is one point ``(d,)``, ``U`` holds
uniform numbers ``(m, n_uniform)``. Between a user's value and its unit columns ``(m, width)``
stands its *code* ``(m,)``: the number itself, or the index of a choice or of a listed row.

Real numbers are rounded to the digits (11 to 15) that survive the trip to the unit cube and back.
So a value typed by hand comes back as typed, and ``encode(decode(x))`` is an exact fixed point:
repeats of a point are recognised by equality.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from rahbo.errors import SpaceError, at
from rahbo.numerics import Array, Mask, Registered

SMALLEST_SIZE, LARGEST_SIZE, _LARGEST_INT = 1e-290, 1e290, 10**12
_SLACK = 1e-12
# Correctly rounded powers, so that rounding 0.1 to 14 decimals gives the float 0.1 itself.
_POWERS = np.array([float(f"1e{k}") for k in range(-300, 309)])


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python value, and anything else unchanged.

    A date or a duration of NumPy stays as it is, because some of them would become whole numbers.
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value
    return value.item() if isinstance(value, np.generic) else value


def is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_sized(value: float) -> bool:
    """Return whether a number is zero or of a size that neither overflows nor underflows."""
    return value == 0 or SMALLEST_SIZE <= abs(value) <= LARGEST_SIZE


def key(value: Any) -> tuple[bool, Any]:
    """Return the identity of a choice: 1 and 1.0 are the same, 1 and True are not."""
    value = plain(value)
    if not (value is None or isinstance(value, str | int | float)):
        raise SpaceError(f"A choice must be a str, bool, int, float or None, got {value!r}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise SpaceError(f"A numeric choice must be finite, got {value!r}. Use None or a str.")
    return isinstance(value, bool), value


def check_name(name: object) -> None:
    """Raise an error for a name that is not a non-empty string."""
    if not isinstance(name, str) or not name:
        raise SpaceError(f"A parameter name must be a non-empty string, got {name!r}. Rename it.")


class Part(Registered, ABC):
    """A part of a space: its values, their codes ``(m,)`` and unit columns ``(m, width)``.

    ``count`` is the number of values. ``labels(name)`` names the columns. ``code(name, value)``
    checks and codes one value, and ``value(cols)`` is the value nearest to unit columns.
    ``codes(cols)`` and ``units(codes)`` translate many at once. ``draw(u)`` returns codes for
    uniform numbers, and ``near(code)`` lists other codes to try.
    """

    @property
    @abstractmethod
    def count(self) -> float: ...

    @abstractmethod
    def labels(self, name: str) -> list[str]: ...

    @abstractmethod
    def code(self, name: str, value: Any) -> float: ...

    @abstractmethod
    def value(self, cols: list[float]) -> Any: ...

    @abstractmethod
    def codes(self, cols: Array) -> Array: ...

    @abstractmethod
    def units(self, codes: Array) -> Array: ...

    @abstractmethod
    def draw(self, u: Array) -> Array: ...

    @abstractmethod
    def near(self, code: float) -> Array: ...


@dataclass(frozen=True, repr=False)
class _Numeric(Part):
    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            object.__setattr__(self, end, self._bound(end, plain(getattr(self, end))))
        kind, got = type(self).__name__, f"got low={self.low!r}, high={self.high!r}"
        if self.low == self.high:
            raise SpaceError(f"{kind} needs low < high, {got}. Leave a constant out of the space.")
        if self.low > self.high:
            raise SpaceError(f"{kind} needs low < high, {got}. Swap them.")
        if not isinstance(self.log, bool):
            raise SpaceError(
                f"{kind} needs log=True or log=False as its third argument, got {self.log!r}."
            )
        if self.log and self.low <= 0:
            raise SpaceError(f"{kind} with log=True needs low > 0, {got}. Raise low or drop log.")

    def __repr__(self) -> str:
        log = ", log=True" if self.log else ""
        return f"{type(self).__name__}({self.low!r}, {self.high!r}{log})"

    @abstractmethod
    def _bound(self, end: str, value: Any) -> float: ...

    @abstractmethod
    def _tidy(self, codes: Any) -> Any:
        """Return the nearest round number, ignoring the bounds."""

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """Origin and span on the linear or log scale."""
        low, high = np.log([self.low, self.high]) if self.log else (self.low, self.high)
        # Neighbouring floats may have the same logarithm.
        return float(low), float(high - low) or 1.0

    @cached_property
    def _largest(self) -> float:
        return max(abs(self.low), abs(self.high))

    def labels(self, name: str) -> list[str]:
        return [name]

    def code(self, name: str, value: Any) -> float:
        value = plain(value)
        if not is_real(value) or value != value:
            raise SpaceError(f"{name}={value!r} must be a number for {self!r}. Pass a finite one.")
        below, above = (
            _SLACK * (abs(end) if self.log else self._largest) for end in (self.low, self.high)
        )
        if value < self.low - below or value > self.high + above:
            raise SpaceError(
                f"{name}={value!r} is outside {self!r}."
                " Pass values in user units, or widen the bounds."
            )
        return float(value)

    # NumPy's exp is used for single numbers too, because math.exp may differ in the last bit.
    def _unwarp(self, u: Any) -> Any:
        """Return the code of a unit number or of an array of them, ignoring the bounds."""
        origin, span = self._scale
        return self._tidy(np.exp(origin + u * span) if self.log else origin + u * span)

    def value(self, cols: list[float]) -> float:
        if 0.0 < cols[0] < 1.0:
            return min(max(float(self._unwarp(cols[0])), self.low), self.high)
        return self.low if cols[0] <= 0.0 else self.high

    def codes(self, cols: Array) -> Array:
        u = cols[:, 0]
        codes = np.clip(self._unwarp(u), self.low, self.high)
        return np.where(u <= 0.0, self.low, np.where(u >= 1.0, self.high, codes))

    def unclipped_codes(self, u: Array) -> Array:
        """Return the codes of unit numbers, which may lie beyond 0 and 1."""
        return np.asarray(self._unwarp(u))

    def unclipped_units(self, codes: Array) -> Array:
        """Return the unit column ``(m, 1)`` of codes ``(m,)``, which may lie beyond the bounds."""
        origin, span = self._scale
        if self.log:
            codes = np.where(codes > 0.0, codes, self.low)
        v = self._tidy(codes)
        return np.asarray(((np.log(v) if self.log else v) - origin) / span)[:, None]

    def units(self, codes: Array) -> Array:
        origin, span = self._scale
        # A bound is legal even if it is not a round number.
        inner = (codes > self.low) & (codes < self.high)
        v = np.clip(np.where(inner, self._tidy(codes), codes), self.low, self.high)
        u = np.clip(((np.log(v) if self.log else v) - origin) / span, 0.0, 1.0)
        return np.where(v <= self.low, 0.0, np.where(v >= self.high, 1.0, u))[:, None]


@dataclass(frozen=True, repr=False)
class Float(_Numeric):
    """A real number between ``low`` and ``high``, on a log scale if ``log``."""

    @property
    def count(self) -> float:
        return math.inf

    def _bound(self, end: str, value: Any) -> float:
        if not is_real(value) or not is_sized(value):
            raise SpaceError(
                f"Float bounds must be finite, and 0 or between {SMALLEST_SIZE} and {LARGEST_SIZE}"
                f" in size, got {end}={value!r}. Pass numbers, or use other units."
            )
        return float(value)

    @cached_property
    def _digits(self) -> int:
        """Digits kept: decimal places on a linear scale, significant digits on a log scale."""
        if not self.log:
            return 14 - math.ceil(math.log10(self._largest))
        size = max(abs(math.log(self.low)), abs(math.log(self.high)))
        return math.floor(-math.log10(5e-15 * (1.0 + size)))

    def _tidy(self, codes: Any) -> Any:
        power: Any = self._digits
        if self.log:
            power = power - 1 - np.floor(np.log10(codes)).astype(np.int64)
        scale = _POWERS[power + 300]
        return np.rint(codes * scale) / scale

    def draw(self, u: Array) -> Array:
        return self.codes(u[:, None])

    def near(self, code: float) -> Array:
        return np.empty(0)


@dataclass(frozen=True, repr=False)
class Int(_Numeric):
    """A whole number from ``low`` to ``high``, both included, on a log scale if ``log``."""

    def _bound(self, end: str, value: Any) -> float:
        if not is_real(value) or not abs(value) <= _LARGEST_INT or value != int(value):
            raise SpaceError(
                f"Int bounds must be whole numbers up to {_LARGEST_INT} in size,"
                f" got {end}={value!r}. Pass integers, or use Float."
            )
        return int(value)

    @property
    def count(self) -> float:
        return float(self.high - self.low + 1)

    def _tidy(self, codes: Any) -> Any:
        return np.floor(codes + 0.5)

    def code(self, name: str, value: Any) -> float:
        code = super().code(name, value)
        if code != int(code):
            raise SpaceError(f"{name}={value!r} must be a whole number for {self!r}. Round it.")
        return code

    def value(self, cols: list[float]) -> int:
        return int(super().value(cols))

    def draw(self, u: Array) -> Array:
        # Half a unit beyond each bound: otherwise the bounds would be drawn half as often.
        low, high = self.low - 0.5, self.high + 0.5
        codes = np.floor((low * (high / low) ** u if self.log else low + u * (high - low)) + 0.5)
        return np.clip(codes, self.low, self.high)

    def all(self) -> Array:
        return np.arange(self.low, self.high + 1, dtype=np.float64)

    def near(self, code: float) -> Array:
        steps = np.unique(np.rint(np.geomspace(1, self.high - self.low, 6)))
        codes = code + np.concatenate([-steps[::-1], steps])
        return codes[(codes >= self.low) & (codes <= self.high)]


class Listed(Part):
    """A part with a table of unit columns ``(n, width)``, one row for each code."""

    @property
    @abstractmethod
    def _table(self) -> Array: ...

    def apart(self, width: int) -> Mask:
        """Return the unit columns ``(width,)`` in which any difference makes another region."""
        return np.ones(width, dtype=bool)

    @property
    def count(self) -> float:
        return float(len(self._table))

    def units(self, codes: Array) -> Array:
        return self._table[codes.astype(np.int64)]

    def draw(self, u: Array) -> Array:
        return np.minimum(np.floor(u * self.count), self.count - 1)

    def all(self) -> Array:
        return np.arange(self.count)


@dataclass(frozen=True, repr=False)
class Categorical(Listed):
    """One of ``choices``, which have no order."""

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        if not isinstance(self.choices, list | tuple | np.ndarray):
            raise SpaceError(f"Categorical needs a list of choices, got {self.choices!r}.")
        object.__setattr__(self, "choices", tuple(plain(c) for c in self.choices))
        if len(self._index) < 2 or len(self._index) < len(self.choices):
            raise SpaceError(
                f"Categorical needs two or more distinct choices, got {list(self.choices)!r}."
                " Remove duplicates, and leave a constant out of the space."
            )

    def __repr__(self) -> str:
        return f"Categorical({list(self.choices)!r})"

    @cached_property
    def _index(self) -> dict[tuple[bool, Any], int]:
        return {key(choice): i for i, choice in enumerate(self.choices)}

    @cached_property
    def _table(self) -> Array:
        n = len(self.choices)
        return np.array([[0.0], [1.0]]) if n == 2 else np.eye(n)

    def labels(self, name: str) -> list[str]:
        return [f"{name}={choice}" for choice in self.choices[-self._table.shape[1] :]]

    def code(self, name: str, value: Any) -> float:
        try:
            return self._index[key(value)]
        except (KeyError, SpaceError):
            raise SpaceError(
                f"{name}={value!r} is not a choice of {self!r}. Pass one of the choices, or add it."
            ) from None

    def codes(self, cols: Array) -> Array:
        best = cols[:, 0] >= 0.5 if cols.shape[1] == 1 else cols.argmax(axis=1)
        return best.astype(np.float64)

    def value(self, cols: list[float]) -> Any:
        best = cols[0] >= 0.5 if len(cols) == 1 else cols.index(max(cols))
        return self.choices[best]

    def near(self, code: float) -> Array:
        return np.delete(self.all(), int(code))


Parameter = Float | Int | Categorical


def shorthand(name: str, spec: Any) -> Parameter:
    """Return the parameter that a user wrote, in full or in short."""
    if isinstance(spec, Float | Int | Categorical):
        return spec
    if isinstance(spec, list | np.ndarray) and np.ndim(spec) == 1:
        if is_range(choices := [plain(choice) for choice in spec]):
            raise _ambiguous(name, *choices)
        with at(name):
            return Categorical(choices)
    if isinstance(spec, tuple) and len(spec) == 2 and all(is_real(plain(v)) for v in spec):
        low, high = map(plain, spec)
        if isinstance(low, int) and isinstance(high, int):
            raise SpaceError(
                f"{name}=({low}, {high}) may mean real or whole numbers."
                f" Write Float({low}, {high}) or Int({low}, {high})."
            )
        with at(name):
            return Float(low, high)
    raise SpaceError(
        f"{name} must be a Float, Int or Categorical, a (low, high) tuple with a float in it, or a"
        f" list of choices, got {spec!r}. Write one of these."
    )


def is_range(listed: Sequence[object]) -> bool:
    """Return whether a list looks like the bounds of a range, as other libraries write them."""
    low, high = listed if len(listed) == 2 else (0, 0)
    return is_real(low) and is_real(high) and low < high


def _ambiguous(name: str, low: float, high: float) -> SpaceError:
    whole = f" or Int({low}, {high})" if isinstance(low, int) and isinstance(high, int) else ""
    return SpaceError(
        f"{name}=[{low}, {high}] may be the bounds of a range or two choices. Write"
        f" Float({low}, {high}){whole} for a range, or Categorical([{low}, {high}]) for choices."
    )
