"""The frame of the pages that a server serves, and the files that come with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import PurePath
from string import Template

from rahbo.pages.answers import Answer

KINDS = {kind: f"text/{name}; charset=utf-8"
         for kind, name in ((".html", "html"), (".js", "javascript"), (".css", "css"))}  # fmt: skip
TAGS = {
    ".css": '<link rel="stylesheet" href="{}">',
    ".js": '<script src="{}" defer></script>',
}


def asset(name: str) -> bytes:
    """Return the contents of a file of the pages."""
    return (files("rahbo") / "pages" / name).read_bytes()


def served(names: Iterable[str]) -> dict[str, Answer]:
    """Return the answers for some files by path. All lie in the same place."""
    paths = map(PurePath, names)
    return {f"/{path.name}": Answer(asset(str(path)), KINDS[path.suffix]) for path in paths}


def page(
    command: str, parts: Sequence[str], scripts: Sequence[str], root: str = "", gone: str = ""
) -> Answer:
    """Return a page.

    Args:
        command: The command that serves it.
        parts: The files with its contents, in order.
        scripts: The files that it needs.
        root: Where these files lie, as seen from the page.
        gone: What else to say when the server no longer answers.
    """
    frame = Template(asset("frame.html").decode())
    paths = map(PurePath, scripts)
    text = frame.substitute(
        command=command,
        root=root,
        gone=gone or "This page continues when it does.",
        links="\n".join(TAGS[path.suffix].format(root + path.name) for path in paths),
        main="".join(asset(part).decode() for part in parts),
    )
    return Answer(text.encode(), KINDS[".html"])
