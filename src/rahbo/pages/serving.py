"""Serve pages over HTTP on this machine: what all servers of the package share.

A page of another site could request ours through the user's browser. It cannot read the answer,
because we allow no other origin. If its host name is made to resolve to this machine, its requests
carry that name in their ``Host`` header, and we refuse them.

Each connection has a thread. Their number is bounded, see `Connections`.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from rahbo.errors import SettingsError
from rahbo.pages.connections import Connections
from rahbo.pages.escape import embedded, visible

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HTML, SCRIPT, STYLE = (f"text/{kind}; charset=utf-8" for kind in ("html", "javascript", "css"))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    # The browser may keep a copy, but must check each time whether it changed.
    "Cache-Control": "no-cache",
}
# The most connections at a time. Some systems let a program open no more than 256 files.
MOST_CONNECTIONS = 128
# Seconds that a connection may wait for a request, or for its client to take the answer. The first
# is for a page in a hidden tab, which asks every ten seconds, the second while there is no room.
PATIENCE, HURRY = 30.0, 1.0
# Seconds until the server looks again whether it can take a new connection.
LOOK_AGAIN = 0.1
# The most bytes read and dropped of a request that was refused before its end.
MOST_DROPPED = 1_000_000
NOT_SERVED = (
    "This name is not served here: open the numeric address that was printed, or start with "
    "--host NAME"
)

Query = Mapping[str, list[str]]


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

    The reason must be ASCII and must not repeat any part of the request.
    """

    def __init__(self, status: HTTPStatus, why: str | None = None) -> None:
        super().__init__(status, why)
        self.status, self.why = status, why


def asset(name: str) -> bytes:
    """Return the contents of a file of the pages."""
    return (files("rahbo") / "pages" / name).read_bytes()


def pages_of(assets: Mapping[str, tuple[str, str]]) -> dict[str, Answer]:
    """Return the answers for some files, given by path as the name of the file and its type."""
    return {path: Answer(asset(name), kind) for path, (name, kind) in assets.items()}


