"""`rahbo demo`: compare risk-averse and risk-neutral optimisation of a noisy function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

import rahbo
from rahbo.policy import GPUCB, Rahbo, Strategy
from rahbo.problems import Problem, sine
from rahbo.running import Result

ALPHA, REPEATS, N_INITIAL = 1.0, 10, 10
# The middle of the step of the noise variance from 0.1 to 1.1.
NOISY_VAR = 0.6
METHODS: dict[str, Strategy] = {"GP-UCB": GPUCB(), "RAHBO": Rahbo()}
RISK = rahbo.MeanVariance(ALPHA)

Say = Callable[[str, rahbo.Optimizer], None]


@dataclass(frozen=True)
class ChosenPoint:
    """A point that a method might choose, and the truth about it.

    Attributes:
        label: Which method chooses it, and why.
        x: The point.
        mean: The true mean.
        noise_var: The true noise variance.
        regret: How far its mean-variance is below the best one (eq. 4).
    """

    label: str
    x: float
    mean: float
    noise_var: float
    regret: float


@dataclass(frozen=True)
class MethodOutcome:
    """The result of one method.

    Attributes:
        name: The method.
        reported: The point it recommends.
        luckiest: The point of its largest single value.
        luckiest_value: The largest single value.
        cumulative_regret: The regret summed over the rounds after the initial design (eq. 3).
        noisy_rounds: Rounds spent where the true noise variance is above `NOISY_VAR`.
    """

    name: str
    reported: ChosenPoint
    luckiest: ChosenPoint
    luckiest_value: float
    cumulative_regret: float
    noisy_rounds: int


def run(
    problem: Problem, strategy: Strategy, rounds: int, seed: int, say: Say, name: str
) -> Result:
    """Optimise with the settings of the paper's experiments."""

    def objective(x: float, seed: int) -> float:
        return problem.sample({"x": x}, np.random.default_rng(seed))

    settings = rahbo.paper_preset(ALPHA, REPEATS, N_INITIAL) | {"strategy": strategy}
    result = rahbo.maximize(
        objective, problem.space, rounds=rounds, seed=seed,
        callback=lambda optimizer: say(name, optimizer), verbose=False, **settings,
    )  # fmt: skip
    if len(result.trials) < N_INITIAL + rounds:
        # Interrupted. A partial run is not comparable.
        raise click.Abort
    return result


def outcome(name: str, problem: Problem, result: Result) -> MethodOutcome:
    """Compare a run with the truth."""
    value, lucky = max((v, t.id) for t in result.trials for v in t.values.values())
    chosen = [t.params for t in result.trials if t.source == "strategy"]
    noise_var = problem.noise_var(np.array([[params["x"]] for params in chosen]))
    return MethodOutcome(
        name,
        reported=_chosen_point(f"{name} reports", problem, result.recommendation.params["x"]),
        luckiest=_chosen_point(
            f"{name}'s luckiest trial", problem, result.trials[lucky].params["x"]
        ),
        luckiest_value=value,
        cumulative_regret=sum(problem.regret(params, RISK) for params in chosen),
        noisy_rounds=int(np.sum(noise_var > NOISY_VAR)),
    )


def _chosen_point(label: str, problem: Problem, x: float) -> ChosenPoint:
    X = np.array([[x]])
    regret = problem.regret({"x": x}, RISK)
    return ChosenPoint(label, x, float(problem.f(X)[0]), float(problem.noise_var(X)[0]), regret)


def verdict(careless: MethodOutcome, careful: MethodOutcome, rounds: int) -> str:
    """Return two lines that compare the methods, whichever is ahead."""
    a, b = careful, careless
    ahead, behind = sorted((a, b), key=lambda o: o.cumulative_regret)
    if behind.cumulative_regret < 1.1 * ahead.cumulative_regret:
        first = f"Both methods have a similar cumulative regret, about {a.cumulative_regret:.1f}. "
    else:
        first = (
            f"The cumulative regret is {ahead.cumulative_regret:.1f} for {ahead.name} and "
            f"{behind.cumulative_regret:.1f} for {behind.name}. "
        )
    first += (
        f"Of {rounds} rounds, {b.name} spent {b.noisy_rounds} and {a.name} {a.noisy_rounds} where "
        f"the noise variance is above {NOISY_VAR:g}."
    )
    lucky = max((b, a), key=lambda o: o.luckiest_value)
    second = (
        f"The reported points are worse than the best by {b.reported.regret:.3f} ({b.name}) and "
        f"{a.reported.regret:.3f} ({a.name}). The luckiest single value, "
        f"{lucky.luckiest_value:.2f}, came from x = {lucky.luckiest.x:.3f}. The mean there is "
        f"{lucky.luckiest.mean:.2f}, and the point is worse than the best by "
        f"{lucky.luckiest.regret:.3f}."
    )
    return f"{first}\n{second}"


