"""Cells of a table: numbers, units, dates, and marks for a missing value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rahbo.errors import DataError
from rahbo.numerics import UNSIGNED

NUMBER = re.compile(rf"[-+]?{UNSIGNED}")
WHOLE = re.compile(r"[-+]?[0-9]{1,12}")
# A number with a decimal comma, and those of them that may be thousands instead.
COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?")
THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2},[0-9]{3}")
# How programs write a missing measurement.
NO_VALUE = {
    "", "nan", "na", "n/a", "#n/a", "null", "none", "inf", "-inf", "+inf", "infinity", "-infinity",
}  # fmt: skip
# A unit is a short text of letters and signs after the number.
_UNIT = r"\s*((?:[^\W\d_]|[%‰°])(?:[^\W\d_]|[ %‰°/·*^().-]){0,11})"
UNIT = re.compile(rf"({NUMBER.pattern}){_UNIT}")
# The same with a decimal point or comma, and a unit or none.
QUANTITY = re.compile(rf"({COMMA.pattern}|{NUMBER.pattern})(?:{_UNIT})?")

_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?:\s*[AaPp][Mm])?"
_TIME = rf"(?:{_CLOCK}|\d{{1,2}}:\d{{2}}(?:\s*[AaPp][Mm])?)"
_ZONE = r"(?:\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_YEAR_FIRST = r"(?:19|20)\d{2}([-/.])\d{1,2}\1\d{1,2}"
_DAY, _MONTH_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
_YEAR_LAST = (
    rf"(?:{_DAY}([-/.]){_MONTH_NUMBER}\2|{_MONTH_NUMBER}([-/.]){_DAY}\3)"
    r"(?:(?:19|20)\d{2}|\d{2})"
)
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


def typed_name(name: str) -> str:
    r"""Return the name of a column as it can be typed: all white space is a single space.

    >>> typed_name("Temp\n[C] ")
    'Temp [C]'
    """
    return " ".join(name.split())


def quoted(name: str) -> str:
    """Return a name as it is typed after an option.

    >>> quoted("lr"), quoted("P (bar)")
    ('lr', "'P (bar)'")
    """
    if re.fullmatch(r"\w[\w.-]*", name):
        return name
    return shlex.quote(name) if name.isprintable() else repr(name)


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
    cells = [(name, text, _number_in(text)) for name in numeric for text in numeric[name]]
    commas = [(name, number) for name, _, number in cells if "," in number]
    points = [(name, text) for name, text, number in cells if "." in number]
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
    """Return whether all texts are numbers, some perhaps with a comma, with the same unit or none.

    Some may be missing.
    """
    found = [QUANTITY.fullmatch(text) for text in texts if text.lower() not in NO_VALUE]
    return all(found) and len({(match[2] or "").strip() for match in found if match}) <= 1


def _number_in(text: str) -> str:
    """Return the number of a quantity without its unit; an empty text if there is none."""
    match = QUANTITY.fullmatch(text)
    return match[1] if match else ""
