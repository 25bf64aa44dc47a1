"""Past results: the points of a table, and the values that were measured there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby

from rahbo.cli.cells import NO_VALUE, NUMBER, bare, quoted
from rahbo.cli.columns import Cell, Column, Verdict
from rahbo.cli.roles import BY_US, question, roles_of
from rahbo.cli.sheets import Sheet
from rahbo.errors import DataError, SpaceError
from rahbo.numerics import plain_number
from rahbo.space import Categorical, Float, Int, Parameter

# Fitting a model to a larger table takes too long.
MAX_POINTS, MAX_PARAMETERS = 2000, 50
# From this ratio of the largest to the smallest value on, a log scale is worth a thought.
WIDE = 1000.0
# Two values with so many digits are hardly equal by chance.
LONG_VALUE = 6


@dataclass(frozen=True)
class Results:
    """The contents of a table.

    Attributes:
        space: The parameters; each range spans the values that were tried.
        values: All measured values of each distinct point, a tuple in the order of ``space``.
        rows: The row of the file in which each of these values stands.
        failures: The point of each row without a value.
        said: What each column was taken for, in one line.
    """

    space: dict[str, Parameter]
    values: dict[tuple[Cell, ...], list[float]]
    rows: dict[tuple[Cell, ...], list[int]]
    failures: list[tuple[Cell, ...]]
    said: str


def results_in(sheet: Sheet, given: Mapping[str, Parameter | None] | None = None) -> Results:
    """Return the results in a table.

    Args:
        sheet: The cells.
        given: Columns that the user says are parameters, and the range and scale of each; None to
            take them from the column.
    """
    given = given or {}
    measured = _measured(sheet)
    columns = [Column(name, texts) for name, texts in sheet.columns.items()]
    for column in columns:
        if column.name in given:
            _check_filled(column, sheet)
    verdicts = roles_of(columns, given)
    _check_roles(sheet, columns, verdicts)
    taken = [column for column in columns if verdicts[column.name].role == "parameter"]
    space = {column.name: given.get(column.name) or column.parameter() for column in taken}
    cells = [_cells(column, given.get(column.name), sheet) for column in taken]
    values: dict[tuple[Cell, ...], list[float]] = {}
    rows: dict[tuple[Cell, ...], list[int]] = {}
    failures = []
    for *point, found, row in zip(*cells, measured, sheet.rows, strict=True):
        if found is None:
            failures.append(tuple(point))
        else:
            values.setdefault(tuple(point), []).append(found)
            rows.setdefault(tuple(point), []).append(row)
    if len({*values, *failures}) > MAX_POINTS:
        raise DataError(
            f"{sheet.path} has more than {MAX_POINTS} different points, too many for the model. "
            "Keep only some of them, or use --ignore for columns that are not parameters."
        )
    return Results(space, values, rows, failures, _said(sheet, columns, space, given, verdicts))


def _measured(sheet: Sheet) -> list[float | None]:
    """Return the measurement of each row, or None where the evaluation gave none."""
    texts = [text for text in sheet.measured if text.lower() not in NO_VALUE]
    if not texts and sheet.measured:
        raise DataError(
            f"{sheet.path} has no number in the column {sheet.value!r}. Choose another column with "
            "--value."
        )
    plain = bare(texts)
    if plain is None:
        odd = next((text for text in texts if not NUMBER.fullmatch(text)), "")
        raise DataError(
            f"{sheet.path} has {odd[:100]!r} in the column {sheet.value!r}, which is not a number. "
            "Leave the cell empty if the evaluation failed, or choose another column with --value."
        )
    numbers = iter(plain[0])
    found = [
        None if text.lower() in NO_VALUE else plain_number(next(numbers)) for text in sheet.measured
    ]
    return [number if number is None or math.isfinite(number) else None for number in found]


def _check_filled(column: Column, sheet: Sheet) -> None:
    if "" in column.texts:
        raise DataError(
            f"{sheet.path}, row {sheet.rows[column.texts.index('')]}, has an empty cell in the "
            f"column {column.name!r}. Fill it in, or leave the column out with --ignore "
            f"{quoted(column.name)}."
        )


def _check_roles(sheet: Sheet, columns: list[Column], verdicts: Mapping[str, Verdict]) -> None:
    roles = [verdict.role for verdict in verdicts.values()]
    if "unclear" in roles:
        raise DataError(
            f"It is not clear which columns of {sheet.path} are parameters.\n"
            f"{question(sheet.value, columns, verdicts)}{_gaps(sheet, columns, verdicts)}"
        )
    if "parameter" not in roles:
        raise DataError(
            f"{sheet.path} has no column that varies besides {sheet.value!r}. Add rows."
        )
    if roles.count("parameter") > MAX_PARAMETERS:
        raise DataError(
            f"{sheet.path} has {roles.count('parameter')} parameter columns, more than "
            f"{MAX_PARAMETERS}. Leave some out with --ignore."
        )


def _gaps(sheet: Sheet, columns: list[Column], verdicts: Mapping[str, Verdict]) -> str:
    """Return where unclear columns have their first empty cells; an empty text without any."""
    found = [
        f"{quoted(column.name)} in row {sheet.rows[column.texts.index('')]}"
        for column in columns
        if verdicts[column.name].role == "unclear" and "" in column.texts
    ]
    if not found:
        return ""
    return (
        f"\nFirst empty cells: {', '.join(found)}. If some rows have parameters that others lack, "
        "make one table of each kind of rows."
    )


def _cells(column: Column, given: Parameter | None, sheet: Sheet) -> list[Cell]:
    """Return the values of a parameter after checking that they fit what the user said of it."""
    if given is None:
        return column.cells
    if isinstance(given, Categorical):
        cells: list[Cell] = list(column.texts)
    elif column.numbers is None:
        odd = next(text for text in column.texts if not NUMBER.fullmatch(text))
        raise DataError(
            f"{sheet.path} has {odd[:100]!r} in the column {column.name!r}, which is not a number. "
            f"Correct it, or list the choices of {column.name!r} with -p."
        )
    else:
        cells = list(column.numbers)
    for row, text, cell in zip(sheet.rows, column.texts, cells, strict=True):
        try:
            given.code(column.name, cell)
        except SpaceError as error:
            raise DataError(
                f"{sheet.path}, row {row}, has {text[:100]!r} in the column {column.name!r}, which "
                f"does not fit {given!r} of the option -p {quoted(column.name)}. The column has "
                f"{column.span}. Correct the option or the cell."
            ) from error
    return cells


# -- words -------------------------------------------------------------------------------------


def _said(
    sheet: Sheet, columns: list[Column], space: Mapping[str, Parameter],
    given: Mapping[str, Parameter | None], verdicts: Mapping[str, Verdict],
) -> str:  # fmt: skip
    """Return what each column was taken for."""
    taken = [
        f"{quoted(column.name)} ({_range(space[column.name], column)}"
        f"{_scale_hint(column.name, space[column.name], given)})"
        for column in columns if column.name in space
    ]  # fmt: skip
    left = [column for column in columns if column.name not in space]
    named = [
        f"{', '.join(quoted(column.name) for column in alike)} ({look})"
        for look, alike in groupby(left, lambda column: verdicts[column.name].look)
    ]
    named += [f"{quoted(name)} (--ignore)" for name in dict.fromkeys(sheet.ignored)]
    if sheet.n_unnamed:
        named.append("a column without a name" if sheet.n_unnamed == 1 else "unnamed columns")
    parts = [f"Parameters: {', '.join(taken)}.", f"Measured: {quoted(sheet.value)}."]
    if named:
        parts.append(f"Left out: {', '.join(named)}.")
    varied = [
        quoted(column.name) for column in left
        if column.n_distinct > 1 and verdicts[column.name].look != BY_US
    ]  # fmt: skip
    if varied:
        which = f"{varied[0]} is" if len(varied) == 1 else "one of them is"
        option = varied[0] if len(varied) == 1 else "and its name"
        parts.append(f"If {which} a parameter, add -p {option}.")
    unasked = [quoted(name) for name in space if name not in given]
    if given and unasked:
        parts.append(
            f"-p adds a parameter and takes none away. To leave one out, add --ignore {unasked[0]}."
        )
    if sheet.has_commas:
        parts.append("Decimal commas were read as points.")
    if sheet.n_copies and all(len(text) >= LONG_VALUE for text in sheet.measured if text):
        copies = "1 row is a copy" if sheet.n_copies == 1 else f"{sheet.n_copies} rows are copies"
        parts.append(f"{copies} of other rows and count as repeats; delete copies made by mistake.")
    return " ".join(parts)


def _range(parameter: Parameter, column: Column) -> str:
    if isinstance(parameter, Categorical):
        return f"{len(parameter.choices)} choices"
    kind = "whole, " if isinstance(parameter, Int) else ""
    unit = f" {column.unit}" if column.unit else ""
    log = ", log scale" if parameter.log else ""
    return f"{kind}{parameter.low:.4g} to {parameter.high:.4g}{unit}{log}"


def _scale_hint(name: str, parameter: Parameter, given: Mapping[str, Parameter | None]) -> str:
    """Return how to get a log scale for numbers of very different size."""
    if not isinstance(parameter, Float) or given.get(name) is not None:
        return ""
    if not 0.0 < WIDE * parameter.low <= parameter.high:
        return ""
    low, high = _outward(parameter.low, math.floor), _outward(parameter.high, math.ceil)
    return f"; for a log scale add -p {quoted(name)}={low}:{high}:log"


def _outward(number: float, to_whole: Callable[[float], int]) -> str:
    """Return a positive number with two digits, rounded up or down."""
    size = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{to_whole(number / size) * size:.2g}"
