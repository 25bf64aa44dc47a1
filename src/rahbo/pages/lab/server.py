"""Serve the lab page over HTTP on this machine.

A request that changes something must be a POST of JSON with the token of this process, and come
from a page of this server: its ``Origin`` must name the same host as its ``Host``. Beyond the
loopback, reading needs the token too. It is in the address that the command prints, and the
browser keeps it in a cookie.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any, NoReturn
from urllib.parse import quote, unquote

from rahbo.errors import DataError, NotReadyError, RahboError
from rahbo.pages.lab.fields import (
    LONGEST_TEXT,
    index_in,
    list_in,
    record_in,
    text_in,
)
from rahbo.pages.lab.page import overview_page, study_page
from rahbo.pages.lab.spec import spec_in
from rahbo.pages.lab.studies import Studies
from rahbo.pages.lab.study import OutdatedError, Study
from rahbo.pages.serving import (
    HTML,
    LOOPBACK,
    POLICY,
    SCRIPT,
    STYLE,
    Answer,
    PageHandler,
    PageServer,
    Query,
    RefusedError,
    json_answer,
    pages_of,
)
from rahbo.pages.watch.server import ASSETS, run_or_model

# A page that lost its server finds the next one at the same port.
PORT = 8237
OWN_ASSETS = {
    "/lab.js": ("lab/lab.js", SCRIPT),
    "/requests.js": ("lab/requests.js", SCRIPT),
    "/overview.js": ("lab/overview.js", SCRIPT),
    "/lab.css": ("lab/lab.css", STYLE),
}
STUDY = "/study/"
# Bytes of the largest form.
MOST_BYTES = 200_000
TOKEN = "X-Rahbo-Token"
FRAMED = {"Content-Security-Policy": "frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}
Record = Mapping[str, Any]


class LabServer(PageServer):
    """Serves the studies of a folder.

    Args:
        studies: The studies.
        host: The name or address to listen on.
        port: The port to listen on; 0 picks a free one.

    Attributes:
        token: What a request must have to change something, new for each process.
        is_guarded: Whether reading needs it too.
    """

    def __init__(self, studies: Studies, host: str = "127.0.0.1", port: int = 0) -> None:
        self.studies, self.token = studies, secrets.token_urlsafe(24)
        self.is_guarded = host not in LOOPBACK
        self.pages = pages_of({**ASSETS, **OWN_ASSETS})
        framing = {"Content-Security-Policy": f"{POLICY}; frame-src 'self'"}
        self.study_page = Answer(study_page(self.token), HTML, headers=framing)
        self.overview_page = Answer(overview_page(self.token), HTML)
        super().__init__("rahbo lab", Handler, host, port)

    @property
    def cookie(self) -> str:
        """The name of the cookie. Servers on one machine share cookies, whatever their ports."""
        return f"rahbo-lab-{self.server_port}"

    @property
    def address(self) -> str:
        """The address to open, with the token if it is needed, as another machine would open it."""
        if not self.is_guarded:
            return self.url
        host = {"0.0.0.0": _own_address()}.get(self.host)
        url = self.url if host is None else f"http://{host}:{self.server_port}/"
        return f"{url}?token={self.token}"

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token, in a time that does not depend on the text."""
        return secrets.compare_digest(given.encode(), self.token.encode())


