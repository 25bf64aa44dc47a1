"""Convert a VOCS to our terms: variables, objective, constraints and other settings.

A VOCS is how gest-api describes a problem. `Problem` is the same for an `Optimizer`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gest_api.vocs import (
    VOCS,
    BoundsConstraint,
    ContextualVariable,
    ContinuousVariable,
    DiscreteVariable,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
    MinimizeObjective,
)

from rahbo.errors import SettingsError, SpaceError
from rahbo.model import AtLeast, AtMost, Constraint
from rahbo.settings import Direction
from rahbo.space import Categorical, Float, Int, Parameter, is_real, key, plain

# A file may keep ten decimals of a number, and an array eight digits.
DECIMALS, DIGITS = 1e-10, 1e-6


@dataclass(frozen=True)
class Problem:
    """A VOCS in our terms.

    Attributes:
        space: The variables to choose, by name.
        fixed: The constants, and variables that have one value only.
        objective: The name of the objective.
        direction: Whether it is maximised or minimised.
        constraints: The limits of our outcomes, by name.
        sources: The output of the VOCS that each of our outcomes is read from.
    """

    space: Mapping[str, Parameter]
    fixed: Mapping[str, Any]
    objective: str
    direction: Direction
    constraints: Mapping[str, Constraint]
    sources: Mapping[str, str]

    @classmethod
    def of(cls, vocs: VOCS, probability: float) -> Problem:
        """Return the problem that a VOCS describes.

        Args:
            vocs: The VOCS.
            probability: The probability with which each constraint must be kept.
        """
        _check_names(vocs)
        # Sorted, because Xopt's files do not keep the order, and a journal compares it.
        kinds = {name: _parameter(name, kind) for name, kind in sorted(vocs.variables.items())}
        space = {name: kind for name, kind in kinds.items() if kind is not None}
        if not space:
            raise SettingsError("VOCS must have at least one variable with two values or more.")
        single = {n: plain(next(iter(vocs.variables[n].values))) for n in kinds.keys() - space}
        limits = [(name, *limit) for name, kind in vocs.constraints.items()
                  for limit in _limits(name, kind, probability)]  # fmt: skip
        names = [own for _, own, _ in limits]
        if len(set(names)) < len(names):
            raise SettingsError(f"VOCS constraints must have other names than {names!r}.")
        objective, direction = _objective(vocs)
        return cls(
            space=space,
            fixed={**single, **{name: c.value for name, c in vocs.constants.items()}},
            objective=objective,
            direction=direction,
            constraints={own: limit for _, own, limit in limits},
            sources={own: name for name, own, _ in limits},
        )

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables of a point, in the form that `Optimizer.tell` takes."""
        missing = [name for name in self.space if name not in point]
        if missing:
            raise SpaceError(
                f"ingest() needs a value of each variable, but {', '.join(missing)} is missing in "
                f"{dict(point)!r}."
            )
        return {name: _value(kind, point[name]) for name, kind in self.space.items()}


def nearly(mine: Mapping[str, Any], its: Mapping[str, Any]) -> bool:
    """Return whether two points differ by rounding only."""

    def same(a: Any, b: Any) -> bool:
        if is_real(a) and is_real(b):
            return math.isclose(a, b, rel_tol=DIGITS, abs_tol=DECIMALS)
        return bool(a == b)

    return mine.keys() == its.keys() and all(same(mine[name], its[name]) for name in mine)


def _check_names(vocs: VOCS) -> None:
    """Refuse names that would mean two things in one point."""
    given = {*vocs.variables, *vocs.constants}
    if "_id" in given | {*vocs.objectives, *vocs.constraints}:
        raise SettingsError("VOCS must not use the name '_id', which is the id of a point.")
    twice = sorted(given & {*vocs.objectives, *vocs.constraints})
    if twice:
        raise SettingsError(
            f"VOCS has {twice[0]!r} both as a variable or constant and as an objective or "
            "constraint. Give one of them another name."
        )


