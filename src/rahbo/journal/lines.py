"""Events as lines of JSON, each with a checksum, and back.

A line ends with ``,"crc32":"89abcdef"}``: the CRC-32 of everything before, begun with the number of
the line. So a changed byte is noticed, and so is a line that is missing or out of order. Journals
of format 1 have lines without a checksum.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn
from zlib import crc32

from rahbo.errors import JournalError

# A file of this format has a checksum in every line. Files of the first format are still read.
FORMAT, UNCHECKED = 2, 1
# Every journal begins like this. Any other file is left alone.
OPENING = b'{"event":"run","format":'
CHECKSUM = re.compile(rb',"crc32":"[0-9a-f]{8}"}')
LENGTH = len(',"crc32":"89abcdef"}')


def encoded_line(event: dict[str, Any], number: int) -> bytes:
    """Return an event as the line of this number, counted from 1."""
    try:
        body = json.dumps(event, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise JournalError(f"A journal can hold only plain values: {error}.") from error
    return _with_checksum(body[:-1], number) + b"\n"


def parse(raw: bytes, name: str, before: int = 0) -> tuple[list[Any], int]:
    """Return the events of a journal, or those after ``before`` lines, and their size in bytes.

    A torn last line is left out.
    """
    if not before and raw[: len(OPENING)] != OPENING[: len(raw)]:
        raise JournalError(f"{name} is not a rahbo journal. Choose another file.")
    *lines, rest = raw.split(b"\n")
    events: list[Any] = []
    end, checked = len(raw) - len(rest), False
    for number, line in enumerate(lines, before + 1):
        try:
            events.append(_event(line, number, checked))
        except (ValueError, RecursionError) as error:
            # All lines but the last were flushed whole, so no crash leaves them like this.
            is_last = number == before + len(lines) and not rest
            if not (is_last and _is_torn(line, error)):
                other = "delete everything from that line on" if number > 1 else "start a new run"
                raise JournalError(
                    f"{name}, line {number}, is damaged: {error}. Restore the file from a copy, "
                    f"or {other}."
                ) from error
            end -= len(line) + 1
        else:
            checked = checked or (number == 1 and _promises_checksums(events[0]))
    return events, end


def _event(line: bytes, number: int, checked: bool) -> Any:
    """Return the event of a line, or raise a ValueError; ``checked`` lines need a checksum."""
    event = _JSON.decode(line.decode())
    if _has_checksum(line) and line != _with_checksum(line[:-LENGTH], number):
        raise ValueError("its checksum does not match")
    if not _has_checksum(line) and (checked or (number == 1 and _promises_checksums(event))):
        raise ValueError("its checksum is missing")
    return event


def _with_checksum(body: bytes, number: int) -> bytes:
    return b'%s,"crc32":"%08x"}' % (body, crc32(body, number))


def _promises_checksums(header: Any) -> bool:
    return isinstance(header, dict) and header.get("format") == FORMAT


def _has_checksum(line: bytes) -> bool:
    return CHECKSUM.fullmatch(line, max(0, len(line) - LENGTH)) is not None


def _is_torn(line: bytes, error: Exception) -> bool:
    """Return whether a crash can leave a line like this: its end is missing, or zeros are in it."""
    is_json = not isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
    return not is_json and (b"\0" in line or not _has_checksum(line))


def _not_json(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not valid JSON")


_JSON = json.JSONDecoder(parse_constant=_not_json)
