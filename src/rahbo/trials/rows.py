"""Trials as a table with one row for each value or failure, and such a table as trials."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rahbo.errors import DataError, MissingLibraryError, SpaceError
from rahbo.space import Candidates, Categorical, Space, columns_in, key, rows_in, whole_if_equal
from rahbo.trials.blocks import checked_told
from rahbo.trials.files import write_whole
from rahbo.trials.outcomes import Reads
from rahbo.trials.times import time_in, time_text
from rahbo.trials.trial import Trial

BEFORE, AFTER = ("trial", "source"), ("repeat", "block", "value")
FAILURE, TIME = "failure", "time"
FIXED = (*BEFORE, *AFTER, FAILURE, TIME)

# Texts that readers of files take for a missing cell, in small letters.
MISSING = {"", "na", "n/a", "nan", "null", "none", "n/a n/a", "1.#ind", "1.#qnan"}

Row = dict[str, Any]


def column_names(names: Iterable[str], outcomes: Iterable[str]) -> tuple[Row, Row]:
    """Return the column of each parameter and of each outcome.

    It has the same name, unless another column has it already.

    >>> column_names(["x", "value"], ["loss", "x"])
    ({'x': 'x', 'value': 'parameter value'}, {'loss': 'loss', 'x': 'outcome x'})
    """
    taken = set(FIXED)
    found: tuple[Row, Row] = ({}, {})
    for kind, listed, columns in zip(("parameter", "outcome"), (names, outcomes), found,
                                     strict=True):  # fmt: skip
        for name in listed:
            column = name
            while column in taken:
                column = f"{kind} {column}"
            taken.add(column)
            columns[name] = column
    return found


def header(names: Iterable[str], outcomes: Iterable[str]) -> list[str]:
    """Return the names of all columns, in order."""
    parameters, others = column_names(names, outcomes)
    return [*BEFORE, *parameters.values(), *AFTER, *others.values(), FAILURE, TIME]


def rows_of(trials: Iterable[Trial], names: Sequence[str], outcomes: Sequence[str]) -> list[Row]:
    """Return one row for each value and each failure, in order of trial and repeat.

    Args:
        trials: The trials.
        names: The names of the parameters, conditions included.
        outcomes: The names of outcomes that are told beside values.
    """
    parameters, others = column_names(names, outcomes)
    rows = []
    for trial in trials:
        settings = {parameters[name]: trial.params[name] for name in names}
        for i, told in trial.evaluations.items():
            rows.append({
                "trial": trial.id, "source": trial.source, **settings, "repeat": i,
                "block": told.block, "value": told.value,
                **{others[name]: told.outcomes.get(name) for name in outcomes},
                FAILURE: _encodable(told.failure), TIME: time_text(told.time),
            })  # fmt: skip
    return rows


def _encodable(text: str | None) -> str | None:
    """Return a text that UTF-8 can hold. A reason may hold half of a character."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def write_csv(path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Row]) -> Path:
    """Write rows as a CSV file in UTF-8 and return its path. An existing file is replaced.

    Numbers have all their digits. What is missing is an empty cell.
    """
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return write_whole(path, out.getvalue().encode("utf-8", "backslashreplace"))


