"""What a run with one parameter believes, beside what it measured.

`fit_1d` computes a record. `draw_fit_1d` (the mean) and `draw_noise_1d` (the noise variance) draw
it on given axes, `figure_of_fits` several runs side by side. Everything is in user units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rahbo.arrays import Array
from rahbo.checks import is_whole
from rahbo.errors import SettingsError, SpaceError
from rahbo.optimizer import Optimizer
from rahbo.space import Float, Int

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart in every common form of colour blindness, and in grey (Okabe and Ito's palette).
TRUTH, BELIEF, DATA, CHOSEN, REPORT = "#000000", "#0072B2", "#666666", "#E69F00", "#D55E00"

Curve = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Fit1D:
    """Both posteriors over one parameter, and the data behind them.

    Attributes:
        name: The parameter.
        log: Whether it is on a log scale.
        x: Where the posteriors are given, ``(m,)``.
        mean: Posterior mean of the objective, ``(m,)``.
        mean_lower: Lower end of its confidence interval, ``(m,)``.
        mean_upper: Upper end, ``(m,)``.
        noise_var: Centre of the noise variance, ``(m,)``.
        noise_var_lower: Lower end of its confidence interval, ``(m,)``.
        noise_var_upper: Upper end, ``(m,)``.
        points: Distinct points evaluated, ``(n,)``.
        sample_var: Their sample variances, ``(n,)``; NaN where one repeat is all.
        repeat_x: The point of every single evaluation, ``(N,)``.
        repeat_y: Its value, ``(N,)``.
        chosen: The points that the strategy chose, in order, ``(T,)``.
        reported: The recommended point.
        reported_mean: The posterior mean there.
        reported_noise_var: The noise variance there.
    """

    name: str
    log: bool
    x: Array
    mean: Array
    mean_lower: Array
    mean_upper: Array
    noise_var: Array
    noise_var_lower: Array
    noise_var_upper: Array
    points: Array
    sample_var: Array
    repeat_x: Array
    repeat_y: Array
    chosen: Array
    reported: float
    reported_mean: float
    reported_noise_var: float


def fit_1d(optimizer: Optimizer, *, n: int = 301) -> Fit1D:
    """Compute the record of a run whose space is a single number.

    Args:
        optimizer: The run, with something told.
        n: Points of the grid, at least 2; an Int parameter has no more of them than values.

    Raises:
        SpaceError: The space is not one Float or Int.
        NotReadyError: Nothing has been told yet.
    """
    name, parameter = _only_parameter(optimizer)
    if not is_whole(n) or n < 2:
        raise SettingsError(f"fit_1d(n) needs a whole number >= 2, got {n!r}.")
    x = _grid(parameter, n)
    beliefs = optimizer.predict([{name: value} for value in x.tolist()])
    report = optimizer.recommend()
    valued = [trial for trial in optimizer.trials if trial.values]
    observations = optimizer.observations
    space, sign = optimizer.settings.space, optimizer.settings.sign
    points = np.array([float(space.decode(p)[name]) for p in observations.X])
    std_lower, std_upper = np.array([b.noise_std_interval for b in beliefs]).T
    mean_lower, mean_upper = np.array([b.mean_interval for b in beliefs]).T
    return Fit1D(
        name=name,
        log=parameter.log,
        x=x,
        mean=np.array([b.mean for b in beliefs]),
        mean_lower=mean_lower,
        mean_upper=mean_upper,
        noise_var=np.array([b.noise_std for b in beliefs]) ** 2,
        noise_var_lower=std_lower**2,
        noise_var_upper=std_upper**2,
        points=points,
        sample_var=observations.sample_var,
        repeat_x=points[observations.point],
        repeat_y=sign * observations.values,
        chosen=np.array([float(t.params[name]) for t in valued if t.source == "strategy"]),
        reported=float(report.params[name]),
        reported_mean=report.mean,
        reported_noise_var=report.noise_std**2,
    )


def draw_fit_1d(fit: Fit1D, ax: Axes, *, truth: Curve | None = None) -> Axes:
    """Draw the mean: every repeat, the posterior with its band, the points chosen and reported.

    Args:
        fit: The record.
        ax: Where to draw.
        truth: The true mean of ``x (m,)``, where it is known.
    """
    ax.plot(
        fit.repeat_x, fit.repeat_y, ".", color=DATA, alpha=0.5, markersize=5,
        markeredgewidth=0, zorder=1, label="single evaluations",
    )  # fmt: skip
    ax.fill_between(
        fit.x, fit.mean_lower, fit.mean_upper, color=BELIEF, alpha=0.25, linewidth=0,
        zorder=2, label="confidence band",
    )  # fmt: skip
    ax.plot(fit.x, fit.mean, color=BELIEF, linewidth=1.8, zorder=3, label="posterior")
    _draw_truth(fit, ax, truth)
    _draw_chosen(fit, ax)
    _draw_reported(fit, ax, fit.reported_mean)
    return _label(fit, ax, "value")


def draw_noise_1d(fit: Fit1D, ax: Axes, *, truth: Curve | None = None) -> Axes:
    """Draw the noise variance: sample variances, the posterior with its band, the reported point.

    Args:
        fit: The record.
        ax: Where to draw.
        truth: The true noise variance of ``x (m,)``, where it is known.
    """
    ax.plot(
        fit.points, fit.sample_var, "o", color=DATA, alpha=0.6, markersize=4,
        markeredgewidth=0, zorder=1, label="sample variances",
    )  # fmt: skip
    ax.fill_between(
        fit.x, fit.noise_var_lower, fit.noise_var_upper, color=BELIEF, alpha=0.25,
        linewidth=0, zorder=2, label="confidence band",
    )  # fmt: skip
    ax.plot(fit.x, fit.noise_var, color=BELIEF, linewidth=1.8, zorder=3, label="posterior")
    _draw_truth(fit, ax, truth)
    _draw_reported(fit, ax, fit.reported_noise_var)
    return _label(fit, ax, "noise variance")


def figure_of_fits(
    fits: Mapping[str, Fit1D], *, mean: Curve | None = None, noise_var: Curve | None = None
) -> Figure:
    """Draw runs side by side: the mean above, the noise variance below.

    Args:
        fits: The records by title.
        mean: The true mean of ``x (m,)``, where it is known.
        noise_var: The true noise variance of ``x (m,)``, where it is known.

    Returns:
        A figure that is not shown anywhere; ``figure.savefig(path)`` writes it.
    """
    from matplotlib.figure import Figure

    if not fits:
        raise SettingsError("figure_of_fits() needs at least one record, got none.")
    figure = Figure(figsize=(5.5 * len(fits), 7.0), layout="constrained", dpi=150)
    axes = figure.subplots(
        2, len(fits), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2)
    )
    for (title, fit), (above, below) in zip(fits.items(), axes.T, strict=True):
        draw_fit_1d(fit, above, truth=mean).set_title(title)
        draw_noise_1d(fit, below, truth=noise_var)
    for ax in axes.flat:
        ax.label_outer()
    handles: dict[str, Artist] = {}
    for ax in axes[:, 0]:
        shown, labels = ax.get_legend_handles_labels()
        handles.update(zip(labels, shown, strict=True))
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=4, frameon=False
    )
    return figure


def _only_parameter(optimizer: Optimizer) -> tuple[str, Float | Int]:
    """Name and kind of the one parameter."""
    spec = optimizer.settings.space.spec
    if isinstance(spec, Mapping) and len(spec) == 1:
        ((name, parameter),) = spec.items()
        if isinstance(parameter, Float | Int):
            return name, parameter
    raise SpaceError(
        f"fit_1d() needs a space of one Float or Int, got {spec!r}. Plot a run with one parameter."
    )


def _grid(parameter: Float | Int, n: int) -> Array:
    """Legal values from low to high, evenly spaced on the parameter's scale, ``(m,)``."""
    spaced = np.geomspace if parameter.log else np.linspace
    x = np.asarray(spaced(float(parameter.low), float(parameter.high), n), dtype=np.float64)
    return np.unique(np.round(x)) if isinstance(parameter, Int) else x


def _draw_truth(fit: Fit1D, ax: Axes, truth: Curve | None) -> None:
    if truth is not None:
        ax.plot(fit.x, truth(fit.x), "--", color=TRUTH, linewidth=1.4, zorder=4, label="truth")


def _draw_chosen(fit: Fit1D, ax: Axes) -> None:
    """A rug along the lower edge: a tick a round."""
    ax.margins(y=0.1)
    ax.plot(
        fit.chosen, np.full(len(fit.chosen), 0.035), "|", color=CHOSEN, markersize=16,
        markeredgewidth=1.2, transform=ax.get_xaxis_transform(), zorder=5,
        label="points chosen",
    )  # fmt: skip


def _draw_reported(fit: Fit1D, ax: Axes, height: float) -> None:
    ax.plot(
        [fit.reported], [height], "*", color=REPORT, markersize=16, markeredgecolor="white",
        zorder=6, label="reported point",
    )  # fmt: skip


def _label(fit: Fit1D, ax: Axes, quantity: str) -> Axes:
    ax.set_xlabel(fit.name)
    ax.set_ylabel(quantity)
    if fit.log:
        ax.set_xscale("log")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
