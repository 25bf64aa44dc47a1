"""The progress of `maximize` on a terminal, with rich where it is installed.

Nothing is drawn by a thread of its own: a process with threads should not fork, and an objective
may do that. So the display moves when evaluations end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Protocol, TextIO

from rahbo.running.progress import (
    Course,
    Display,
    Done,
    Leader,
    Stage,
    duration,
    harmless,
    one_line,
    printable,
    warn_of,
)
from rahbo.state import State

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
def shown(verbose: bool | Display | None, course: Course, alone: bool) -> Iterator[Display]:
    """Show a run.

    Args:
        verbose: False shows nothing. None shows a line on stderr that moves if it is a terminal,
            and anywhere the first failure and what the values show to be wrong. True also writes a
            line for each evaluation, anywhere. Anything else is a display of the user's.
        course: Follows the run through its budget.
        alone: Whether the objective runs in this process, one call at a time, so that what it
            prints can be kept apart from the line.
    """
    if isinstance(verbose, Display):
        display = harmless(verbose, warn_of)
    else:
        display = harmless(_display(verbose, alone))
    try:
        display.started(course)
        yield display
    finally:
        display.ended(course.optimizer.state)


def _display(verbose: bool | None, alone: bool) -> Display:
    """Return a display of our own."""
    if verbose is False:
        return Display()
    out = sys.stderr
    if _is_terminal(out) and _drawing.acquire(blocking=False):
        try:
            return MovingLine(_live(out, alone), bool(verbose), _drawing.release)
        except Exception:
            _drawing.release()
    return Lines(out) if verbose else FirstFailure(out)


class Written(Display):
    """Writes what the values show to be wrong.

    Args:
        out: Where to; None for nowhere.
    """

    before = ""

    def __init__(self, out: TextIO | None) -> None:
        self._out = out

    def noticed(self, text: str) -> None:
        """Write a line."""
        if self._out is not None:
            self._out.write(f"{self.before}{text}\n")
            self._out.flush()


class Lines(Written):
    """Also writes a line for each evaluation."""

    def started(self, course: Course) -> None:
        """Keep the course."""
        self._course = course

    def evaluated(self, done: Done) -> None:
        """Write how far the run is, and the evaluation."""
        self.noticed(f"{self._course.now().spent}  {done}")


class FirstFailure(Written):
    """Also writes the first failure."""

    before = "rahbo: "
    _was_said = False

    def evaluated(self, done: Done) -> None:
        """Write the first failure."""
        if done.value is None and not self._was_said:
            self._was_said = True
            self.noticed(
                f"the evaluation at {printable(one_line(done.params))} failed: {done.why}. The run "
                "goes on; verbose=True shows every evaluation."
            )


class MovingLine(Display):
    """Draws how far the run is and what leads, with failures above or with every evaluation.

    Args:
        live: The line.
        every: Whether to write a line for each evaluation.
        left: Called once the line is left.
    """

    def __init__(self, live: Live, every: bool, left: Callable[[], None] = lambda: None) -> None:
        self._live, self._every, self._left = live, every, left
        self._leader, self._text, self._drawn = Leader(), "", -BETWEEN

    def started(self, course: Course) -> None:
        """Keep the course."""
        self._course = course

    def evaluated(self, done: Done) -> None:
        """Write the evaluation, if it failed or all are wanted, and draw the line."""
        if self._every:
            self._live.say(f"{self._course.now().spent}  {done}")
        elif done.value is None:
            self._live.say(str(done))
        if monotonic() - self._drawn >= BETWEEN:
            self._live.draw(self._course.now(), self._text)
            self._drawn = monotonic()

    def told(self, state: State) -> None:
        """Look which setting leads."""
        self._text = self._leader.now(state)

    def noticed(self, text: str) -> None:
        """Write a line above."""
        self._live.say(text)

    def ended(self, state: State) -> None:
        """Draw the line as it is at the end, and leave it."""
        try:
            with suppress(Exception):
                self._live.draw(self._course.now(), Leader().now(state))
            self._live.close()
        finally:
            self._left()


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