def as_frame(columns: Sequence[str], rows: Sequence[Row]) -> Any:
    """Return rows as a pandas DataFrame, with times as dates in UTC.

    Raises:
        MissingLibraryError: pandas is not installed.
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            "to_frame() needs pandas: pip install pandas. Without it, to_csv(path) writes the same "
            "table, and rows() returns it as a list of dicts."
        ) from error
    frame = pandas.DataFrame(list(rows), columns=list(columns))
    dates = [None if row[TIME] is None else datetime.fromisoformat(row[TIME]) for row in rows]
    # Older versions of pandas have no dates after the year 2262.
    frame[TIME] = pandas.to_datetime(dates, utc=True, errors="coerce")
    return frame


# -- a table as trials -------------------------------------------------------------------------


def trials_in(
    frame: Any, space: Space, outcomes: Mapping[str, Reads], blocks: Sequence[str] = ()
) -> list[Trial]:
    """Return the past results in a data frame as trials. Rows with equal parameters are repeats.

    A row without a value has failed. The columns are those of `rows_of`; ``block``, ``failure``,
    ``time`` and the outcomes may be missing, and all others are ignored. So is a ``time`` that is
    not a date with a time zone.

    Args:
        frame: A frame of pandas or polars.
        space: The parameters.
        outcomes: The outcomes that may be told, by name.
        blocks: The names that a block may have; empty if it may have any.
    """
    found = columns_in(frame)
    parameters, others = _columns_of(frame, space.names, outcomes)
    if "value" not in found:
        raise DataError(
            f"data= needs a column 'value' with the measured values, got the columns {found}. "
            "Rename the column that holds them."
        )
    settings = space.rows_in(frame, parameters)
    known = ("value", "block", FAILURE, TIME, *others.values())
    read = [name for name in dict.fromkeys(known) if name in found]
    trials: dict[bytes, Trial] = {}
    for i, (params, told) in enumerate(zip(settings, rows_in(frame, read), strict=True)):
        beside = {name: _filled(told.get(column)) for name, column in others.items()}
        try:
            x = space.encode(params)
            trial = trials.get(x.tobytes()) or Trial(len(trials), params, x, 0, "user")
            trials[x.tobytes()] = _with_row(trial, told, beside, outcomes, blocks)
        except (DataError, SpaceError) as error:
            hint = _misread(params, parameters, space, ["value", *others.values()])
            raise type(error)(f"Row {i} of data=, counted from 0: {error}{hint}") from error
    return list(trials.values())


def _columns_of(frame: Any, names: Iterable[str], outcomes: Iterable[str]) -> tuple[Row, Row]:
    """Return the column of each parameter and each outcome in a frame.

    In a frame without times, the column ``time`` may be a parameter or an outcome of that name.
    """
    found, named = columns_in(frame), column_names(names, outcomes)
    cells = rows_in(frame, [TIME]) if TIME in found else []
    if not any(time_in(cell[TIME]) is not None for cell in cells):
        for columns in named:
            if TIME in columns and columns[TIME] not in found:
                columns[TIME] = TIME
                break
    return named


def _misread(params: Row, columns: Row, space: Space, numbers: Sequence[str]) -> str:
    """Return how to read a file again in which a text choice became something else, or nothing.

    Args:
        params: The parameters of a row.
        columns: The column of each parameter.
        space: The parameters.
        numbers: The columns of numbers that may be missing.
    """
    for name, cell in params.items():
        choices = _choices_of(name, space)
        if isinstance(cell, str) or _is_among(cell, choices):
            continue
        for choice in choices:
            if isinstance(choice, str) and _reads_as(choice, cell):
                way = f"dtype={{{columns[name]!r}: str}}"
                if cell is None:
                    empty = [""] if choice else {column: [""] for column in numbers}
                    way = f"{way}, keep_default_na=False, na_values={empty!r}"
                return (
                    f" The choice {choice!r} is a text that was perhaps read as {cell!r}. With "
                    f"pandas, read the file with {way}."
                )
    return ""


def _choices_of(name: str, space: Space) -> list[Any]:
    if isinstance(space.kinds, Candidates):
        return [row[name] for row in space.kinds.rows]
    kind = space.kinds[name]
    return list(kind.choices) if isinstance(kind, Categorical) else []


def _is_among(cell: object, choices: list[Any]) -> bool:
    try:
        return key(cell) in map(key, choices)
    except SpaceError:
        return False


def _reads_as(text: str, cell: object) -> bool:
    """Return whether a reader of files may take a text for this cell.

    >>> _reads_as("01", 1), _reads_as("NA", None), _reads_as("true", True), _reads_as("a", 1)
    (True, True, True, False)
    """
    if cell is None:
        return text.strip("#<>-").lower() in MISSING
    if text.lower() == str(cell).lower():
        return True
    try:
        return bool(float(text) == cell)
    except ValueError:
        return False


def _filled(cell: object) -> object:
    """Return a cell, None for an empty text: readers of files may leave one where nothing is."""
    return None if isinstance(cell, str) and not cell else cell


def _with_row(
    trial: Trial, told: Row, outcomes: Row, known: Mapping[str, Reads], blocks: Sequence[str]
) -> Trial:
    """Return a trial with one more value or failure, or with the values that a cell lists."""
    time = time_in(told.get(TIME))
    if _filled(told["value"]) is None:
        return trial.with_failures([trial.n_made], str(told.get(FAILURE) or "no value"), time)
    block = whole_if_equal(_filled(told.get("block")))
    return trial.with_more(
        checked_told(told["value"], outcomes or None, known, block, blocks, time)
    )
