"""Docstrings as the site shows them: doctests in code blocks, formulas and shapes as written."""

import re
from typing import Any

import griffe

# From the first prompt to the end of its paragraph, with what it prints.
DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


def fenced(text: str) -> str:
    """Put each doctest into a block of its own."""
    return DOCTEST.sub(lambda match: f"```pycon\n{match.group()}\n```", text)


class Doctests(griffe.Extension):
    """Doctests outside of an Examples section are text to the parser, and Markdown to the site."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Every class, function, module and attribute that is read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
