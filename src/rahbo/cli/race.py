"""`rahbo race`: which of several programs is better, and is it luck?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from rahbo.cli.documents import document, json_value
from rahbo.cli.entrants import commands_in, measured_in, number_of, template_of, uses_seed
from rahbo.cli.launch import (
    PROGRAM,
    ProgramCommand,
    check_timeout,
    chosen_reader,
    end_interrupted,
    ended_like_interrupted,
    fresh_start,
    program_options,
)
from rahbo.cli.limits import Outcomes
from rahbo.cli.options import chosen_direction, direction_options
from rahbo.cli.processes import Processes
from rahbo.cli.program import Program, Workers
from rahbo.cli.progress import watch
from rahbo.cli.tables import console, visible
from rahbo.errors import SettingsError
from rahbo.numerics import evaluation_seed
from rahbo.optimizer import Optimizer
from rahbo.race import Course, Verdict, checked_rule, checked_runs, judge, sign_of, verdict_of
from rahbo.risk import MeanVariance
from rahbo.running import CallResult, Done, attempt
from rahbo.settings import Direction
from rahbo.space import Categorical

EXAMPLE = """\b
Example:
rahbo race --minimize --jobs 4 --journal race.jsonl \\
    -- 'python a.py --seed {seed}' 'python b.py --fast --seed {seed}'
