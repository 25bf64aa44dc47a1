"""A study whose trials have different parameters, as a list of the settings that were tried.

The model sees all parameters. One that a trial does not have stands in the middle of its range
there, and a column says which parameters a trial has, unless a choice that all trials have says it
already. So all trials share one model of mean and noise, and a few lucky ones are seen as few.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial

from rahbo.integrations.optuna.distributions import (
    Internal,
    Kinds,
    external,
    numbers,
    space_of,
    varying,
)
from rahbo.numerics import Array, Mask, is_finite
from rahbo.space import Candidates, Categorical, Space

# A message names at most this many parameters.
NAMED = 5

# Stands for a parameter that a trial lacks.
ABSENT = object()

Names = frozenset[str]


@dataclass(frozen=True, repr=False)
class Tried(Candidates):
    """The settings that the trials of a study tried, with None for a parameter that one lacks.

    Attributes:
        known: The labels and the unit columns ``(n, width)`` of the rows.
        why: What is compared, and why.
        categories: Which unit columns stand for a category, ``(width,)``.
    """

    known: tuple[list[str], Array] = field(default=([], np.empty((0, 0))), compare=False)
    why: str = ""
    categories: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        # The rows have been checked by Optuna, and rows may differ in digits that no column keeps.
        pass

    @cached_property
    def _coded(self) -> tuple[list[str], Array]:
        return self.known

    def apart(self, width: int) -> Mask:
        """Return the unit columns ``(width,)`` of categories: close numbers are one region."""
        return np.array(self.categories)

    @property
    def scope(self) -> str:
        """What is compared, and why."""
        return self.why


def tried(found: Sequence[Internal], kinds: Kinds, why: str) -> Tried:
    """Return the settings of trials as a list.

    Args:
        found: The parameters of each trial, in Optuna's internal numbers.
        kinds: The distribution of each parameter that varies or that some trials lack.
        why: What is compared, and why.
    """
    settings = list({frozenset(params.items()): params for params in found}.values())
    rows = [row_of(params, kinds) for params in settings]
    labels, columns, categories = _encoded(settings, kinds)
    return Tried(rows, known=(labels, columns), why=why, categories=categories)


def row_of(params: Internal, kinds: Kinds) -> dict[str, Any]:
    """Return the setting of a trial in user units, with None where it lacks a parameter.

    A parameter that may itself be None, and choices that no list of candidates can hold, are text.
    """
    return {
        name: _shown(kind, kind.to_external_repr(params[name]) if name in params else ABSENT)
        for name, kind in kinds.items()
    }


def _shown(kind: BaseDistribution, value: Any) -> Any:
    if value is ABSENT:
        may_be_none = isinstance(kind, CategoricalDistribution) and None in kind.choices
        return "not set" if may_be_none else None
    held = value is None or isinstance(value, str | int) or is_finite(value)
    return value if held else str(value)


def _encoded(
    settings: Sequence[Internal], kinds: Kinds
) -> tuple[list[str], Array, tuple[bool, ...]]:
    """Return the labels and unit columns of settings, and which columns are of categories."""
    several = varying(kinds)
    space = space_of(several)
    middle = numbers(space.decode(np.full(space.d, 0.5)), several)
    columns = space.encode_all([external({**middle, **params}, several) for params in settings])
    present = [frozenset(params) for params in settings]
    if _is_said(settings, present, kinds):
        return list(space.columns), columns, tuple(space.listed.tolist())
    shared = frozenset.intersection(*present)
    named = [", ".join(sorted(names - shared)) or "no others" for names in present]
    which = Space.of({"with": Categorical(sorted(set(named)))})
    marks = which.encode_all([{"with": text} for text in named])
    labels, listed = [*space.columns, *which.columns], np.append(space.listed, which.listed)
    return labels, np.hstack([columns, marks]), tuple(listed.tolist())


def _is_said(settings: Sequence[Internal], present: Sequence[Names], kinds: Kinds) -> bool:
    """Return whether a choice that all trials have says which parameters each of them has."""
    for name, kind in kinds.items():
        if isinstance(kind, CategoricalDistribution) and all(name in s for s in settings):
            pairs = {(s[name], names) for s, names in zip(settings, present, strict=True)}
            if len(pairs) == len({choice for choice, _ in pairs}):
                return True
    return False


def missing_parameters(trials: Iterable[FrozenTrial]) -> str:
    """Return a sentence on the parameters that some trials lack; empty if all have the same."""
    listed = list(trials)
    names = sorted({name for trial in listed for name in trial.params})
    where = {name: [t.number for t in listed if name not in t.params] for name in names}
    lacking = [(name, numbers) for name, numbers in where.items() if numbers]
    if not lacking:
        return ""
    said = [f"{name!r} in {_trials(numbers)}" for name, numbers in lacking[1:NAMED]]
    name, numbers = lacking[0]
    first = f"{name!r} is missing in {_trials(numbers)}"
    more = [f"and {len(lacking) - NAMED} more"] if len(lacking) > NAMED else []
    return (
        "Only the settings that were tried are compared, because some trials lack parameters: "
        f"{', '.join([first, *said, *more])}."
    )


def _trials(numbers: Sequence[int]) -> str:
    others = len(numbers) - 1
    more = f" and {others} other{'s' if others > 1 else ''}" if others else ""
    return f"trial {numbers[0]}{more}"
