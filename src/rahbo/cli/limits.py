"""`--at-most NAME=LIMIT` and `--at-least`: outcomes with limits, read from a program's output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from threading import Lock
from typing import NamedTuple

import click

from rahbo.cli.options import together
from rahbo.cli.printed import SHOWN, UnreadableError, as_shown
from rahbo.cli.tables import visible
from rahbo.cli.values import found_in, json_document
from rahbo.errors import SettingsError
from rahbo.model import AtLeast, AtMost, Constraint
from rahbo.numerics import plain_number
from rahbo.trials import LARGEST_VALUE

# Runs that give a value, in none of which an outcome is printed, before this is an error.
PATIENCE = 5
# Lines of the output that the error shows.
LAST_LINES = 10
# What stands for an outcome that is missing. NaN does too.
MISSING = ("", "none", "null", "na", "n/a", "-")

limit_options = together(
    click.option(
        "--at-most", metavar="NAME=LIMIT[@P]", multiple=True,
        help="The program prints NAME=NUMBER beside its value. The number must be at most LIMIT "
        "with probability P, noise included.  [default: 0.95]",
    ),
    click.option(
        "--at-least", metavar="NAME=LIMIT[@P]", multiple=True,
        help="As --at-most, for a number that must be at least LIMIT.",
    ),
    click.option(
        "--safe", metavar="NAME=VALUE,...", multiple=True,
        help="Run only what surely keeps the limits, starting from this setting, which is known "
        "to keep them. Give --safe once for each such setting.",
    ),
)  # fmt: skip


def limits_in(at_most: Iterable[str], at_least: Iterable[str]) -> dict[str, Constraint]:
    """Return the limits that are written ``NAME=LIMIT`` or ``NAME=LIMIT@PROBABILITY``.

    >>> limits_in(["loss=5", "latency=20@0.9"], [])
    {'loss': AtMost(limit=5.0, probability=0.95), 'latency': AtMost(limit=20.0, probability=0.9)}
    """
    found: dict[str, Constraint] = {}
    for option, kind, texts in (
        ("--at-most", AtMost, at_most),
        ("--at-least", AtLeast, at_least),
    ):
        for text in texts:
            name, _, written = text.partition("=")
            limit, at, probability = written.partition("@")
            numbers: list[float] = []
            with suppress(ValueError):
                numbers = [plain_number(part) for part in ([limit, probability] if at else [limit])]
            if not name.strip() or not numbers:
                raise SettingsError(
                    f"{option} must be NAME=LIMIT or NAME=LIMIT@PROBABILITY, such as loss=5@0.95, "
                    f"got {text!r}."
                )
            if name.strip() in found:
                raise SettingsError(
                    f"The outcome {name.strip()!r} can have one limit only. Print it under two "
                    "names to limit it on both sides."
                )
            found[name.strip()] = kind(*numbers)
    return found


class Outcomes:
    """Finds named outcomes in the output of a program.

    An outcome is printed as ``NAME=NUMBER`` or ``NAME: NUMBER``, on a line of its own, among other
    text or in JSON. The last one counts.

    Args:
        names: The names of the outcomes.
        in_json: Whether the names are keys of a JSON document, as for `json_reader`.
    """

    def __init__(self, names: Iterable[str] = (), in_json: bool = False) -> None:
        self.names = tuple(names)
        self._in_json = in_json
        self._patterns = {name: _pattern(name) for name in self.names}
        self._lock = Lock()
        self._unseen = set(self.names)
        self._runs, self._last = 0, ""

    def read(self, output: str) -> dict[str, float | None]:
        """Return each outcome in an output; None for one that is missing."""
        text = as_shown(output)
        printed = self._keys(text) if self._in_json else self._matches(text)
        with self._lock:
            # What is not a number was printed all the same.
            self._unseen -= printed.keys()
            self._runs, self._last = self._runs + 1, text
        return {name: _number(name, printed.get(name)) for name in self.names}

    def without(self, output: str) -> str:
        """Return an output without its outcomes, so that none is taken for the value."""
        text = as_shown(output) if self.names and not self._in_json else output
        for pattern in self._patterns.values() if not self._in_json else ():
            text = pattern.sub(" ", text)
        return text

    def know(self, names: Iterable[str]) -> None:
        """Take outcomes as printed, because an earlier run has read them."""
        self._unseen -= set(names)

    def check(self, runs: int = PATIENCE) -> None:
        """Raise an error if none of the first runs, at least so many, printed an outcome."""
        with self._lock:
            if not self._unseen or self._runs < runs:
                return
            name, made = sorted(self._unseen)[0], self._runs
            lines = [line.strip()[:SHOWN] for line in self._last.splitlines() if line.strip()]
        wanted = f"the key {name!r}" if self._in_json else f"{name}=NUMBER or {name}: NUMBER"
        taken = (
            "If it printed the outcome under another name, that number may have been taken for the "
            "value: then begin a new journal. "
        )
        ends = "\n".join(f"  {line}" for line in lines[-LAST_LINES:])
        raise click.ClickException(
            visible(
                f"The program printed values in {made} runs, but never the outcome {name!r}, which "
                f"has a limit. Let it print {wanted}, or leave the limit out. "
                f"{'' if self._in_json else taken}Its last output ends with:\n{ends}"
            )
        )

    def _matches(self, text: str) -> dict[str, object]:
        """Return what is printed of each outcome in a text."""
        found: dict[str, object] = {}
        for name, pattern in self._patterns.items():
            last = None
            for match in pattern.finditer(text):
                last = match
            if last is not None:
                found[name] = _Written(last[1], text[last.end() : last.end() + 2])
        return found

    def _keys(self, text: str) -> dict[str, object]:
        """Return what a JSON document has of each outcome."""
        document, found = json_document(text), {}
        for name in self.names:
            with suppress(UnreadableError):
                found[name] = found_in(document, name)
        return found


def _pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of an outcome, which is not the end of another word or of an option.

    Its quantifiers give nothing back, so the time is linear in the length of the text.
    """
    return re.compile(
        rf"(?<![\w.-]){re.escape(name)}[\"']?+[ \t]*+[=:][ \t]*+([^\s,;}}\])]*+)", re.MULTILINE
    )


