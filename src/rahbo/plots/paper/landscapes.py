"""The synthetic problems: mean, noise variance, and noisy evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from rahbo.errors import SpaceError
from rahbo.experiments import TITLES
from rahbo.numerics import Array
from rahbo.plots.style import COLORS, DASHES, FIELD, GREY, INK, legend_below, panels, styled
from rahbo.problems import Problem

# The maxima of the Branin function, as the paper names them.
BRANIN_MAXIMA: Mapping[str, tuple[float, float]] = {
    "A": (9.42478, 2.475),
    "B": (np.pi, 2.275),
    "C": (-np.pi, 12.275),
}


@dataclass(frozen=True, eq=False)
class Line:
    """A problem of one parameter, and repeated evaluations of it.

    Attributes:
        name: The parameter.
        x: A grid, ``(m,)``.
        f: The mean, ``(m,)``.
        noise_var: The noise variance, ``(m,)``.
        points: The evaluated points, ``(n,)``.
        values: The values at these points, ``(n, k)``.
    """

    name: str
    x: Array
    f: Array
    noise_var: Array
    points: Array
    values: Array


def line(problem: Problem, n: int = 40, repeats: int = 10, seed: int = 0) -> Line:
    """Evaluate a problem of one parameter at ``n`` evenly spaced points."""
    (name,) = _names(problem, 1)
    kind = problem.space[name]
    x = np.linspace(kind.low, kind.high, 501)
    points = np.linspace(kind.low, kind.high, n)
    rng = np.random.default_rng(seed)
    values = [[problem.sample({name: p}, rng) for _ in range(repeats)] for p in points.tolist()]
    X = x[:, None]
    return Line(name, x, problem.f(X), problem.noise_var(X), points, np.array(values))


def figure_of_line(record: Line) -> Figure:
    """Draw the mean with noisy evaluations, and the noise variance with sample variances."""
    with styled():
        figure, ((left, right),) = panels(1, 2)
        repeated = np.repeat(record.points, record.values.shape[1])
        left.plot(
            repeated, record.values.ravel(), ".", color=GREY, alpha=0.45, markersize=5,
            markeredgewidth=0, label="evaluations",
        )  # fmt: skip
        left.plot(record.x, record.f, color=INK, label="truth")
        left.set_ylabel("$f(x)$")
        sample_var = record.values.var(axis=1, ddof=1)
        right.plot(
            record.points, sample_var, ".", color=GREY, markersize=7, markeredgewidth=0,
            label="sample variances",
        )  # fmt: skip
        right.plot(record.x, record.noise_var, color=INK, label="truth")
        right.set_ylabel(r"noise variance $\rho^2(x)$")
        right.set_ylim(bottom=0)
        for ax in (left, right):
            ax.set_xlabel(f"${record.name}$")
            ax.margins(x=0.01)
        legend_below(figure, (left, right))
    return figure


@dataclass(frozen=True, eq=False)
class Plane:
    """A problem of two parameters on a grid.

    Attributes:
        names: The parameters.
        x1: The grid of the first parameter, ``(m,)``.
        x2: The grid of the second parameter, ``(m,)``.
        f: The mean, ``(m, m)``, rows along the second parameter.
        noise_var: The noise variance, in the same layout.
        noisy: One evaluation at each point, in the same layout.
        marks: Points to mark, by name.
    """

    names: tuple[str, str]
    x1: Array
    x2: Array
    f: Array
    noise_var: Array
    noisy: Array
    marks: Mapping[str, tuple[float, float]]


def plane(
    problem: Problem, marks: Mapping[str, tuple[float, float]], n: int = 121, seed: int = 0
) -> Plane:
    """Evaluate a problem of two parameters once at every point of an ``n`` by ``n`` grid."""
    first, second = _names(problem, 2)
    kinds = problem.space[first], problem.space[second]
    x1, x2 = (np.linspace(kind.low, kind.high, n) for kind in kinds)
    grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    f, noise_var = (v.reshape(n, n) for v in (problem.f(grid), problem.noise_var(grid)))
    eps = np.random.default_rng(seed).standard_normal((n, n))
    return Plane((first, second), x1, x2, f, noise_var, f + np.sqrt(noise_var) * eps, marks)


def figure_of_plane(record: Plane, lowest: float) -> Figure:
    """Draw mean, noise variance and noisy evaluations.

    Args:
        record: The problem.
        lowest: Values below this share one colour, so that differences near the maxima show.
    """
    with styled():
        figure, (axes,) = panels(1, 3, sharey=True)
        highest = float(record.noisy.max())
        shown = (
            (record.f, "objective $f$", lowest, highest),
            (record.noise_var, r"noise variance $\rho^2$", 0.0, float(record.noise_var.max())),
            (record.noisy, "noisy evaluations", lowest, highest),
        )
        for ax, (values, title, low, high) in zip(axes, shown, strict=True):
            mesh = _draw_field(record, values, ax, low, high)
            ax.set_title(title)
            extend = "min" if values.min() < low else "neither"
            figure.colorbar(mesh, ax=ax, extend=extend, pad=0.02)
        axes[0].set_ylabel(_maths(record.names[1]))
    return figure


def _draw_field(record: Plane, values: Array, ax: Axes, low: float, high: float) -> QuadMesh:
    mesh = ax.pcolormesh(
        record.x1, record.x2, values, cmap=FIELD, vmin=low, vmax=high, shading="nearest",
        rasterized=True,
    )  # fmt: skip
    for name, (a, b) in record.marks.items():
        ax.plot([a], [b], "o", color="white", markeredgecolor=INK, markersize=5)
        ax.annotate(
            name, (a, b), xytext=(-4, 5), textcoords="offset points", ha="right",
            fontweight="bold", bbox={"facecolor": "white", "alpha": 0.8, "pad": 1.0, "lw": 0},
        )  # fmt: skip
    ax.set_xlabel(_maths(record.names[0]))
    return mesh


def figure_of_acquired(
    acquired: Mapping[str, Mapping[str, Array]], quantity: str, marks: Mapping[str, float]
) -> Figure:
    """Draw histograms of a quantity at the points that methods acquired, a panel for each title.

    Args:
        acquired: The quantity at all points of all seeds, by panel title and method.
        quantity: The label of the axis.
        marks: Values to mark with a line, by name.
    """
    with styled():
        figure, (axes,) = panels(1, len(acquired), sharey=True)
        for ax, (title, by_method) in zip(axes, acquired.items(), strict=True):
            _draw_histogram(by_method, ax, marks)
            ax.set_title(title, pad=16 if marks else None)
            ax.set_xlabel(quantity)
        axes[0].set_ylabel("share of rounds")
        legend_below(figure, axes[:1])
    return figure


def _draw_histogram(by_method: Mapping[str, Array], ax: Axes, marks: Mapping[str, float]) -> None:
    everything = np.concatenate([values.ravel() for values in by_method.values()])
    ends = [everything.min(), everything.max(), *marks.values()]
    bins = np.linspace(min(ends), max(ends), 31).tolist()
    for method, values in by_method.items():
        flat = values.ravel()
        weights = np.full(flat.size, 1.0 / flat.size)
        ax.hist(flat, bins, weights=weights, color=COLORS[method], alpha=0.2)
        ax.hist(
            flat, bins, weights=weights, histtype="step", color=COLORS[method], linewidth=1.6,
            linestyle=DASHES[method], label=TITLES[method],
        )  # fmt: skip
    for name, value in marks.items():
        ax.axvline(value, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
        ax.annotate(
            name, (value, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom",
            fontweight="bold",
        )  # fmt: skip


def _names(problem: Problem, d: int) -> Sequence[str]:
    names = tuple(problem.space)
    if len(names) != d:
        raise SpaceError(f"This picture needs {d} parameters, but {problem.name} has {names}.")
    return names


def _maths(name: str) -> str:
    """Return a parameter's name in mathematical notation: x1 with its number as an index."""
    return f"${name[0]}_{{{name[1:]}}}$" if name[1:].isdigit() else name
