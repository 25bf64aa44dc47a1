"""Data frames as rows: those of pandas and polars, recognised by what they offer.

Neither library is imported. A frame has `columns`, and each column has a `to_list`. The index of a
pandas frame is not read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rahbo.errors import DataError
from rahbo.numerics import unwrapped
from rahbo.space.parameters import plain


def is_frame(given: object) -> bool:
    """Return whether something is a data frame, of pandas, polars or alike.

    Raises:
        DataError: It is a lazy frame, which has no rows yet.
    """
    kind = type(given)
    if isinstance(given, Mapping) or not hasattr(kind, "columns"):
        return False
    if hasattr(kind, "collect") and not hasattr(kind, "to_dicts"):
        raise DataError("A lazy frame has no rows yet. Pass frame.collect().")
    return hasattr(kind, "to_dicts") or hasattr(kind, "to_dict")


def is_frame_row(given: object) -> bool:
    """Return whether something is a row of a pandas frame, whose index names the columns."""
    kind = type(given)
    parts = ("to_frame", "to_dict", "index")
    return not hasattr(kind, "columns") and all(hasattr(kind, part) for part in parts)


def columns_in(frame: Any) -> list[Any]:
    """Return the names of the columns of a frame, in order.

    Raises:
        DataError: Two columns have the same name.
    """
    names = list(frame.columns)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"A frame has two columns named {twice!r}. Rename or drop one of them.")
    return names


def rows_in(frame: Any, names: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts of plain values, with None for missing cells.

    Args:
        frame: The frame.
        names: The columns to read. Others are ignored. By default all are read.

    Raises:
        DataError: A column is missing, or two have the same name.
    """
    found = columns_in(frame)
    names = found if names is None else names
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(
            f"A frame needs the columns {list(names)}, got {found}: {missing} are missing. Rename "
            f"its columns, or make the index one of them with reset_index()."
        )
    columns = [listed_cells(frame[name]) for name in names]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def listed_cells(column: Any) -> list[Any]:
    """Return the cells of a column, or any other values, as a list of plain values.

    NaN, NaT and other marks of a missing cell become None.
    """
    cells = column.to_list() if hasattr(column, "to_list") else list(column)
    return [None if is_missing(cell) else plain(cell) for cell in cells]


def whole_if_equal(cell: Any) -> Any:
    """Return a float that is a whole number as an int, and anything else as it is.

    pandas turns a column of ints into floats where one is missing.
    """
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def is_missing(cell: object) -> bool:
    """Return whether a cell holds nothing: None, NaN, NaT, NA or a masked number.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("nan")
    (True, True, False, False)
    """
    cell = unwrapped(cell)
    if cell is None:
        return True
    try:
        # NaN and NaT differ from themselves.
        return bool(cell != cell)
    except TypeError:
        # Whether NA of pandas differs from itself is not known.
        return True
    except ValueError:
        return False
