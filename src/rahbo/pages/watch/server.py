"""Serve the live page over HTTP on this machine, for reading only."""

from __future__ import annotations

from rahbo.pages.serving import (
    HTML,
    LOOPBACK,
    SCRIPT,
    STYLE,
    Answer,
    PageHandler,
    PageServer,
    Query,
    asset,
    json_answer,
    pages_of,
)
from rahbo.pages.watch.live import Json, Live

__all__ = ["ASSETS", "LOOPBACK", "Server", "run_or_model"]

ASSETS = {
    "/numbers.js": ("numbers.js", SCRIPT),
    "/watch.js": ("watch/watch.js", SCRIPT),
    "/watch.css": ("watch/watch.css", STYLE),
    "/style.css": ("style.css", STYLE),
}


class Server(PageServer):
    """Serves one run.

    Args:
        live: The run.
        host: The name or address to listen on.
        port: The port to listen on; 0 picks a free one.
    """

    def __init__(self, live: Live, host: str = "127.0.0.1", port: int = 0) -> None:
        self.live = live
        self.pages = pages_of(ASSETS)
        self.pages["/"] = Answer(asset("watch/watch.html"), HTML)
        super().__init__("rahbo watch", Handler, host, port)


class Handler(PageHandler):
    """Answers the requests of one client."""

    server: Server

    def read(self, path: str, query: Query) -> Answer | None:
        """Return a page or its data."""
        if path in self.server.pages:
            return self.server.pages[path]
        found = run_or_model(self.server.live, path, query)
        return None if found is None else json_answer(found)


def run_or_model(live: Live, path: str, query: Query) -> Json | None:
    """Return the data of the live page; None for any other path."""
    if path == "/model.json":
        return live.model()
    if path == "/run.json":
        return live.run(_number(query, "epoch"), _number(query, "known"))
    return None


def _number(query: Query, name: str) -> int:
    text = query.get(name, ["0"])[0]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
