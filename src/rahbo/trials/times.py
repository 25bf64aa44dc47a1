"""When values and failures were told: seconds since 1970 in UTC, and the same in a table.

Times are for readers of a table. No model, proposal or recommendation depends on them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import time
from typing import TypeGuard

from rahbo.numerics import is_number

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The end of the year 9999, after which a date has no text of this form.
LATEST = 253_402_300_799.0


def now() -> float:
    """Return the time by the clock of this machine, to the millisecond."""
    # A clock that is badly wrong must not stop a run.
    return min(max(round(time(), 3), 0.0), LATEST)


def is_time(seconds: object) -> TypeGuard[float]:
    """Return whether a number can be a time: seconds from 1970 to the year 9999.

    >>> is_time(1.7e9), is_time(-1.0), is_time(float("nan")), is_time("now"), is_time(True)
    (True, False, False, False, False)
    """
    return is_number(seconds) and 0.0 <= seconds <= LATEST


def time_text(seconds: float | None) -> str | None:
    """Return a time in the form of ISO 8601; None if it is not known.

    >>> time_text(1763334847.123)
    '2025-11-16T23:14:07.123Z'
    """
    if seconds is None:
        return None
    # From whole milliseconds, so that reading the text gives the same time again.
    date = EPOCH + timedelta(milliseconds=round(seconds * 1000))
    return date.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def time_in(cell: object) -> float | None:
    """Return the time that a cell of a table holds; None if it holds none for sure.

    That is a date with a time zone, as an object or a text. A number may count anything, and a
    date without a zone may be that of any place.

    >>> time_in("2025-11-16T23:14:07.123Z"), time_in("2025-11-16"), time_in(3.5)
    (1763334847.123, None, None)
    """
    if isinstance(cell, str):
        try:
            cell = datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
    if not isinstance(cell, datetime) or cell.tzinfo is None:
        return None
    seconds = round(cell.timestamp(), 3)
    return seconds if is_time(seconds) else None