def table(outcomes: list[MethodOutcome]) -> Table:
    """Return a table of the points each method chose, and the truth there."""
    grid = Table(caption=f"MV = mean - {ALPHA:g} * noise variance; regret = largest MV - MV here")
    grid.add_column("point")
    for heading in ("x", "true\nmean", "true noise\nvariance", "MV\nregret", "cumulative\nregret"):
        grid.add_column(heading, justify="right")
    for o in outcomes:
        for point, total in ((o.reported, f"{o.cumulative_regret:.2f}"), (o.luckiest, "")):
            numbers = (point.x, point.mean, point.noise_var, point.regret)
            grid.add_row(point.label, *(f"{number:.3f}" for number in numbers), total)
    return grid


@contextmanager
def rounds_progress(console: Console, rounds: int) -> Iterator[Say]:
    """Show live bars on a terminal, or an occasional plain line anywhere else."""
    total = N_INITIAL + rounds

    def line(name: str, optimizer: rahbo.Optimizer) -> None:
        asked = len(optimizer.trials)
        if asked == total or asked % 20 == 0:
            console.print(f"{name:<7}{_state(optimizer)}", soft_wrap=True)

    if not console.is_terminal:
        yield line
        return
    columns = (TextColumn("{task.description:<7}"), BarColumn(), TextColumn("{task.fields[state]}"))
    with Progress(*columns, console=console) as live:
        tasks = {name: live.add_task(name, total=total, state="") for name in METHODS}

        def bar(name: str, optimizer: rahbo.Optimizer) -> None:
            done = len(optimizer.trials)
            live.update(tasks[name], completed=done, state=_state(optimizer))

        yield bar


def _state(optimizer: rahbo.Optimizer) -> str:
    tried, best = optimizer.trials[-1].params["x"], optimizer.recommend().params["x"]
    return (
        f"{optimizer.n_evaluations:>4} evaluations, tried x = {tried:.3f}, reports x = {best:.3f}"
    )


def save_picture(results: dict[str, Result], problem: Problem, out: Path) -> str:
    """Save a picture of the fits, and return a line that says where it is."""
    if find_spec("matplotlib") is None:
        return 'The picture needs matplotlib. Install it: pip install "rahbo[demo]"'
    from rahbo.plots import figure_of_fits, fit_1d

    figure = figure_of_fits(
        {name: fit_1d(result.optimizer) for name, result in results.items()},
        mean=lambda x: problem.f(x[:, None]),
        noise_var=lambda x: problem.noise_var(x[:, None]),
    )
    figure.savefig(out)
    return f"Picture of both fits: {out}"


def _checked_out(ctx: click.Context, param: click.Parameter, out: Path) -> Path:
    if out.suffix not in (".png", ".pdf", ".svg"):
        raise click.BadParameter(f"{out} must end in .png, .pdf or .svg.")
    if not out.parent.is_dir():
        raise click.BadParameter(f"The folder {out.parent} does not exist.")
    return out


@click.command()
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Random seed of the initial design and the noise.",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(min=1), default=60, show_default=True,
    help="Points chosen after the initial design.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), callback=_checked_out,
    default="rahbo-demo.png", show_default=True, help="File to save the picture to.",
)  # fmt: skip
def command(seed: int, rounds: int, out: Path) -> None:
    """Compare RAHBO with GP-UCB on a function with two maxima.

    Both maximise sin(2 pi x) on [0, 2] with 10 repeats per point and the settings of the paper.
    The maxima at 0.25 and 1.25 have the same mean. The noise variance is 0.1 at the first and 1.1
    at the second. RAHBO maximises mean - noise variance. GP-UCB maximises the mean.
    """
    console, problem = Console(highlight=False, markup=False), sine()
    console.print(
        "Maximising sin(2 pi x) on [0, 2], measured with noise. The maxima at 0.25 and 1.25 are "
        "equal, but the noise variance is 0.1 and 1.1. Each point is measured 10 times."
    )
    with rounds_progress(console, rounds) as say:
        results = {
            name: run(problem, strategy, rounds, seed, say, name)
            for name, strategy in METHODS.items()
        }
    outcomes = [outcome(name, problem, result) for name, result in results.items()]
    console.print(table(outcomes))
    careless, careful = outcomes
    console.print(verdict(careless, careful, rounds))
    console.print(save_picture(results, problem, out), soft_wrap=True)
