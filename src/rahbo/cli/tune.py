"""`rahbo tune`: find parameters of a program that are reliably good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rahbo.cli.config import Config, read_config
from rahbo.cli.first import first_in
from rahbo.cli.launch import (
    PROGRAM,
    READERS,
    TOML,
    ProgramCommand,
    check_program,
    check_timeout,
    chosen_reader,
    end_interrupted,
    ended_like_interrupted,
    fresh_start,
    program_options,
)
from rahbo.cli.limits import Outcomes, described, limit_options, limits_in
from rahbo.cli.options import chosen_direction, chosen_risk, goal_options, one_of, repeats_in
from rahbo.cli.parameters import blocks_in, parameters_in
from rahbo.cli.processes import Processes
from rahbo.cli.program import BrokenProgramError, Program, Workers
from rahbo.cli.progress import watch
from rahbo.cli.safe import RUNS, UNSAFE, Start, start_of
from rahbo.cli.tables import console, print_report, visible
from rahbo.cli.template import Template
from rahbo.cli.values import Reader
from rahbo.errors import NotReadyError, ObjectiveError, SettingsError
from rahbo.numerics import evaluation_seed, is_finite
from rahbo.optimizer import Optimizer
from rahbo.running import (
    Borrowed,
    Budget,
    CallResult,
    Done,
    Gap,
    Result,
    Run,
    Stop,
    in_parallel,
)
from rahbo.space import Parameter
from rahbo.trials import LARGEST_VALUE, Suggestion

EXAMPLE = """\b
Example:
rahbo tune --maximize --evaluations 200 --jobs 4 --journal run.jsonl \\
    -p lr=1e-4:1e-1:log -p depth=1:15:int -p criterion=gini,entropy \\
    -- python train.py --lr {lr} --depth {depth} --criterion {criterion} --seed {seed}
"""
CONFIG = "rahbo.cli.config"


def _read_file(ctx: click.Context, param: click.Parameter, file: Path | None) -> Path | None:
    """Make the options in a file the defaults of the command line."""
    ctx.meta[CONFIG] = Config()
    if file is None:
        return None
    if not file.is_file():
        raise SettingsError(
            f"There is no file {str(file)!r}. If it is the program to run, write -- before it."
        )
    options = {
        option.opts[-1].lstrip("-"): option
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.name != "parameters"
    }
    try:
        config = read_config(file, options)
    except SettingsError as error:
        if file.suffix == TOML:
            raise
        raise SettingsError(f"{error} If it is the program to run, write -- before it.") from error
    ctx.meta[CONFIG] = config
    ctx.default_map = {options[name].name or "": value for name, value in config.options.items()}
    return file


# -- settings ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What to tune, and how.

    Attributes:
        space: The parameters.
        template: The command.
        read: Finds the value in the command's output.
        budget: How often the command may run, and how long.
        stop: Ends the run earlier, or None.
        settings: Settings of `Optimizer`.
        processes: Runs the command, and the pattern that reads its output.
        outcomes: Finds the outcomes with limits in the command's output.
        start: Settings to run first because they are known to be safe; empty if there are none.
    """

    space: Mapping[str, Parameter]
    template: Template
    read: Reader
    budget: Budget
    stop: Stop | None
    settings: dict[str, Any]
    processes: Processes
    outcomes: Outcomes
    start: Start

    @classmethod
    def by(cls, ctx: click.Context) -> Task:
        """Return the task that the options describe, including those from a file."""
        config, given = ctx.meta[CONFIG], ctx.params
        space = {**config.space, **parameters_in(given["parameters"])}
        if not space:
            raise SettingsError(
                "There are no parameters to tune. Add one, such as -p lr=1e-4:1e-1:log"
            )
        direction = chosen_direction(ctx)
        if direction is None:
            raise SettingsError("The direction is missing. Add --maximize or --minimize.")
        budget = _budget(given)
        template = Template.of(ctx.meta[PROGRAM] or config.command)
        template.check(space, blocks=given["blocks"] is not None)
        check_program(template)
        settings, start = settings_in(ctx, space)
        settings |= {"direction": direction, "journal": given["journal"]}
        processes = Processes()
        limits = settings.get("constraints", ())
        outcomes = Outcomes(limits, in_json=one_of(ctx, READERS) == "value_json")
        read = chosen_reader(ctx, processes, outcomes)
        stop = None if given["stop_gap"] is None else Gap(given["stop_gap"])
        return cls(space, template, read, budget, stop, settings, processes, outcomes, start)


