"""Lists of points, for when no others can be evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rahbo.errors import SpaceError
from rahbo.numerics import Array
from rahbo.space.frames import is_frame, rows_in
from rahbo.space.parameters import (
    LARGEST_SIZE,
    SMALLEST_SIZE,
    Categorical,
    Listed,
    check_name,
    is_real,
    is_sized,
    key,
    plain,
)

CHUNK = 2_000_000


@dataclass(frozen=True, repr=False)
class Candidates(Listed):
    """A list of the only points that can be evaluated, as dicts with the same names.

    A data frame of pandas or polars is such a list: each column is a name.
    With ``revisit=False`` a row that has all its repeats is not proposed again.
    """

    rows: Sequence[Mapping[str, Any]]
    revisit: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.revisit, bool | np.bool_):
            raise SpaceError(f"Candidates needs revisit=True or False, got {self.revisit!r}.")
        given = tuple(_filled(self.rows) if is_frame(self.rows) else self.rows)
        for i, row in enumerate(given):
            if not isinstance(row, Mapping):
                raise SpaceError(f"Candidates rows must be dicts, got {row!r} in row {i}.")
        rows = tuple(dict(row) for row in given)
        if not rows or not rows[0]:
            raise SpaceError("Candidates needs at least one row with at least one name. Add rows.")
        for name in rows[0]:
            check_name(name)
        odd = next((i for i, row in enumerate(rows) if row.keys() != rows[0].keys()), None)
        if odd is not None:
            raise SpaceError(
                f"Candidates rows must have the same names, got {list(rows[0])} in row 0 and"
                f" {list(rows[odd])} in row {odd}. Add the missing names."
            )
        object.__setattr__(self, "rows", rows)
        found = [self._where[tuple(x)] for x in self._table.tolist()]
        again = next((i for i, j in enumerate(found) if i != j), None)
        if again is not None:
            raise SpaceError(
                f"Candidates rows must differ, but {rows[again]} cannot be told apart from"
                f" {rows[found[again]]}. Drop one."
            )

    def __repr__(self) -> str:
        return f"Candidates({len(self.rows)} rows)"

    @property
    def scope(self) -> str:
        """What a reader must know about which rows are compared; empty if nothing."""
        return ""

    def _row_key(self, row: Mapping[str, Any]) -> tuple[tuple[bool, Any], ...]:
        return tuple(key(row[name]) for name in self.rows[0])

    @cached_property
    def _index(self) -> dict[tuple[tuple[bool, Any], ...], int]:
        return {self._row_key(row): i for i, row in enumerate(self.rows)}

    @cached_property
    def _coded(self) -> tuple[list[str], Array]:
        labels, blocks = zip(*(self._column(name) for name in self.rows[0]), strict=True)
        return [label for group in labels for label in group], np.hstack(blocks)

    def _column(self, name: str) -> tuple[list[str], Array]:
        """Return the labels and unit columns ``(n, width)`` of one name."""
        values = [plain(row[name]) for row in self.rows]
        if all(is_real(v) for v in values):
            if not all(is_sized(v) for v in values):
                raise SpaceError(
                    f"Numbers in Candidates must be finite, and 0 or between {SMALLEST_SIZE} and"
                    f" {LARGEST_SIZE} in size, got {name}={values!r}. Use other units."
                )
            v = np.array(values, dtype=np.float64)
            return [name], ((v - v.min()) / (np.ptp(v) or 1.0))[:, None]
        levels = list({key(v): v for v in values}.values())
        if len(levels) == 1:
            return [f"{name}={levels[0]}"], np.zeros((len(values), 1))
        part = Categorical(levels)
        return part.labels(name), part.units(np.array([part.code(name, v) for v in values]))

    @property
    def _table(self) -> Array:
        return self._coded[1]

    @cached_property
    def _where(self) -> dict[tuple[float, ...], int]:
        return {tuple(row): i for i, row in enumerate(self._table.tolist())}

    def labels(self, name: str) -> list[str]:
        return self._coded[0]

    def code(self, name: str, value: Any) -> float:
        try:
            return self._index[self._row_key(value)]
        except (KeyError, SpaceError):
            raise SpaceError(f"{value} is not among the candidates. Pass a listed row.") from None

    def codes(self, cols: Array) -> Array:
        codes = np.array([self._where.get(tuple(row), -1) for row in cols.tolist()], dtype=float)
        unknown = np.flatnonzero(codes < 0)
        for chunk in np.array_split(unknown, 1 + unknown.size * self._table.size // CHUNK):
            gaps = cols[chunk, None, :] - self._table
            codes[chunk] = np.einsum("mnd,mnd->mn", gaps, gaps).argmin(axis=1)
        return codes

    def value(self, cols: list[float]) -> dict[str, Any]:
        known = self._where.get(tuple(cols))
        return dict(self.rows[int(self.codes(np.array([cols]))[0]) if known is None else known])

    def near(self, code: float) -> Array:
        return np.empty(0)


def _filled(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame, all of whose cells must hold something."""
    rows = rows_in(frame)
    for i, row in enumerate(rows):
        empty = next((name for name, cell in row.items() if cell is None), None)
        if empty is not None:
            raise SpaceError(
                f"Candidates needs a value in every cell, got none in row {i} of the column"
                f" {empty!r}, counted from 0. Fill it or drop the row, or pass dicts if None is a"
                " choice."
            )
    return rows
