"""Regret by round for all methods: the mean over seeds, with bands of two standard errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rahbo.experiments import TITLES, Band, Experiment, Runs, Store
from rahbo.numerics import Array
from rahbo.plots.style import COLORS, DASHES, legend_below, panels, styled
from rahbo.risk import MeanVariance

Kind = Literal["cumulative", "simple", "suboptimality", "empirical", "evaluations"]

LABELS: Mapping[Kind, str] = {
    "cumulative": "cumulative MV regret",
    "simple": "simple MV regret",
    "suboptimality": "suboptimality in $f$",
    "empirical": "simple MV regret",
    "evaluations": "single evaluations",
}
SHORT_AXIS = 50.0
LINEAR: frozenset[Kind] = frozenset({"cumulative", "evaluations"})


@dataclass(frozen=True, eq=False)
class Curve:
    """One method in one panel.

    Attributes:
        label: The method.
        color: The colour of line and band.
        dashes: The style of the line.
        x: The horizontal positions, ``(T,)``.
        band: The means and errors, ``(T,)``; a NaN error draws no band.
    """

    label: str
    color: str | tuple[float, ...]
    dashes: str
    x: Array
    band: Band


def regret_curves(
    experiment: Experiment, store: Store, problem: str, alpha: float, repeats: int
) -> dict[Kind, list[Curve]]:
    """Return the curves of each panel; RAHBO-US also as published, without learning rounds."""
    found: dict[Kind, list[Curve]] = {kind: [] for kind in get_args(Kind)}
    for method in experiment.methods:
        runs = Runs.load(store, experiment.runs_of(problem, method, alpha, repeats))
        x, color = np.arange(1.0, runs.case.rounds + 1), COLORS[method]
        for kind, band in _bands(runs, alpha).items():
            found[kind].append(Curve(TITLES[method], color, DASHES[method], x, band))
        if runs.case.learning_rounds:
            for kind, band in _bands(runs.without_learning(), alpha).items():
                # A second band in the same colour would hide more than it shows.
                bare = Band(band.mean, np.full_like(band.mean, np.nan))
                label = f"{TITLES[method]} as published"
                found[kind].append(Curve(label, color, ":", x, bare))
    return found


def _bands(runs: Runs, alpha: float) -> dict[Kind, Band]:
    risk = MeanVariance(alpha)
    return {
        "cumulative": Band.over_seeds(runs.cumulative_regret(risk)),
        "simple": Band.over_seeds(runs.simple_regret(risk)),
        "suboptimality": Band.over_seeds(runs.suboptimality()),
        "empirical": Band.over_seeds(runs.simple_regret(risk, "empirical")),
        "evaluations": Band.over_seeds(runs.evaluations()),
    }


def draw_curves(curves: Sequence[Curve], ax: Axes) -> Axes:
    """Draw lines and their bands on a linear scale."""
    for curve in curves:
        mean, error = curve.band.mean, curve.band.two_se
        ax.plot(curve.x, mean, color=curve.color, linestyle=curve.dashes, label=curve.label)
        if np.all(np.isfinite(error)):
            ax.fill_between(
                curve.x, mean - error, mean + error, color=curve.color, alpha=0.2, linewidth=0
            )
    ax.set_xlim(0, max(float(curve.x[-1]) for curve in curves))
    return ax


def draw_log_curves(curves: Sequence[Curve], ax: Axes) -> Axes:
    """Draw lines and their bands on a log scale; a band that reaches zero is cut off below."""
    draw_curves(curves, ax)
    means = np.concatenate([curve.band.mean for curve in curves])
    tops = np.concatenate([c.band.mean + np.nan_to_num(c.band.two_se) for c in curves])
    # Regret is accurate to about 1e-9, so values below a millionth count as zero.
    lowest, highest = max(float(means.min()), 1e-6), max(float(tops.max()), 1e-5)
    ax.set_ylim(lowest / 1.6, highest * 1.3)
    ax.set_yscale("log", nonpositive="clip")
    # Plain numbers, with more ticks on a short axis.
    short = highest / lowest < SHORT_AXIS
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    return ax


def draw_kind(kind: Kind, curves: Sequence[Curve], ax: Axes) -> Axes:
    """Draw lines and their bands on the scale that suits the quantity."""
    return draw_curves(curves, ax) if kind in LINEAR else draw_log_curves(curves, ax)


def figure_of_regrets(curves: Mapping[Kind, Sequence[Curve]], kinds: Sequence[Kind]) -> Figure:
    """Draw a panel for each kind of regret, and one legend."""
    with styled():
        figure, axes = panels(1, len(kinds))
        for kind, ax in zip(kinds, axes.flat, strict=True):
            draw_kind(kind, curves[kind], ax)
            ax.set_xlabel("round")
            ax.set_ylabel(LABELS[kind])
        axes[0, 0].set_ylim(bottom=0)
        legend_below(figure, axes[0, :1], columns=2 if len(kinds) < 3 else 4)
    return figure
