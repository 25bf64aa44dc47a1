"""What people type into the fields of a form: texts and numbers, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rahbo.errors import DataError
from rahbo.numerics import plain_number
from rahbo.trials import LARGEST_VALUE

# The most characters of a number, a name and a longer text.
LONGEST_NUMBER, LONGEST_NAME, LONGEST_TEXT = 60, 100, 2000
# The largest size of a whole parameter.
LARGEST_WHOLE = 10**12


def number_in(written: object, what: str) -> float:
    """Return the number that someone typed, with a decimal point or a decimal comma.

    Args:
        written: The text, or a number.
        what: What it is, for the error.

    >>> number_in("12,5", "The value"), number_in("−3e2", "The value")
    (12.5, -300.0)
    """
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise DataError(f"{what} must be a number. Type it as 12.5 or 12,5.")
    text = str(written).strip().replace("\N{MINUS SIGN}", "-")
    if not text:
        raise DataError(f"{what} is missing. Type a number.")
    try:
        # A decimal comma is as good as a point. Nothing else may stand between digits.
        number = plain_number(text.replace(",", ".") if len(text) <= LONGEST_NUMBER else "")
    except ValueError:
        raise DataError(
            f"{what} must be a number such as 12.5 or 12,5, without a unit and without separators "
            f"of thousands, got {text[:LONGEST_NUMBER]!r}."
        ) from None
    if not math.isfinite(number) or abs(number) > LARGEST_VALUE:
        raise DataError(
            f"{what} must be a number up to {LARGEST_VALUE:g} in size, got {text!r}. Use another "
            "unit."
        )
    return number


def whole_in(written: object, what: str, least: int = 0) -> int:
    """Return the whole number that someone typed."""
    number = number_in(written, what)
    if not number.is_integer() or number < least:
        raise DataError(f"{what} must be a whole number of at least {least}, got {number:g}.")
    return int(number)


def text_in(
    record: Mapping[str, Any], name: str, what: str, most: int = LONGEST_NAME, needed: bool = True
) -> str:
    """Return a text in a record without spaces at its ends.

    Args:
        record: What a page sent.
        name: The name of the field.
        what: What it is, for the error.
        most: The most characters that it may have.
        needed: Whether it must not be empty.
    """
    written = record.get(name, "")
    if not isinstance(written, str):
        raise DataError(f"{what} must be a text.")
    text = written.strip()
    if needed and not text:
        raise DataError(f"{what} is missing. Fill it in.")
    if len(text) > most:
        raise DataError(f"{what} may have at most {most} characters, got {len(text)}.")
    if not all(c.isprintable() or c == "\n" for c in text):
        raise DataError(f"{what} must contain printable characters only.")
    return text


def index_in(record: Mapping[str, Any], name: str) -> int:
    """Return a whole number of at least 0 that the page itself put into a record."""
    number = record.get(name)
    if type(number) is not int or not 0 <= number < 2**53:
        raise DataError(f"{name} must be a whole number of at least 0.")
    return number


def list_in(record: Mapping[str, Any], name: str, most: int = 1000) -> list[Any]:
    """Return a list in a record; an empty one if there is none."""
    found = record.get(name, [])
    if not isinstance(found, list) or len(found) > most:
        raise DataError(f"{name} must be a list of at most {most} entries.")
    return found


def record_in(found: object, what: str) -> Mapping[str, Any]:
    """Return a part of a record that is a record itself."""
    if not isinstance(found, Mapping):
        raise DataError(f"{what} must be a record with names.")
    return found
