"""The parameters of a space as axes of a page: numbers in user units, choices by their index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rahbo.numerics import digits_of, rounded
from rahbo.space import Candidates, Categorical, Int, Space, is_real, key, plain

# Longer texts are cut, because a page has little room and must not grow large.
LONGEST = 200

Place = float | int


@dataclass(frozen=True)
class ReportInput:
    """One parameter.

    Attributes:
        name: The name of the parameter.
        log: Whether it is on a log scale.
        choices: The choices at places 0, 1, 2 and so on; empty for a number.
        grid: Some of its legal places, in order; empty for a list of candidates.
        whole: Whether it is a whole number.
        given: Whether it is a condition, which is given and not chosen.
    """

    name: str
    log: bool
    choices: tuple[str, ...]
    grid: tuple[Place, ...]
    whole: bool = False
    given: bool = False


def report_inputs(space: Space, n: int) -> tuple[ReportInput, ...]:
    """Return all parameters, each with at most ``n`` places, or all its choices."""
    if isinstance(space.kinds, Candidates):
        levels = _levels(space.kinds.rows)
        whole = {
            name: not found and all(isinstance(plain(row[name]), int) for row in space.kinds.rows)
            for name, found in levels.items()
        }
        return tuple(
            ReportInput(cut(name), False, tuple(cut(str(v)) for v in found), (), whole[name])
            for name, found in levels.items()
        )
    inputs = []
    for name, kind in space.kinds.items():
        given = name in space.conditions
        if isinstance(kind, Categorical):
            choices = tuple(cut(str(choice)) for choice in kind.choices)
            grid: tuple[Place, ...] = tuple(range(len(choices)))
            inputs.append(ReportInput(cut(name), False, choices, grid, given=given))
            continue
        grid = tuple(sorted({kind.value([u]) for u in np.linspace(0.0, 1.0, n).tolist()}))
        whole_number = isinstance(kind, Int)
        inputs.append(ReportInput(cut(name), kind.log, (), grid, whole_number, given))
    return tuple(inputs)


def places(space: Space, params: Sequence[Mapping[str, Any]]) -> list[list[Place]]:
    """Return the place of each point on each axis."""
    if isinstance(space.kinds, Candidates):
        levels = _levels(space.kinds.rows)
        index = {name: {key(v): i for i, v in enumerate(vs)} for name, vs in levels.items()}
        return [[index[n][key(p[n])] if index[n] else plain(p[n]) for n in levels] for p in params]
    kinds = space.kinds
    return [
        [
            int(kind.code(name, p[name])) if isinstance(kind, Categorical) else plain(p[name])
            for name, kind in kinds.items()
        ]
        for p in params
    ]


def few_places(space: Space, rows: Sequence[Sequence[Place]]) -> list[list[Place]]:
    """Return places in few digits, so that a page stays small, but apart where they differ."""
    digits = [digits_of(column) for column in _ends(space)]
    return [[rounded(v, n) for v, n in zip(row, digits, strict=True)] for row in rows]


def few_of(grid: Sequence[Place]) -> tuple[Place, ...]:
    """Return places of one axis in few digits, but apart where they differ."""
    digits = digits_of(grid)
    return tuple(rounded(place, digits) for place in grid)


def value_at(space: Space, name: str, place: Place) -> Any:
    """Return the value of a parameter at a place of its grid."""
    kind = None if isinstance(space.kinds, Candidates) else space.kinds[name]
    return kind.choices[int(place)] if isinstance(kind, Categorical) else place


def _ends(space: Space) -> list[list[float]]:
    """Return the smallest and largest number of each axis; nothing for choices."""
    if isinstance(space.kinds, Candidates):
        rows, levels = space.kinds.rows, _levels(space.kinds.rows)
        return [[] if found else [row[name] for row in rows] for name, found in levels.items()]
    return [
        [] if isinstance(kind, Categorical) else [float(kind.value([u])) for u in (0.0, 1.0)]
        for kind in space.kinds.values()
    ]


def cut(text: str, most: int = LONGEST) -> str:
    """Return a text, or its beginning if it is long.

    >>> cut("lengthy", 4)
    'len…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _levels(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the distinct values of each name, or an empty list if all are numbers."""
    found = {}
    for name in rows[0]:
        values = [plain(row[name]) for row in rows]
        numbers = all(is_real(value) for value in values)
        found[name] = [] if numbers else list({key(v): v for v in values}.values())
    return found
