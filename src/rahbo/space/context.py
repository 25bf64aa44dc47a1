"""Conditions that are given, not chosen: a temperature, a production line, the time.

A condition is a parameter that both models know and that no search moves. Its numbers may lie
beyond its bounds, because nobody can choose them and no measurement may be lost. So its unit
columns may leave ``[0, 1]``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rahbo.errors import SpaceError
from rahbo.numerics import Array
from rahbo.space.parameters import (
    LARGEST_SIZE,
    Categorical,
    Float,
    Int,
    Parameter,
    Part,
    is_real,
    plain,
    shorthand,
)

# How far beyond its bounds a condition may lie, in widths of its range. Farther away the model
# knows nothing, and a value there is most likely in other units.
BEYOND = 1.0
# The largest time, in spans. Distances between larger numbers would lose their digits.
LATEST = 1000.0
# Decimal places of a time that are kept, counted from the size of the span.
TIME_DIGITS = 12


class Condition(Part):
    """A part of the space that is given when a point is asked for."""

    @property
    @abstractmethod
    def kind(self) -> Parameter:
        """The parameter that the condition looks like."""

    @property
    def declared(self) -> Condition:
        """The condition as the user declared it, also if it is given now."""
        return self

    @property
    @abstractmethod
    def limits(self) -> tuple[float, float]:
        """The range of the unit columns."""

    def all(self) -> Array:
        """Return the codes of all its values."""
        if isinstance(self.kind, Float):
            raise SpaceError(f"The values of {self!r} cannot be listed.")
        return self.kind.all()

    def near(self, code: float) -> Array:
        """Return nothing, because a condition cannot be moved."""
        return np.empty(0)


@dataclass(frozen=True, repr=False, init=False)
class Context(Condition):
    """A condition that is known when a point is asked for and cannot be chosen.

    Write ``Context(10.0, 35.0)`` for a number, ``Context(["a", "b"])`` for a category, or wrap any
    parameter: ``Context(Int(1, 5))``. The bounds say which range is usual. A number up to one width
    of the range beyond them is allowed, and the models extrapolate.

    >>> Context(10.0, 35.0), Context(["a", "b"])
    (Context(10.0, 35.0), Context(['a', 'b']))
    """

    parameter: Parameter

    def __init__(self, parameter: Any, high: float | None = None, log: bool = False) -> None:
        if high is not None:
            parameter = Float(parameter, high, log)
        elif log or is_real(plain(parameter)):
            raise SpaceError(
                f"Context needs low and high, a list of choices or a parameter, got {parameter!r}. "
                "Write Context(10.0, 35.0), Context(['a', 'b']) or Context(Int(1, 5))."
            )
        object.__setattr__(self, "parameter", shorthand("Context", parameter))

    def __repr__(self) -> str:
        inner = repr(self.parameter)
        if isinstance(self.parameter, Int):
            return f"Context({inner})"
        return f"Context{inner.removeprefix(type(self.parameter).__name__)}"

    @property
    def kind(self) -> Parameter:
        """The parameter."""
        return self.parameter

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the unit columns."""
        return (0.0, 1.0) if isinstance(self.parameter, Categorical) else (-BEYOND, 1.0 + BEYOND)

    @property
    def count(self) -> float:
        """The number of usual values."""
        return self.parameter.count

    def labels(self, name: str) -> list[str]:
        """Return the labels of the unit columns."""
        return self.parameter.labels(name)

    def code(self, name: str, value: Any) -> float:
        """Check and code one value, which may lie beyond the bounds."""
        kind, value = self.parameter, plain(value)
        if isinstance(kind, Categorical) or not is_real(value) or value != value:
            return self._usual_code(name, value)
        if kind.low <= value <= kind.high:
            return self._usual_code(name, value)
        if isinstance(kind, Int) and abs(value) <= LARGEST_SIZE and value != int(value):
            raise SpaceError(f"{name}={value!r} must be a whole number for {self!r}. Round it.")
        sized = abs(value) <= LARGEST_SIZE and (value > 0 or not kind.log)
        low, high = self.limits
        if not sized or not low <= float(kind.unclipped_units(np.array([value]))[0, 0]) <= high:
            raise SpaceError(
                f"{name}={value!r} is far outside {self!r}: more than the width of its range. "
                "Pass values in user units, or widen the bounds."
            )
        return float(value)

    def _usual_code(self, name: str, value: Any) -> float:
        """Return the parameter's code. An error names the context, which the user declared."""
        try:
            return self.parameter.code(name, value)
        except SpaceError as error:
            raise SpaceError(str(error).replace(repr(self.parameter), repr(self))) from None

    def value(self, cols: list[float]) -> Any:
        """Return the value nearest to unit columns."""
        kind = self.parameter
        if isinstance(kind, Categorical) or 0.0 <= cols[0] <= 1.0:
            return kind.value(cols)
        found = float(kind.unclipped_codes(np.array(cols))[0])
        return int(found) if isinstance(kind, Int) else found

    def codes(self, cols: Array) -> Array:
        """Return the codes ``(m,)`` of unit columns ``(m, width)``."""
        kind, inside = self.parameter, self.parameter.codes(cols)
        if isinstance(kind, Categorical):
            return inside
        u = cols[:, 0]
        return np.where((u >= 0.0) & (u <= 1.0), inside, kind.unclipped_codes(u))

    def units(self, codes: Array) -> Array:
        """Return the unit columns ``(m, width)`` of codes ``(m,)``."""
        kind, inside = self.parameter, self.parameter.units(codes)
        if isinstance(kind, Categorical):
            return inside
        usual = ((codes >= kind.low) & (codes <= kind.high))[:, None]
        return np.where(usual, inside, kind.unclipped_units(codes))

    def draw(self, u: Array) -> Array:
        """Return usual values for uniform numbers."""
        return self.parameter.draw(u)