def json_answer(record: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    """Return a record as JSON."""
    return Answer(embedded(record).encode(), "application/json", status)


class PageServer(ThreadingHTTPServer):
    """Serves pages.

    Args:
        command: The command that serves them, for messages.
        handler: Answers the requests of a client.
        host: The name or address to listen on.
        port: The port to listen on; 0 picks a free one.
    """

    daemon_threads = True
    # On Windows it would let two programs listen on one port.
    allow_reuse_address = sys.platform != "win32"
    # With the usual 5, a system drops connections that come faster than they are taken.
    request_queue_size = 1024

    def __init__(self, command: str, handler: type[PageHandler], host: str, port: int) -> None:
        self.command, self.host = command, host
        self.connections = Connections(MOST_CONNECTIONS, PATIENCE, HURRY)
        try:
            self.address_family, *_, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )[0]
            super().__init__(address[:2], handler)  # type: ignore[arg-type]
        except (OSError, OverflowError, UnicodeError) as error:
            raise SettingsError(
                f"Cannot listen on {host}, port {port}: {error}. Choose another port, or leave "
                "--port out to get a free one."
            ) from error

    def server_bind(self) -> None:
        """Bind without looking up the machine's full name, which may take seconds."""
        TCPServer.server_bind(self)
        # A client may be gone before it is accepted.
        self.socket.settimeout(LOOK_AGAIN)
        self.server_name, self.server_port = self.host, self.server_address[1]

    @property
    def url(self) -> str:
        """The address of the page."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/"

    def is_ours(self, host: str) -> bool:
        """Return whether a ``Host`` header names this server.

        The port is not checked, because it differs through a tunnel and no attack depends on it.
        If others may reach the server, any numeric address is accepted, because only a name can
        be made to resolve to another machine.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in (*LOOPBACK, self.host.lower()):
            return True
        return self.host not in LOOPBACK and _is_address(name)

    def get_request(self) -> Any:
        """Take the next connection if there is room for it. An `OSError` means: not now."""
        if not self.connections.wait_for_room(LOOK_AGAIN):
            raise TimeoutError("all places are taken")
        try:
            return super().get_request()
        except TimeoutError:
            raise
        except OSError:
            # Such as too many open files. Asking again at once would keep a processor busy.
            time.sleep(LOOK_AGAIN)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread."""
        self.connections.waits(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self.connections.leave(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End connections that are too slow."""
        self.connections.end_slow()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away, and report anything else in one line."""
        error = sys.exception()
        if isinstance(error, OSError):
            return
        # The page goes on where nothing can be printed.
        with suppress(OSError, ValueError):
            print(visible(f"{self.command} could not answer a request: {error!r}"), file=sys.stderr)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class PageHandler(BaseHTTPRequestHandler, ABC):
    """Answers the requests of one client. A subclass says what there is to read."""

    server: PageServer
    raw_requestline: bytes
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rahbo", ""
    timeout = PATIENCE
    disable_nagle_algorithm = True
    # An answer has headers even if the request line was not understood.
    default_request_version = "HTTP/1.0"
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"
    own_headers: Mapping[str, str] = {}

    def handle_one_request(self) -> None:
        """Wait for a request and answer it."""
        self.own_headers = {}
        self.server.connections.waits(self.connection)
        super().handle_one_request()

    def parse_request(self) -> bool:
        """Read the rest of a request. Returns whether it is sound, having refused it if not."""
        # Without a version it is HTTP 0.9, which has no headers to wait for.
        words = self.raw_requestline.split()
        if 0 < len(words) < 3:
            self.command = ""
            self.requestline, self.request_version = "", self.default_request_version
            self.refuse(HTTPStatus.BAD_REQUEST)
            return False
        is_sound = super().parse_request()
        if is_sound:
            self.server.connections.answers(self.connection)
        return is_sound

    @abstractmethod
    def read(self, path: str, query: Query) -> Answer | None:
        """Return the answer to a request that changes nothing; None if there is no such page."""

    def do_GET(self) -> None:
        """Send a page or its data."""
        try:
            self.check_host()
            has_length = self.headers.get("Content-Length", "0") != "0"
            if "Transfer-Encoding" in self.headers or has_length:
                raise RefusedError(HTTPStatus.BAD_REQUEST, "This request may have no body")
            path, _, query = self.path.partition("?")
            answer = self.read(path, parse_qs(query))
            if answer is None:
                raise RefusedError(HTTPStatus.NOT_FOUND)
        except RefusedError as refusal:
            self.refuse(refusal.status, refusal.why)
        except Exception:
            self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise
        else:
            self.send(answer)

    do_HEAD = do_GET  # noqa: N815

    def check_host(self) -> None:
        """Refuse a request that was meant for another server."""
        if [self.server.is_ours(host) for host in self.headers.get_all("Host", [])] != [True]:
            raise RefusedError(HTTPStatus.FORBIDDEN, NOT_SERVED)

    def _only_read(self) -> None:
        self.refuse(HTTPStatus.METHOD_NOT_ALLOWED)

    do_POST = do_PUT = do_PATCH = do_DELETE = _only_read  # noqa: N815
    do_OPTIONS = do_TRACE = do_CONNECT = _only_read  # noqa: N815

    def send(self, answer: Answer) -> None:
        """Send an answer, or word that the client's copy is still right."""
        tag = f'"{hashlib.blake2b(answer.body, digest_size=12).hexdigest()}"'
        is_usual = answer.status == HTTPStatus.OK
        unchanged = is_usual and self.headers.get("If-None-Match") == tag
        self.own_headers = answer.headers
        self.send_response(HTTPStatus.NOT_MODIFIED if unchanged else answer.status)
        if is_usual:
            self.send_header("ETag", tag)
        if not unchanged:
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if not unchanged and self.command != "HEAD":
            self.wfile.write(answer.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request, in words that do not repeat any of it."""
        self.refuse(HTTPStatus(code))

    def refuse(self, code: HTTPStatus, why: str | None = None) -> None:
        """Send an error and close the connection."""
        super().send_error(code, why)
        # To close while bytes of the client are unread would reset the connection, and the client
        # might lose the answer. So the client hears that this is the end, and has time to close.
        self.server.connections.waits(self.connection)
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(HURRY)
        dropped = 0
        with suppress(TimeoutError):
            while dropped < MOST_DROPPED and (rest := self.rfile.read1(1 << 16)):
                dropped += len(rest)

    def end_headers(self) -> None:
        """Add the same protective headers to every answer, including errors."""
        for name, value in {**HEADERS, **self.own_headers}.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
