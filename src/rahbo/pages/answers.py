"""What a server gets to answer with: the pages of a site, their data, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NamedTuple

from rahbo.pages.escape import embedded

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

Query = Mapping[str, list[str]]
Record = Mapping[str, Any]


class Answer(NamedTuple):
    """What a request gets.

    Attributes:
        body: The contents.
        kind: Their type.
        status: The status of the answer.
        headers: Headers that replace the usual ones, or come with them.
    """

    body: bytes
    kind: str
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = {}


class RefusedError(Exception):
    """A request that is not answered: the status, and why.

    The reason must not repeat any part of the request.
    """

    def __init__(self, status: HTTPStatus, why: str | None = None) -> None:
        super().__init__(status, why)
        self.status, self.why = status, why


@dataclass(frozen=True)
class Site:
    """What a server serves.

    Attributes:
        command: The command that serves it, for messages.
        read: Returns the answer to a request that changes nothing; None if there is no such page.
        change: Makes the change that a record asks for and returns the answer, in the same way;
            None if everything is only read.
    """

    command: str
    read: Callable[[str, Query], Answer | None]
    change: Callable[[str, Record], Answer | None] | None = None


def json_answer(record: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    """Return a record as JSON."""
    return Answer(embedded(record).encode(), "application/json", status)


def moved(to: str, headers: Mapping[str, str] = {}) -> Answer:
    """Return an answer that leads to another page."""
    return Answer(b"", "text/plain", HTTPStatus.SEE_OTHER, {"Location": to, **headers})
