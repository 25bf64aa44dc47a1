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

# A larger table is hardly a table of experiments, and fitting a model to it takes too long.
MAX_ROWS, MAX_POINTS, MAX_PARAMETERS, MAX_CHOICES = 1_000_000, 2000, 50, 50
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
WHOLE = re.compile(r"[-+]?[0-9]{1,12}")
# How programs write a missing measurement.
NO_VALUE = {"", "nan", "na", "null", "none", "inf", "-inf", "+inf", "infinity", "-infinity"}
DELIMITERS = ",;\t"
# The delimiter is guessed from this many characters of the first line.
HEADER = 100_000

Cell = str | int | float


@dataclass(frozen=True)
class Results:
    """The contents of a file.

    Attributes:
        space: The parameters; each range spans the values that were tried.
        values: All measured values of each distinct point, a tuple in the order of ``space``.
        failures: The point of each row without a value.
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
        path: The file; its first row names the columns.
        value: The column of measured values.
        ignore: Columns that are not parameters.
        given: Parameters whose range and scale the user states instead of the column.
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
        raise DataError(f"{path} must be a CSV file in UTF-8: {error}.") from error


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
                f"{path}, row {number}, must have {len(header)} cells like the first row, got "
                f"{len(row)}. Correct it."
            )
        if number > MAX_ROWS:
            raise DataError(f"{path} has more than {MAX_ROWS} rows. Keep only some of them.")
        for name, index in where.items():
            columns[name].append(row[index].strip())
        empty = [name for name in names if not columns[name][-1]]
        if empty:
            raise DataError(
                f"{path}, row {number}, has an empty cell in the column {empty[0]!r}. Fill it in, "
                f"or leave the column out with --ignore {empty[0]!r}."
            )
    return _results(columns, path, value, given)


def _checked_header(
    header: list[str], path: Path, value: str, ignore: Collection[str],
    given: Mapping[str, Parameter],
) -> list[str]:  # fmt: skip
    """Return the names of the parameters; unnamed columns, such as an index, are left out."""
    named = [name for name in header if name]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path} has two columns named {twice!r}. Rename one.")
    shown = ", ".join(repr(name) for name in named[:MAX_PARAMETERS]) or "none"
    for asked in (value, *ignore, *given):
        if asked not in named:
            raise DataError(
                f"{path} has no column {asked!r}. It has {shown}. Name the measured column with "
                "--value."
            )
    names = [name for name in named if name != value and name not in ignore]
    if len(names) > MAX_PARAMETERS:
        raise DataError(
            f"{path} has {len(names)} parameter columns, more than {MAX_PARAMETERS}. Leave some "
            "out with --ignore."
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
        raise DataError(f"{path} has no column that varies besides {value!r}. Add rows.")
    space = {name: given.get(name) or _parameter(name, cells[name], path) for name in cells}
    values: dict[tuple[Cell, ...], list[float]] = {}
    failures = []
    for point, found in zip(zip(*cells.values(), strict=True), measured, strict=True):
        if found is None:
            failures.append(point)
        else:
            values.setdefault(point, []).append(found)
    if not values:
        raise DataError(
            f"{path} has no number in the column {value!r}. Choose another column with --value."
        )
    if len({*values, *failures}) > MAX_POINTS:
        raise DataError(
            f"{path} has more than {MAX_POINTS} different points, too many for the model. Keep "
            "only some of them, or use --ignore for columns that are not parameters."
        )
    return Results(space, values, failures, constant)


def _value(cell: str, path: Path, value: str) -> float | None:
    """Return a measurement, or None if the evaluation gave none."""
    if cell.lower() in NO_VALUE:
        return None
    if not NUMBER.fullmatch(cell):
        raise DataError(
            f"{path} has {cell[:100]!r} in the column {value!r}, which is not a number. Leave the "
            "cell empty if the evaluation failed."
        )
    number = float(cell)
    return number if math.isfinite(number) else None


def _cells(name: str, texts: list[str], path: Path, given: Parameter | None) -> list[Cell]:
    """Return the values of a parameter: numbers, unless its column holds a text."""
    odd = next((text for text in texts if not NUMBER.fullmatch(text)), None)
    if isinstance(given, Categorical) or (given is None and odd is not None):
        return list(texts)
    if odd is not None:
        raise DataError(
            f"{path} has {odd[:100]!r} in the column {name!r}, which is not a number. Correct it, "
            f"or list the choices of {name!r} with -p."
        )
    if given is None and all(WHOLE.fullmatch(text) for text in texts):
        return [int(text) for text in texts]
    return [float(text) for text in texts]


def _parameter(name: str, cells: list[Cell], path: Path) -> Parameter:
    """Return a parameter that covers the values of a column."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    numbers = [cell for cell in cells if not isinstance(cell, str)]
    if len(set(texts)) > MAX_CHOICES:
        raise DataError(
            f"{path} has {len(set(texts))} different texts in the column {name!r}, but a parameter "
            f"can have at most {MAX_CHOICES}. Leave the column out with --ignore {name!r}."
        )
    if texts:
        return Categorical(list(dict.fromkeys(texts)))
    try:
        whole = all(isinstance(number, int) for number in numbers)
        return (Int if whole else Float)(min(numbers), max(numbers))
    except SpaceError as error:
        raise SpaceError(f"{path}, column {name!r}: {error}") from error
