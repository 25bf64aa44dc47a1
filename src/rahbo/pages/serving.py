"""The server of all pages: who may ask for what over HTTP, and how long that may take.

A page of another site could request ours through the user's browser. It cannot read the answer,
because we allow no other origin. If its host name is made to resolve to this machine, its requests
carry that name in their ``Host`` header, and we refuse them.

A request that changes something must be a POST of JSON with the token of this process, and come
from a page of this server: its ``Origin`` must name the same host as its ``Host``. Beyond the
loopback, reading needs the token too. It is in the address that the command prints, and the
browser keeps it in a cookie.

Each connection has a thread and brings one request. The number of connections is bounded. Nobody is
turned away when all places are taken: a new client waits in the queue of the system, and those that
have not sent their request make room. So clients that send nothing, or very little at a time, keep
no others out.
"""

from __future__ import annotations

import io
import ipaddress
import json
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

from rahbo.errors import RahboError, SettingsError
from rahbo.pages.answers import POLICY, Answer, Record, RefusedError, Site, json_answer, moved
from rahbo.pages.escape import visible

LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
# Seconds until the server looks again whether it can take a new connection.
LOOK_AGAIN = 0.1
# Bytes of the largest form, and the most that are read and dropped after an answer.
MOST_BYTES, MOST_DROPPED = 200_000, 1_000_000
TOKEN = "X-Rahbo-Token"
NOT_SERVED = (
    "This name is not served here: open the numeric address that was printed, or start with "
    "--host NAME"
)


class Server(ThreadingTCPServer):
    """Serves pages.

    Args:
        site: What it serves.
        host: The name or address to listen on.
        port: The port to listen on; 0 picks a free one.

    Attributes:
        token: What a request must have to change something, new for each process.
        is_guarded: Whether reading needs it too.
        most_connections: The most connections at a time. Some systems let a program open no more
            than 256 files.
        longest_wait: Seconds that a client has to send its request, and to take the answer.
        hurry: The same for its request while others wait for a place.
    """

    most_connections = 128
    longest_wait, hurry = 30.0, 1.0
    daemon_threads = True
    # On Windows it would let two programs listen on one port.
    allow_reuse_address = sys.platform != "win32"
    # With the usual 5, a system drops connections that come faster than they are taken.
    request_queue_size = 1024

    def __init__(self, site: Site, host: str = "127.0.0.1", port: int = 0) -> None:
        self.site, self.host, self.token = site, host, secrets.token_urlsafe(24)
        self.is_guarded = host not in LOOPBACK
        self._places = threading.BoundedSemaphore(self.most_connections)
        self._full_until = 0.0
        try:
            self.address_family, *_, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )[0]
            super().__init__(address[:2], Handler)  # type: ignore[arg-type]
        except (OSError, OverflowError, UnicodeError) as error:
            raise SettingsError(
                f"Cannot listen on {host}, port {port}: {error}. Choose another port, or leave "
                "--port out to get a free one."
            ) from error
        # A client may be gone before it is accepted.
        self.socket.settimeout(LOOK_AGAIN)
        self.port: int = self.server_address[1]

    @property
    def address(self) -> str:
        """The address to open, with the token if it is needed, as another machine would open it."""
        host = _own_address() if self.host == "0.0.0.0" else self.host
        host = "::1" if host == "::" else host
        query = f"?token={self.token}" if self.is_guarded else ""
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/{query}"

    @property
    def cookie(self) -> str:
        """What a browser sends. Servers on one machine share cookies, whatever their ports."""
        return f"rahbo-{self.port}={self.token}"

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
        return name in (*LOOPBACK, self.host.lower()) or (self.is_guarded and _is_address(name))

    # -- connections -------------------------------------------------------------------------

    @property
    def patience(self) -> float:
        """Seconds that a client may now take to send its request."""
        return self.hurry if time.monotonic() < self._full_until else self.longest_wait

    def get_request(self) -> Any:
        """Take the next connection if there is room for it. An `OSError` means: not now."""
        if not self._places.acquire(timeout=LOOK_AGAIN):
            # Long enough that all those who hurry notice it.
            self._full_until = time.monotonic() + 2 * self.hurry
            raise TimeoutError("all places are taken")
        try:
            return super().get_request()
        except OSError:
            self._places.release()
            # Such as too many open files. Asking again at once would keep a processor busy.
            time.sleep(LOOK_AGAIN)
            raise

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        super().shutdown_request(request)
        self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away, and report anything else in one line."""
        error = sys.exception()
        if isinstance(error, OSError):
            return
        # The page goes on where nothing can be printed.
        with suppress(OSError, ValueError):
            said = f"{self.site.command} could not answer a request: {error!r}"
            print(visible(said), file=sys.stderr)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _own_address() -> str:
    """Return the address under which other machines reach this one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


