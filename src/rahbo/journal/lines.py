"""Events as lines of JSON, each with a checksum, and back.

A line ends with ``,"crc32":"89abcdef"}``: the CRC-32 of everything before, begun with the number of
the line. So a changed byte is noticed, and so is a line that is missing or out of order.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn
from zlib import crc32

from rahbo import __version__
from rahbo.errors import JournalError

FORMAT = 2
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
    end = len(raw) - len(rest)
    for number, line in enumerate(lines, before + 1):
        try:
            events.append(_event(line, number, name))
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
    return events, end


def _event(line: bytes, number: int, name: str) -> Any:
    """Return the event of a line, or raise a ValueError."""
    event, is_whole = _JSON.decode(line.decode()), _has_checksum(line)
    if is_whole and line != _with_checksum(line[:-LENGTH], number):
        raise ValueError("its checksum does not match")
    if number == 1 and isinstance(event, dict) and event.get("format") != FORMAT:
        raise JournalError(
            f"{name} has format {event.get('format')!r}, written by rahbo {event.get('rahbo')!r}, "
            f"but this is rahbo {__version__}, which reads format {FORMAT}. Update rahbo."
        )
    if not is_whole:
        raise ValueError("its checksum is missing")
    return event


def _with_checksum(body: bytes, number: int) -> bytes:
    return b'%s,"crc32":"%08x"}' % (body, crc32(body, number))


def _has_checksum(line: bytes) -> bool:
    return CHECKSUM.fullmatch(line, max(0, len(line) - LENGTH)) is not None


def _is_torn(line: bytes, error: Exception) -> bool:
    """Return whether a crash can leave a line like this: its end is missing, or zeros are in it."""
    is_json = not isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
    return not is_json and (b"\0" in line or not _has_checksum(line))


def _not_json(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not valid JSON")


_JSON = json.JSONDecoder(parse_constant=_not_json)
