"""Figures with a column for each risk coefficient: points tried, points reported, regrets.

Notation: ``f`` and ``noise_var`` are the true mean and noise variance, which methods never see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rahbo.analysis import Rule
from rahbo.experiments import TITLES, Experiment, Runs, Store, problem_named
from rahbo.numerics import Array
from rahbo.plots.regret import LABELS, LINEAR, Curve, Kind, draw_kind
from rahbo.plots.style import COLORS, DASHES, GREY, INK, legend_below, panels, styled
from rahbo.risk import MeanVariance

BINS, TICKS = 30, 3
MARKERS: Mapping[str, str] = {"rahbo": "o", "gpucb": "s", "rahbo-us": "^"}
RULES: Mapping[Rule, str] = {
    "pessimistic": "largest lower bound",
    "own_round": "largest lower bound then",
    "best_observed": "best observed",
    "empirical": "largest empirical MV",
}
MEAN, NOISE = "$f$", r"noise variance $\rho^2$"


@dataclass(frozen=True, eq=False)
class Points:
    """True mean and noise variance of some points, each ``(m,)``."""

    f: Array
    noise_var: Array


@dataclass(frozen=True, eq=False)
class AlphaOutcome:
    """The results of all methods for one risk coefficient.

    Attributes:
        alpha: The risk coefficient.
        best: The point with the largest mean-variance.
        tried: The points of all rounds that count, over all seeds, by method.
        reported: The points reported at the end, one per seed, by rule and method.
    """

    alpha: float
    best: Points
    tried: Mapping[str, Points]
    reported: Mapping[Rule, Mapping[str, Points]]


def outcomes(
    experiment: Experiment, store: Store, problem: str, repeats: int, rules: Sequence[Rule]
) -> list[AlphaOutcome]:
    """Return a record of the finished runs on a problem for each risk coefficient."""
    return [
        _outcome(experiment, store, problem, alpha, repeats, rules) for alpha in experiment.alphas
    ]


def _outcome(
    e: Experiment, store: Store, problem: str, alpha: float, repeats: int, rules: Sequence[Rule]
) -> AlphaOutcome:
    runs = {m: Runs.load(store, e.runs_of(problem, m, alpha, repeats)) for m in e.methods}
    truth = problem_named(problem)
    best = truth.params_to_row(truth.optimum(MeanVariance(alpha)).params)[None]
    return AlphaOutcome(
        alpha,
        Points(truth.f(best), truth.noise_var(best)),
        {m: Points(r.tried("f").ravel(), r.tried("noise_var").ravel()) for m, r in runs.items()},
        {rule: {m: _reported(r, rule, alpha) for m, r in runs.items()} for rule in rules},
    )


def _reported(runs: Runs, rule: Rule, alpha: float) -> Points:
    risk = MeanVariance(alpha)
    f, noise_var = (runs.judged(name, risk, rule)[:, -1] for name in ("f", "noise_var"))
    return Points(f, noise_var)


def figure_of_tried(found: Sequence[AlphaOutcome]) -> Figure:
    """Draw the distributions of mean and noise variance at all points tried."""
    with styled():
        figure, axes = panels(2, len(found), sharex="row", sharey="row")
        for row, (name, label) in zip(axes, (("f", MEAN), ("noise_var", NOISE)), strict=True):
            bins = _bins([getattr(p, name) for o in found for p in (o.best, *o.tried.values())])
            for ax, outcome in zip(row, found, strict=True):
                draw_shares({m: getattr(p, name) for m, p in outcome.tried.items()}, bins, ax)
                ax.axvline(
                    float(getattr(outcome.best, name)[0]), color=GREY, linewidth=1.0,
                    linestyle=":", zorder=0, label="best point",
                )  # fmt: skip
                ax.set_xlabel(label)
                ax.locator_params(axis="x", nbins=TICKS)
            row[0].set_ylabel("share of rounds")
        _title_columns(axes[0], [outcome.alpha for outcome in found])
        legend_below(figure, axes[0, :1], columns=_columns(axes.shape[1], 4))
    return figure


def _bins(values: Sequence[Array]) -> Array:
    flat = np.concatenate(values)
    return np.linspace(float(flat.min()), float(flat.max()), BINS + 1)


def draw_shares(by_method: Mapping[str, Array], bins: Array, ax: Axes) -> Axes:
    """Draw the share of each method's values that falls into each bin."""
    for method, values in by_method.items():
        share = np.histogram(values, bins)[0] / values.size
        color = COLORS[method]
        ax.stairs(share, bins, fill=True, color=color, alpha=0.15)
        ax.stairs(
            share, bins, color=color, linewidth=1.6, linestyle=DASHES[method],
            label=TITLES[method],
        )  # fmt: skip
    return ax


