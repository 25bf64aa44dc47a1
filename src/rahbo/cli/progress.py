"""The progress of a run: a live bar on a terminal, one line per evaluation anywhere else.

A display that fails goes silent. It never affects the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from rahbo.cli.tables import one_line
from rahbo.errors import NotReadyError
from rahbo.reports import Reports
from rahbo.running import Display, Done, harmless
from rahbo.state import State

# Seconds between updates of the recommendation.
PAUSE = 10.0


@contextmanager
def watch(
    out: Console, total: int | None, before: int, confirming: Callable[[], bool] = lambda: False
) -> Iterator[Display]:
    """Show the progress of a run.

    Args:
        out: The console to print to.
        total: Evaluations of the whole run; None if only its time is limited.
        before: How many of them an earlier run made.
        confirming: Returns whether the run is now measuring the leading points again.
    """
    of = "" if total is None else f"/{total}"
    if not out.is_terminal:
        yield harmless(_Lines(out, of, before, confirming))
        return
    columns = (
        TextColumn(f"{{task.completed:.0f}}{of}"), BarColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )  # fmt: skip
    with Progress(*columns, console=out) as live:
        task = live.add_task("", total=total, completed=before, state="")
        yield harmless(_Bar(live, task, confirming))


class _Lines(Display):
    """One line for each evaluation."""

    def __init__(self, out: Console, of: str, before: int, confirming: Callable[[], bool]) -> None:
        self._out, self._of, self._made, self._confirming = out, of, before, confirming
        self._announced = False

    def evaluated(self, done: Done) -> None:
        self._made += 1
        if not self._announced and self._confirming():
            self._announced = True
            self._out.print("Confirming: measuring the leading points again.")
        self.noticed(f"{self._made}{self._of}  {done!s}")

    def noticed(self, text: str) -> None:
        self._out.print(text, soft_wrap=True)


class _Bar(Display):
    """A bar with the recommendation beside it."""

    def __init__(self, live: Progress, task: TaskID, confirming: Callable[[], bool]) -> None:
        self._live, self._task, self._confirming = live, task, confirming
        self._looked = -PAUSE

    def evaluated(self, done: Done) -> None:
        self._live.advance(self._task)
        if done.value is None:
            self.noticed(str(done))

    def told(self, state: State) -> None:
        if time.monotonic() - self._looked >= PAUSE:
            with suppress(NotReadyError):
                now = Reports(state).recommend()
                stage = "confirming" if self._confirming() else "so far"
                sure = ", limits kept" if now.feasible else ", not sure to keep its limits"
                kept = sure if now.constraints else ""
                best = f"{one_line(now.params)}: {now.estimates[0].value}"
                self._live.update(self._task, state=f"{stage} {best}{kept}")
            self._looked = time.monotonic()

    def noticed(self, text: str) -> None:
        self._live.console.print(text, soft_wrap=True)
