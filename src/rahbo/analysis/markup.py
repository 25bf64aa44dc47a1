"""Records as small HTML tables, for notebooks.

They hold no scripts and no colours of their own, so a notebook shows them in its theme. Names,
choices and reasons may come from anywhere: all text goes through `shown`.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

LEFT = "text-align:left"


def visible(text: str) -> str:
    r"""Return text in which every character is visible; line breaks are kept.

    Control characters are escaped, so they cannot change how the text is shown, and the result
    can always be written as UTF-8.

    >>> visible("a\x00\u202e\ud800")
    'a\\x00\\u202e\\ud800'
    """
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def shown(value: object) -> str:
    """Return a value as the text of an element or of a quoted attribute.

    >>> shown('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(visible(str(value)), quote=True)


def table(headings: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table. The first cell of each row names the row.

    >>> table(["", "mean"], [["a", 1.5]])[:48]
    '<table><thead><tr><th style="text-align:left"></'
    """
    head = "".join(f'<th style="{LEFT}">{shown(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: Sequence[object]) -> str:
    first, *rest = row
    name = f'<th scope="row" style="{LEFT}">{shown(first)}</th>'
    return name + "".join(f'<td style="{LEFT}">{shown(cell)}</td>' for cell in rest)


def paragraph(text: str) -> str:
    """Return a paragraph, or nothing for an empty text."""
    return f"<p>{shown(text)}</p>" if text else ""
