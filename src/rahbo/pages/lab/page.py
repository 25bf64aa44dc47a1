"""The HTML of the lab page. A study's page is the live page with the forms of the lab on top."""

from __future__ import annotations

from rahbo.pages.escape import shown
from rahbo.pages.serving import asset

# Where the parts of the lab go in the live page.
BEFORE, AFTER = "<main>", "</main>"


def overview_page(token: str) -> bytes:
    """Return the page that lists studies and begins new ones."""
    return _with_token(asset("lab/overview.html").decode(), token, root="").encode()


def study_page(token: str) -> bytes:
    """Return the page of a study."""
    page = asset("watch/watch.html").decode()
    top, _, bottom = asset("lab/study.html").decode().partition("<!-- below -->")
    links = (
        '<link rel="stylesheet" href="lab.css">\n<script src="requests.js" defer></script>\n'
        '<script src="lab.js" defer></script>\n</head>'
    )
    for old, new in (
        ("<title>rahbo watch", "<title>rahbo lab"),
        ("</head>", links),
        (BEFORE, BEFORE + top),
        (AFTER, bottom + AFTER),
    ):
        page = page.replace(old, new, 1)
    return _with_token(page, token, root="../../").encode()


def _with_token(page: str, token: str, root: str) -> str:
    """Return a page that knows its token, and where the pages of the lab begin."""
    page = page.replace("<html ", f'<html data-command="rahbo lab" data-root="{root}" ', 1)
    meta = f'<meta name="rahbo-token" content="{shown(token)}">\n</head>'
    return page.replace("</head>", meta, 1)
