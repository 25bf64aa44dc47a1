"""The entrants of a race: commands, or lists of values that were measured already."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from pathlib import Path

from rahbo.cli.cells import NO_VALUE, NUMBER
from rahbo.cli.launch import check_program
from rahbo.cli.parameters import SEED
from rahbo.cli.sheets import DELIMITERS, HEADER
from rahbo.cli.template import Template
from rahbo.errors import DataError, SettingsError

# Characters shown of a cell that is not a number.
SHOWN = 100


def commands_in(file: Path | None, given: Sequence[str]) -> list[str]:
    """Return the commands of a file, one a line, or those that were typed."""
    if file is not None and given:
        raise SettingsError("Commands come from --file or after --, not from both. Choose one.")
    if file is None:
        return list(given)
    try:
        lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
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


def measured_in(file: Path) -> tuple[dict[str, list[float | None]], bool]:
    """Return the values of each entrant in a table, and whether those of a row belong together.

    In a table of two columns, of which the first holds names, each row is one value. In any other
    table each column is an entrant.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            delimiter = max(DELIMITERS, key=opened.readline(HEADER).count)
            opened.seek(0)
            header, *rows = csv.reader(opened, delimiter=delimiter, strict=True)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(
            f"{file} must be a CSV file in UTF-8 whose first row has names: {error}. Save it so."
        ) from error
    names = [name.strip() for name in header]
    cells = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if len(names) == 2 and any(_is_name(row[0]) for row in cells):
        by_name: dict[str, list[float | None]] = {}
        for row in cells:
            by_name.setdefault(row[0], []).append(_value(row[1] if len(row) > 1 else "", file))
        return by_name, False
    if "" in names or len(set(names)) < len(names):
        raise DataError(f"{file} must have a different name for each column, got {names}.")
    columns = {
        name: [_value(row[i] if i < len(row) else "", file) for row in cells]
        for i, name in enumerate(names)
    }
    return {name: _without_tail(values) for name, values in columns.items()}, True


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
    return float(cell)


def _without_tail(values: list[float | None]) -> list[float | None]:
    """Return the values of a column that is shorter than others without its empty cells."""
    n = max((i + 1 for i, value in enumerate(values) if value is not None), default=0)
    return values[:n]


def number_of(text: str | None, names: Sequence[str]) -> int | None:
    """Return the entrant that a name or a number, counted from 1, stands for."""
    if text is None:
        return None
    if text in names:
        return list(names).index(text)
    if text.isdecimal() and 1 <= int(text) <= len(names):
        return int(text) - 1
    raise SettingsError(
        f"--keep-if-better must be one of the entrants or its number from 1 to {len(names)}, got "
        f"{text!r}. The entrants are {', '.join(map(repr, names))}."
    )


def uses_seed(templates: Sequence[Template]) -> bool:
    """Return whether all commands take the seed, so that they can share it."""
    return all(SEED in template.names for template in templates)
