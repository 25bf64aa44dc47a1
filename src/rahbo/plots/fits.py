"""The model's estimates along one parameter, together with the measurements.

`fit_1d` computes the record of a run with one parameter, `fit_slice` the record along a line
through a point of any space, and `slices` one record for each input. `draw_fit_1d` (the mean),
`draw_noise_1d` (the noise variance) and `draw_noise_std_1d` (its root) draw a record on given axes.
`figure_of_fits` draws several runs side by side, and `figure_of_slices` all inputs of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rahbo.errors import SettingsError, SpaceError
from rahbo.numerics import Array
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import (
    Input,
    Params,
    check_size,
    data_of,
    input_named,
    inputs_of,
    nearness,
    predictions,
    run_in,
    shown_point,
)
from rahbo.plots.marks import draw_belief, draw_star, draw_values
from rahbo.plots.style import CHOSEN, TRUTH, legend_below, panels, styled
from rahbo.running import Result
from rahbo.space import Candidates, Categorical

Truth = Callable[[Array], Array]

WRAP = 4
# A band of the noise may be far wider than the data, so it is cut off at this multiple of them.
CUT = 2.5


@dataclass(frozen=True, eq=False)
class Fit1D:
    """Both posteriors along one parameter, and the data behind them.

    Attributes:
        input: The parameter.
        x: The grid at which the posteriors are given, ``(m,)``; choices are at 0, 1, 2 and so on.
        mean: Posterior mean of the objective, ``(m,)``. Every posterior is NaN where ``valid``
            forbids the point.
        mean_lower: Lower end of the mean's credible interval, ``(m,)``.
        mean_upper: Upper end of the mean's credible interval, ``(m,)``.
        noise_var: Centre of the noise variance, ``(m,)``.
        noise_var_lower: Lower end of the noise variance's credible interval, ``(m,)``.
        noise_var_upper: Upper end of the noise variance's credible interval, ``(m,)``.
        points: Distinct points evaluated, ``(n,)``.
        sample_var: Sample variance at each point, ``(n,)``; NaN for a point with one value.
        nearness: How much each point tells about the noise on the line, from 0 to 1, ``(n,)``.
        repeat_x: The point of every single evaluation, ``(N,)``.
        repeat_y: The value of every single evaluation, ``(N,)``, less the effect of its block.
        repeat_nearness: How much each evaluation tells about the mean on the line, from 0 to 1,
            ``(N,)``.
        chosen: The points that the strategy chose, in order, ``(T,)``.
        reported: The point that the line goes through, by default the recommended one.
        reported_mean: The posterior mean at the reported point.
        reported_noise_var: The noise variance at the reported point.
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


def fit_1d(optimizer: Optimizer | Result, *, n: int = 301) -> Fit1D:
    """Compute the record of a run whose space is a single number.

    Args:
        optimizer: The run, with at least one value told.
        n: The number of grid points, at least 2; an Int parameter has at most one per value.

    Raises:
        SpaceError: The space is not one Float or Int.
    """
    optimizer = run_in(optimizer)
    spec = optimizer.settings.space.kinds
    if isinstance(spec, Candidates) or len(spec) > 1 or any(
        isinstance(kind, Categorical) for kind in spec.values()
    ):  # fmt: skip
        raise SpaceError(
            f"fit_1d() needs a space of one Float or Int, got {spec!r}. Use fit_slice() instead."
        )
    (name,) = spec
    return fit_slice(optimizer, name, n=n)


def slices(
    optimizer: Optimizer | Result, *, at: Params | None = None, n: int = 101
) -> dict[str, Fit1D]:
    """Return the record of `fit_slice` for each input, along lines through one point."""
    optimizer = run_in(optimizer)
    point = shown_point(optimizer, at)
    return {name: fit_slice(optimizer, name, at=point, n=n) for name in inputs_of(optimizer)}


