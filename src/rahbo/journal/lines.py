"""Events as lines of a file, each with a checksum, and back.

A line ends with ``,"crc32":"89abcdef"}``: the CRC-32 of everything before, begun with the number of
the line. So a changed byte is noticed, and so is a line that is missing or out of order.
"""

from __future__ import annotations

import json
import re
from zlib import crc32

from rahbo.errors import JournalError
from rahbo.journal.texts import damaged, decoded

# Every journal begins like this. Any other file is left alone.
OPENING = b'{"event":"run","format":'
CHECKSUM = re.compile(rb',"crc32":"[0-9a-f]{8}"}')
LENGTH = len(',"crc32":"89abcdef"}')


def line_of(event: str, number: int) -> bytes:
    """Return an event as the line of this number, counted from 1."""
    return _with_checksum(event.encode()[:-1], number) + b"\n"


def parse(raw: bytes, name: str, before: int = 0) -> tuple[list[str], int]:
    """Return the events of a file, or those after ``before`` lines, and their size in bytes.

    A torn last line is left out.
    """
    if not before and raw[: len(OPENING)] != OPENING[: len(raw)]:
        raise JournalError(f"{name} is not a rahbo journal. Choose another file.")
    *lines, rest = raw.split(b"\n")
    events: list[str] = []
    end = len(raw) - len(rest)
    for number, line in enumerate(lines, before + 1):
        try:
            events.append(_event(line, number, name))
        except (ValueError, RecursionError) as error:
            # All lines but the last were flushed whole, so no crash leaves them like this.
            is_last = number == before + len(lines) and not rest
            if not (is_last and _is_torn(line, error)):
                raise damaged(name, number, error) from error
            end -= len(line) + 1
    return events, end


def _event(line: bytes, number: int, name: str) -> str:
    """Return the event of a line, or raise a ValueError."""
    if line == _with_checksum(line[:-LENGTH], number):
        return line[:-LENGTH].decode() + "}"
    decoded(line.decode(), number, name)
    raise ValueError(f"its checksum {'does not match' if _has_checksum(line) else 'is missing'}")


def _with_checksum(body: bytes, number: int) -> bytes:
    return b'%s,"crc32":"%08x"}' % (body, crc32(body, number))


def _has_checksum(line: bytes) -> bool:
    return CHECKSUM.fullmatch(line, max(0, len(line) - LENGTH)) is not None


def _is_torn(line: bytes, error: Exception) -> bool:
    """Return whether a crash can leave a line like this: its end is missing, or zeros are in it."""
    is_json = not isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
    return not is_json and (b"\0" in line or not _has_checksum(line))
