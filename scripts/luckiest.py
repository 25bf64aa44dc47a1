"""Draw why the luckiest trial is the wrong answer, and count how often it is.

    python scripts/luckiest.py --out docs/figures/luckiest.png

A table of 100 trials of the sine problem at random points, one number each. From the same table
two answers: the trial with the largest number, and what rahbo recommends. Draws one table and
prints the averages over several.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import rahbo
from rahbo.numerics import Array
from rahbo.plots.style import COLORS, GREY, INK, legend_below, styled
from rahbo.problems import sine

PROBLEM, TRIALS, NOISY_FROM = sine(), 100, 1.0


@dataclass(frozen=True)
class Answer:
    """A point that someone settles on.

    Attributes:
        x: The point.
        promised: What it is thought to give.
        mean: What it gives on average.
        noise_std: How much single outcomes differ from that.
    """

    x: float
    promised: float
    mean: float
    noise_std: float


def table(seed: int) -> tuple[Array, Array]:
    """Points ``(n,)`` and one value at each ``(n,)``."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 2.0, TRIALS)
    return x, np.array([PROBLEM.sample({"x": float(at)}, rng) for at in x])


def answers(x: Array, y: Array) -> tuple[Answer, Answer]:
    """The luckiest trial, and the recommendation from the same table."""
    data = [({"x": float(at)}, float(value)) for at, value in zip(x, y, strict=True)]
    best = rahbo.Optimizer(PROBLEM.space, data=data, seed=0).recommend()
    return _answer(x[np.argmax(y)], y.max()), _answer(best.params["x"], best.mean)


def _answer(x: float, promised: float) -> Answer:
    X = np.array([[x]])
    noise_std = float(np.sqrt(PROBLEM.noise_var(X)[0]))
    return Answer(float(x), float(promised), float(PROBLEM.f(X)[0]), noise_std)


def draw_table(ax: Axes, x: Array, y: Array, lucky: Answer, reliable: Answer) -> None:
    """Every trial, the truth behind them, and the two answers."""
    grid = np.linspace(0.0, 2.0, 400)[:, None]
    mean, std = PROBLEM.f(grid), np.sqrt(PROBLEM.noise_var(grid))
    ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color=GREY, alpha=0.15, lw=0)
    ax.plot(grid[:, 0], mean, color=GREY, lw=1.2, label="true mean, ± 2 noise std")
    ax.plot(x, y, ".", color=INK, ms=4, label=f"{len(x)} trials")
    ax.plot(lucky.x, lucky.promised, "*", color=COLORS["gpucb"], ms=13, label="the luckiest trial")
    ax.plot(reliable.x, reliable.promised, "o", color=COLORS["rahbo"], ms=9, label="recommended")
    ax.set(xlabel="setting x", ylabel="value", title="One table of trials, two answers")


def draw_outcomes(ax: Axes, lucky: Answer, reliable: Answer) -> None:
    """What 2,000 further measurements at each answer give, and what was promised."""
    rng, bins = np.random.default_rng(1), np.linspace(-3.2, 4.6, 66)
    for answer, color, height in (
        (lucky, COLORS["gpucb"], 0.88),
        (reliable, COLORS["rahbo"], 0.06),
    ):
        values = answer.mean + answer.noise_std * rng.standard_normal(2000)
        ax.hist(values, bins, orientation="horizontal", color=color, alpha=0.55)
        ax.axhline(answer.promised, color=color, ls="--", lw=1.4)
        said = f"promised {answer.promised:.1f}, gives {answer.mean:.1f} ± {answer.noise_std:.1f}"
        ax.text(0.98, height, said, transform=ax.transAxes, color=color, ha="right")
    ax.set(xlabel="of 2,000 new measurements", title="What each then gives")


def picture(seed: int) -> Figure:
    """Both panels for one table."""
    x, y = table(seed)
    lucky, reliable = answers(x, y)
    with styled():
        figure = Figure(figsize=(8.2, 3.5), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        draw_table(left, x, y, lucky, reliable)
        draw_outcomes(right, lucky, reliable)
        legend_below(figure, [left])
    return figure


def count(seeds: int) -> str:
    """Averages over tables, as the rows of a Markdown table."""
    pairs = [answers(*table(seed)) for seed in range(seeds)]
    lines = []
    for name, found in zip(
        ("luckiest trial", "recommended"), zip(*pairs, strict=True), strict=True
    ):
        noisy = sum(answer.x > NOISY_FROM for answer in found)
        promised, mean, std = (
            np.mean([getattr(answer, field) for answer in found])
            for field in ("promised", "mean", "noise_std")
        )
        lines.append(f"| {name} | {promised:.2f} | {mean:.2f} | {std:.2f} | {noisy} of {seeds} |")
    return "\n".join(lines)


def main() -> None:
    """Draw and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("luckiest.png"))
    parser.add_argument("--seed", type=int, default=0, help="of the table that is drawn")
    parser.add_argument("--seeds", type=int, default=20, help="tables to average over")
    options = parser.parse_args()
    with styled():
        picture(options.seed).savefig(options.out)
    print("| | promised | gives on average | noise std | in the noisy half |")
    print(count(options.seeds))


if __name__ == "__main__":
    main()