@dataclass(frozen=True)
class Time(Condition):
    """The time of an evaluation, for an objective that drifts: what is old is forgotten.

    Without a unit, time is the number of evaluations made so far, and ``ask()`` fills it in. With
    a unit, such as ``Time(span=8.0, unit="hours")``, you give it:
    ``ask(context={"time": 2.5})``. Count it from the start of the run.

    Attributes:
        span: A time over which much may change. How fast the objective drifts is learned; the span
            says where to begin.
        unit: The name of the unit in which you give the time, or None.
    """

    span: float = 100.0
    unit: str | None = None

    def __post_init__(self) -> None:
        span = plain(self.span)
        if not is_real(span) or not 1e-9 <= span <= 1e12:
            raise SpaceError(
                f"Time needs a positive span, from 1e-9 to 1e12, got span={self.span!r}."
            )
        object.__setattr__(self, "span", float(span))
        if self.unit is not None and not (isinstance(self.unit, str) and self.unit):
            raise SpaceError(
                f"Time needs unit=None, which counts evaluations, or the name of a unit such as "
                f"'hours', got unit={self.unit!r}."
            )

    @property
    def kind(self) -> Parameter:
        """A number from 0 to one span."""
        return Float(0.0, self.span)

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the unit column."""
        return (-LATEST, LATEST)

    @property
    def count(self) -> float:
        """The number of values."""
        return np.inf

    def labels(self, name: str) -> list[str]:
        """Return the label of the unit column."""
        return [name]

    def code(self, name: str, value: Any) -> float:
        """Check and code one time."""
        value = plain(value)
        if not is_real(value) or value != value:
            raise SpaceError(f"{name}={value!r} must be a number for {self!r}. Pass a finite one.")
        if not abs(value) <= LATEST * self.span:
            raise SpaceError(
                f"{name}={value!r} is more than {LATEST:g} spans away in {self!r}. Count time from "
                "the start of the run, or use a longer span."
            )
        return float(value)

    def value(self, cols: list[float]) -> float:
        """Return the time of a unit column."""
        return float(self.codes(np.array([cols]))[0])

    def codes(self, cols: Array) -> Array:
        """Return the times ``(m,)`` of unit columns ``(m, 1)``."""
        return self._tidy(cols[:, 0] * self.span)

    def units(self, codes: Array) -> Array:
        """Return the unit columns ``(m, 1)`` of times ``(m,)``."""
        return (self._tidy(codes) / self.span)[:, None]

    def _tidy(self, times: Array) -> Array:
        """Return the nearest round numbers, so that a time survives the trip to the cube."""
        digits = TIME_DIGITS - int(np.ceil(np.log10(self.span)))
        if digits >= 0:
            scale = float(f"1e{digits}")
            return np.rint(times * scale) / scale
        scale = float(f"1e{-digits}")
        return np.rint(times / scale) * scale

    def draw(self, u: Array) -> Array:
        """Return times within one span for uniform numbers."""
        return self._tidy(u * self.span)


@dataclass(frozen=True)
class Given(Condition):
    """A condition at one value: what it is in the space of points that can be chosen now.

    Attributes:
        condition: The condition.
        at: Its value, in user units.
    """

    condition: Condition
    at: Any

    @property
    def declared(self) -> Condition:
        """The condition as the user declared it."""
        return self.condition

    @property
    def kind(self) -> Parameter:
        """The parameter that the condition looks like."""
        return self.condition.kind

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the unit columns."""
        return self.condition.limits

    @property
    def count(self) -> float:
        """One: there is one value."""
        return 1.0

    @property
    def columns(self) -> Array:
        """The unit columns ``(width,)`` of the value."""
        return np.asarray(self.condition.units(np.array([self._code]))[0])

    @property
    def _code(self) -> float:
        return self.condition.code("context", self.at)

    def labels(self, name: str) -> list[str]:
        """Return the labels of the unit columns."""
        return self.condition.labels(name)

    def code(self, name: str, value: Any) -> float:
        """Check and code a value, which need not be the one that is given."""
        return self.condition.code(name, value)

    def value(self, cols: list[float]) -> Any:
        """Return the value that is given, whatever the columns are."""
        return self.at

    def codes(self, cols: Array) -> Array:
        """Return the code of the value that is given, for each row."""
        return np.full(len(cols), self._code)

    def units(self, codes: Array) -> Array:
        """Return the unit columns ``(m, width)`` of codes ``(m,)``."""
        return self.condition.units(codes)

    def draw(self, u: Array) -> Array:
        """Return the code of the value that is given, for each number."""
        return np.full(len(u), self._code)

    def all(self) -> Array:
        """Return the one code."""
        return np.array([self._code])


