"""The progress of `maximize` on a terminal, with rich where it is installed.

Nothing is drawn by a thread of its own: a process with threads should not fork, and an objective
may do that. So the display moves when evaluations end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Protocol, TextIO

from rahbo.optimizer import Optimizer
from rahbo.running.progress import (
    Course,
    Done,
    Leader,
    Stage,
    Watch,
    duration,
    harmless,
    one_line,
    printable,
)

# Seconds between two drawings, and the characters of the bar.
BETWEEN, BAR = 0.1, 24

# Only one run is drawn at a time: an objective may itself call `maximize`.
_drawing = Lock()


class Live(Protocol):
    """A line at the bottom of a terminal that is drawn again and again."""

    def draw(self, stage: Stage, leader: str) -> None:
        """Draw the line."""

    def say(self, text: str) -> None:
        """Write a line of text above."""

    def close(self) -> None:
        """Leave the line as it is."""


@contextmanager
def display(
    verbose: bool | None, course: Course, optimizer: Optimizer, alone: bool
) -> Iterator[Watch]:
    """Show the progress of a run on stderr.

    Args:
        verbose: False shows nothing. None shows a line that moves if stderr is a terminal, and
            anywhere the first failure and what the values show to be wrong. True also writes a
            line for each evaluation, anywhere.
        course: Follows the run through its budget.
        optimizer: The run.
        alone: Whether the objective runs in this process, one call at a time, so that what it
            prints can be kept apart from the line.
    """
    out = sys.stderr
    moves = verbose is not False and _is_terminal(out) and _drawing.acquire(blocking=False)
    live: Live | None = None
    try:
        if moves:
            with suppress(Exception):
                live = _live(out, alone)
        if live is None and not verbose:
            yield Watch() if verbose is False else _quiet(out)
        else:
            yield _watch(out, live, bool(verbose), course, optimizer)
        if live is not None:
            with suppress(Exception):
                live.draw(course.now(optimizer), Leader().now(optimizer))
    finally:
        if live is not None:
            with suppress(Exception):
                live.close()
        if moves:
            _drawing.release()


def _watch(
    out: TextIO | None, live: Live | None, lines: bool, course: Course, optimizer: Optimizer
) -> Watch:
    """Return the functions that show evaluations on a line that moves, as lines, or both."""
    leader, text, drawn = Leader(), "", -BETWEEN

    def say(line: str) -> None:
        if live is not None:
            live.say(line)
        elif out is not None:
            out.write(f"{line}\n")
            out.flush()

    def evaluated(done: Done) -> None:
        nonlocal drawn
        if lines:
            say(f"{course.now(optimizer).spent}  {done}")
        elif done.value is None:
            say(str(done))
        if live is not None and monotonic() - drawn >= BETWEEN:
            live.draw(course.now(optimizer), text)
            drawn = monotonic()

    def told(optimizer: Optimizer) -> None:
        nonlocal text
        text = leader.now(optimizer)

    if live is None:
        return Watch(harmless(evaluated), noticed=harmless(say))
    return Watch(harmless(evaluated), harmless(told), harmless(say))


def _quiet(out: TextIO | None) -> Watch:
    """Return what writes the first failure and what the values show to be wrong, nothing else."""
    was_said = False

    def say(line: str) -> None:
        if out is not None:
            out.write(f"rahbo: {line}\n")
            out.flush()

    def evaluated(done: Done) -> None:
        nonlocal was_said
        if done.value is None and not was_said:
            was_said = True
            say(
                f"the evaluation at {printable(one_line(done.params))} failed: {done.why}. The run "
                "goes on; verbose=True shows every evaluation."
            )

    return Watch(harmless(evaluated), noticed=harmless(say))


def _is_terminal(out: TextIO | None) -> bool:
    """Return whether a line can be drawn again and again."""
    try:
        return out is not None and out.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:
        # The stream is closed.
        return False


def _live(out: TextIO, alone: bool) -> Live:
    try:
        return RichLine(out, alone)
    except ImportError:
        return PlainLine(out)


class PlainLine:
    """A line drawn with carriage returns."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._width = 0

    def draw(self, stage: Stage, leader: str) -> None:
        """Draw the line, as far as it fits."""
        full = round(BAR * stage.share)
        parts = ["#" * full + "-" * (BAR - full), stage.spent, _left(stage), leader]
        self._write("  ".join(part for part in parts if part))

    def say(self, text: str) -> None:
        """Write a line of text in place of the line, which is drawn again later."""
        self._out.write(f"\r{text.ljust(self._width)}\n")
        self._out.flush()
        self._width = 0

    def close(self) -> None:
        """Leave the line as it is."""
        if self._width:
            self._out.write("\n")
            self._out.flush()

    def _write(self, text: str) -> None:
        # In the last column, some terminals would start a new line.
        text = text[: self._columns() - 1]
        self._out.write(f"\r{text.ljust(self._width)}")
        self._out.flush()
        self._width = len(text)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._out.fileno()).columns or 80
        except (OSError, ValueError):
            return 80


class RichLine:
    """A line drawn by rich, which also keeps apart what the objective prints."""

    def __init__(self, out: TextIO, alone: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(file=out, highlight=False, markup=False, emoji=False)
        columns = (
            BarColumn(BAR),
            *(TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("spent", "left")),
            TextColumn("{task.fields[leader]}", markup=False),
        )
        self._live = Progress(
            *columns, console=console, auto_refresh=False,
            redirect_stdout=alone, redirect_stderr=alone,
        )  # fmt: skip
        self._task = self._live.add_task("", total=1.0, spent="", left="", leader="")
        self._live.start()

    def draw(self, stage: Stage, leader: str) -> None:
        """Draw the line."""
        self._live.update(
            self._task, completed=stage.share, spent=stage.spent, left=_left(stage), leader=leader,
            refresh=True,
        )  # fmt: skip

    def say(self, text: str) -> None:
        """Write a line of text above."""
        self._live.console.print(text, soft_wrap=True)

    def close(self) -> None:
        """Leave the line as it is."""
        self._live.stop()


def _left(stage: Stage) -> str:
    if stage.share >= 1.0 or stage.left is None:
        return ""
    return f"{duration(stage.left)} left"