class Incoming(io.RawIOBase):
    """What a client sends, as long as the server has patience. Then it is a `TimeoutError`."""

    def __init__(self, connection: socket.socket, server: Server) -> None:
        self._connection, self._server = connection, server
        self.begin()

    def begin(self) -> None:
        """Give the client its time, from now on."""
        self._began = time.monotonic()

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes into a buffer, and return how many."""
        while (left := self._began + self._server.patience - time.monotonic()) > 0:
            # The server may lose its patience meanwhile.
            self._connection.settimeout(min(left, self._server.hurry))
            with suppress(TimeoutError):
                return self._connection.recv_into(buffer)
        raise TimeoutError("the request did not come in time")


class Handler(BaseHTTPRequestHandler):
    """Answers the request of one connection."""

    server: Server
    raw_requestline: bytes
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rahbo", ""
    disable_nagle_algorithm = True
    # An answer has headers even if the request line was not understood.
    default_request_version = "HTTP/1.0"

    def setup(self) -> None:
        """Prepare to read the request."""
        super().setup()
        self._incoming = Incoming(self.connection, self.server)
        self.rfile = io.BufferedReader(self._incoming)

    def handle(self) -> None:
        """Answer a request, and see to it that the client gets the answer."""
        self.handle_one_request()
        # To close while bytes of the client are unread would reset the connection, and the client
        # might lose the answer. So the client hears that this is the end, and has time to close.
        self.connection.shutdown(socket.SHUT_WR)
        dropped = 0
        with suppress(TimeoutError):
            while dropped < MOST_DROPPED and (rest := self.rfile.read1(1 << 16)):
                dropped += len(rest)

    def parse_request(self) -> bool:
        """Read the rest of a request. Returns whether it is sound, having refused it if not."""
        # Without a version it is HTTP 0.9, which has no headers to wait for.
        if 0 < len(self.raw_requestline.split()) < 3:
            self.command = self.requestline = ""
            self.request_version = self.default_request_version
            self.refuse(HTTPStatus.BAD_REQUEST)
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        """Send a page or its data."""
        self._answer(self._read)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Make a change."""
        self._answer(self._change)

    def _answer(self, find: Callable[[], Answer | None]) -> None:
        try:
            if [self.server.is_ours(host) for host in self.headers.get_all("Host", [])] != [True]:
                self._forbid(NOT_SERVED)
            answer = find()
        except RefusedError as refusal:
            self.refuse(refusal.status, refusal.why)
        except RahboError as error:
            self.send(json_answer({"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY))
        except Exception:
            self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise
        else:
            self.refuse(HTTPStatus.NOT_FOUND) if answer is None else self.send(answer)

    # -- who may ask -------------------------------------------------------------------------

    def _read(self) -> Answer | None:
        path, _, written = self.path.partition("?")
        query = parse_qs(written)
        if self.server.is_guarded:
            if _are_equal(query.get("token", [""])[0], self.server.token):
                # The token is kept in a cookie and leaves the address. Browsers read some paths as
                # other hosts, so this leads to the first page alone.
                cookie = f"{self.server.cookie}; Path=/; HttpOnly; SameSite=Strict"
                return moved("/", {"Set-Cookie": cookie})
            self._check_cookie()
        if path == "/token.json" and self.server.site.change is not None:
            return json_answer({"token": self.server.token})
        return self.server.site.read(path, query)

    def _change(self) -> Answer | None:
        if self.server.site.change is None:
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED)
        origins, (host,) = self.headers.get_all("Origin", []), self.headers.get_all("Host", [])
        is_own = [origin.lower() for origin in origins] == [f"http://{host.lower()}"]
        if not is_own or self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            self._forbid("This Origin may not change anything here")
        if self.server.is_guarded:
            self._check_cookie()
        if not _are_equal(self.headers.get(TOKEN, ""), self.server.token):
            self._forbid("The token is missing or old: reload the page")
        return self.server.site.change(self.path, self._record())

    def _check_cookie(self) -> None:
        given = "; ".join(self.headers.get_all("Cookie", [])).split(";")
        if not any(_are_equal(one.strip(), self.server.cookie) for one in given):
            self._forbid("Open the address that was printed at the start")

    def _forbid(self, why: str) -> NoReturn:
        raise RefusedError(HTTPStatus.FORBIDDEN, why)

    def _record(self) -> Record:
        """Return the record that a request brings."""
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Only JSON is taken")
        written = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (written.isascii() and written.isdecimal()):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED)
        if len(written) > 9 or int(written) > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            raw = self.rfile.read(int(written))
        except TimeoutError:
            raise RefusedError(HTTPStatus.REQUEST_TIMEOUT) from None
        try:
            record = json.loads(raw.decode())
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "This is not JSON") from None
        if not isinstance(record, dict) or len(raw) < int(written):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "This is not a whole JSON object")
        return record

    # -- answers -----------------------------------------------------------------------------

    def send(self, answer: Answer) -> None:
        """Send an answer. From then on, the client has time to take it and to close."""
        self.connection.settimeout(self.server.longest_wait)
        self.send_response(answer.status)
        own = {"Content-Type": answer.kind, "Content-Length": str(len(answer.body))}
        for name, value in {**HEADERS, **own, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        self._incoming.begin()

    def refuse(self, status: HTTPStatus, why: str | None = None) -> None:
        """Send an error in words that do not repeat any part of the request."""
        said = f"{status.value} {why or status.phrase}\n"
        self.send(Answer(said.encode(), "text/plain; charset=utf-8", status))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that is not HTTP."""
        self.refuse(HTTPStatus(code))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _are_equal(given: str, wanted: str) -> bool:
    """Return whether two texts are equal, in a time that does not depend on where they differ."""
    return secrets.compare_digest(given.encode(), wanted.encode())