def given_at(
    spec: Mapping[str, Parameter | Condition], context: Mapping[str, Any]
) -> dict[str, Parameter | Condition]:
    """Return the parameters of a space with each condition at its value in ``context``.

    Raises:
        SpaceError: A name is missing or unknown, or a value is not possible.
    """
    conditions = {name: part for name, part in spec.items() if isinstance(part, Condition)}
    if not isinstance(context, Mapping):
        raise SpaceError(f"context must be a dict of {list(conditions)}, got {context!r}.")
    if not conditions:
        raise SpaceError(
            f"context={dict(context)!r} was given, but the space has no conditions. Leave it out, "
            "or declare conditions with rahbo.Context."
        )
    missing = [name for name in conditions if name not in context]
    unknown = [name for name in context if name not in conditions]
    if missing or unknown:
        raise SpaceError(
            f"context must have exactly the names {list(conditions)}: missing {missing}, unknown "
            f"{unknown}. Correct the names."
        )
    for name, part in conditions.items():
        part.code(name, context[name])
    return {
        name: _at(part, plain(context[name])) if isinstance(part, Condition) else part
        for name, part in spec.items()
    }


def _at(part: Condition, value: Any) -> Given:
    return replace(part, at=value) if isinstance(part, Given) else Given(part, value)
