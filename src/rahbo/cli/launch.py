"""What the commands that run programs share: options, the program after ``--``, and signals."""

from __future__ import annotations

import shlex
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import TIMEOUT_MAX
from typing import NoReturn

import click

from rahbo.cli.limits import Outcomes
from rahbo.cli.options import one_of, together
from rahbo.cli.printed import last_number
from rahbo.cli.processes import Processes
from rahbo.cli.template import Template
from rahbo.cli.values import Reader, json_reader, regex_reader
from rahbo.errors import SettingsError

# Signals that end a program by default and that people or job schedulers send.
ENDING = (
    "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU", "SIGBREAK",
)  # fmt: skip
READERS = ("value_regex", "value_json")
PROGRAM = "rahbo.cli.program"
# The ending of a file with options.
TOML = ".toml"

program_options = together(
    click.option(
        "--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
        help="Number of programs to run at a time.",
    ),
    click.option(
        "--journal", metavar="FILE",
        help="Record the run in this file. Give the same command again to resume the run.",
    ),
    click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Random seed."),
    click.option(
        "--timeout", type=float, metavar="SECONDS",
        help="Kill longer runs and count them as failures.",
    ),
    click.option(
        "--value-regex", metavar="REGEX",
        help="Read the value from the last match of this pattern. If the pattern has groups, the "
        "first group is the value.  [default: the last number in the output]",
    ),
    click.option(
        "--value-json", metavar="KEY",
        help="Read the value from this key, such as loss or test.loss. It is looked up in the "
        "output if that is JSON, else in the last line that is JSON.",
    ),
)  # fmt: skip


class ProgramCommand(click.Command):
    """A command that leaves everything after ``--``, the program to run, unparsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments before ``--``."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[PROGRAM] = tuple(args[end + 1 :])
        self._check_words(ctx, args[:end])
        return super().parse_args(ctx, args[:end])

    def _check_words(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse words before ``--`` that look like a program or its arguments.

        click would complain about something else, such as an option of the program.
        """
        words = self._after_options(ctx, args)
        takes_file = any(isinstance(param, click.Argument) for param in self.params)
        if words and takes_file and not _is_program(words[0]):
            more = self._after_options(ctx, words[1:])
            words = [] if not more else more if words[0].endswith(TOML) else words
        if words and not {*args} & {*ctx.help_option_names}:
            before = [ctx.command_path, *map(shlex.quote, args[: len(args) - len(words)])]
            program = shlex.join([*words, *ctx.meta[PROGRAM]])
            raise SettingsError(
                f"Only options{' and FILE.toml' if takes_file else ''} may stand before --, got "
                f"{words[0]!r}. Put -- before the program: {' '.join(before)} -- {program}"
            )

    def _after_options(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments from the first that is neither an option nor the value of one."""
        mixed, ctx.allow_interspersed_args = ctx.allow_interspersed_args, False
        try:
            given, words, _ = self.make_parser(ctx).parse_args(list(args))
        except click.UsageError:
            # An option is wrong, and click says so.
            return []
        finally:
            ctx.allow_interspersed_args = mixed
        files = [param for param in self.params if isinstance(param, click.Argument)]
        n_taken = sum(isinstance(given.get(file.name or ""), str) for file in files)
        return args[len(args) - len(words) - n_taken :]


def _is_program(word: str) -> bool:
    """Return whether a word before ``--`` is more likely a program than a file of options."""
    return not word.endswith(TOML) and ("{" in word or shutil.which(word) is not None)


def check_timeout(timeout: float | None) -> None:
    """Raise an error unless the time-out is a number of seconds that threads can wait."""
    if timeout is not None and not 0.0 < timeout <= TIMEOUT_MAX:
        raise SettingsError(
            f"--timeout must be a number of seconds from 0 to {TIMEOUT_MAX:g}, got {timeout!r}."
        )


def fresh_start(journal: str | None) -> str:
    """Return what to do about failures that a journal keeps."""
    if journal is None:
        return ""
    return f" The failures are kept in {journal}, so use another journal for a fresh start."


def end_interrupted(
    ctx: click.Context, came: Sequence[int], journal: str | None, before: str = ""
) -> NoReturn:
    """Say how to go on, and exit like a program that was ended by the first of these signals."""
    again = " Run the same command again to resume." if journal else ""
    click.echo(f"Interrupted{before}.{again}", err=True)
    ctx.exit(128 + (came or [signal.SIGINT])[0])


def check_program(template: Template) -> None:
    """Raise an error if the program of a command cannot be found."""
    program = template.filled(dict.fromkeys(template.names, ""))[0]
    if shutil.which(program) is None:
        raise SettingsError(
            f"There is no program {program!r}, or you may not run it. Check its name and "
            "permissions."
        )


def chosen_reader(ctx: click.Context, processes: Processes, outcomes: Outcomes) -> Reader:
    """Return what finds the value in an output, as the options say."""
    name = one_of(ctx, READERS)
    if name is None:
        return lambda output: last_number(outcomes.without(output))
    if name == "value_json":
        return json_reader(ctx.params[name])
    return regex_reader(ctx.params[name], processes)


@contextmanager
def ended_like_interrupted() -> Iterator[list[int]]:
    """Let signals end the run as Ctrl-C does, and yield the list of signals received.

    A signal that is ignored, such as SIGHUP under nohup, stays ignored.
    """
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        came.append(number)
        # A second signal does not hurry the end, which takes seconds at most. A third one does.
        if len(came) != 2:
            raise KeyboardInterrupt

    usual = (signal.SIG_DFL, signal.default_int_handler)
    numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *numbers)}
    ours = {number: handler for number, handler in before.items() if handler in usual}
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
