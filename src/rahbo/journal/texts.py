"""Events as texts: one line of JSON each, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from rahbo import __version__
from rahbo.errors import JournalError

FORMAT = 2


def encoded(event: dict[str, Any]) -> str:
    """Return an event as a text."""
    try:
        return json.dumps(event, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise JournalError(f"A journal can hold only plain values: {error}.") from error


def events_of(texts: Iterable[str], name: str, before: int = 0) -> list[Any]:
    """Return the events of texts, which are those after the first ``before`` of a journal."""
    events = []
    for number, text in enumerate(texts, before + 1):
        try:
            events.append(decoded(text, number, name))
        except (ValueError, RecursionError) as error:
            raise damaged(name, number, error) from error
    return events


def decoded(text: str, number: int, name: str) -> Any:
    """Return an event, or raise a ValueError."""
    event = _JSON.decode(text)
    if number == 1 and isinstance(event, dict) and event.get("format") != FORMAT:
        raise JournalError(
            f"{name} has format {event.get('format')!r}, written by rahbo {event.get('rahbo')!r}, "
            f"but this is rahbo {__version__}, which reads format {FORMAT}. Update rahbo."
        )
    return event


def damaged(name: str, number: int, error: Exception) -> JournalError:
    """Return the error for a line that is not an event."""
    other = "delete everything from that line on" if number > 1 else "start a new run"
    return JournalError(
        f"{name}, line {number}, is damaged: {error}. Restore the file from a copy, or {other}."
    )


def _not_json(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not valid JSON")


_JSON = json.JSONDecoder(parse_constant=_not_json)
