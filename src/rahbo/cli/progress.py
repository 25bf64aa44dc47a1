"""The progress of a run: a live bar on a terminal, one line per evaluation anywhere else.

A display that fails goes silent. It never affects the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from rahbo.cli.tables import one_line, visible
from rahbo.errors import NotReadyError
from rahbo.optimizer import Optimizer

# Seconds between updates of the recommendation, and the characters shown of a failure's reason.
PAUSE, REASON = 10.0, 200

T = TypeVar("T")


@dataclass(frozen=True)
class Done:
    """One finished evaluation.

    Attributes:
        params: The parameters that were evaluated.
        value: The value, or None if the evaluation failed.
        failure: Why the evaluation failed; empty if it gave a value.
        outcomes: The outcomes with limits in words; empty if there are none.
    """

    params: Mapping[str, Any]
    value: float | None
    failure: str = ""
    outcomes: str = ""


@dataclass(frozen=True)
class Watch:
    """The functions to call while a run goes on. They raise no errors.

    Attributes:
        evaluated: Called with each evaluation, after it was recorded.
        told: Called with the optimizer after each suggestion.
    """

    evaluated: Callable[[Done], None]
    told: Callable[[Optimizer], None]


@contextmanager
def watch(
    out: Console, total: int, before: int, confirming: Callable[[], bool] = lambda: False
) -> Iterator[Watch]:
    """Show the progress of a run.

    Args:
        out: The console to print to.
        total: Evaluations of the whole run.
        before: How many of them an earlier run made.
        confirming: Returns whether the run is now measuring the leading points again.
    """
    made, announced = before, False

    def line(done: Done) -> None:
        nonlocal made, announced
        made += 1
        if not announced and confirming():
            announced = True
            out.print("Confirming: measuring the leading points again.")
        out.print(f"{made}/{total}  {_described(done)}", soft_wrap=True)

    if not out.is_terminal:
        yield Watch(_harmless(line), lambda optimizer: None)
        return
    columns = (
        TextColumn("{task.completed:.0f}/{task.total:.0f}"), BarColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )  # fmt: skip
    with Progress(*columns, console=out) as live:
        task = live.add_task("", total=total, completed=before, state="")
        looked = -PAUSE

        def bar(done: Done) -> None:
            live.advance(task)
            if done.value is None:
                live.console.print(_described(done), soft_wrap=True)

        def state(optimizer: Optimizer) -> None:
            nonlocal looked
            if time.monotonic() - looked >= PAUSE:
                with suppress(NotReadyError):
                    now = optimizer.recommend()
                    stage = "confirming" if confirming() else "so far"
                    sure = ", limits kept" if now.feasible else ", not sure to keep its limits"
                    kept = sure if now.constraints else ""
                    best = f"{one_line(now.params)}: {now.estimates[0].value}"
                    live.update(task, state=f"{stage} {best}{kept}")
                looked = time.monotonic()

        yield Watch(_harmless(bar), _harmless(state))


def _harmless(show: Callable[[T], None]) -> Callable[[T], None]:
    """Return the same function, except that it does nothing after its first error."""
    failed = False

    def shown(what: T) -> None:
        nonlocal failed
        if not failed:
            try:
                show(what)
            except Exception:
                failed = True

    return shown


def _described(done: Done) -> str:
    if done.value is not None:
        beside = f", {visible(done.outcomes)}" if done.outcomes else ""
        return f"{one_line(done.params)}: {done.value:.6g}{beside}"
    lines = done.failure.splitlines() or [""]
    # The message of a traceback is its last line.
    why = lines[0] if len(lines) == 1 else f"{lines[0].split(': ')[0]}: {lines[-1]}"
    return f"{one_line(done.params)}: failed, {visible(why[:REASON])}"