def _parameter(name: str, kind: Any) -> Parameter | None:
    """Return the parameter of a variable, or None if it has one value only."""
    if isinstance(kind, ContextualVariable):
        raise SettingsError(
            f"VOCS variable {name!r} is contextual, but a generator is not told the present "
            "conditions when it is asked for points. Use rahbo.Optimizer with rahbo.Context."
        )
    if isinstance(kind, DiscreteVariable):
        return _levels(name, kind)
    if not isinstance(kind, ContinuousVariable):
        raise SettingsError(
            f"VOCS variable {name!r} must be continuous or discrete, got {type(kind).__name__}."
        )
    low, high = map(float, kind.domain)
    if not _is_whole(name, kind.dtype):
        return Float(low, high)
    return _integers(name, math.ceil(low), math.floor(high))


def _is_whole(name: str, dtype: Any) -> bool:
    """Return whether a variable takes whole numbers only."""
    if isinstance(dtype, tuple):
        raise SettingsError(
            f"VOCS variable {name!r} must be a scalar, got dtype={dtype!r}. Give each element a "
            "variable of its own."
        )
    return dtype is not None and np.dtype(dtype).kind in "iu"


def _integers(name: str, low: int, high: int) -> Int:
    if low >= high:
        raise SettingsError(
            f"VOCS variable {name!r} must have two whole numbers in its domain. Make it a constant."
        )
    return Int(low, high)


def _levels(name: str, kind: DiscreteVariable) -> Parameter | None:
    values = [plain(value) for value in kind.values]
    # A set has no order, and that of texts differs between processes.
    ordered = sorted(values, key=lambda value: (type(value) is str, key(value)[0], value))
    if len(ordered) == 1:
        return None
    if all(type(value) is int for value in ordered):
        low, high = ordered[0], ordered[-1]
        if high - low == len(ordered) - 1:
            return _integers(name, low, high)
    return Categorical(ordered)


def _value(kind: Parameter, value: Any) -> Any:
    """Return a value of a variable; one that rounding moved out of its range is moved back."""
    value = plain(value)
    if isinstance(kind, Categorical) or not isinstance(value, int | float):
        return value
    if isinstance(kind, Int) and value == round(value):
        return int(value)
    inside = min(max(value, kind.low), kind.high)
    return inside if abs(inside - value) <= max(DECIMALS, 1e-9 * (kind.high - kind.low)) else value


def _objective(vocs: VOCS) -> tuple[str, Direction]:
    if len(vocs.objectives) > 1:
        raise SettingsError(
            f"VOCS must define one objective, got {', '.join(vocs.objectives)}. Optimise one of "
            "them and set limits to the others with VOCS constraints."
        )
    if not vocs.objectives:
        raise SettingsError("VOCS must define at least one objective.")
    ((name, kind),) = vocs.objectives.items()
    if isinstance(kind, MinimizeObjective):
        return name, "minimize"
    if isinstance(kind, MaximizeObjective):
        return name, "maximize"
    raise SettingsError(
        f"VOCS objective {name!r} must be MINIMIZE or MAXIMIZE, got {type(kind).__name__}."
    )


def _limits(name: str, kind: Any, probability: float) -> list[tuple[str, Constraint]]:
    """Return our outcomes with their limits for one constraint."""
    if isinstance(kind, LessThanConstraint):
        return [(name, AtMost(kind.value, probability))]
    if isinstance(kind, GreaterThanConstraint):
        return [(name, AtLeast(kind.value, probability))]
    if isinstance(kind, BoundsConstraint):
        low, high = kind.range
        AtMost(high, probability)  # raises an error that names the probability that was given
        # Either end may be missed with half the probability, so that both are kept as asked.
        each = (1.0 + probability) / 2.0
        return [(f"{name} (low)", AtLeast(low, each)), (f"{name} (high)", AtMost(high, each))]
    raise SettingsError(
        f"VOCS constraint {name!r} must be LESS_THAN, GREATER_THAN or BOUNDS, got "
        f"{type(kind).__name__}."
    )
