"""The entrants of a race: commands, or lists of values that were measured already."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rahbo.cli.cells import NO_VALUE, NUMBER, typed_name
from rahbo.cli.launch import check_program
from rahbo.cli.parameters import SEED
from rahbo.cli.sheets import DELIMITERS, HEADER
from rahbo.cli.template import Template
from rahbo.errors import DataError, SettingsError
from rahbo.numerics import plain_number

# Characters shown of a cell that is not a number.
SHOWN = 100
# Rows with these names, in any case, sum up others.
SUMMARIES = ("mean", "average", "avg", "std", "sd", "median", "sum", "total", "min", "max")
# Columns with these names, in any case, say which run a row is. They are no entrants.
INDEX = ("seed", "fold", "run", "index", "id")


def commands_in(file: Path | None, given: Sequence[str]) -> list[str]:
    """Return the commands of a file, one a line, or those that were typed."""
    if file is not None and given:
        raise SettingsError("Commands come from --file or after --, not from both. Choose one.")
    if file is None:
        return list(given)
    try:
        lines = [line.strip() for line in file.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{str(file)!r} cannot be read: {error}.") from error
    return [line for line in lines if line and not line.startswith("#")]


def template_of(command: str) -> Template:
    """Return a command as a list of arguments, split as a shell would, with a place for a seed."""
    try:
        template = Template.of(shlex.split(command))
    except ValueError as error:
        raise SettingsError(f"The command {command!r} cannot be split: {error}.") from error
    template.check({})
    check_program(template)
    return template


@dataclass(frozen=True)
class Measured:
    """The values in a table.

    Attributes:
        values: The values of each entrant; None for a failure.
        matched: Whether the values of a row belong together.
        left_out: The columns that count the rows, and are no entrants.
    """

    values: dict[str, list[float | None]]
    matched: bool
    left_out: tuple[str, ...] = ()


def measured_in(file: Path) -> Measured:
    """Return the values of each entrant in a table.

    In a table of two columns, of which the first holds names, each row is one value. In any other
    table each column is an entrant, unless it counts the rows.
    """
    names, cells = _table(file)
    if len(names) == 2 and _holds_names([row[0] for row in cells], file):
        by_name: dict[str, list[float | None]] = {}
        for row in cells:
            by_name.setdefault(row[0], []).append(_value(row[1] if len(row) > 1 else "", file))
        return Measured(by_name, False)
    columns = [[row[i] if i < len(row) else "" for row in cells] for i in range(len(names))]
    counts = [_counts_rows(i, name, columns[i]) for i, name in enumerate(names)]
    for name, column, left_out in zip(names, columns, counts, strict=True):
        if left_out:
            _refuse_summary(name, column, file)
    entrants = [name for name, left_out in zip(names, counts, strict=True) if not left_out]
    if "" in entrants or len(set(entrants)) < len(entrants):
        raise DataError(f"{file} must have a different name for each column, got {names}.")
    values = {
        name: _without_tail([_value(cell, file) for cell in column])
        for name, column, left_out in zip(names, columns, counts, strict=True)
        if not left_out
    }
    return Measured(values, True, tuple(name for name in names if name not in values))


def _table(file: Path) -> tuple[list[str], list[list[str]]]:
    """Return the names in the first row of a file, and the cells of the other rows."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            delimiter = max(DELIMITERS, key=opened.readline(HEADER).count)
            opened.seek(0)
            header, *rows = csv.reader(opened, delimiter=delimiter, strict=True)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(
            f"{file} must be a CSV file in UTF-8 whose first row has names: {error}. Save it so."
        ) from error
    names = [typed_name(name) for name in header]
    cells = []
    for number, row in enumerate(rows, 2):
        if any(cell.strip() for cell in row[len(names) :]):
            raise DataError(
                f"{file}, row {number}, must have at most {len(names)} cells like the first row, "
                f"got {len(row)}. Correct it, and write values with a decimal point."
            )
        if any(cell.strip() for cell in row):
            cells.append([cell.strip() for cell in row[: len(names)]])
    return names, cells


def _counts_rows(place: int, name: str, column: Sequence[str]) -> bool:
    """Return whether a column says which run a row is: by its name, or as the first one."""
    if name.lower() in INDEX:
        return True
    runs = [cell for cell in column if cell.lower() not in SUMMARIES]
    rows = range(len(runs))
    counted = ([str(i) for i in rows], [str(i + 1) for i in rows])
    return place == 0 and len(runs) > 1 and runs in counted


def _refuse_summary(name: str, column: Sequence[str], file: Path) -> None:
    """Refuse rows such as means below numbered runs: their values are not runs."""
    # A run may be named by a hash or a code, some of which look like numbers.
    words = [cell for cell in column if _is_name(cell) and not any(map(str.isdecimal, cell))]
    if not any(map(NUMBER.fullmatch, column)):
        words = [cell for cell in words if cell.lower() in SUMMARIES]
    if words:
        raise DataError(
            f"{file} has {words[0][:SHOWN]!r} among the runs of the column {name!r}. If this row "
            "sums up others, remove it, because its values would count as a run. If not, write a "
            "number there."
        )


def _holds_names(column: Sequence[str], file: Path) -> bool:
    """Return whether a column holds names only. One word among numbers is a wrong number."""
    named = [_is_name(cell) for cell in column]
    if any(named) and not all(named) and not any(map(NUMBER.fullmatch, column)):
        raise DataError(f"{file} has a row without a name. Write one in each cell of the column.")
    return bool(named) and all(named)


def _is_name(cell: str) -> bool:
    return bool(cell) and cell.lower() not in NO_VALUE and not NUMBER.fullmatch(cell)


def _value(cell: str, file: Path) -> float | None:
    if not cell or cell.lower() in NO_VALUE:
        return None
    if not NUMBER.fullmatch(cell):
        raise DataError(
            f"{file} has {cell[:SHOWN]!r}, which is not a number. Write values with a decimal "
            "point, and leave the cell of a failed run empty."
        )
    return plain_number(cell)


def _without_tail(values: list[float | None]) -> list[float | None]:
    """Return the values of a column that is shorter than others without its empty cells."""
    n = max((i + 1 for i, value in enumerate(values) if value is not None), default=0)
    return values[:n]


def number_of(text: str | None, names: Sequence[str]) -> int | None:
    """Return the entrant that a name or a number, counted from 1, stands for."""
    if text is None:
        return None
    # Names of columns are in one line, and commands are as they were written.
    for name in (text, typed_name(text)):
        if name in names:
            return list(names).index(name)
    if text.isdecimal() and 1 <= int(text) <= len(names):
        return int(text) - 1
    raise SettingsError(
        f"--keep-if-better must be one of the entrants or its number from 1 to {len(names)}, got "
        f"{text!r}. The entrants are {', '.join(map(repr, names))}."
    )


def uses_seed(templates: Sequence[Template]) -> bool:
    """Return whether all commands take the seed, so that they can share it."""
    return all(SEED in template.names for template in templates)