def figure_of_reported(found: Sequence[AlphaOutcome]) -> Figure:
    """Draw mean against noise variance of the finally reported points, a row for each rule."""
    with styled():
        rules = list(found[0].reported)
        figure, axes = panels(len(rules), len(found), sharex=True, sharey=True)
        for row, rule in zip(axes, rules, strict=True):
            for ax, outcome in zip(row, found, strict=True):
                draw_reported(outcome.reported[rule], ax)
                draw_best(outcome, ax)
            row[0].set_ylabel(f"{RULES[rule]}\n{MEAN} at reported point")
        for ax in axes[-1]:
            ax.set_xlabel(NOISE)
            ax.locator_params(axis="x", nbins=TICKS)
        _title_columns(axes[0], [outcome.alpha for outcome in found])
        legend_below(figure, axes[0, :1], columns=_columns(axes.shape[1], 5))
    return figure


def draw_reported(by_method: Mapping[str, Points], ax: Axes) -> Axes:
    """Draw small marks for the seeds, and their mean with bars of one standard deviation."""
    for method, points in by_method.items():
        color, marker = COLORS[method], MARKERS[method]
        ax.plot(
            points.noise_var, points.f, marker, color=color, alpha=0.5, markersize=4,
            markeredgewidth=0,
        )  # fmt: skip
    # The means are drawn after all seeds, so that the seeds do not hide them.
    for method, points in by_method.items():
        ax.errorbar(
            float(np.mean(points.noise_var)), float(np.mean(points.f)), _spread(points.f),
            _spread(points.noise_var), color=COLORS[method], marker=MARKERS[method], markersize=7,
            markeredgecolor="white", capsize=3, linestyle="none", label=TITLES[method],
        )  # fmt: skip
    return ax


def _spread(values: Array) -> float | None:
    """Return the standard deviation over seeds, or None for a single seed."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def draw_best(outcome: AlphaOutcome, ax: Axes) -> Axes:
    """Draw the best point, and the line of equally good points, above which there is none.

    f = MV(x*) + alpha noise_var    (eq. 2)
    """
    f, noise_var = float(outcome.best.f[0]), float(outcome.best.noise_var[0])
    line = ax.axline(
        (noise_var, f), slope=outcome.alpha, color=GREY, linewidth=1.0, linestyle=":", zorder=0
    )
    line.set_label("largest MV")
    ax.plot([noise_var], [f], "*", color=INK, markersize=9, linestyle="none", label="best point")
    return ax


def figure_of_regrets_by_alpha(
    by_alpha: Mapping[float, Mapping[Kind, Sequence[Curve]]], kinds: Sequence[Kind]
) -> Figure:
    """Draw regret by round, a row for each kind."""
    with styled():
        figure, axes = panels(len(kinds), len(by_alpha), sharex=True, sharey="row")
        for row, kind in zip(axes, kinds, strict=True):
            limits = [
                draw_kind(kind, curves[kind], ax).get_ylim()
                for ax, curves in zip(row, by_alpha.values(), strict=True)
            ]
            low, high = min(ends[0] for ends in limits), max(ends[1] for ends in limits)
            row[0].set_ylim(0.0 if kind in LINEAR else low, high)
            row[0].set_ylabel(LABELS[kind])
        _title_columns(axes[0], by_alpha)
        for ax in axes[-1]:
            ax.set_xlabel("round")
        legend_below(figure, axes[0, :1], columns=_columns(axes.shape[1], 4))
    return figure


def _title_columns(axes: Sequence[Axes], alphas: Iterable[float]) -> None:
    for ax, alpha in zip(axes, alphas, strict=True):
        ax.set_title(f"α = {alpha:g}")


def _columns(panels: int, most: int) -> int:
    """Return the number of legend columns that fit under a number of panels side by side."""
    return min(most, max(2, 3 * panels // 2))
