"""Serve the live page over HTTP on this machine, for reading only.

A page of another site could request ours through the user's browser. It cannot read the answer,
because we allow no other origin. If its host name is made to resolve to this machine, its requests
carry that name in their ``Host`` header, and we refuse them.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rahbo.errors import SettingsError
from rahbo.pages.escape import embedded
from rahbo.pages.watch.live import Live

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PAGES = {
    "/": ("watch/watch.html", "text/html; charset=utf-8"),
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
# Seconds after which a silent connection is closed.
SILENCE = 60


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

    def __init__(self, live: Live, host: str = "127.0.0.1", port: int = 0) -> None:
        self.live, self.host = live, host
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

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that closed the connection or timed out."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one client."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rahbo", ""
    timeout = SILENCE
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"

    def do_GET(self) -> None:
        """Send a page or its data."""
        if [self.server.is_ours(host) for host in self.headers.get_all("Host", [])] != [True]:
            return self.send_error(HTTPStatus.FORBIDDEN, "This Host is not served here")
        target = urlsplit(self.path)
        if self.path in self.server.pages:
            return self._send(*self.server.pages[self.path])
        if target.path == "/run.json":
            query = parse_qs(target.query)
            record = self.server.live.run(_number(query, "epoch"), _number(query, "known"))
        elif target.path == "/model.json":
            record = self.server.live.model()
        else:
            return self.send_error(HTTPStatus.NOT_FOUND)
        return self._send(embedded(record).encode(), "application/json")

    do_HEAD = do_GET  # noqa: N815

    def _refuse(self) -> None:
        # The request may have a body, which is never read.
        self.close_connection = True
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    do_POST = do_PUT = do_PATCH = do_DELETE = _refuse  # noqa: N815
    do_OPTIONS = do_TRACE = do_CONNECT = _refuse  # noqa: N815

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
