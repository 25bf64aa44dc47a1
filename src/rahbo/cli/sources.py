"""Where past evaluations are: a journal, a CSV file or a storage of Optuna."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from rahbo.analysis import Recommendation
from rahbo.cli.options import chosen_direction, chosen_risk
from rahbo.cli.parameters import named
from rahbo.cli.results import read_results
from rahbo.cli.studies import is_sqlite, optimizer_in, recommendation_in
from rahbo.cli.tables import visible
from rahbo.errors import DataError, SettingsError
from rahbo.journal import Code, read
from rahbo.optimizer import Optimizer
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.settings import Direction
from rahbo.space import Parameter

LARGEST_FILE = 500_000_000

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("source"),
    click.option("--study", metavar="NAME", help="The study of an Optuna storage."),
    click.option(
        "--value", metavar="COLUMN", help="The measured column of a CSV file.  [default: value]"
    ),
    click.option(
        "--ignore", metavar="COLUMN", multiple=True, help="A column that is no parameter."
    ),
    click.option(
        "-p", "--parameter", "parameters", metavar="NAME=...", multiple=True,
        help="A column's range and scale, as for tune.  [default: from the data]",
    ),
)  # fmt: skip


def source_options(command: Command) -> Command:
    """SOURCE, and what must be said of it."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Asked:
    """What the command line says of a source.

    Attributes:
        risk: The measure; None for that of the source.
        direction: What is better; None for that of the source.
        study: Of an Optuna storage.
        value: The measured column of a CSV file.
        ignore: Its columns that are no parameters.
        space: Its parameters that are known better than from the data.
    """

    risk: RiskMeasure | None = None
    direction: Direction | None = None
    study: str | None = None
    value: str | None = None
    ignore: tuple[str, ...] = ()
    space: Mapping[str, Parameter] = field(default_factory=dict)

    @classmethod
    def by(cls, ctx: click.Context) -> Asked:
        """Of the options of a command."""
        given = ctx.params
        return cls(
            chosen_risk(ctx), chosen_direction(ctx), given["study"], given["value"],
            given["ignore"], dict(named(text) for text in given["parameters"]),
        )  # fmt: skip

    def refuse(self, source: str, kind: str, *names: str) -> None:
        """Refuse options that do not go with a kind of source."""
        for name in names:
            if getattr(self, name):
                option = "-p" if name == "space" else f"--{name}"
                raise SettingsError(f"{option} says nothing of {kind} such as {source}.")


def optimizer_from(source: str, asked: Asked) -> Optimizer:
    """An `Optimizer` that was told all that a source holds."""
    if _is_study(source):
        return _of_study(source, asked)
    if _first_line(Path(source)).startswith(b"{"):
        return _of_journal(source, asked)
    return _of_table(Path(source), asked)


def recommendation_from(source: str, asked: Asked) -> tuple[Recommendation, Optimizer]:
    """What a source recommends; of a study, with the parameters that it stores."""
    optimizer = optimizer_from(source, asked)
    if _is_study(source):
        settings = {"risk": optimizer.settings.risk}
        return recommendation_in(source, asked.study, **settings), optimizer
    # A measure of the user's decides whatever the strategy of a run.
    return optimizer.recommend(risk=asked.risk), optimizer


def _is_study(source: str) -> bool:
    """Whether a source is a storage of Optuna."""
    if "://" in source:
        return True
    path = Path(source)
    return _first_line(path).startswith(b'{"op_code"') or is_sqlite(path)


def _first_line(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise DataError(f"There is no file {str(path)!r}.")
        if path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path} is larger than {LARGEST_FILE} bytes. Take a part of it.")
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
    # What was asked for was valid; only points told by hand may not have been.
    known: dict[str, Any] = {**settings, "valid": None}
    if asked.risk is not None:
        known["risk"] = asked.risk
    code = [name for name, value in known.items() if isinstance(value, Code)]
    if code:
        raise SettingsError(
            f"{source} was begun with {settings[code[0]]!r}. From the command line only "
            "--alpha, --kappa, --quantile and --shortfall can take the place of a risk measure; "
            "use Python for others."
        )
    return Optimizer(**known, trials=trials)


def _of_study(source: str, asked: Asked) -> Optimizer:
    asked.refuse(source, "an Optuna storage", "value", "ignore", "space")
    settings = {} if asked.risk is None else {"risk": asked.risk}
    optimizer = optimizer_in(source, asked.study, **settings)
    _check_direction(asked, optimizer.settings.direction)
    return optimizer


def _of_table(path: Path, asked: Asked) -> Optimizer:
    asked.refuse(str(path), "a CSV file", "study")
    found = read_results(path, asked.value or "value", asked.ignore, asked.space)
    points = {point: dict(zip(found.space, point, strict=True)) for point in found.values}
    optimizer = Optimizer(
        found.space,
        risk=asked.risk or MeanVariance(1.0),
        direction=asked.direction or "maximize",
        # Of the draws that intervals are made from: the same table gives the same report.
        seed=0,
        data=[(points[point], values) for point, values in found.values.items()],
    )
    for point in found.failures:
        optimizer.tell_failure(dict(zip(found.space, point, strict=True)), "no value")
    if found.constant:
        constant = ", ".join(found.constant)
        click.echo(visible(f"Columns that never vary are left out: {constant}."), err=True)
    return optimizer


def _check_direction(asked: Asked, direction: Direction) -> None:
    if asked.direction not in (None, direction):
        raise SettingsError(
            f"The source was made to {direction}, so that it cannot be read to {asked.direction}. "
            "Leave that out."
        )
