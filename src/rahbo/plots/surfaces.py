"""Maps over two inputs: the estimates of mean and noise, and the acquisition function.

`surface` computes a record, `draw_surface` draws one of its quantities on given axes, and
`figure_of_surface` draws all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rahbo import policy as acq
from rahbo.errors import SettingsError
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, Index
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import (
    Input,
    Params,
    check_size,
    inputs_of,
    nearness,
    predictions,
    run_in,
    shown_point,
)
from rahbo.plots.marks import draw_star
from rahbo.plots.style import FIELD, INK, legend_below, panels, styled
from rahbo.policy import GPUCB, RahboUS, values
from rahbo.risk import MeanVariance
from rahbo.running import Result

# Opacity of points far from the plane, which are faint but not hidden.
FAINT = 0.12
# Values farther from the best than this multiple of the median's distance share one colour.
STEEP = 3.0
# The range of the noise's colours is at least this share of its largest value.
EVEN = 0.25
# More points than this are drawn smaller, so that they do not hide the map.
CROWD = 60

Quantity = Literal["mean", "noise_std", "acquisition"]


@dataclass(frozen=True, eq=False)
class Surface:
    """Both posteriors and the acquisition over two inputs, all others fixed.

    Attributes:
        inputs: The input along each axis.
        x1: The grid of the first input, ``(m1,)``; choices are at 0, 1, 2 and so on.
        x2: The grid of the second input, ``(m2,)``.
        mean: Posterior mean, ``(m2, m1)``. Like the next two, it is NaN where ``valid`` forbids
            the point.
        noise_std: Centre of the noise std, ``(m2, m1)``.
        acquisition: The quantity that the strategy maximises, or minimises in a run that
            minimises, ``(m2, m1)``.
        acquisition_name: The name of that quantity.
        points: The evaluated points, ``(n, 2)``.
        count: The number of values at each point, ``(n,)``.
        nearness: How near each point is to the plane, from 0 to 1, ``(n,)``; 1 if the space has
            two inputs.
        minimised: Whether smaller values are better.
        reported: The point that the plane goes through, by default the recommended one.
    """

    inputs: tuple[Input, Input]
    x1: Array
    x2: Array
    mean: Array
    noise_std: Array
    acquisition: Array
    acquisition_name: str
    points: Array
    count: Index
    nearness: Array
    minimised: bool
    reported: tuple[float, float]

    def title(self, quantity: Quantity) -> str:
        """Return the title of a quantity."""
        titles: Mapping[Quantity, str] = {
            "mean": "mean", "noise_std": "noise std", "acquisition": self.acquisition_name
        }  # fmt: skip
        return titles[quantity]

    def limits(self, quantity: Quantity) -> tuple[float, float]:
        """Return the range of colours of a quantity; values far worse than its median share one.

        Otherwise a function that falls steeply at a border would hide all differences elsewhere.
        """
        field = getattr(self, quantity)
        low, middle, high = (float(q) for q in np.nanquantile(field, [0.0, 0.5, 1.0]))
        if quantity == "noise_std":
            # Noise that hardly differs does not get all colours.
            room = max(0.0, EVEN * high - (high - low)) / 2.0
            return max(0.0, low - room), high + room
        if self.minimised:
            return low, min(high, low + STEEP * (middle - low))
        return max(low, high - STEEP * (high - middle)), high


def surface(
    optimizer: Optimizer | Result,
    names: tuple[str, str] | None = None,
    *,
    at: Params | None = None,
    n: int = 41,
) -> Surface:
    """Compute the record over two inputs.

    Args:
        optimizer: The run, with at least one value told.
        names: The horizontal and the vertical input; may be left out if there are only two.
        at: A point of the plane; by default the recommended one.
        n: The number of grid points along each input, at least 2; an input of few values has one
            per value.

    Raises:
        SpaceError: The space is a list of candidates.
    """
    optimizer = run_in(optimizer)
    inputs = inputs_of(optimizer)
    wanted = tuple(inputs) if names is None else tuple(names)
    if len(wanted) != 2 or wanted[0] == wanted[1] or not set(wanted) <= set(inputs):
        raise SettingsError(
            f"surface() needs two inputs of {list(inputs)}, got {wanted}. Pass names=."
        )
    check_size("surface(n)", n)
    first, second = (inputs[name] for name in wanted)
    at = shown_point(optimizer, at)
    x1, x2 = first.grid(n), second.grid(n)
    params = [
        {**at, first.name: first.value(a), second.name: second.value(b)}
        for b in x2.tolist()
        for a in x1.tolist()
    ]
    beliefs, legal = predictions(optimizer, params)
    space, observations = optimizer.settings.space, optimizer.observations
    acquisition, called = _acquisition(optimizer, np.array([space.encode(p) for p in params]))
    fields = np.array([[b.mean for b in beliefs], [b.noise_std for b in beliefs], acquisition])
    fields[:, ~legal] = np.nan
    mean, noise_std, promise = fields.reshape(3, len(x2), len(x1))
    rows = [space.decode(x) for x in observations.X]
    return Surface(
        inputs=(first, second),
        x1=x1,
        x2=x2,
        mean=mean,
        noise_std=noise_std,
        acquisition=promise,
        acquisition_name=called,
        points=np.column_stack([first.places(rows), second.places(rows)]),
        count=observations.count,
        nearness=nearness(optimizer, optimizer.model.mean.kernel, at, wanted),
        minimised=optimizer.settings.sign < 0,
        reported=(float(first.places([at])[0]), float(second.places([at])[0])),
    )


def _acquisition(optimizer: Optimizer, X: Array) -> tuple[Array, str]:
    """Return what the strategy would maximise next, in user units and sign, and its name.

    The probability of failure is left out. For a strategy that uses no bound, this is the
    optimistic bound.
    """
    strategy, risk = optimizer.settings.method.strategy, optimizer.settings.risk
    model = _model_for_asking(optimizer)
    chosen = sum(trial.source == "strategy" for trial in optimizer.trials)
    if isinstance(strategy, RahboUS) and chosen < strategy.learning_rounds:
        return values(acq.NoiseUncertainty(model.noise), X), "noise uncertainty"
    bound, called = acq.optimistic(model, risk), "optimistic value"
    if isinstance(strategy, RahboUS):
        bound = acq.optimistic_at_mean_noise(model, risk)
    elif isinstance(strategy, GPUCB):
        bound, called = acq.optimistic(model, MeanVariance(0.0)), "optimistic mean"
    return model.units.to_user(values(bound, X)), called


def _model_for_asking(optimizer: Optimizer) -> MeanNoiseModel:
    """Return the model, assuming that all pending evaluations give their expected values."""
    pending = [trial for trial in optimizer.trials if trial.missing]
    X = np.array([t.x for t in pending]).reshape(len(pending), optimizer.settings.space.d)
    return optimizer.model.with_pending(X, np.array([len(t.missing) for t in pending], np.intp))


def draw_surface(record: Surface, quantity: Quantity, ax: Axes) -> Axes:
    """Draw a map with its scale, the evaluated points and the reported point.

    A point with more values is drawn larger.

    Args:
        record: The record to draw.
        quantity: ``"mean"``, ``"noise_std"`` or ``"acquisition"``.
        ax: The axes to draw on.
    """
    if quantity not in get_args(Quantity):
        raise SettingsError(f"quantity must be one of {get_args(Quantity)}, got {quantity!r}.")
    field, (low, high) = getattr(record, quantity), record.limits(quantity)
    mesh = ax.pcolormesh(
        record.x1, record.x2, field, cmap=FIELD, vmin=low, vmax=high, shading="nearest",
        rasterized=True,
    )  # fmt: skip
    figure = ax.get_figure()
    if figure is not None:
        below, above = np.nanmin(field) < low, np.nanmax(field) > high
        extend = "min" if below else "max" if above else "neither"
        figure.colorbar(mesh, ax=ax, pad=0.02, extend=extend)
    alphas = (FAINT + (1.0 - FAINT) * record.nearness).tolist()
    crowd = max(1.0, np.sqrt(len(record.points) / CROWD))
    ax.scatter(
        record.points[:, 0], record.points[:, 1], s=8.0 * np.sqrt(record.count) / crowd,
        c=[(1.0, 1.0, 1.0, a) for a in alphas], edgecolors=[(0.0, 0.0, 0.0, a) for a in alphas],
        linewidths=0.6 / crowd, zorder=2,
    )  # fmt: skip
    ax.plot(
        [], [], "o", color="white", markeredgecolor=INK, markersize=4, markeredgewidth=0.6,
        label="evaluated points",
    )  # fmt: skip
    draw_star(ax, *record.reported)
    ax.set_title(record.title(quantity))
    record.inputs[0].label(ax.xaxis)
    record.inputs[1].label(ax.yaxis)
    return ax


def figure_of_surface(record: Surface) -> Figure:
    """Draw mean, noise std and acquisition side by side."""
    with styled():
        figure, (axes,) = panels(1, 3, sharey=True)
        for ax, quantity in zip(axes, get_args(Quantity), strict=True):
            draw_surface(record, quantity, ax)
        for ax in axes[1:]:
            ax.set_ylabel("")
        legend_below(figure, axes[:1])
    return figure
