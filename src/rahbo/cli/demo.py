"""`rahbo demo`: what the luckiest trial of a noisy run promised, and what it truly gives."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
from rich.box import SIMPLE
from rich.table import Table

import rahbo
from rahbo.cli.tables import console
from rahbo.problems import Promise, sine
from rahbo.running import Result

PROBLEM, RISK = sine(), rahbo.MeanStd(1.0)
# Risk values are called about equal up to this difference.
ABOUT = 0.1


def run(evaluations: int, seed: int) -> Result:
    """Maximise the problem with the default settings."""

    def objective(x: float, seed: int) -> float:
        return PROBLEM.sample({"x": x}, np.random.default_rng(seed))

    result = rahbo.maximize(objective, PROBLEM.space, evaluations=evaluations, risk=RISK, seed=seed)
    if result.optimizer.n_evaluations < evaluations:
        # Interrupted. A part of a run would tell another story.
        raise click.Abort
    return result


def values_of(result: Result) -> tuple[list[float], list[float]]:
    """Return the setting of each single value, and the values."""
    pairs = [(t.params["x"], value) for t in result.trials for value in t.values.values()]
    return [x for x, _ in pairs], [value for _, value in pairs]


def answers(result: Result) -> tuple[Promise, Promise]:
    """Return the setting of the largest single value, and the recommended one."""
    x, values = values_of(result)
    top, best = int(np.argmax(values)), result.recommendation
    return (
        Promise.of(PROBLEM, x[top], values[top]),
        Promise.of(PROBLEM, best.params["x"], best.mean),
    )


def verdict(lucky: Promise, reliable: Promise, n: int) -> str:
    """Return two sentences that say what happened, whichever setting is better."""
    first = f"The luckiest of {n} trials, at x = {lucky.x:.2f}, {_described(lucky)}."
    second = f"The recommended setting, x = {reliable.x:.2f}, {_described(reliable)}"
    ahead = reliable.risk_value(RISK) - lucky.risk_value(RISK)
    if lucky.x == reliable.x:
        compared = "it is the same setting this time"
    elif abs(ahead) <= ABOUT:
        compared = "this time both are about equally good"
    else:
        compared = f"{'better' if ahead > 0.0 else 'this time worse'} by {abs(ahead):.2f}"
        compared += " in mean - standard deviation"
    return f"{first}\n{second}: {compared}."


def _described(found: Promise) -> str:
    return f"promised {found.promised:.2f} and truly gives {found.mean:.2f} ± {found.noise_std:.2f}"


def table(lucky: Promise, reliable: Promise) -> Table:
    """Return what both settings promised, and the truth there."""
    grid = Table(box=SIMPLE)
    grid.add_column("")
    for heading in ("x", "promised", "true\nmean", "true\nnoise std", "mean -\nstd"):
        grid.add_column(heading, justify="right")
    for name, found in (("luckiest trial", lucky), ("recommended", reliable)):
        numbers = (found.x, found.promised, found.mean, found.noise_std, found.risk_value(RISK))
        grid.add_row(name, *(f"{number:.2f}" for number in numbers))
    return grid


def save_picture(result: Result, lucky: Promise, reliable: Promise, out: Path) -> str:
    """Save a picture of the run, and return a line that says where it is."""
    if find_spec("matplotlib") is None:
        return 'The picture needs matplotlib. Install it: pip install "rahbo[demo]"'
    from rahbo.plots import figure_of_promises, styled

    x, values = values_of(result)
    with styled():
        figure_of_promises(PROBLEM, np.array(x), np.array(values), lucky, reliable).savefig(out)
    return f"Picture: {out}"


def _checked_out(ctx: click.Context, param: click.Parameter, out: Path) -> Path:
    if out.suffix not in (".png", ".pdf", ".svg"):
        raise click.BadParameter(f"{out} must end in .png, .pdf or .svg.")
    if not out.parent.is_dir():
        raise click.BadParameter(f"The folder {out.parent} does not exist.")
    return out


@click.command()
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Random seed of the run and of the noise.",
)  # fmt: skip
@click.option(
    "--evaluations", type=click.IntRange(min=10), default=100, show_default=True,
    help="Measurements of the run.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), callback=_checked_out,
    default="rahbo-demo.png", show_default=True, help="File to save the picture to.",
)  # fmt: skip
def command(seed: int, evaluations: int, out: Path) -> None:
    """Show what the luckiest trial promised, what it gives, and what rahbo recommends.

    One run maximises sin(2 pi x) on [0, 2], measured with noise, under mean - standard deviation.
    The maxima at 0.25 and 1.25 have the same mean, 1. The standard deviation of the noise is 0.32
    at the first and 1.05 at the second. The truth is known, so that promises can be checked.
    """
    say = console()
    say.print(
        "Maximising sin(2 pi x) on [0, 2], measured with noise. The maxima at 0.25 and 1.25 are "
        "equal, but the standard deviation of the noise is 0.32 at the first and 1.05 at the other."
    )
    result = run(evaluations, seed)
    lucky, reliable = answers(result)
    say.print(table(lucky, reliable))
    say.print(verdict(lucky, reliable, evaluations))
    say.print(save_picture(result, lucky, reliable, out), soft_wrap=True)
