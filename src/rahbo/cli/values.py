"""Find the value in the output of a program where the user says: by a pattern or a key of JSON.

A reader takes time linear in the length of the output, except for a pattern of the user's. That is
matched in a process of its own, which is killed when it takes too long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rahbo.cli.matcher import FLAGS, LONGEST
from rahbo.cli.printed import SHOWN, UnreadableError, as_shown
from rahbo.cli.processes import PYTHON, Processes
from rahbo.errors import SettingsError
from rahbo.numerics import plain_number

INDEX = re.compile(r"[0-9]{1,9}")
# Seconds that a pattern of the user's gets for one output.
MATCH_SECONDS = 10.0
MATCHER = str(Path(__file__).with_name("matcher.py"))

Reader = Callable[[str], float]


def regex_reader(pattern: str, processes: Processes) -> Reader:
    """Return a reader of the last match of a regular expression: its first group, or all of it.

    Args:
        pattern: The regular expression.
        processes: Runs the matcher.
    """
    try:
        re.compile(pattern, FLAGS)
    except (re.error, RecursionError, OverflowError) as error:
        raise SettingsError(
            f"--value-regex must be a Python regular expression, got {pattern!r}: {error}."
        ) from error

    def read(output: str) -> float:
        given = json.dumps([pattern, as_shown(output)]).encode()
        ended = processes.run([*PYTHON, MATCHER], MATCH_SECONDS, given)
        if ended.late:
            raise UnreadableError(
                f"{_short(pattern)} took longer than {MATCH_SECONDS:g} s to match: simplify it"
            )
        if ended.code:
            said = ended.err.decode(errors="replace").strip().rpartition("\n")[2]
            raise UnreadableError(f"{_short(pattern)} cannot be matched: {said}")
        found = json.loads(ended.out)
        if not found:
            raise UnreadableError(f"nothing in the output matches {_short(pattern)}")
        with suppress(TypeError, ValueError):
            if len(found[0]) <= LONGEST:
                return plain_number(found[0])
        raise UnreadableError(
            f"{_short(pattern)} matches {_short(found[0])}, which is not a number"
        )

    return read


def json_reader(key: str) -> Reader:
    """Return a reader of one key of the output, if that is JSON, or else of its last JSON line.

    Args:
        key: Keys of nested objects, or indices of lists, separated by dots.
    """
    if "" in key.split("."):
        raise SettingsError(f"--value-json must be a key such as loss or test.loss, got {key!r}.")

    def read(output: str) -> float:
        found = found_in(json_document(output), key)
        if isinstance(found, bool) or not isinstance(found, int | float):
            is_simple = found is None or isinstance(found, bool | str)
            what = _short(found) if is_simple else f"a {type(found).__name__}"
            raise UnreadableError(f"{key!r} is {what} in the output, which is not a number")
        return found

    return read


def found_in(found: Any, key: str) -> Any:
    """Return what a document has under a key: names and indices separated by dots."""
    for step in key.split("."):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and INDEX.fullmatch(step) and int(step) < len(found):
            found = found[int(step)]
        else:
            raise UnreadableError(f"the JSON output has no key {key!r}")
    return found


def json_document(output: str) -> Any:
    """Return the output as JSON, or its last line that is JSON."""
    for text in (output, *reversed(output.splitlines())):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict | list):
            return found
    raise UnreadableError("neither the output nor any line of it is a JSON object")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
