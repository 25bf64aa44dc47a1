"""A table of noisy values, two settings to settle on, and what each of them then gives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rahbo.numerics import Array
from rahbo.plots.style import COLORS, GREY, INK, legend_below, styled
from rahbo.problems import Problem, Promise

# How often each setting is measured again, and in how many bins the values are counted.
AGAIN, BINS = 2000, 66
# The luckiest trial and the recommended setting: colour, mark, size of the mark, place of the text.
LOOKS = ((COLORS["gpucb"], "*", 13, 0.94), (COLORS["rahbo"], "o", 9, 0.03))


def draw_trials(
    ax: Axes, problem: Problem, x: Array, y: Array, promises: Mapping[str, Promise]
) -> None:
    """Draw all values, the truth behind them, and what two settings promised.

    Args:
        ax: The axes.
        problem: A problem with one parameter.
        x: The setting of each value, ``(n,)``.
        y: The values, ``(n,)``.
        promises: The luckiest trial and the recommended setting, by their labels.
    """
    (kind,) = problem.space.values()
    grid = np.linspace(kind.low, kind.high, 400)[:, None]
    mean, std = problem.f(grid), np.sqrt(problem.noise_var(grid))
    ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color=GREY, alpha=0.15, lw=0)
    ax.plot(grid[:, 0], mean, color=GREY, lw=1.2, label="true mean, ± 2 noise std")
    ax.plot(x, y, ".", color=INK, ms=4, label=f"{len(x)} trials")
    for (label, promise), (color, mark, size, _) in zip(promises.items(), LOOKS, strict=True):
        ax.plot(promise.x, promise.promised, mark, color=color, ms=size, label=label)
    ax.set(xlabel="setting x", ylabel="value", title="One table of trials, two answers")


def draw_outcomes(ax: Axes, promises: Mapping[str, Promise]) -> None:
    """Draw what many new measurements at each setting give, and what was promised."""
    rng = np.random.default_rng(1)
    drawn = [p.mean + p.noise_std * rng.standard_normal(AGAIN) for p in promises.values()]
    low, high = np.quantile(drawn, [5e-4, 1.0 - 5e-4])
    bins = np.linspace(low, high, BINS).tolist()
    for values, promise, (color, *_, height) in zip(drawn, promises.values(), LOOKS, strict=True):
        ax.hist(values, bins, orientation="horizontal", color=color, alpha=0.55)
        ax.axhline(promise.promised, color=color, ls="--", lw=1.4)
        gives = f"gives {promise.mean:.1f} ± {promise.noise_std:.1f}"
        said = f"promised {promise.promised:.1f}, {gives}"
        ax.text(0.98, height, said, transform=ax.transAxes, color=color, ha="right")
    ax.set(xlabel=f"of {AGAIN:,} new measurements", title="What each then gives")


def figure_of_promises(
    problem: Problem, x: Array, y: Array, lucky: Promise, reliable: Promise
) -> Figure:
    """Return a figure of a table of values and of what its two answers then give.

    Args:
        problem: A problem with one parameter.
        x: The setting of each value, ``(n,)``.
        y: The values, ``(n,)``.
        lucky: The setting of the largest value, which that value promised.
        reliable: The recommended setting.
    """
    promises = {"the luckiest trial": lucky, "recommended": reliable}
    with styled():
        figure = Figure(figsize=(8.2, 3.5), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        draw_trials(left, problem, x, y, promises)
        draw_outcomes(right, promises)
        low, high = left.get_ylim()
        # Room for the text of the right panel above and below everything.
        left.set_ylim(low - 0.06 * (high - low), high + 0.08 * (high - low))
        legend_below(figure, [left])
    return figure
