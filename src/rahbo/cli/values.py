"""Find the value in the output of a program.

Only the last `END` bytes of the output are searched, so a long output cannot make the search slow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from rahbo.errors import SettingsError

END = 65_536

# Does not match inside a word, a version or a number with a unit. NaN and infinities match, so
# that an earlier number, such as that of an epoch, is not taken for the value.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|nan|inf(?:inity)?)(?!\.?\w)",
    re.IGNORECASE,
)
# Text before a match which shows that it is only the end of a number: a thousands comma, or a
# typographic minus.
PART = re.compile(r"(?:(?<![\w.])[0-9]{1,3},|\u2212)\Z")
INDEX = re.compile(r"[0-9]{1,9}")
COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")

Reader = Callable[[str], float]


class UnreadableError(Exception):
    """Raised when an output holds no value; its text says why."""


def last_number(output: str) -> float:
    """Return the last number of an output.

    >>> last_number("epoch 10 of 10: accuracy 0.93")
    0.93
    """
    text = COLOURS.sub("", output)
    last = None
    for match in NUMBER.finditer(text):
        last = match
    if last is None:
        raise UnreadableError("the output holds no number")
    if PART.search(text[: last.start()]):
        raise UnreadableError(
            f"the last number of the output, {last[0]}, may be part of a longer one: print it "
            "without commas and with a plain minus, or use --value-regex"
        )
    return float(last[0])


def regex_reader(pattern: str) -> Reader:
    """Return a reader of the last match of a regular expression: its first group, or all of it."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise SettingsError(
            f"--value-regex must be a Python regular expression, got {pattern!r}: {error}."
        ) from error

    def read(output: str) -> float:
        last = None
        for match in compiled.finditer(COLOURS.sub("", output)):
            last = match
        if last is None:
            raise UnreadableError(f"nothing in the output matches {pattern!r}")
        text = last[1 if compiled.groups else 0]
        try:
            return float(text)
        except (TypeError, ValueError):
            raise UnreadableError(f"{pattern!r} matches {text!r}, which is not a number") from None

    return read


def json_reader(key: str) -> Reader:
    """Return a reader of one key of the output, if that is JSON, or else of its last JSON line.

    Args:
        key: Keys of nested objects, or indices of lists, separated by dots.
    """
    path = key.split(".")
    if "" in path:
        raise SettingsError(f"--value-json must be a key such as loss or test.loss, got {key!r}.")

    def read(output: str) -> float:
        found = _document(output)
        for step in path:
            if isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, list) and INDEX.fullmatch(step) and int(step) < len(found):
                found = found[int(step)]
            else:
                raise UnreadableError(f"the JSON output has no key {key!r}")
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise UnreadableError(f"{key!r} is {found!r} in the output, which is not a number")
        return found

    return read


def _document(output: str) -> Any:
    for text in (output, *reversed(output.splitlines())):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict | list):
            return found
    raise UnreadableError("neither the output nor any line of it is a JSON object")