"""
COMMAND = "command"
# Python itself ends with 1 or 2 when it breaks before this module is loaded, such as for a library
# that cannot be imported. So neither is a decision.
EXIT_CODES = {"keep": 0, "discard": 10, "undecided": 11}

Runs = dict[Future[CallResult], tuple[int, int]]


@dataclass(frozen=True)
class Field:
    """The programs that race.

    Attributes:
        names: The commands as they were given.
        programs: The same as functions of a seed.
        processes: Runs them.
        journal: The run on disk, or in memory only.
        course: The race.
    """

    names: Sequence[str]
    programs: Sequence[Program]
    processes: Processes
    journal: Optimizer
    course: Course

    def recall(self) -> int:
        """Give the race what the journal holds. Return how many runs that are."""
        known = 0
        for trial in self.journal.trials:
            entrant = self.names.index(trial.params[COMMAND])
            for number, why in trial.failures.items():
                self.course.offer(entrant, number, why)
            for number, value in trial.values.items():
                self.course.offer(entrant, number, value)
            known += trial.n_made
        return known

    def record(self, run: tuple[int, int], outcome: CallResult) -> Done:
        """Write an outcome to the journal, then give it to the race."""
        entrant, number = run
        params = {COMMAND: self.names[entrant]}
        why = outcome.failure or f"returned {outcome.no_number}"
        if outcome.value is None:
            self.journal.tell_failure(params, why, repeat=number)
        else:
            self.journal.tell(params, outcome.value, repeat=number)
        self.course.offer(entrant, number, why if outcome.value is None else outcome.value)
        return Done(params, outcome.value, "" if outcome.value is not None else why)

    def start(self, run: tuple[int, int], pool: Workers) -> Future[CallResult]:
        """Start a run. Runs with the same number have the same seed."""
        entrant, number = run
        seed = evaluation_seed(self.journal.settings.seed, 0, number)
        return pool.submit(attempt, self.programs[entrant], {"seed": seed})


def run(field: Field, jobs: int, total: int) -> bool:
    """Run the programs until the race is over, and show progress. Return whether it is.

    It is not if a signal ended it.
    """
    before = field.recall()
    under_way: Runs = {}
    with field.processes, watch(console(stderr=True), total, before) as look, ExitStack() as ending:
        pool = Workers(field.programs[0], jobs)
        ending.callback(pool.shutdown, wait=False)
        try:
            while field.course.ended is None:
                free = jobs - len(under_way)
                for wanted in field.course.wanted(free, list(under_way.values())):
                    under_way[field.start(wanted, pool)] = wanted
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    look.evaluated(field.record(under_way.pop(future), future.result()))
        except KeyboardInterrupt:
            for future, wanted in under_way.items():
                if future.done() and not future.cancelled():
                    field.record(wanted, future.result())
            return False
    return True


@click.command(
    cls=ProgramCommand, epilog=EXAMPLE, options_metavar="[OPTIONS] -- 'COMMAND' 'COMMAND' ..."
)
@direction_options
@click.option(
    "--file", type=click.Path(path_type=Path), metavar="FILE",
    help="Read the commands from this file, one a line.",
)  # fmt: skip
@click.option(
    "--values", type=click.Path(path_type=Path), metavar="FILE.csv",
    help="Judge values that were measured already, one column for each entrant. Nothing is run.",
)  # fmt: skip
@click.option(
    "--probability", type=float, default=0.95, show_default=True, metavar="P",
    help="Stop when the best is known with this probability.",
)  # fmt: skip
@click.option(
    "--indifferent", type=float, default=0.0, metavar="D",
    help="Also stop when no other entrant is better than the leader by more than D.",
)  # fmt: skip
@click.option(
    "--evaluations", type=click.IntRange(min=1), metavar="N",
    help="The most runs of all programs together, failures included.  [default: 100 an entrant]",
)  # fmt: skip
@click.option(
    "--keep-if-better", "incumbent", metavar="INCUMBENT",
    help="Say whether another entrant is better than this one, given by its command or its number "
    "from 1. Prints one line of JSON. Exits with 0 to keep a challenger, 10 to discard, 11 if "
    "undecided. Every other exit code is that of an error or a signal.",
)  # fmt: skip
@program_options
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON document.")
@click.pass_context
def command(
    ctx: click.Context, /, jobs: int, values: Path | None, incumbent: str | None, as_json: bool,
    journal: str | None, **options: object,
) -> None:  # fmt: skip
    """Find out which of several commands gives the best values, and whether that is luck.

    Each command prints a value that differs from run to run. The next run is one that decides most.
    {seed} in a command stands for a whole number; run number n of each command gets the same one.
    Commands are split as a shell would split them, but no shell runs them.
    """
    direction = chosen_direction(ctx)
    if direction is None:
        raise SettingsError("The direction is missing. Add --maximize or --minimize.")
    # Every signal counts until the exit code is known.
    with ended_like_interrupted() as came:
        try:
            if values is not None:
                verdict, ended = _judged(ctx, values, direction), True
            else:
                verdict, ended = _raced(ctx, direction)
            _print(verdict, incumbent is not None, as_json, journal)
        except KeyboardInterrupt:
            ended = False
        if not ended:
            end_interrupted(ctx, came, journal)
        ctx.exit(0 if incumbent is None else EXIT_CODES[verdict.decision])


def _print(verdict: Verdict, in_one_line: bool, as_json: bool, journal: str | None) -> None:
    if in_one_line:
        click.echo(json.dumps(json_value(verdict), allow_nan=False))
    elif as_json:
        click.echo(document(verdict=verdict, journal=journal))
    else:
        click.echo(visible(str(verdict)))


def _judged(ctx: click.Context, file: Path, direction: Direction) -> Verdict:
    given = ctx.params
    if ctx.meta[PROGRAM] or given["file"] is not None:
        raise SettingsError("--values judges a table, so that no command is run. Choose one.")
    measured = measured_in(file)
    names = list(measured.values)
    if measured.left_out:
        which = ", ".join(map(repr, measured.left_out))
        click.echo(visible(f"Left out, because it counts the rows: {which}."), err=True)
    number = number_of(given["incumbent"], names)
    return judge(
        measured.values, direction=direction, probability=given["probability"],
        indifferent=given["indifferent"], incumbent=None if number is None else names[number],
        matched=measured.matched,
    )  # fmt: skip


def _raced(ctx: click.Context, direction: Direction) -> tuple[Verdict, bool]:
    """Race the commands. Return the verdict, and whether the race came to its end."""
    given = ctx.params
    check_timeout(given["timeout"])
    names = commands_in(given["file"], ctx.meta[PROGRAM])
    number = number_of(given["incumbent"], names)
    own = None if number is None else names[number]
    rule = checked_rule(names, given["probability"], given["indifferent"], own)
    total, sign = checked_runs(given["evaluations"], len(names)), sign_of(direction)
    templates = [template_of(name) for name in names]
    processes = Processes()
    read = chosen_reader(ctx, processes, Outcomes())
    programs = [Program(template, read, processes, given["timeout"]) for template in templates]
    kept = Optimizer(
        {COMMAND: Categorical(names)}, direction=direction, risk=MeanVariance(0.0),
        seed=given["seed"], journal=given["journal"],
    )  # fmt: skip
    course = Course(len(names), rule, total, sign, matched=uses_seed(templates))
    try:
        ended = run(Field(names, programs, processes, kept, course), given["jobs"], total)
    finally:
        kept.close()
    verdict = verdict_of(course, names, sign)
    if course.ended == "failed" and own is None:
        raise _gave_up(verdict, given["journal"])
    for entrant, each in enumerate(verdict.standings):
        if course.out_for_failures(entrant):
            click.echo(visible(f"Out: {each.why_out}"), err=True)
    return verdict, ended


def _gave_up(verdict: Verdict, journal: str | None) -> click.ClickException:
    """Return the error that says why fewer than two commands are left."""
    why = " ".join(each.why_out for each in verdict.standings if each.failures)
    told = "Commands fail, and fewer than two are left. Correct them."
    return click.ClickException(visible(f"{told}{fresh_start(journal)} {why}"))
