"""The random-forest problem: its transactions over time, and the results of all settings.

Notation: a setting is a row (n_estimators, max_features, max_depth). ``f`` and ``noise_var`` are
mean and sample variance of its five fold scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rahbo.errors import SettingsError
from rahbo.numerics import Array
from rahbo.plots.paper.alphas import Points
from rahbo.plots.style import FIELD, GREY, INK, PANEL, legend_below, panels, styled
from rahbo.problems import Problem, Timeline
from rahbo.risk import MeanVariance
from rahbo.space import Int

HOUR = 3600.0
FRAUD, OTHER, SHADE = "#D55E00", "#0072B2", "#E8E8E8"
# Colours of the same palette that no method uses, and a marker for each.
BEST_COLORS, BEST_MARKERS = ("#E69F00", "#CC79A7", "#56B4E9", "#F0E442"), "s*D^"
HEXAGONS = 60


def figure_of_timeline(counts: Timeline) -> Figure:
    """Draw non-fraud and fraud transactions by hour, with the training half and the folds."""
    with styled():
        figure, ((left, right),) = panels(1, 2)
        figure.set_size_inches(3.0 * PANEL[0], 1.15 * PANEL[1])
        draw_counts(counts, counts.other, left, OTHER).set_title("non-fraud", pad=18)
        draw_counts(counts, counts.fraud, right, FRAUD).set_title("fraud", pad=18)
        left.set_ylabel("transactions per hour")
    return figure


def draw_counts(counts: Timeline, of_class: Sequence[int], ax: Axes, color: str) -> Axes:
    """Draw one class by hour, with numbered folds, of which every other one is shaded."""
    width = counts.bin_seconds / HOUR
    edges = width * np.arange(len(of_class) + 1)
    ax.stairs(of_class, edges, fill=True, color=color, alpha=0.75, zorder=2)
    ends = [0.0, *(second / HOUR for second in counts.folds)]
    for i, (start, end) in enumerate(pairwise(ends)):
        if i % 2:
            ax.axvspan(start, end, color=SHADE, linewidth=0, zorder=0)
        ax.annotate(
            {0: "training", 1: "fold 1"}.get(i, str(i)), ((start + end) / 2, 1.0),
            xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
            ha="center", va="bottom", color=INK,
        )  # fmt: skip
    ax.axvline(ends[1], color=INK, linewidth=1.0, zorder=3)
    ax.set_xlim(0.0, edges[-1])
    ax.set_xticks(np.arange(0.0, edges[-1] + 1.0, 12.0))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("hours since the first transaction")
    return ax


@dataclass(frozen=True, eq=False)
class Best:
    """The best setting for one risk coefficient, and its neighbours.

    A neighbour differs from the best setting by at most one in each parameter.

    Attributes:
        params: The best setting.
        there: Mean and noise variance of the best setting.
        around: Mean and noise variance of its neighbours.
        loss: How much smaller each neighbour's mean-variance is than the best one, ``(m,)``.
    """

    params: Mapping[str, float | int]
    there: Points
    around: Points
    loss: Array


@dataclass(frozen=True, eq=False)
class ForestResults:
    """Every setting of a problem, and the best of them by risk coefficient."""

    every: Points
    best: Mapping[float, Best]


def results(problem: Problem, alphas: Sequence[float]) -> ForestResults:
    """Evaluate a problem of whole numbers at every point."""
    axes = [_whole_numbers(kind) for kind in problem.space.values()]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    return ForestResults(_points(problem, X), {alpha: _best(problem, alpha) for alpha in alphas})


def _best(problem: Problem, alpha: float) -> Best:
    risk = MeanVariance(alpha)
    best = problem.optimum(risk)
    row = problem.params_to_row(best.params)
    steps = np.array([step for step in product((-1, 0, 1), repeat=len(row)) if any(step)])
    low, high = np.array([(kind.low, kind.high) for kind in problem.space.values()]).T
    near = row + steps
    near = near[np.all((near >= low) & (near <= high), axis=1)]
    loss = best.value - problem.risk_value(near, risk)
    return Best(best.params, _points(problem, row[None]), _points(problem, near), loss)


def _points(problem: Problem, X: Array) -> Points:
    return Points(problem.f(X), problem.noise_var(X))


def _whole_numbers(kind: object) -> Array:
    if not isinstance(kind, Int):
        raise SettingsError(f"This picture needs Int parameters only, got {kind!r}.")
    return np.arange(kind.low, kind.high + 1, dtype=np.float64)


def figure_of_results(record: ForestResults) -> Figure:
    """Draw mean against fold variance of all settings, and an enlarged view of the best ones."""
    with styled():
        figure, ((left, right),) = panels(1, 2)
        figure.set_size_inches(3.0 * PANEL[0], 1.55 * PANEL[1])
        draw_best_settings(record, right)
        draw_every_setting(record, left)
        (x0, x1), (y0, y1) = right.get_xlim(), right.get_ylim()
        left.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, color=INK, linewidth=0.8))
        for ax in (left, right):
            ax.set_xlabel(r"fold variance $\rho^2$")
            ax.set_ylabel("mean score $f$")
            ax.ticklabel_format(axis="x", scilimits=(-3, -3), useMathText=True)
        legend_below(figure, (right,), columns=len(record.best))
    return figure


def draw_every_setting(record: ForestResults, ax: Axes) -> Axes:
    """Draw the number of settings at each mean and variance."""
    every = record.every
    mesh = ax.hexbin(
        every.noise_var, every.f, gridsize=HEXAGONS, cmap=FIELD, norm=LogNorm(), linewidths=0.1,
        mincnt=1,
    )  # fmt: skip
    ax.figure.colorbar(mesh, ax=ax, pad=0.02).ax.set_title("settings", fontsize="small")
    return ax


def draw_best_settings(record: ForestResults, ax: Axes) -> Axes:
    """Draw all settings small, the best ones large, and the neighbours of each in its colour.

    No setting lies above the line through the best one for its alpha (eq. 2):
    f = MV(x*) + alpha noise_var
    """
    every = record.every
    ax.plot(
        every.noise_var, every.f, ".", color=GREY, alpha=0.3, markersize=2.5, markeredgewidth=0,
        rasterized=True, zorder=1,
    )  # fmt: skip
    for (alpha, best), color, marker in zip(
        record.best.items(), BEST_COLORS, BEST_MARKERS, strict=False
    ):
        where = float(best.there.noise_var[0]), float(best.there.f[0])
        ax.axline(where, slope=alpha, color=color, linewidth=1.0, zorder=0)
        ax.plot(
            *where, marker, color=color, markeredgecolor=INK, markersize=12 if marker == "*" else 8,
            linestyle="none", zorder=3, label=f"best, α = {alpha:g}",
        )  # fmt: skip
        ax.plot(
            best.around.noise_var, best.around.f, marker, color=color, markeredgecolor=INK,
            markersize=6 if marker == "*" else 4, markeredgewidth=0.4, linestyle="none", zorder=2,
            label=f"next to it, α = {alpha:g}",
        )  # fmt: skip
    return _closer(record, ax)


def _closer(record: ForestResults, ax: Axes) -> Axes:
    """Limit the axes to the best settings and their neighbours, from zero variance on."""
    near = [points for best in record.best.values() for points in (best.there, best.around)]
    low, high = min(float(p.f.min()) for p in near), max(float(p.f.max()) for p in near)
    ax.set_xlim(0.0, 1.08 * max(float(p.noise_var.max()) for p in near))
    ax.set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
    return ax