def settings_in(ctx: click.Context, space: Mapping[str, Parameter]) -> tuple[dict[str, Any], Start]:
    """Return settings of `Optimizer` as the options say, and the settings to run first."""
    given = ctx.params
    blocks = blocks_in(given["blocks"])
    limits = limits_in(given["at_most"], given["at_least"])
    start = start_of(given["safe"], space, limits, blocks)
    used = {"risk": chosen_risk(ctx), "constraints": limits, "safe": bool(start.settings),
            "blocks": blocks, "try_first": first_in(given["try_first"], space)}  # fmt: skip
    settings = {name: value for name, value in used.items() if value}
    settings |= {name: given[name] for name in ("seed", "noise_std")}
    return {"repeats": repeats_in(given["repeats"], given["setup"]), **settings}, start


def _budget(given: Mapping[str, Any]) -> Budget:
    evaluations, seconds = given["evaluations"], given["seconds"]
    if evaluations is None and seconds is None:
        raise SettingsError(
            "The budget is missing. Add the number of evaluations, such as --evaluations 200, or "
            "the time, such as --seconds 3600."
        )
    if seconds is not None and not (is_finite(seconds) and seconds > 0.0):
        raise SettingsError(f"--seconds must be a positive number, got {seconds!r}.")
    return Budget(evaluations=evaluations, confirm=given["confirm"], seconds=seconds)


# -- running -----------------------------------------------------------------------------------


class ProgramRun(Run):
    """A run of a program whose output may hold outcomes."""

    mistakes = (BrokenProgramError,)
    outcomes: Outcomes

    def record(self, suggestion: Suggestion, repeat: int, outcome: CallResult) -> None:
        """Tell the optimizer an outcome, show it, and check the outcomes so far."""
        super().record(suggestion, repeat, outcome)
        self.outcomes.check()

    def done(self, suggestion: Suggestion, outcome: CallResult) -> Done:
        """Return what is shown of an evaluation, with its outcomes in words."""
        limits = self.optimizer.settings.constraints
        said = described(outcome.outcomes, limits) if outcome.value is not None else ""
        return Done(suggestion.params, outcome.value, outcome.failure, said)


def run(task: Task, jobs: int, timeout: float | None) -> Result:
    """Evaluate until the budget is spent or the stop criterion is met, and show progress."""
    optimizer = Optimizer(task.space, **task.settings)
    wanted = task.budget.evaluations
    total = None if wanted is None else wanted + task.start.runs
    made, outcomes = optimizer.n_evaluations, task.outcomes
    outcomes.know(n for t in optimizer.trials for e in t.evaluations.values() for n in e.outcomes)
    program = Program(task.template, task.read, task.processes, timeout, outcomes)
    workers = Workers(program, jobs)
    try:
        with (
            task.processes,
            watch(console(stderr=True), total, made, lambda: whole.confirming) as look,
        ):
            whole = ProgramRun(program, optimizer, task.budget, task.stop, display=look)
            whole.outcomes = outcomes
            try:
                if task.start.settings:
                    task.start.run(program, optimizer, look.evaluated)
                    outcomes.check(RUNS)
                ended = in_parallel(whole, Borrowed(workers, jobs, program), timeout=None)
            except KeyboardInterrupt as error:
                ended = whole.ended_by(error)
            finally:
                workers.shutdown(wait=False)
                _tell_late(optimizer, program)
        return Result(optimizer.recommend(), optimizer, ended)
    except (BrokenProgramError, ObjectiveError, NotReadyError) as error:
        if isinstance(error, NotReadyError) and task.start.settings:
            raise click.ClickException(UNSAFE) from error
        raise _gave_up(optimizer, task.settings["journal"]) from error
    finally:
        optimizer.close()


def _tell_late(optimizer: Optimizer, program: Program) -> None:
    """Tell the values that programs gave while the run was ending."""
    for suggestion in optimizer.open:
        for repeat in suggestion.indices:
            seed = evaluation_seed(optimizer.settings.seed, suggestion.id, repeat)
            value = program.values.get(seed)
            if value is not None and abs(value) <= LARGEST_VALUE:
                beside = program.beside[seed] or None
                optimizer.tell(suggestion, value, repeat=repeat, outcomes=beside)


