"""Reports for people: tables on a terminal, and plain text anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from rahbo.analysis import SCORES, Diagnosis, Frontier, Recommendation, short
from rahbo.numerics import brief
from rahbo.optimizer import Optimizer
from rahbo.pages import visible as visible
from rahbo.risk import RiskMeasure

Report = Recommendation | Frontier | Diagnosis


def console(stderr: bool = False) -> Console:
    """Return a console that prints text as it is, so that user values are not read as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_report(report: Report, optimizer: Optimizer, out: Console) -> None:
    """Print a report and the data it is based on."""
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
        f"points, {goal} {_measure(optimizer.settings.risk)}."
    )


def _measure(risk: RiskMeasure) -> str:
    return visible(repr(risk))


def _table(report: Report) -> Group:
    if isinstance(report, Recommendation):
        return Group(*_recommendation(report))
    if isinstance(report, Frontier):
        return Group(*_frontier(report))
    return Group(*_diagnosis(report))


def _grid(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in LEFT else "right", overflow="fold")
    return table


LEFT = ("parameter", "params", "outcome", "limit", "")


def _recommendation(report: Recommendation) -> list[Table | Text]:
    point = _grid("Recommended", "parameter", "value")
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
    if report.p_best is not None:
        known.add_row("P(best)", f"{report.p_best:.2g}", "", "")
    times = f"{report.n_evaluations} time{'s' * (report.n_evaluations > 1)}"
    known.add_row("measured", f"{times}{report.elsewhere}", "", "")
    if report.blocks is not None:
        known.add_row("std between blocks", *report.blocks.std_interval.texts(report.blocks.std))
    said: list[Table | Text] = [point, known, *_limits(report), Text(str(report.gain))]
    said += [
        Text(visible(text)) for text in (report.advice, report.warning, report.unsuited) if text
    ]
    if report.runner_ups:
        heads = ("risk value", SCORES[report.rule], "expected gain", f"{level} bound of gain")
        others = _grid("Runners-up", "params", *heads)
        for other in report.runner_ups:
            gains = (brief(gain) for gain in (other.gain.expected, other.gain.bound))
            risk, score = show.text(other.risk), show.text(other.score)
            others.add_row(one_line(other.params), risk, score, *gains)
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
