"""The command line. Each command is a module of its own, loaded when the command is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rahbo import __version__
from rahbo.errors import (
    DataError,
    JournalError,
    NotReadyError,
    RahboError,
    SettingsError,
    SpaceError,
)

NEEDED = ("click", "rich")
COMMANDS = ("demo", "reproduce", "tune", "recommend", "frontier", "doctor", "report", "watch")
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

    @click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
    @click.version_option(__version__, prog_name="rahbo")
    def rahbo() -> None:
        """Optimise objectives that are noisy and expensive to evaluate."""

    return rahbo


def _refuse() -> None:
    """Exit with a message that says which packages to install."""
    missing = " and ".join(name for name in NEEDED if find_spec(name) is None)
    sys.exit(f'The rahbo command needs {missing}. Install with: pip install "rahbo[cli]"')


main = _group() if all(find_spec(name) for name in NEEDED) else _refuse
