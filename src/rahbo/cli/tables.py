"""Reports for people: tables on a terminal, and plain text anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.box import SIMPLE
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from rahbo.analysis import SCORES, Diagnosis, Frontier, Recommendation, short
from rahbo.cli.documents import about, document
from rahbo.optimizer import Optimizer
from rahbo.pages import visible as visible

Report = Recommendation | Frontier | Diagnosis


def console(stderr: bool = False) -> Console:
    """Return a console that prints text as it is, so that user values are not read as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_report(
    report: Report, optimizer: Optimizer, as_json: bool = False, **more: object
) -> None:
    """Print a report and the data it is based on, or a document of them and of more."""
    if as_json:
        kind = type(report).__name__.lower()
        click.echo(document(**{kind: report}, about=about(optimizer), **more))
    else:
        show(report, optimizer, console())


def show(report: Report, optimizer: Optimizer, out: Console) -> None:
    """Print a report on a console."""
    basis = _about(optimizer)
    if out.is_terminal:
        out.print(_table(report), basis)
    else:
        out.print(visible(f"{report}\n\n{basis}"), soft_wrap=True)


def one_line(params: Mapping[str, Any]) -> str:
    """Return parameters in one line."""
    return visible(", ".join(f"{name}={short(value)}" for name, value in params.items()))


def _about(optimizer: Optimizer) -> str:
    failed = sum(len(trial.failures) for trial in optimizer.trials)
    lost = f" ({failed} failed)" if failed else ""
    goal = "maximising" if optimizer.settings.sign > 0 else "minimising"
    return (
        f"Based on {optimizer.n_evaluations} evaluations{lost} at {optimizer.observations.n} "
        f"points, {goal} {visible(repr(optimizer.settings.risk))}."
    )


def _table(report: Report) -> Group:
    if isinstance(report, Recommendation):
        return Group(*_recommendation(report))
    return Group(*(_frontier(report) if isinstance(report, Frontier) else _diagnosis(report)))


def _grid(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in LEFT else "right", overflow="fold")
    return table


LEFT = ("parameter", "params", "outcome", "limit", "")


def _recommendation(report: Recommendation) -> list[Table | Text]:
    point = _grid(f"Recommended ({report.tried_in})", "parameter", "value")
    for name, value in report.params.items():
        point.add_row(visible(name), visible(short(value)))
    level = f"{100 * report.level:g} %"
    known = _grid("Estimates", "", "estimate", f"{level} interval from", "to")
    show = report.risk_digits
    for row in report.estimates:
        known.add_row(*row)
    known.add_row("pessimistic value", show.text(report.pessimistic), "", "")
    if report.rule != "pessimistic":
        known.add_row(SCORES[report.rule], show.text(report.score), "", "")
    known.add_row("measured", report.measured, "", "")
    if report.blocks is not None:
        known.add_row("std between blocks", *report.blocks.std_interval.texts(report.blocks.std))
    said: list[Table | Text] = [point, known, *_limits(report)]
    said += [Text(visible(text)) for text in report.sentences]
    if report.runner_ups:
        heads = (SCORES[report.rule], "risk value", "expected gain", f"{level} bound of gain")
        others = _grid("Runners-up", "params", *heads)
        names = ["the recommended one", *(one_line(other.params) for other in report.runner_ups)]
        for name, one in zip(names, report.compared, strict=True):
            others.add_row(name, *one[1:])
        said.append(others)
    return said


def _limits(report: Recommendation) -> list[Table | Text]:
    """Return the outcomes that have limits, and whether they keep them; nothing without them."""
    if not report.constraints:
        return []
    level = f"{100 * report.level:g} %"
    table = _grid("Limits", "", "quantile", f"{level} interval from", "to", "pessimistic")
    for check in report.constraints:
        numbers = (check.quantile, *check.interval, check.pessimistic)
        table.add_row(visible(check.name), *map(check.digits.text, numbers))
    return [table, *(Text(visible(check.verdict)) for check in report.constraints)]


def _frontier(report: Frontier) -> list[Table | Text]:
    table = _grid(
        "What each alpha would report", "alpha from", "to", "mean", "noise std", "evaluated",
        "params",
    )  # fmt: skip
    for choice in report.choices:
        mean, noise_std, _ = choice.prediction.estimates
        table.add_row(
            f"{choice.alpha_from:.4g}", f"{choice.alpha_to:.4g}", mean.value, noise_std.value,
            str(choice.n_evaluations), one_line(choice.prediction.params),
        )  # fmt: skip
    said = [report.own, *report.limited]
    return [table, *(Text(visible(text)) for text in said if text)]


def _diagnosis(report: Diagnosis) -> list[Text]:
    lines = visible(str(report)).splitlines()
    return [Text(line, style="" if line.startswith(" ") else "bold") for line in lines]
