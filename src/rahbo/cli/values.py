"""Find the value in the output of a program.

Every reader takes time linear in the length of the output, except for a pattern of the user's. That
is matched in a process of its own, which is killed when it takes too long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rahbo.cli.matcher import FLAGS, LONGEST
from rahbo.cli.processes import PYTHON, Processes
from rahbo.errors import SettingsError

# Does not match inside a word, a version or a number with a unit. NaN and infinities match, so
# that an earlier number, such as that of an epoch, is not taken for the value. A possessive
# quantifier (`++`) keeps all digits: giving some back never helps, as a digit must not follow. So
# the time is linear in the length of the text.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?"
    r"(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+"
    r"|[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
    r"(?!\.?\w)"
)
# Text before a match which shows that it is only the end of a number: a comma, an apostrophe or a
# special space after a digit, or a typographic minus. A comma only separates numbers where the
# second has a point, but not after three digits as in 1,234.5, or where the first has a point and
# the second a point or an exponent. The text is searched for in this many characters.
PART = re.compile(r"(?:([0-9.]*[0-9])([,'\u2019\u00a0\u2009\u202f])|[\u2010-\u2014\u2212\uff0d])\Z")
PART_LENGTH = 40
THOUSANDS = re.compile(r"[0-9]{3}(?![0-9])")
INDEX = re.compile(r"[0-9]{1,9}")
COLOURS = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
# Seconds that a pattern of the user's gets for one output.
MATCH_SECONDS = 10.0
# Characters shown of a pattern or of a text that is not a number.
SHOWN = 200
MATCHER = str(Path(__file__).with_name("matcher.py"))

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
    if _is_part(text, last):
        raise UnreadableError(
            f"the last number of the output, {last[0]}, may be part of a longer one: print it "
            "without commas and with a plain minus, or use --value-regex"
        )
    return float(last[0])


def _is_part(text: str, last: re.Match[str]) -> bool:
    """Return whether a match may be the end of a longer number."""
    before = PART.search(text, max(0, last.start() - PART_LENGTH), last.start())
    if before is None or before[2] is None:
        return before is not None
    # A sign, a point or a word begins a number of its own.
    if not last[0][0].isdecimal():
        return False
    if before[2] != "," or last[0].isdecimal():
        return True
    separates = "." in last[0] and not THOUSANDS.match(last[0])
    return not (separates or before[1].count(".") == 1)


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
        given = json.dumps([pattern, COLOURS.sub("", output)]).encode()
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
                return float(found[0])
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
