"""`rahbo reproduce`: run, summarise and draw the paper's experiments."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rahbo.experiments import (
    EXPERIMENTS,
    Case,
    Experiment,
    Row,
    Store,
    run_cases,
    summary,
    with_seeds,
)

ALL = "all"
NAMES = (*EXPERIMENTS, ALL)
# If the output is not a terminal: seconds between lines, and the width of the table.
PAUSE, WIDTH = 10.0, 140

Say = Callable[[Case], object]


def chosen(name: str, seeds: int | None, quick: bool) -> tuple[Experiment, ...]:
    """Return the experiments of a name, in the requested size."""
    experiments = EXPERIMENTS[name]
    if quick:
        experiments = tuple(e.quick() for e in experiments)
    return experiments if seeds is None else with_seeds(experiments, seeds)


def run(name: str, experiments: Sequence[Experiment], jobs: int, store: Store,
        console: Console) -> None:  # fmt: skip
    """Run the cases that are missing, and show progress."""
    cases = [case for e in experiments for case in e.cases()]
    # One seed of all experiments comes before the next seed, so an early stop leaves whole seeds.
    missing = store.missing(sorted(cases, key=lambda case: case.seed))
    if len(missing) < len(cases):
        console.print(
            f"{name}: {len(cases) - len(missing)} of {len(cases)} runs are already in "
            f"{store.folder} and are kept. Delete them to run them again.", soft_wrap=True,
        )  # fmt: skip
    if missing:
        with cases_progress(console, name, missing) as say:
            run_cases(missing, store, jobs=jobs, progress=say)


@contextmanager
def cases_progress(console: Console, name: str, cases: Sequence[Case]) -> Iterator[Say]:
    """Show a live bar on a terminal, or an occasional plain line anywhere else."""
    # A run with more rounds takes longer, so rounds predict the time left better than runs.
    total, done = sum(case.n_rounds for case in cases), 0
    started = spoke = time.monotonic()
    finished = 0

    def line(case: Case) -> None:
        nonlocal done, finished, spoke
        done, finished, now = done + case.n_rounds, finished + 1, time.monotonic()
        if finished == len(cases) or now - spoke >= PAUSE:
            spoke = now
            left = (now - started) * (total - done) / done
            console.print(
                f"{name}: {finished} of {len(cases)} runs, {now - started:.0f} s elapsed, "
                f"about {left:.0f} s left", soft_wrap=True,
            )  # fmt: skip

    if not console.is_terminal:
        yield line
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[runs]} runs"),
        TimeElapsedColumn(), TextColumn("elapsed,"), TimeRemainingColumn(), TextColumn("left"),
    )  # fmt: skip
    # Runs end rarely, so the speed is averaged over all of them.
    with Progress(*columns, console=console, speed_estimate_period=3600.0) as live:
        task = live.add_task(name, total=total, runs=f"0/{len(cases)}")

        def bar(case: Case) -> None:
            nonlocal finished
            finished += 1
            live.update(task, advance=case.n_rounds, runs=f"{finished}/{len(cases)}")

        yield bar


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return the regrets of an experiment, one table for each problem, alpha, k and T."""
    pieces: dict[tuple[str, ...], Table] = {}
    for row in rows:
        problem, alpha, k, rounds, *rest = summary.regret_cells(row)
        key = (problem, alpha, k, rounds)
        if key not in pieces:
            title = f"{problem}, alpha = {alpha}, k = {k}, T = {rounds}"
            pieces[key] = Table(title=title, title_justify="left", box=SIMPLE)
            for heading in summary.REGRETS[len(key) :]:
                pieces[key].add_column(heading, justify="left" if heading == "method" else "right")
        pieces[key].add_row(*rest)
    return list(pieces.values())


def draw_figures(name: str, experiments: Sequence[Experiment], store: Store, folder: Path) -> str:
    """Save the figures of an experiment and return Markdown that shows them.

    Without matplotlib, return an empty string.
    """
    if find_spec("matplotlib") is None:
        return ""
    from rahbo.plots.paper import figures_markdown, save_figures

    return figures_markdown(save_figures(name, experiments, store, folder))


def reproduce(name: str, experiments: Sequence[Experiment], jobs: int, folder: Path,
              console: Console) -> None:  # fmt: skip
    """Run an experiment, write its records, summary and figures, and print its tables."""
    store = Store(folder / "records")
    run(name, experiments, jobs, store, console)
    rows = summary.rows(experiments, store)
    for table in tables(rows):
        console.print(table)
    shown = draw_figures(name, experiments, store, folder)
    page = summary.markdown(name, rows, summary.stamps(experiments, store), shown)
    (folder / "summary.md").write_text(page, encoding="utf-8")
    console.print(f"{name}: records, summary.md and figures are in {folder}.", soft_wrap=True)
    if not shown:
        console.print('The figures need matplotlib. Install it: pip install "rahbo[demo]"')


@click.command()
@click.argument("name", type=click.Choice(NAMES), metavar=f"[{'|'.join(NAMES)}]")
@click.option(
    "--seeds", type=click.IntRange(min=1), help="Number of repetitions.  [default: as in the paper]"
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=lambda: os.cpu_count() or 1,
    show_default="one for each core", help="Number of runs at a time.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Run only 2 repetitions of 20 rounds, as a trial.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default="rahbo-reproduce",
    show_default=True, help="Folder for records, summaries and figures.",
)  # fmt: skip
def command(name: str, seeds: int | None, jobs: int, quick: bool, out: Path) -> None:
    """Run an experiment of the paper and draw its figures.

    Results go to the folder NAME in --out (NAME-quick with --quick): one JSON line per round in
    records, the tables in summary.md, and figures as PNG and PDF. If you stop the command and
    start it again, it runs only what is missing.
    """
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=WIDTH)
    for each in EXPERIMENTS if name == ALL else (name,):
        folder = out / (f"{each}-quick" if quick else each)
        reproduce(each, chosen(each, seeds, quick), jobs, folder, console)
