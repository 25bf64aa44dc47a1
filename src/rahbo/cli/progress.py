"""The progress of a run: a live bar on a terminal, one line per evaluation anywhere else.

A display that fails goes silent. It never affects the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from rahbo.cli.tables import one_line
from rahbo.errors import NotReadyError
from rahbo.optimizer import Optimizer
from rahbo.running import Done, Watch, harmless

# Seconds between updates of the recommendation.
PAUSE = 10.0


@contextmanager
def watch(
    out: Console, total: int | None, before: int, confirming: Callable[[], bool] = lambda: False
) -> Iterator[Watch]:
    """Show the progress of a run.

    Args:
        out: The console to print to.
        total: Evaluations of the whole run; None if only its time is limited.
        before: How many of them an earlier run made.
        confirming: Returns whether the run is now measuring the leading points again.
    """
    made, announced = before, False
    of = "" if total is None else f"/{total}"

    def line(done: Done) -> None:
        nonlocal made, announced
        made += 1
        if not announced and confirming():
            announced = True
            out.print("Confirming: measuring the leading points again.")
        out.print(f"{made}{of}  {done!s}", soft_wrap=True)

    if not out.is_terminal:
        noticed = harmless(partial(out.print, soft_wrap=True))
        yield Watch(harmless(line), noticed=noticed)
        return
    columns = (
        TextColumn(f"{{task.completed:.0f}}{of}"), BarColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )  # fmt: skip
    with Progress(*columns, console=out) as live:
        task = live.add_task("", total=total, completed=before, state="")
        looked = -PAUSE

        def bar(done: Done) -> None:
            live.advance(task)
            if done.value is None:
                live.console.print(str(done), soft_wrap=True)

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

        noticed = harmless(partial(live.console.print, soft_wrap=True))
        yield Watch(harmless(bar), harmless(state), noticed)
