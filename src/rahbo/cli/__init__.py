"""The command line. Each command is a module of its own, loaded when the command is called."""

from __future__ import annotations

import errno
import io
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn, TextIO, cast

from rahbo import __version__
from rahbo.cli.streams import CheckedFile, QuietFile, let_go
from rahbo.errors import (
    DataError,
    JournalError,
    NotReadyError,
    RahboError,
    SettingsError,
    SpaceError,
)

NEEDED = ("click", "rich")
COMMANDS = (
    "demo",
    "reproduce",
    "tune",
    "race",
    "recommend",
    "frontier",
    "doctor",
    "report",
    "watch",
    "lab",
)
# Errors in the user's input end with exit code 2, all others with 1.
INPUT = (DataError, JournalError, NotReadyError, SettingsError, SpaceError)


def _group() -> Callable[..., Any]:
    """Return the group of all commands; module ``rahbo.cli.NAME`` defines each as ``command``."""
    import click

    class BadInput(click.ClickException):
        exit_code = 2

    class Lazy(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(COMMANDS)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in COMMANDS:
                return None
            command: click.Command = import_module(f"rahbo.cli.{cmd_name}").command
            return command

        def invoke(self, ctx: click.Context) -> Any:
            try:
                return super().invoke(ctx)
            except RahboError as error:
                kind = BadInput if isinstance(error, INPUT) else click.ClickException
                raise kind(str(error)) from error
            except KeyboardInterrupt:
                # click would exit with 1, as after an error.
                click.echo("Interrupted.", err=True)
                ctx.exit(128 + signal.SIGINT)

        def main(self, *args: Any, **keywords: Any) -> Any:
            return _with_output(super().main, *args, **keywords)

    @click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
    @click.version_option(__version__, prog_name="rahbo")
    def rahbo() -> None:
        """Optimise objectives that are noisy and expensive to evaluate."""

    return rahbo


def _with_output(main: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call a function that prints, and exit with a sentence if its output cannot be written.

    Messages on stderr are dropped if they cannot be written.
    """
    out, messages = sys.stdout, sys.stderr
    for stream in (out, messages):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal cannot show must not end the command.
            stream.reconfigure(errors="backslashreplace")
    checked = CheckedFile(out)
    # A stream that was closed before the start is None.
    sys.stdout = cast(TextIO, out and checked)
    sys.stderr = cast(TextIO, messages and QuietFile(messages))
    try:
        returned = main(*args, **keywords)
        if out is not None:
            checked.flush()
        return returned
    except SystemExit as ended:
        with suppress(OSError, AttributeError, ValueError):
            checked.flush()
        if ended.code or checked.error is None:
            raise
        _fail(checked.error, checked)
    except OSError as error:
        _fail(error, checked)
    finally:
        sys.stdout, sys.stderr = out, messages
        let_go(out)
        let_go(messages)


def _fail(error: OSError, out: CheckedFile) -> NoReturn:
    """Exit after an error of the output, or of a file that the command reads or writes."""
    if out.error is None:
        print(f"Error: {error}", file=sys.stderr)
    elif out.error.errno != errno.EPIPE:
        print(f"Error: The output cannot be written: {out.error.strerror}.", file=sys.stderr)
    sys.exit(1)


def _refuse() -> None:
    """Exit with a message that says which packages to install."""
    missing = " and ".join(name for name in NEEDED if find_spec(name) is None)
    sys.exit(f'The rahbo command needs {missing}. Install with: pip install "rahbo[cli]"')


main = _group() if all(find_spec(name) for name in NEEDED) else _refuse