def fit_slice(
    optimizer: Optimizer | Result, name: str, *, at: Params | None = None, n: int = 101
) -> Fit1D:
    """Compute the record along one input, all others fixed.

    Args:
        optimizer: The run, with at least one value told.
        name: The input.
        at: A point of the line; by default the recommended one.
        n: The number of grid points, at least 2; an input of few values has one per value.

    Raises:
        SpaceError: The space is a list of candidates.
    """
    optimizer = run_in(optimizer)
    axis = input_named(optimizer, name)
    check_size("A slice", n)
    at = shown_point(optimizer, at)
    x = axis.grid(n)
    beliefs, legal = predictions(optimizer, [{**at, name: axis.value(v)} for v in x.tolist()])
    there = optimizer.predict(at)
    observations, space = data_of(optimizer), optimizer.settings.space
    points = axis.places([space.decode(p) for p in observations.X])
    model = optimizer.model
    mean_kernel, noise_gp = model.mean.kernel, model.noise.gp
    near = nearness(optimizer, mean_kernel, at, [name])
    noise_kernel = mean_kernel if noise_gp is None else noise_gp.kernel
    curves = np.array([[b.mean, *b.mean_interval, b.noise_std, *b.noise_std_interval]
                       for b in beliefs]).T  # fmt: skip
    curves[:, ~legal] = np.nan
    mean, mean_lower, mean_upper, noise_std, std_lower, std_upper = curves
    chosen = [t.params for t in optimizer.trials if t.n_values and t.source == "strategy"]
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
        repeat_y=optimizer.model.units.signed(observations.values),
        repeat_nearness=near[observations.point],
        chosen=axis.places(chosen),
        reported=float(axis.places([at])[0]),
        reported_mean=there.mean,
        reported_noise_var=there.noise_std**2,
        level=there.level,
    )


def draw_fit_1d(fit: Fit1D, ax: Axes, *, truth: Truth | None = None) -> Axes:
    """Draw the mean: all repeats, the posterior with its band, and the chosen and reported points.

    Args:
        fit: The record.
        ax: The axes to draw on.
        truth: The true mean of ``x (m,)``, if it is known.
    """
    draw_values(ax, fit.repeat_x, fit.repeat_y, fit.repeat_nearness)
    _draw_curve(fit, ax, (fit.mean, fit.mean_lower, fit.mean_upper), truth)
    if len(fit.chosen):
        ax.margins(y=0.1)
        # One tick per round along the lower edge.
        ax.plot(
            fit.chosen, np.full(len(fit.chosen), 0.035), "|", color=CHOSEN, markersize=16,
            markeredgewidth=1.2, transform=ax.get_xaxis_transform(), zorder=5,
            label="points chosen",
        )  # fmt: skip
    return _finished(fit, ax, fit.reported_mean, "value")


def draw_noise_1d(fit: Fit1D, ax: Axes, *, truth: Truth | None = None) -> Axes:
    """Draw the noise variance, with sample variances, like `draw_fit_1d`."""
    draw_values(ax, fit.points, fit.sample_var, fit.nearness, "sample variances", "o")
    _draw_curve(fit, ax, (fit.noise_var, fit.noise_var_lower, fit.noise_var_upper), truth)
    return _finished(fit, ax, fit.reported_noise_var, "noise variance")


def draw_noise_std_1d(fit: Fit1D, ax: Axes, *, truth: Truth | None = None) -> Axes:
    """Draw the noise std, in the unit of the values, like `draw_noise_1d`."""
    measured, centre = np.sqrt(fit.sample_var), np.sqrt(fit.noise_var)
    draw_values(ax, fit.points, measured, fit.nearness, "sample std", "o")
    ends = np.sqrt(fit.noise_var_lower), np.sqrt(fit.noise_var_upper)
    _draw_curve(fit, ax, (centre, *ends), truth)
    _finished(fit, ax, float(np.sqrt(fit.reported_noise_var)), "noise std")
    highest = CUT * float(np.nanmax([np.nanmax(centre), *measured]))
    ax.set_ylim(0.0, min(ax.get_ylim()[1], highest))
    return ax


def _draw_curve(
    fit: Fit1D, ax: Axes, curve: tuple[Array, Array, Array], truth: Truth | None
) -> None:
    draw_belief(ax, fit.input, fit.x, curve, fit.level)
    if truth is not None:
        ax.plot(fit.x, truth(fit.x), "--", color=TRUTH, linewidth=1.4, zorder=4, label="truth")


def _finished(fit: Fit1D, ax: Axes, reported: float, quantity: str) -> Axes:
    """Draw the reported point, and label the axes."""
    draw_star(ax, fit.reported, reported, size=16.0, zorder=6.0)
    fit.input.label(ax.xaxis)
    ax.set_ylabel(quantity)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def figure_of_fits(
    fits: Mapping[str, Fit1D], *, mean: Truth | None = None, noise_var: Truth | None = None
) -> Figure:
    """Draw runs side by side: the mean above, the noise variance below.

    Args:
        fits: The records by title.
        mean: The true mean of ``x (m,)``, if it is known.
        noise_var: The true noise variance of ``x (m,)``, if it is known.

    Returns:
        A figure that is not displayed; ``figure.savefig(path)`` saves it.
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
    legend_below(figure, axes[:, 0])
    return figure


def figure_of_slices(fits: Mapping[str, Fit1D]) -> Figure:
    """Draw the mean along each input with the noise std below, four inputs side by side."""
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
