"""A CSV file of past results: columns are parameters and a value, rows are evaluations."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rahbo.errors import DataError, SpaceError
from rahbo.space import Categorical, Float, Int, Parameter

# Beyond these a table is no table of experiments, and a model of it takes too long.
MAX_ROWS, MAX_POINTS, MAX_PARAMETERS, MAX_CHOICES = 1_000_000, 2000, 50, 50
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
WHOLE = re.compile(r"[-+]?[0-9]{1,12}")
# What programs write where there is no measurement.
NO_VALUE = {"", "nan", "na", "null", "none", "inf", "-inf", "+inf", "infinity", "-infinity"}
DELIMITERS = ",;\t"
# Characters of the first line that the delimiter is guessed from.
HEADER = 100_000

Cell = str | int | float


@dataclass(frozen=True)
class Results:
    """What a file holds.

    Attributes:
        space: Its parameters; what they were tried at are their ranges.
        values: Of each distinct point, in the order of ``space``, all that was measured.
        failures: Points of the rows without a value, as often as there are.
        constant: Columns that never vary, which are left out.
    """

    space: dict[str, Parameter]
    values: dict[tuple[Cell, ...], list[float]]
    failures: list[tuple[Cell, ...]]
    constant: list[str]


def read_results(
    path: Path,
    value: str,
    ignore: Collection[str] = (),
    given: Mapping[str, Parameter] | None = None,
) -> Results:
    """Read a table.

    Args:
        path: The file, with a line of names at its top.
        value: The column that was measured.
        ignore: Columns that are no parameters.
        given: Parameters that are known better than from their column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = max(DELIMITERS, key=file.readline(HEADER).count)
            file.seek(0)
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            return _read(rows, path, value, ignore, given or {})
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no CSV file in UTF-8: {error}.") from error


def _read(
    rows: Iterator[list[str]],
    path: Path,
    value: str,
    ignore: Collection[str],
    given: Mapping[str, Parameter],
) -> Results:
    header = [name.strip() for name in next(rows, [])]
    names = _checked_header(header, path, value, ignore, given)
    columns: dict[str, list[str]] = {name: [] for name in (*names, value)}
    where = {name: header.index(name) for name in columns}
    for number, row in enumerate(rows, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise DataError(
                f"{path}, row {number}, has {len(row)} cells and the first row {len(header)}. "
                "Correct it."
            )
        if number > MAX_ROWS:
            raise DataError(f"{path} has more than {MAX_ROWS} rows. Take some of them.")
        for name, index in where.items():
            columns[name].append(row[index].strip())
        empty = [name for name in names if not columns[name][-1]]
        if empty:
            raise DataError(
                f"{path}, row {number}, has nothing in the column {empty[0]!r}. Fill it in, or "
                f"leave the column out with --ignore {empty[0]!r}."
            )
    return _results(columns, path, value, given)


def _checked_header(
    header: list[str], path: Path, value: str, ignore: Collection[str],
    given: Mapping[str, Parameter],
) -> list[str]:  # fmt: skip
    """The names of the parameters; a column without a name, as of an index, is left out."""
    named = [name for name in header if name]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path} has two columns called {twice!r}. Rename one.")
    shown = ", ".join(repr(name) for name in named[:MAX_PARAMETERS]) or "none"
    for asked in (value, *ignore, *given):
        if asked not in named:
            raise DataError(
                f"{path} has no column {asked!r}; it has {shown}. Name the measured one with "
                "--value."
            )
    names = [name for name in named if name != value and name not in ignore]
    if len(names) > MAX_PARAMETERS:
        raise DataError(
            f"{path} has {len(names)} columns of parameters, more than {MAX_PARAMETERS}. Leave "
            "some out with --ignore."
        )
    return names


def _results(
    columns: dict[str, list[str]], path: Path, value: str, given: Mapping[str, Parameter]
) -> Results:
    measured = [_value(cell, path, value) for cell in columns.pop(value)]
    cells = {name: _cells(name, texts, path, given.get(name)) for name, texts in columns.items()}
    constant = [name for name in cells if name not in given and len(set(cells[name])) == 1]
    for name in constant:
        del cells[name]
    if not cells or not measured:
        raise DataError(f"{path} holds no column that varies beside {value!r}. Add rows.")
    space = {name: given.get(name) or _parameter(name, cells[name], path) for name in cells}
    values: dict[tuple[Cell, ...], list[float]] = {}
    failures = []
    for point, found in zip(zip(*cells.values(), strict=True), measured, strict=True):
        if found is None:
            failures.append(point)
        else:
            values.setdefault(point, []).append(found)
    if not values:
        raise DataError(f"{path} has no number in the column {value!r}. Choose another by --value.")
    if len({*values, *failures}) > MAX_POINTS:
        raise DataError(
            f"{path} has more than {MAX_POINTS} different points, too many for the model. Take "
            "some of them, or leave out by --ignore what is no parameter."
        )
    return Results(space, values, failures, constant)


def _value(cell: str, path: Path, value: str) -> float | None:
    """A measurement, or None of an evaluation that gave none."""
    if cell.lower() in NO_VALUE:
        return None
    if not NUMBER.fullmatch(cell):
        raise DataError(
            f"{path} has {cell[:100]!r} in the column {value!r}, which is no number. Leave the "
            "cell empty where an evaluation failed."
        )
    number = float(cell)
    return number if math.isfinite(number) else None


def _cells(name: str, texts: list[str], path: Path, given: Parameter | None) -> list[Cell]:
    """The values of a parameter, by what its column looks like."""
    odd = next((text for text in texts if not NUMBER.fullmatch(text)), None)
    if isinstance(given, Categorical) or (given is None and odd is not None):
        return list(texts)
    if odd is not None:
        raise DataError(f"{path} has {odd[:100]!r} in the column {name!r}, which is no number.")
    if given is None and all(WHOLE.fullmatch(text) for text in texts):
        return [int(text) for text in texts]
    return [float(text) for text in texts]


def _parameter(name: str, cells: list[Cell], path: Path) -> Parameter:
    """What varies over the range of a column."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    numbers = [cell for cell in cells if not isinstance(cell, str)]
    if len(set(texts)) > MAX_CHOICES:
        raise DataError(
            f"{path} has {len(set(texts))} different texts in the column {name!r}, more than "
            f"{MAX_CHOICES}: too many for a parameter. Leave it out with --ignore {name!r}."
        )
    if texts:
        return Categorical(list(dict.fromkeys(texts)))
    try:
        whole = all(isinstance(number, int) for number in numbers)
        return (Int if whole else Float)(min(numbers), max(numbers))
    except SpaceError as error:
        raise SpaceError(f"{path}, column {name!r}: {error}") from error