def _own_address() -> str:
    """Return the address under which other machines reach this one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


class Handler(PageHandler):
    """Answers the requests of one client."""

    server: LabServer

    # -- reading -----------------------------------------------------------------------------

    def read(self, path: str, query: Query) -> Answer | None:
        """Return a page or its data."""
        if self.server.is_guarded:
            given = query.get("token", [""])[0]
            if given and self.server.is_token(given):
                return self._let_in()
            if not self.server.is_token(self._cookie()):
                self._forbid("Open the address that rahbo lab printed")
        if path in self.server.pages:
            return self.server.pages[path]
        if path == "/":
            return self._first_page()
        if path == "/studies.json":
            studies = self.server.studies
            return json_answer({"folder": str(studies.folder), "studies": studies.listed()})
        if path == "/token.json":
            return json_answer({"token": self.server.token})
        return self._read_study(path, query) if path.startswith(STUDY) else None

    def _let_in(self) -> Answer:
        """Keep the token in a cookie, and take it out of the address."""
        cookie = f"{self.server.cookie}={self.server.token}; Path=/; HttpOnly; SameSite=Strict"
        # Browsers read some paths as other hosts, so it leads to the first page alone.
        return _moved("/", {"Set-Cookie": cookie})

    def _cookie(self) -> str:
        try:
            found = SimpleCookie("; ".join(self.headers.get_all("Cookie", [])))
        except CookieError:
            return ""
        return found[self.server.cookie].value if self.server.cookie in found else ""

    def _first_page(self) -> Answer:
        only = self.server.studies.only
        if only is None:
            return self.server.overview_page
        return _moved(f"{STUDY}{quote(only.stem)}/")

    def _read_study(self, path: str, query: Query) -> Answer | None:
        name, rest = self._study_in(path)
        if rest == "/":
            return self.server.study_page
        if rest in self.server.pages:
            return self.server.pages[rest]
        found = run_or_model(self.server.studies.live(name), rest, query)
        if found is not None:
            return json_answer(found)
        try:
            if rest == "/lab.json":
                study = self.server.studies.study(name)
                return json_answer({"closed": True} if study is None else study.state())
            if rest == "/report.html":
                return Answer(self._open_study(name).report(), HTML, headers=FRAMED)
        except NotReadyError:
            raise RefusedError(HTTPStatus.CONFLICT, "There are no values yet") from None
        except RahboError as error:
            return json_answer({"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)
        return None

    def _study_in(self, path: str) -> tuple[str, str]:
        """Return the name of a study in a path, and the rest of the path."""
        written, slash, rest = path.removeprefix(STUDY).partition("/")
        name = unquote(written)
        if not slash or name not in self.server.studies.paths():
            raise RefusedError(HTTPStatus.NOT_FOUND)
        return name, slash + rest

    def _open_study(self, name: str) -> Study:
        study = self.server.studies.study(name)
        if study is None:
            raise OutdatedError("This study is closed. Open it again.")
        return study

    # -- changing ----------------------------------------------------------------------------

    def do_POST(self) -> None:  # noqa: N802
        """Make a change."""
        try:
            self.check_host()
            self._check_sender()
            record = self._body()
            answer = self._change(self.path, record)
        except RefusedError as refusal:
            self.refuse(refusal.status, refusal.why)
        except OutdatedError as error:
            self.send(json_answer({"error": str(error)}, HTTPStatus.CONFLICT))
        except RahboError as error:
            self.send(json_answer({"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY))
        except Exception:
            self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise
        else:
            self.send(json_answer(answer))

    def _check_sender(self) -> None:
        """Refuse a request that no page of this process sent."""
        origins, (host,) = self.headers.get_all("Origin", []), self.headers.get_all("Host", [])
        if [origin.lower() for origin in origins] != [f"http://{host.lower()}"]:
            self._forbid("This Origin may not change anything here")
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            self._forbid("This Origin may not change anything here")
        if self.server.is_guarded and not self.server.is_token(self._cookie()):
            self._forbid("Open the address that rahbo lab printed")
        if not self.server.is_token(self.headers.get(TOKEN, "")):
            self._forbid("The token is missing or old: reload the page")

    def _forbid(self, why: str) -> NoReturn:
        raise RefusedError(HTTPStatus.FORBIDDEN, why)

    def _body(self) -> Record:
        """Return the record that a request brings."""
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Only JSON is taken")
        written = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (written.isascii() and written.isdecimal()):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED)
        if len(written) > 9 or int(written) > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        # A client that is slow with its body waits like one that is slow with its request.
        self.server.connections.waits(self.connection)
        raw = self.rfile.read(int(written))
        self.server.connections.answers(self.connection)
        try:
            record = json.loads(raw.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "This is not JSON") from None
        if not isinstance(record, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "This is not a JSON object")
        return record

    def _change(self, path: str, record: Record) -> Record:
        studies = self.server.studies
        if path == "/create":
            return {"study": studies.begin(spec_in(record))}
        if not path.startswith(STUDY):
            raise RefusedError(HTTPStatus.NOT_FOUND)
        name, action = self._study_in(path)
        if action == "/open":
            studies.open(name)
        elif action == "/close":
            studies.close(name)
        elif action in ACTIONS:
            return ACTIONS[action](self._open_study(name), record) or {}
        else:
            raise RefusedError(HTTPStatus.NOT_FOUND)
        return {}


def _moved(to: str, headers: Mapping[str, str] = {}) -> Answer:
    return Answer(b"", "text/plain", HTTPStatus.SEE_OTHER, {"Location": to, **headers})


def _refuse_constant(literal: str) -> NoReturn:
    raise ValueError(literal)


# -- actions of a study --------------------------------------------------------------------------


def _note(record: Record) -> str:
    return text_in(record, "note", "The note", LONGEST_TEXT, needed=False)


def _block(record: Record) -> str:
    """Return the name of a block as it is, because a name may begin or end with a space."""
    block = record.get("block", "")
    if not isinstance(block, str):
        raise DataError("The block must be a text.")
    return block


def _tell(study: Study, record: Record) -> Record:
    outcomes = record_in(record.get("outcomes", {}), "outcomes")
    told = study.tell(
        index_in(record, "suggestion"), index_in(record, "repeat"), record.get("value"),
        outcomes, _note(record), record.get("corrects") is True,
        _block(record),
    )  # fmt: skip
    return {"value": told}


def _fail(study: Study, record: Record) -> None:
    reason = text_in(record, "reason", "The reason", LONGEST_TEXT, needed=False)
    study.fail(index_in(record, "suggestion"), index_in(record, "repeat"), reason, _note(record))


def _try_own(study: Study, record: Record) -> Record:
    instead = None if record.get("instead") is None else index_in(record, "instead")
    form = record_in(record.get("params"), "The setting")
    known, repeats = list_in(record, "known"), record.get("repeats", 1)
    return {"suggestion": study.try_own(known, form, repeats, instead)}


def _add_note(study: Study, record: Record) -> None:
    repeat = None if record.get("repeat") is None else index_in(record, "repeat")
    study.note(index_in(record, "suggestion"), repeat, _note(record))


ACTIONS: dict[str, Callable[[Study, Record], Record | None]] = {
    "/tell": _tell,
    "/fail": _fail,
    "/own": _try_own,
    "/note": _add_note,
    "/ask": lambda study, record: study.ask(list_in(record, "known")),
    "/confirm": lambda study, record: study.confirm(list_in(record, "known")),
    "/skip": lambda study, record: study.skip(index_in(record, "suggestion")),
}
