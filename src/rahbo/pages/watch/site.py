"""What `rahbo watch` serves: the live page of one run, for reading only."""

from __future__ import annotations

from rahbo.pages.answers import Answer, Query, Site, json_answer
from rahbo.pages.frame import page, served
from rahbo.pages.watch.live import Live

# The live part of a page, and the files that it needs.
LIVE = "watch/live.html"
SCRIPTS = ("style.css", "watch/watch.css", "numbers.js", "common.js", "watch/watch.js")


def watch_site(live: Live) -> Site:
    """Return what is served of one run."""
    pages = served(SCRIPTS)
    pages["/"] = page("rahbo watch", (LIVE, "watch/tables.html"), SCRIPTS)
    return Site("rahbo watch", lambda path, query: pages.get(path) or read_run(live, path, query))


def read_run(live: Live, path: str, query: Query) -> Answer | None:
    """Return the data of the live page; None for any other path."""
    if path == "/model.json":
        return json_answer(live.model())
    if path == "/run.json":
        return json_answer(live.run(_number(query, "epoch"), _number(query, "known")))
    return None


def _number(query: Query, name: str) -> int:
    text = query.get(name, ["0"])[0]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
