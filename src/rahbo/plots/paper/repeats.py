"""How many repeats: regret at equal numbers of evaluations, beside Theorem 1's bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.linalg import cho_factor, cho_solve

from rahbo.experiments import Band, Experiment, Runs, Store, problem_named
from rahbo.model import Kernel, Matern52
from rahbo.numerics import Array
from rahbo.plots.regret import Curve, draw_curves, draw_log_curves
from rahbo.plots.style import COLORS, INK, legend_below, panels, styled
from rahbo.problems import Problem
from rahbo.risk import MeanVariance
from rahbo.space import Space
from rahbo.theory import Theorem1

LENGTHSCALE = 0.2
CANDIDATES = 400


@dataclass(frozen=True, eq=False)
class RepeatsStudy:
    """RAHBO with several numbers of repeats, at equal numbers of single evaluations.

    Attributes:
        repeats: The numbers of repeats k, ascending.
        cumulative: Cumulative regret against evaluations after the initial design, for each k.
        simple: Regret of the reported point against all evaluations, for each k.
        total: Cumulative regret by evaluation at the end of the budget, for each k.
        bound: Theorem 1's corrected bound on ``total``, ``(len(repeats),)``.
        kernel: The kernel of f in the bound.
        noise_kernel: The kernel of the noise variance in the bound.
        candidates: The number of points over which the bound's information gains are computed.
    """

    repeats: tuple[int, ...]
    cumulative: Sequence[Curve]
    simple: Sequence[Curve]
    total: Sequence[Band]
    bound: Array
    kernel: Kernel
    noise_kernel: Kernel
    candidates: int


def repeats_study(
    experiments: Sequence[Experiment], store: Store, problem: str, alpha: float
) -> RepeatsStudy:
    """Return the runs on a problem for every k of the experiments, with the bounds."""
    cases = [
        e.runs_of(problem, "rahbo", alpha, k)
        for e in experiments
        if problem in e.problems
        for k in e.repeats
    ]
    several = sorted((Runs.load(store, some) for some in cases), key=lambda r: r.case.repeats)
    colors = mpl.colormaps["viridis"](np.linspace(0.0, 0.85, len(several)))
    risk, cumulative, simple = MeanVariance(alpha), [], []
    for runs, color in zip(several, colors, strict=True):
        k, rgba = runs.case.repeats, tuple(color)
        after = k * np.arange(1.0, runs.case.rounds + 1)
        summed = Band.over_seeds(runs.cumulative_regret_by_evaluation(risk))
        reported = Band.over_seeds(runs.simple_regret(risk))
        cumulative.append(Curve(f"k = {k}", rgba, "-", after, summed))
        simple.append(Curve(f"k = {k}", rgba, "-", runs.evaluations()[0], reported))
    setup = assumptions(problem_named(problem), alpha, several[0].case.repeats)
    bounds = [_bound(setup, runs.case.repeats, runs.case.rounds) for runs in several]
    return RepeatsStudy(
        tuple(runs.case.repeats for runs in several), cumulative, simple,
        [Band(c.band.mean[-1], c.band.two_se[-1]) for c in cumulative],
        np.array(bounds), setup.kernel, setup.noise_kernel, len(setup.candidates),
    )  # fmt: skip


def assumptions(problem: Problem, alpha: float, repeats: int) -> Theorem1:
    """Return the assumptions of Theorem 1 on a grid; a norm is the norm of the interpolant.

    B^2 = f^T K^-1 f, kappa = Matérn 5/2 with lengthscale 0.2, variance the mean square of f
    """
    space = Space.of(problem.space)
    axis = np.linspace(0.0, 1.0, round(CANDIDATES ** (1.0 / space.d)))
    X = np.stack(np.meshgrid(*[axis] * space.d, indexing="ij"), axis=-1).reshape(-1, space.d)
    rows = np.array([problem.params_to_row(space.decode(x)) for x in X])
    f, noise_var = problem.f(rows), problem.noise_var(rows)
    kernel, noise_kernel = (
        Matern52([LENGTHSCALE] * space.d, float(np.mean(g**2))) for g in (f, noise_var)
    )
    return Theorem1(
        X, kernel, noise_kernel, _norm(kernel, X, f), _norm(noise_kernel, X, noise_var),
        float(noise_var.min()), float(noise_var.max()), alpha, repeats,
    )  # fmt: skip


def _norm(kernel: Kernel, X: Array, values: Array) -> float:
    K = kernel(X, X) + 1e-10 * kernel.variance * np.eye(len(X))
    return float(np.sqrt(values @ cho_solve(cho_factor(K, lower=True), values)))


def _bound(setup: Theorem1, repeats: int, rounds: int) -> float:
    return replace(setup, n_repeats=repeats).bounds(rounds)[-1].corrected


def figure_of_repeats(study: RepeatsStudy) -> Figure:
    """Draw regret against evaluations for each k, and the totals beside the bounds."""
    with styled():
        figure, ((left, middle, right),) = panels(1, 3)
        draw_curves(study.cumulative, left).set_ylim(bottom=0)
        left.set_xlabel("evaluations after design")
        left.set_ylabel("cumulative MV regret")
        draw_log_curves(study.simple, middle)
        middle.set_xlabel("all evaluations")
        middle.set_ylabel("simple MV regret")
        draw_totals(study, right)
        legend_below(figure, (left,), columns=len(study.repeats))
    return figure


def draw_totals(study: RepeatsStudy, ax: Axes) -> Axes:
    """Draw measured totals and bounds by k, each relative to its value at the smallest k."""
    k = np.array(study.repeats, dtype=float)
    mean = np.array([float(band.mean) for band in study.total])
    error = np.nan_to_num(np.array([float(band.two_se) for band in study.total]))
    ax.errorbar(
        k, mean / mean[0], error / mean[0], color=COLORS["rahbo"], marker="o", capsize=3,
        label="measured",
    )  # fmt: skip
    ax.plot(k, study.bound / study.bound[0], "--", color=INK, marker="s", label="Theorem 1")
    ax.set_xscale("log")
    ax.set_xticks(k, [f"{v:g}" for v in k])
    ax.minorticks_off()
    ax.set_xlabel("repeats $k$")
    ax.set_ylabel("final regret, relative")
    # Leave room for the legend above all points.
    ax.set_ylim(0.0, 1.35 * ax.get_ylim()[1])
    ax.legend(loc="upper right", handlelength=1.8)
    return ax