class _Written(NamedTuple):
    """The text that stands for an outcome, and the two characters after it."""

    text: str
    after: str


def _number(name: str, printed: object) -> float | None:
    """Return the number that is printed of an outcome; None if it is missing."""
    value = _parsed(name, printed) if isinstance(printed, _Written) else printed
    if value is None or value != value:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(name, repr(value)[:SHOWN])
    if not abs(value) <= LARGEST_VALUE:
        raise _refused(name, str(float(value)) if abs(value) < 1e300 else "infinite")
    return float(value)


def _parsed(name: str, written: _Written) -> float | None:
    text, after = written
    if text.lower() in MISSING:
        return None
    try:
        # A full stop may end the sentence.
        number = plain_number(text.rstrip(".%\"'"))
    except ValueError:
        raise _refused(name, repr(text[:SHOWN])) from None
    if after[:1] == "," and after[1:].isdecimal():
        raise UnreadableError(
            f"the outcome {name!r}, {text[:SHOWN]}, may be part of a longer number: print it "
            "without commas"
        )
    return number


def _refused(name: str, text: str) -> UnreadableError:
    return UnreadableError(
        f"the outcome {name!r} is {text} in the output, which is not a finite number"
    )


def described(
    outcomes: Mapping[str, float] | None, limits: Mapping[str, Constraint], short: int = 6
) -> str:
    """Return the outcomes of one run in words, with the limits that it broke.

    >>> described({"loss": 6.0}, {"loss": AtMost(5.0), "rate": AtLeast(1.0)})
    'loss=6 (above 5), rate missing'
    """
    found = []
    for name, limit in limits.items():
        value = None if outcomes is None else outcomes.get(name)
        if value is None:
            found.append(f"{name} missing")
            continue
        broken = limit.sign * value < limit.sign * limit.limit
        side = "above" if limit.sign < 0 else "below"
        found.append(f"{name}={value:.{short}g}" + f" ({side} {limit.limit:g})" * broken)
    return ", ".join(found)
