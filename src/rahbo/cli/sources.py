"""Sources of past evaluations: a journal, a CSV file or an Optuna storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from shlex import quote

import click

from rahbo.analysis import Numbers, Recommendation
from rahbo.cli.conditions import read_context, with_conditions, written_context
from rahbo.cli.options import (
    chosen_direction,
    chosen_risk,
    import_option,
    together,
    typed,
)
from rahbo.cli.parameters import of_column
from rahbo.cli.results import results_in
from rahbo.cli.sheets import read_sheet
from rahbo.cli.studies import hidden, is_sqlite, optimizer_in, recommendation_in
from rahbo.cli.tables import visible
from rahbo.errors import DataError, SettingsError
from rahbo.journal import read
from rahbo.optimizer import Optimizer
from rahbo.pages import optimizer_of
from rahbo.risk import DEFAULT_RISK, RiskMeasure
from rahbo.settings import Direction, Keywords
from rahbo.space import Parameter

LARGEST_FILE = 500_000_000

source_options = together(
    click.argument("source"),
    click.option("--study", metavar="NAME", help="The study in an Optuna storage."),
    click.option(
        "--value", metavar="COLUMN", help="The measured column of a CSV file.  [default: value]"
    ),
    click.option(
        "--ignore", metavar="COLUMN", multiple=True,
        help="A CSV column that is not a parameter. Give it once for each column.",
    ),
    click.option(
        "-p", "--parameter", "parameters", metavar="COLUMN[=...]", multiple=True,
        help="A CSV column that is a parameter, with its range and scale as for tune.  "
        "[default range: from the data]",
    ),
    import_option,
)  # fmt: skip


class OfSource(click.Command):
    """A command that takes a source. It says what to type for ``--maximize COLUMN``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with a hint if a direction is followed by a name."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            for flag, name in pairwise(given):
                if flag in ("--maximize", "--minimize") and f"({name})" in error.message:
                    raise click.UsageError(
                        f"{error.message}. {flag} takes no name. If {name!r} is the measured "
                        f"column, write: --value {quote(name)} {flag}",
                        ctx,
                    ) from error
            raise


@dataclass(frozen=True)
class Asked:
    """The options that describe a source.

    Attributes:
        risk: The risk measure; None to use the source's own.
        direction: Whether larger or smaller values are better; None to use the source's own.
        study: The name of the study in an Optuna storage.
        value: The measured column of a CSV file.
        ignore: Columns of a CSV file that are not parameters.
        space: Columns of a CSV file that are parameters, and the range and scale of each; None to
            take them from the file.
        typed: The command as it was typed.
        context: The conditions to decide for, as text. In a CSV file their columns are conditions.
    """

    risk: RiskMeasure | None = None
    direction: Direction | None = None
    study: str | None = None
    value: str | None = None
    ignore: tuple[str, ...] = ()
    space: Mapping[str, Parameter | None] = field(default_factory=dict)
    typed: str = "rahbo recommend FILE"
    context: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def by(cls, ctx: click.Context) -> Asked:
        """Return the record of a command's options."""
        given = ctx.params
        space: dict[str, Parameter | None] = {}
        for name, parameter in map(of_column, given["parameters"]):
            if name in space:
                raise SettingsError(f"-p names the column {name!r} twice. Drop one of the two.")
            space[name] = parameter
        return cls(
            chosen_risk(ctx), chosen_direction(ctx), given["study"], given["value"],
            given["ignore"], space, typed(ctx), written_context(given.get("context", ())),
        )  # fmt: skip

    def refuse(self, source: str, kind: str, *names: str) -> None:
        """Refuse options that do not go with a kind of source."""
        for name in names:
            if getattr(self, name):
                option = "-p" if name == "space" else f"--{name}"
                raise SettingsError(
                    f"{option} does not apply to {kind} such as {hidden(source)}. Leave it out."
                )


def optimizer_from(source: str, asked: Asked) -> Optimizer:
    """Return an `Optimizer` that was told all evaluations of a source."""
    if _is_study(source):
        return _of_study(source, asked)
    if _first_line(Path(source)).startswith(b"{"):
        return _of_journal(source, asked)
    return _of_table(Path(source), asked)


def recommendation_from(source: str, asked: Asked) -> tuple[Recommendation, Optimizer]:
    """Return the recommendation for a source; for a study, with parameters as it stores them."""
    optimizer = optimizer_from(source, asked)
    if _is_study(source):
        risk = optimizer.settings.risk
        return recommendation_in(source, asked.study, risk=risk), optimizer
    # If the user names a risk measure, it decides, whatever the strategy of the run.
    context = read_context(optimizer.settings.space, asked.context)
    return optimizer.recommend(risk=asked.risk, context=context), optimizer


def _is_study(source: str) -> bool:
    """Return whether a source is an Optuna storage."""
    if "://" in source:
        return True
    path = Path(source)
    return _first_line(path).startswith(b'{"op_code"') or is_sqlite(path)


def _first_line(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise DataError(f"There is no file {hidden(str(path))!r}. Check the name.")
        if path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path} is larger than {LARGEST_FILE} bytes. Use only a part of it.")
        with path.open("rb") as file:
            return file.readline(100)
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{str(path)!r} cannot be read: {error}.") from error


def _of_journal(source: str, asked: Asked) -> Optimizer:
    asked.refuse(source, "a journal", "study", "value", "ignore", "space")
    settings, trials = read(source)
    _check_direction(asked, settings["direction"])
    return optimizer_of(settings, trials, asked.risk, source)


def _of_study(source: str, asked: Asked) -> Optimizer:
    asked.refuse(source, "an Optuna storage", "value", "ignore", "space", "context")
    settings: Keywords = {} if asked.risk is None else {"risk": asked.risk}
    optimizer = optimizer_in(source, asked.study, **settings)
    _check_direction(asked, optimizer.settings.direction)
    return optimizer


def _of_table(path: Path, asked: Asked) -> Optimizer:
    asked.refuse(str(path), "a CSV file", "study")
    sheet = read_sheet(path, asked.value, asked.ignore, asked.space)
    if asked.direction is None:
        raise SettingsError(
            f"Are larger or smaller values of {sheet.value!r} better? A CSV file does not say. "
            f"Use one of these two commands:\n  {asked.typed} --maximize\n"
            f"  {asked.typed} --minimize"
        )
    found = results_in(sheet, asked.space)
    points = {point: dict(zip(found.space, point, strict=True)) for point in found.values}
    optimizer = Optimizer(
        with_conditions(found.space, asked.context),
        risk=asked.risk or DEFAULT_RISK,
        direction=asked.direction,
        # Seeds the draws behind the intervals, so that the same table gives the same report.
        seed=0,
        data=[(points[point], values) for point, values in found.values.items()],
    )
    optimizer.numbers = Numbers("row", dict(enumerate(found.rows.values())))
    for point in found.failures:
        optimizer.tell_failure(dict(zip(found.space, point, strict=True)), "no value")
    click.echo(visible(found.said), err=True)
    return optimizer


def _check_direction(asked: Asked, direction: Direction) -> None:
    if asked.direction not in (None, direction):
        raise SettingsError(
            f"The source must be read with its own direction, {direction}, got "
            f"--{asked.direction}. Leave it out."
        )
