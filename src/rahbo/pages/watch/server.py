"""Serve the live page over HTTP on this machine, for reading only.

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
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rahbo.errors import SettingsError
from rahbo.pages.escape import embedded, visible
from rahbo.pages.watch.connections import Connections
from rahbo.pages.watch.live import Live

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PAGES = {
    "/": ("watch/watch.html", "text/html; charset=utf-8"),
    "/numbers.js": ("numbers.js", "text/javascript; charset=utf-8"),
    "/watch.js": ("watch/watch.js", "text/javascript; charset=utf-8"),
    "/watch.css": ("watch/watch.css", "text/css; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
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


class Server(ThreadingHTTPServer):
    """Serves one run.

    Args:
        live: The run.
        host: The name or address to listen on.
        port: The port to listen on; 0 picks a free one.
    """

    daemon_threads = True
    # On Windows it would let two programs listen on one port.
    allow_reuse_address = sys.platform != "win32"
    # With the usual 5, a system drops connections that come faster than they are taken.
    request_queue_size = 1024

    def __init__(self, live: Live, host: str = "127.0.0.1", port: int = 0) -> None:
        self.live, self.host = live, host
        self.connections = Connections(MOST_CONNECTIONS, PATIENCE, HURRY)
        folder = files("rahbo") / "pages"
        self.pages = {
            path: ((folder / name).read_bytes(), kind) for path, (name, kind) in PAGES.items()
        }
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
            print(visible(f"rahbo watch could not answer a request: {error!r}"), file=sys.stderr)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one client."""

    server: Server
    raw_requestline: bytes
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rahbo", ""
    timeout = PATIENCE
    disable_nagle_algorithm = True
    # An answer has headers even if the request line was not understood.
    default_request_version = "HTTP/1.0"
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"

    def handle_one_request(self) -> None:
        """Wait for a request and answer it."""
        self.server.connections.waits(self.connection)
        super().handle_one_request()

    def parse_request(self) -> bool:
        """Read the rest of a request. Returns whether it is sound, having refused it if not."""
        # Without a version it is HTTP 0.9, which has no headers to wait for.
        words = self.raw_requestline.split()
        if 0 < len(words) < 3:
            self.command = ""
            self.requestline, self.request_version = "", self.default_request_version
            self._refuse(HTTPStatus.BAD_REQUEST)
            return False
        is_sound = super().parse_request()
        if is_sound:
            self.server.connections.answers(self.connection)
        return is_sound

    def do_GET(self) -> None:
        """Send a page or its data."""
        if [self.server.is_ours(host) for host in self.headers.get_all("Host", [])] != [True]:
            return self._refuse(HTTPStatus.FORBIDDEN, "This Host is not served here")
        if "Transfer-Encoding" in self.headers or self.headers.get("Content-Length", "0") != "0":
            return self._refuse(HTTPStatus.BAD_REQUEST, "This request may have no body")
        path, _, query = self.path.partition("?")
        if path in self.server.pages:
            return self._send(*self.server.pages[path])
        if path not in ("/run.json", "/model.json"):
            return self._refuse(HTTPStatus.NOT_FOUND)
        try:
            record = embedded(self._record(path, parse_qs(query)))
        except Exception:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise
        return self._send(record.encode(), "application/json")

    def _record(self, path: str, query: dict[str, list[str]]) -> dict[str, Any]:
        if path == "/model.json":
            return self.server.live.model()
        return self.server.live.run(_number(query, "epoch"), _number(query, "known"))

    do_HEAD = do_GET  # noqa: N815

    def _only_read(self) -> None:
        self._refuse(HTTPStatus.METHOD_NOT_ALLOWED)

    do_POST = do_PUT = do_PATCH = do_DELETE = _only_read  # noqa: N815
    do_OPTIONS = do_TRACE = do_CONNECT = _only_read  # noqa: N815

    def _send(self, body: bytes, kind: str) -> None:
        tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        unchanged = self.headers.get("If-None-Match") == tag
        self.send_response(HTTPStatus.NOT_MODIFIED if unchanged else HTTPStatus.OK)
        self.send_header("ETag", tag)
        if not unchanged:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not unchanged and self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request, in words that do not repeat any of it."""
        self._refuse(HTTPStatus(code))

    def _refuse(self, code: HTTPStatus, why: str | None = None) -> None:
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
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _number(query: dict[str, list[str]], name: str) -> int:
    text = query.get(name, ["0"])[0]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
