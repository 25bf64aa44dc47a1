"""The value in what a program printed.

Only the end of the output is looked at, `END` bytes of it: so no output, however long, can make a
search slow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from rahbo.errors import SettingsError

END = 65_536

# No part of a word, a version or a number with a unit; NaN and infinities count, lest an earlier
# number, such as that of an epoch, be taken for the value.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|nan|inf(?:inity)?)(?!\.?\w)",
    re.IGNORECASE,
)
# What a number with commas in it, or with a typographic minus, has before its end.
PART = re.compile(r"(?:(?<![\w.])[0-9]{1,3},|\u2212)\Z")
INDEX = re.compile(r"[0-9]{1,9}")
COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")

Reader = Callable[[str], float]


class UnreadableError(Exception):
    """Raised when an output holds no value; its text says why."""


def last_number(output: str) -> float:
    """The last number of an output.

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
            f"the last number of the output, {last[0]}, may be a part of another: print it without "
            "commas and with a plain minus, or use --value-regex"
        )
    return float(last[0])


def regex_reader(pattern: str) -> Reader:
    """Reads the last match of a regular expression: its first group, or all of it."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise SettingsError(
            f"--value-regex must be a regular expression of Python, got {pattern!r}: {error}."
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
            raise UnreadableError(f"{pattern!r} matches {text!r}, which is no number") from None

    return read


def json_reader(key: str) -> Reader:
    """Reads a key of the JSON object that is the output, or the last line of it that is one.

    Args:
        key: Keys of objects within each other, or indices of lists, with dots between them.
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
                raise UnreadableError(f"the JSON of the output has no {key!r}")
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise UnreadableError(f"{key!r} is {found!r} in the output, which is no number")
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
    raise UnreadableError("the output is no JSON object, and has no line that is one")
