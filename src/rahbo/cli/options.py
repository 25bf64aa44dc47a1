"""Options that several commands share, and the settings they stand for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from shlex import quote
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from rahbo.errors import SettingsError
from rahbo.policy import Adaptive, Repeats, as_repeats
from rahbo.risk import RISKS, RiskMeasure
from rahbo.settings import Direction

Command = TypeVar("Command", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds some options to a command, in their order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


direction_options = together(
    click.option("--maximize", is_flag=True, help="Larger values are better."),
    click.option("--minimize", is_flag=True, help="Smaller values are better."),
)
measure_options = together(
    click.option(
        "--alpha", type=float, metavar="A", help="Penalise the mean by A times the noise variance."
    ),
    click.option(
        "--kappa",
        type=float,
        metavar="K",
        help="Penalise the mean by K noise standard deviations.",
    ),
    click.option(
        "--quantile",
        type=float,
        metavar="L",
        help="Use the quantile: a share L of the values is worse.",
    ),
    click.option(
        "--shortfall",
        type=float,
        metavar="L",
        help="Use the mean of the worst values, a share L of all.",
    ),
)


def _import_each(ctx: click.Context, option: click.Parameter, names: Sequence[str]) -> object:
    """Import modules by name, also those in the folder of the command."""
    if names:
        sys.path.append(os.getcwd())
    for name in names:
        try:
            import_module(name)
        except Exception as error:
            raise SettingsError(
                f"--import {name}: the module cannot be imported: {error}. Name it as in Python, "
                "and start the command in its folder, or install it."
            ) from error
    return names


import_option = click.option(
    "--import", "modules", metavar="MODULE", multiple=True, is_eager=True, callback=_import_each,
    help="A module with classes of your own that a journal needs. Give it once for each module.",
)  # fmt: skip
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document."
)
risk_options = together(direction_options, measure_options)
goal_options = together(risk_options, json_option)


def one_of(ctx: click.Context, names: Sequence[str]) -> str | None:
    """Return the option that is given, or None; the command line wins over a file."""
    # An option with the value zero counts as given, a flag that is not set does not.
    given = [n for n in names if ctx.params[n] is not None and ctx.params[n] is not False]
    typed = [n for n in given if ctx.get_parameter_source(n) is ParameterSource.COMMANDLINE]
    chosen = typed or given
    if len(chosen) > 1:
        listed = " and ".join(f"--{name.replace('_', '-')}" for name in chosen)
        raise SettingsError(f"Only one of {listed} can be given. Choose one.")
    return chosen[0] if chosen else None


def chosen_risk(ctx: click.Context) -> RiskMeasure | None:
    """Return the risk measure that the options name, or None."""
    name = one_of(ctx, list(RISKS))
    return None if name is None else RISKS[name](ctx.params[name])


def chosen_direction(ctx: click.Context) -> Direction | None:
    """Return the direction that the options name, or None."""
    return cast(Direction | None, one_of(ctx, ["maximize", "minimize"]))


def repeats_in(repeats: str, setup: float | None) -> Repeats:
    """Return the repeats that are written as a number or as ``adaptive``."""
    if repeats == "adaptive":
        return Adaptive(setup=0.0 if setup is None else setup)
    if setup is not None:
        raise SettingsError("--setup needs --repeats adaptive. Leave one of the two options out.")
    if not (repeats.isascii() and repeats.isdecimal() and len(repeats) <= 6):
        raise SettingsError(f"--repeats must be a whole number or adaptive, got {repeats!r}.")
    return as_repeats(int(repeats))


def typed(ctx: click.Context) -> str:
    """Return the command as it was typed, with its arguments first."""
    words = ctx.command_path.split()
    for each in sorted(ctx.command.params, key=lambda each: isinstance(each, click.Option)):
        if ctx.get_parameter_source(each.name or "") is not ParameterSource.COMMANDLINE:
            continue
        given = ctx.params[each.name or ""]
        for value in given if each.multiple else [given]:
            if isinstance(each, click.Option):
                words.append(min(each.opts, key=len))
            if value is not True:
                words.append(quote(str(value)))
    return " ".join(words)