def _gave_up(optimizer: Optimizer, journal: str | None) -> click.ClickException:
    """Return the error that says why a command that always fails is not run again."""
    reasons = [reason for trial in optimizer.trials for reason in trial.failures.values()]
    return click.ClickException(
        visible(
            f"The command fails every time. Correct it.{fresh_start(journal)} The last failure: "
            f"{reasons[-1] if reasons else 'none'}"
        )
    )


@click.command(
    cls=ProgramCommand,
    epilog=EXAMPLE,
    options_metavar="[OPTIONS] [FILE.toml] -- PROGRAM [ARGUMENTS]",
)
@click.argument(
    "file", required=False, is_eager=True, metavar="", callback=_read_file,
    type=click.Path(path_type=Path),
)  # fmt: skip
@click.option(
    "-p", "--parameter", "parameters", metavar="NAME=...", multiple=True,
    help="One parameter. A range is LOW:HIGH:float, LOW:HIGH:int, LOW:HIGH:log or "
    "LOW:HIGH:int:log. Choices are a,b,c. Give -p once for each parameter.",
)  # fmt: skip
@goal_options
@click.option(
    "--evaluations", type=click.IntRange(min=1), metavar="N",
    help="Total runs of the program. Failures count, and so do runs before an interruption.",
)  # fmt: skip
@click.option(
    "--seconds", type=float, metavar="S",
    help="Time that this call may take, alone or beside --evaluations. Runs under way at the end "
    "are finished.",
)  # fmt: skip
@click.option(
    "--confirm", type=click.IntRange(min=0), metavar="N",
    help="Use the last N runs to measure the leading points again.  "
    "[default: about a tenth of all runs]",
)  # fmt: skip
@click.option(
    "--repeats", default="adaptive", show_default=True, metavar="N|adaptive",
    help="Runs of the program at each point.",
)  # fmt: skip
@click.option(
    "--setup", type=float, metavar="C",
    help="Extra cost of moving to a new point, counted in runs. Needs adaptive repeats.",
)  # fmt: skip
@click.option(
    "--noise-std", type=float, metavar="S",
    help="Standard deviation of the value, if it is known. 0 says that there is no noise.",
)  # fmt: skip
@limit_options
@click.option(
    "--blocks", metavar="N|NAMES",
    help="Folds, seeds or other blocks in which each setting can be run once: their number, or "
    "names separated by commas. {block} in the command stands for the block of a run, in which the "
    "program must give the same value each time.",
)  # fmt: skip
@click.option(
    "--try-first", multiple=True, metavar="NAME=VALUE,...|FILE.csv",
    help="A setting to run before all others, such as the one in use today, or a CSV file of such "
    "settings with a column for each parameter. May be given several times.",
)  # fmt: skip
@program_options
@click.option(
    "--stop-gap",
    type=float,
    metavar="D",
    help="Stop when, with 90 % probability, no setting is better by more than D.",
)
@click.pass_context
def command(
    ctx: click.Context, /, jobs: int, journal: str | None, timeout: float | None, as_json: bool,
    **options: object,
) -> None:  # fmt: skip
    """Tune a program that takes arguments and prints a value.

    In the arguments, {NAME} stands for the value of a parameter. {seed} stands for a whole number
    that differs for each run. Write {{ and }} for literal braces. The program is started directly,
    not by a shell. An outcome with a limit is printed beside the value, as NAME=NUMBER.

    FILE.toml can hold everything instead: options by their long names, parameters in the table
    [parameters], and the program as command = [...]. Options on the command line override the file.
    """
    check_timeout(timeout)
    task = Task.by(ctx)
    with ended_like_interrupted() as came:
        try:
            result = run(task, jobs, timeout)
        except KeyboardInterrupt:
            end_interrupted(ctx, came, journal, " before anything could be recommended")
    interrupted = result.stopped_by == "interrupt"
    try:
        print_report(
            result.recommendation, result.optimizer, as_json, stopped_by=result.stopped_by,
            journal=journal,
        )  # fmt: skip
    except OSError:
        # A terminal that is closed sends SIGHUP and takes no more text.
        if not interrupted:
            raise
    if interrupted:
        end_interrupted(ctx, came, journal)
