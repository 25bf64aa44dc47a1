"""Cells of a table: numbers, units, dates, and marks for a missing value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rahbo.errors import DataError

NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
WHOLE = re.compile(r"[-+]?[0-9]{1,12}")
# A number with a decimal comma, and those of them that may be thousands instead.
COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?")
THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2},[0-9]{3}")
# How programs write a missing measurement.
NO_VALUE = {
    "", "nan", "na", "n/a", "#n/a", "null", "none", "inf", "-inf", "+inf", "infinity", "-infinity",
}  # fmt: skip
# A unit is a short text of letters and signs after the number.
UNIT = re.compile(rf"({NUMBER.pattern})\s*((?:[^\W\d_]|[%‰°])(?:[^\W\d_]|[ %‰°/·*^().-]){{0,11}})")

_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?:\s*[AaPp][Mm])?"
_TIME = rf"(?:{_CLOCK}|\d{{1,2}}:\d{{2}}(?:\s*[AaPp][Mm])?)"
_ZONE = r"(?:\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_YEAR_FIRST = r"(?:19|20)\d{2}([-/.])\d{1,2}\1\d{1,2}"
_YEAR_LAST = r"\d{1,2}([-/.])\d{1,2}\2(?:(?:19|20)\d{2}|\d{2})"
_COMPACT = r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?\d{4}(?:\d{2})?Z?)?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_NAMED = (
    rf"(?:[a-z]+,?\s+)?(?:\d{{1,2}}[ -]{_MONTH}|{_MONTH}\s+\d{{1,2}}),?"
    rf"(?:[ -]\d{{4}})?(?:,?\s+{_TIME}{_ZONE})?(?:\s+\d{{4}})?"
)
DATE = re.compile(
    rf"(?:{_YEAR_FIRST}|{_YEAR_LAST})(?:(?:T|,?\s+){_TIME}{_ZONE})?|{_COMPACT}|{_NAMED}",
    re.IGNORECASE,
)
# A time of day or a duration. 1:20 without seconds may be a ratio.
CLOCK = re.compile(rf"(?:-?\d+ days?,? \+?)?{_CLOCK}{_ZONE}")


def is_time(text: str) -> bool:
    """Return whether a text is a date, a time of day or a duration.

    >>> [is_time(text) for text in ("2024-03-01T10:15:00Z", "1.3.24", "0 days 00:00:30", "1:20")]
    [True, True, True, False]
    """
    return bool(DATE.fullmatch(text) or CLOCK.fullmatch(text))


def bare(texts: Sequence[str]) -> tuple[list[str], str] | None:
    """Return numbers without their unit, and the unit; None if a text is anything else.

    >>> bare(["20 C", "25.5 C"]), bare(["20", "25.5"]), bare(["20 C", "293 K"])
    ((['20', '25.5'], 'C'), (['20', '25.5'], ''), None)
    """
    if all(NUMBER.fullmatch(text) for text in texts):
        return list(texts), ""
    parts = [UNIT.fullmatch(text) for text in texts]
    units = {part[2].strip() if part else None for part in parts}
    if len(units) > 1 or None in units:
        return None
    return [part[1] for part in parts if part], str(units.pop())


def with_points(
    columns: Mapping[str, list[str]], delimiter: str, path: Path
) -> dict[str, list[str]]:
    """Return columns with decimal points, for a file that may have decimal commas.

    A file separated by commas is left as it is, because a comma in one of its cells is more often
    part of a text.
    """
    if delimiter == ",":
        return dict(columns)
    numeric = {name: texts for name, texts in columns.items() if _is_numeric(texts)}
    commas = [(name, text) for name in numeric for text in numeric[name] if "," in text]
    points = [(name, text) for name in numeric for text in numeric[name] if "." in text]
    if not commas:
        return dict(columns)
    name, text = commas[0]
    if points:
        other, dotted = points[0]
        raise DataError(
            f"{path} has {text!r} in the column {name!r} and {dotted!r} in the column {other!r}. "
            "Write all numbers with a decimal point and without marks for thousands."
        )
    if all(THOUSANDS.fullmatch(cell) for _, cell in commas):
        raise DataError(
            f"{path} has {text!r} in the column {name!r}, which could be {text.replace(',', '.')} "
            f"or {text.replace(',', '')}. Write all numbers with a decimal point and without marks "
            "for thousands."
        )
    return {
        name: [text.replace(",", ".") for text in texts] if name in numeric else texts
        for name, texts in columns.items()
    }


def _is_numeric(texts: Sequence[str]) -> bool:
    """Return whether all texts are numbers, some perhaps with a comma, or missing."""
    return all(
        NUMBER.fullmatch(text) or COMMA.fullmatch(text) or text.lower() in NO_VALUE
        for text in texts
    )
