"""A CSV file as columns of text, and hints for column names that it does not have."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from rahbo.cli.cells import NUMBER, quoted, typed_name, with_points
from rahbo.cli.columns import OUTCOMES, Column
from rahbo.errors import DataError

# A larger table is hardly a table of experiments.
MAX_ROWS = 1_000_000
DELIMITERS = ",;\t"
# The delimiter is guessed from this many characters of the first line.
HEADER = 100_000
# A message names at most this many columns.
SHOWN = 50
VALUE = "value"


@dataclass(frozen=True)
class Sheet:
    """The cells of a file.

    Attributes:
        path: The file.
        value: The name of the measured column.
        measured: The cells of the measured column.
        columns: The cells of every other column that has a name and is not ignored.
        rows: The number of each row in the file, counted from 1 for the header.
        ignored: The columns that the user left out.
        n_unnamed: The number of columns without a name, such as the index of a data frame.
        n_copies: The number of rows that equal an earlier row in every cell.
        has_commas: Whether decimal commas were replaced by points.
    """

    path: Path
    value: str
    measured: list[str]
    columns: dict[str, list[str]]
    rows: list[int]
    ignored: tuple[str, ...] = ()
    n_unnamed: int = 0
    n_copies: int = 0
    has_commas: bool = False


def read_sheet(
    path: Path,
    value: str | None = None,
    ignore: Collection[str] = (),
    parameters: Collection[str] = (),
) -> Sheet:
    """Read a table.

    Args:
        path: The file; its first row names the columns.
        value: The column of measured values; None for ``value``.
        ignore: Columns that are not parameters.
        parameters: Columns that the user names as parameters. They must exist.
    """
    value = None if value is None else typed_name(value)
    ignore = [typed_name(name) for name in ignore]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = max(DELIMITERS, key=file.readline(HEADER).count)
            file.seek(0)
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            header = [typed_name(name) for name in next(rows, [])]
            check_names(header, path, value, ignore, parameters)
            return _read(rows, header, path, value or VALUE, ignore, delimiter)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} must be a CSV file in UTF-8: {error}. Save the table in this form."
        ) from error


def _read(
    rows: Iterator[list[str]], header: list[str], path: Path, value: str,
    ignore: Collection[str], delimiter: str,
) -> Sheet:  # fmt: skip
    where = {name: header.index(name) for name in header if name and name not in ignore}
    columns: dict[str, list[str]] = {name: [] for name in where}
    numbers: list[int] = []
    seen: set[int] = set()
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
        numbers.append(number)
        seen.add(hash(tuple(row)))
    pointed = with_points(columns, delimiter, path)
    has_commas = pointed != columns
    measured = pointed.pop(value)
    return Sheet(
        path, value, measured, pointed, numbers, tuple(ignore), header.count(""),
        len(numbers) - len(seen), has_commas,
    )  # fmt: skip


# -- names -------------------------------------------------------------------------------------


def check_names(
    header: list[str],
    path: Path,
    value: str | None,
    ignore: Collection[str],
    parameters: Collection[str],
) -> None:
    """Raise an error for a header that cannot be used, or that lacks a column asked for."""
    names = [name for name in header if name]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path} has two columns named {twice!r}. Rename one.")
    if names and all(NUMBER.fullmatch(name) for name in names):
        raise DataError(
            f"{path} has only numbers in its first row, {_listed(names)}. Add a first row that "
            "names the columns."
        )
    if (value or VALUE) not in names:
        raise DataError(_no_value(names, path, value))
    for name in ignore:
        if name not in names:
            raise DataError(
                f"{path} has no column {name!r} to leave out. {_near('--ignore', name, names)}"
            )
        if name == (value or VALUE):
            raise DataError(
                f"The column {name!r} is the measured one, so it cannot be left out. Drop "
                f"--ignore {quoted(name)}, or name another column with --value."
            )
    for name in parameters:
        if name not in names:
            raise DataError(
                f"{path} has no column {name!r} to be a parameter. {_near('-p', name, names)}"
            )
        if name == (value or VALUE):
            raise DataError(
                f"The column {name!r} is the measured one, so it cannot be a parameter. Drop "
                f"-p {quoted(name)}, or name another column with --value."
            )
        if name in ignore:
            raise DataError(
                f"The column {name!r} cannot be both left out and a parameter. Drop --ignore "
                f"{quoted(name)} or -p {quoted(name)}."
            )


def _no_value(names: list[str], path: Path, value: str | None) -> str:
    if len(names) == 1:
        return (
            f"{path} has only one column, {names[0]!r}, but must have a measured one and at least "
            "one parameter. Separate the columns by commas, semicolons or tabs."
        )
    if value is not None:
        return f"{path} has no measured column {value!r}. {_near('--value', value, names)}"
    outcomes = [name for name in names if Column(name, []).is_named(OUTCOMES)]
    near = difflib.get_close_matches(VALUE, names, 1) or outcomes or names[-1:]
    such = f", such as --value {quoted(near[0])}" if near else ""
    return (
        f"{path} has no column {VALUE!r}. Name the column that was measured with --value{such}. "
        f"The file has {_listed(names)}."
    )


def _near(option: str, name: str, names: list[str]) -> str:
    """Return the hint for a name that an option gave and the file does not have."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        each = " ".join(f"{option} {quoted(part)}" for part in parts)
        return f"Give the option once for each column: {each}."
    by_case = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), by_case, 1)
    if near:
        return f"Did you mean {option} {quoted(by_case[near[0]])}? The file has {_listed(names)}."
    return f"Correct the name after {option}. The file has {_listed(names)}."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(repr(name) for name in names[:SHOWN]) or "no columns") + more
