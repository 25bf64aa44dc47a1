"""What a run believes along one parameter, beside what it measured.

`fit_1d` computes the record of a run with one parameter, `fit_slice` that of a line through a point
of any space, `slices` one for each input. `draw_fit_1d` (the mean), `draw_noise_1d` (the noise
variance) and `draw_noise_std_1d` (its root) draw a record on given axes, `figure_of_fits` several
runs side by side, `figure_of_slices` all inputs of a run. Everything is in user units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from rahbo.errors import SettingsError, SpaceError
from rahbo.numerics import Array
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import (
    Input,
    Params,
    check_size,
    input_named,
    inputs_of,
    nearness,
    predictions,
    shown_point,
)
from rahbo.plots.style import (
    BELIEF,
    CHOSEN,
    DATA,
    REPORT,
    TRUTH,
    interval_label,
    legend_below,
    panels,
    styled,
)
from rahbo.space import Candidates, Categorical

Truth = Callable[[Array], Array]

WRAP = 4
# What is far from a slice is faint, not hidden.
FAINT, CLEAR = 0.07, 0.55
# A band of the noise may be far wider than anything measured: it is cut off above so many times it.
CUT = 2.5


@dataclass(frozen=True, eq=False)
class Fit1D:
    """Both posteriors along one parameter, and the data behind them.

    Attributes:
        input: The parameter.
        x: Where the posteriors are given, ``(m,)``; choices stand at 0, 1, 2 and so on.
        mean: Posterior mean of the objective, ``(m,)``; all posteriors are NaN where ``valid``
            forbids the point.
        mean_lower: Lower end of its credible interval, ``(m,)``.
        mean_upper: Upper end, ``(m,)``.
        noise_var: Centre of the noise variance, ``(m,)``.
        noise_var_lower: Lower end of its credible interval, ``(m,)``.
        noise_var_upper: Upper end, ``(m,)``.
        points: Distinct points evaluated, ``(n,)``.
        sample_var: Their sample variances, ``(n,)``; NaN where one repeat is all.
        nearness: How much each says of the noise on the line, from 0 to 1, ``(n,)``.
        repeat_x: The point of every single evaluation, ``(N,)``.
        repeat_y: Its value, ``(N,)``.
        repeat_nearness: How much it says of the mean on the line, from 0 to 1, ``(N,)``.
        chosen: The points that the strategy chose, in order, ``(T,)``.
        reported: The point that the line goes through, by default the recommended one.
        reported_mean: The posterior mean there.
        reported_noise_var: The noise variance there.
        level: The probability of each interval.
    """

    input: Input
    x: Array
    mean: Array
    mean_lower: Array
    mean_upper: Array
    noise_var: Array
    noise_var_lower: Array
    noise_var_upper: Array
    points: Array
    sample_var: Array
    nearness: Array
    repeat_x: Array
    repeat_y: Array
    repeat_nearness: Array
    chosen: Array
    reported: float
    reported_mean: float
    reported_noise_var: float
    level: float


def fit_1d(optimizer: Optimizer, *, n: int = 301) -> Fit1D:
    """Compute the record of a run whose space is a single number.

    Args:
        optimizer: The run, with something told.
        n: Points of the grid, at least 2; an Int parameter has no more of them than values.

    Raises:
        SpaceError: The space is not one Float or Int.
        NotReadyError: Nothing has been told yet.
    """
    spec = optimizer.settings.space.spec
    if isinstance(spec, Candidates) or len(spec) > 1 or any(
        isinstance(kind, Categorical) for kind in spec.values()
    ):  # fmt: skip
        raise SpaceError(
            f"fit_1d() needs a space of one Float or Int, got {spec!r}. Use fit_slice()."
        )
    (name,) = spec
    return fit_slice(optimizer, name, n=n)


def slices(optimizer: Optimizer, *, at: Params | None = None, n: int = 101) -> dict[str, Fit1D]:
    """The record of each input along a line through one point; as `fit_slice` in all else."""
    point = shown_point(optimizer, at)
    return {name: fit_slice(optimizer, name, at=point, n=n) for name in inputs_of(optimizer)}


def fit_slice(optimizer: Optimizer, name: str, *, at: Params | None = None, n: int = 101) -> Fit1D:
    """Compute the record along one input, all others fixed.

    Args:
        optimizer: The run, with something told.
        name: The input.
        at: A point of the line; by default the recommended one.
        n: Points of the grid, at least 2; no more than there are values.

    Raises:
        SpaceError: The space is a list of candidates.
        NotReadyError: Nothing has been told yet.
    """
    axis = input_named(optimizer, name)
    check_size("A slice", n)
    at = shown_point(optimizer, at)
    x = axis.grid(n)
    beliefs, legal = predictions(optimizer, [{**at, name: axis.value(v)} for v in x.tolist()])
    there = optimizer.predict(at)
    observations, space = optimizer.observations, optimizer.settings.space
    points = axis.places([space.decode(p) for p in observations.X])
    model = optimizer.model
    mean_kernel, noise_gp = model.mean.kernel, model.noise.gp
    near = nearness(optimizer, mean_kernel, at, [name])
    noise_kernel = mean_kernel if noise_gp is None else noise_gp.kernel
    curves = np.array([[b.mean, *b.mean_interval, b.noise_std, *b.noise_std_interval]
                       for b in beliefs]).T  # fmt: skip
    curves[:, ~legal] = np.nan
    mean, mean_lower, mean_upper, noise_std, std_lower, std_upper = curves
    chosen = [t.params for t in optimizer.trials if t.values and t.source == "strategy"]
    return Fit1D(
        input=axis,
        x=x,
        mean=mean,
        mean_lower=mean_lower,
        mean_upper=mean_upper,
        noise_var=noise_std**2,
        noise_var_lower=std_lower**2,
        noise_var_upper=std_upper**2,
        points=points,
        sample_var=observations.sample_var,
        nearness=nearness(optimizer, noise_kernel, at, [name]),
        repeat_x=points[observations.point],
        repeat_y=optimizer.settings.sign * observations.values,
        repeat_nearness=near[observations.point],
        chosen=axis.places(chosen),
        reported=float(axis.places([at])[0]),
        reported_mean=there.mean,
        reported_noise_var=there.noise_std**2,
        level=there.level,
    )


def draw_fit_1d(fit: Fit1D, ax: Axes, *, truth: Truth | None = None) -> Axes:
    """Draw the mean: every repeat, the posterior with its band, the points chosen and reported.

    Args:
        fit: The record.
        ax: Where to draw.
        truth: The true mean of ``x (m,)``, where it is known.
    """
    _draw_data(ax, fit.repeat_x, fit.repeat_y, fit.repeat_nearness, "single evaluations", ".")
    _draw_belief(fit, ax, fit.mean, fit.mean_lower, fit.mean_upper)
    _draw_truth(fit, ax, truth)
    _draw_chosen(fit, ax)
    _draw_reported(fit, ax, fit.reported_mean)
    return _label(fit, ax, "value")


def draw_noise_1d(fit: Fit1D, ax: Axes, *, truth: Truth | None = None) -> Axes:
    """Draw the noise variance: sample variances, the posterior with its band, the reported point.

    Args:
        fit: The record.
        ax: Where to draw.
        truth: The true noise variance of ``x (m,)``, where it is known.
    """
    _draw_data(ax, fit.points, fit.sample_var, fit.nearness, "sample variances", "o")
    _draw_belief(fit, ax, fit.noise_var, fit.noise_var_lower, fit.noise_var_upper)
    _draw_truth(fit, ax, truth)
    _draw_reported(fit, ax, fit.reported_noise_var)
    return _label(fit, ax, "noise variance")


def draw_noise_std_1d(fit: Fit1D, ax: Axes, *, truth: Truth | None = None) -> Axes:
    """Draw the noise std, in the unit of the values: else as `draw_noise_1d`.

    Args:
        fit: The record.
        ax: Where to draw.
        truth: The true noise std of ``x (m,)``, where it is known.
    """
    measured, centre = np.sqrt(fit.sample_var), np.sqrt(fit.noise_var)
    _draw_data(ax, fit.points, measured, fit.nearness, "sample std", "o")
    _draw_belief(fit, ax, centre, np.sqrt(fit.noise_var_lower), np.sqrt(fit.noise_var_upper))
    _draw_truth(fit, ax, truth)
    _draw_reported(fit, ax, float(np.sqrt(fit.reported_noise_var)))
    highest = CUT * float(np.nanmax([np.nanmax(centre), *measured]))
    ax.set_ylim(0.0, min(ax.get_ylim()[1], highest))
    return _label(fit, ax, "noise std")


def figure_of_fits(
    fits: Mapping[str, Fit1D], *, mean: Truth | None = None, noise_var: Truth | None = None
) -> Figure:
    """Draw runs side by side: the mean above, the noise variance below.

    Args:
        fits: The records by title.
        mean: The true mean of ``x (m,)``, where it is known.
        noise_var: The true noise variance of ``x (m,)``, where it is known.

    Returns:
        A figure that is not shown anywhere; ``figure.savefig(path)`` writes it.
    """
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


def figure_of_slices(fits: Mapping[str, Fit1D]) -> Figure:
    """Draw the mean along each input, and below it the noise std; four inputs side by side."""
    if not fits:
        raise SettingsError("figure_of_slices() needs at least one record, got none.")
    with styled():
        columns = min(WRAP, len(fits))
        figure, axes = panels(2 * -(-len(fits) // columns), columns)
        for i, fit in enumerate(fits.values()):
            row, column = 2 * (i // columns), i % columns
            draw_fit_1d(fit, axes[row, column])
            draw_noise_std_1d(fit, axes[row + 1, column])
            for ax in axes[row : row + 2, column]:
                ax.set_ylabel(ax.get_ylabel() if column == 0 else "")
        for ax in axes.flat:
            ax.set_visible(ax.has_data())
        legend_below(figure, axes.flat, columns=min(4, 2 * columns))
    return figure


def _draw_data(ax: Axes, x: Array, y: Array, near: Array, label: str, marker: str) -> None:
    """What was measured, the fainter the farther from the line."""
    color = np.tile(to_rgba(DATA), (len(x), 1))
    color[:, 3] = FAINT + (CLEAR - FAINT) * near
    ax.scatter(x, y, s=22 if marker == "." else 14, c=color, marker=marker, linewidths=0, zorder=1)
    # What stands in the legend is as clear as what is on the line.
    ax.plot([], [], marker, color=DATA, alpha=CLEAR, markeredgewidth=0, label=label)


def _draw_belief(fit: Fit1D, ax: Axes, centre: Array, lower: Array, upper: Array) -> None:
    """A line in a band; of choices, between which there is nothing, bars."""
    known = interval_label(fit.level)
    if fit.input.choices:
        ax.errorbar(
            fit.x, centre, (centre - lower, upper - centre), color=BELIEF, marker="o",
            markersize=5, capsize=4, linestyle="none", zorder=3, label=f"posterior, {known}",
        )  # fmt: skip
        ax.set_xlim(-0.5, len(fit.x) - 0.5)
        return
    ax.fill_between(
        fit.x, lower, upper, color=BELIEF, alpha=0.25, linewidth=0, zorder=2,
        label=known,
    )  # fmt: skip
    ax.plot(fit.x, centre, color=BELIEF, linewidth=1.8, zorder=3, label="posterior")


def _draw_truth(fit: Fit1D, ax: Axes, truth: Truth | None) -> None:
    if truth is not None:
        ax.plot(fit.x, truth(fit.x), "--", color=TRUTH, linewidth=1.4, zorder=4, label="truth")


def _draw_chosen(fit: Fit1D, ax: Axes) -> None:
    """A rug along the lower edge: a tick a round."""
    if len(fit.chosen) == 0:
        return
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
    fit.input.label(ax.xaxis)
    ax.set_ylabel(quantity)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
