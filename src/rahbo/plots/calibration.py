"""Check the model: predict each point from the others, and compare with its measurement.

`left_out` computes a record. `draw_left_out` draws measured against predicted values, and
`draw_coverage` draws how often the bands contain the measurement.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from scipy.special import bdtr, ndtri

from rahbo.analysis import BAND, COVERAGE_LEVEL, LeftOut, left_out_of
from rahbo.errors import NotReadyError
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import run_in
from rahbo.plots.style import BELIEF, DATA, INK, bulk
from rahbo.running import Result


def left_out(optimizer: Optimizer | Result) -> LeftOut:
    """Compute the record: each point is left out in turn, with the hyperparameters of all data.

    Raises:
        NotReadyError: Fewer than two points have been told.
    """
    optimizer = run_in(optimizer)
    if optimizer.observations.n < 2:
        raise NotReadyError("left_out() needs at least two evaluated points. Evaluate another one.")
    return left_out_of(optimizer.model)


def draw_left_out(record: LeftOut, ax: Axes) -> Axes:
    """Draw measured against predicted sample means with 90 % bands, and the line of equality."""
    width = float(ndtri(0.5 + BAND / 2.0)) * record.std
    ax.errorbar(
        record.predicted, record.measured, xerr=width, color=BELIEF, ecolor=(0.0, 0.45, 0.7, 0.35),
        marker="o", markersize=3.5, markeredgewidth=0, linewidth=0.8, linestyle="none",
        label="points left out, 90 % bands",
    )  # fmt: skip
    low, high = bulk(record.measured)
    ax.axline((low, low), slope=1.0, color=INK, linewidth=1.0, linestyle=":", zorder=0)
    room = 0.08 * (high - low) or 0.5
    left, right = bulk(record.predicted)
    xlim, ylim = (min(low, left) - room, max(high, right) + room), (low - room, high + room)
    ax.set(xlim=xlim, ylim=ylim)
    x, y = np.clip(record.predicted, *xlim), np.clip(record.measured, *ylim)
    off = (x != record.predicted) | (y != record.measured)
    if off.any():
        ax.plot(
            x[off], y[off], "D", color=DATA, markersize=5, linestyle="none", clip_on=False,
            label="outside the range",
        )  # fmt: skip
    ax.set_xlabel("predicted by the others")
    ax.set_ylabel("sample mean")
    return ax


def draw_coverage(record: LeftOut, ax: Axes) -> Axes:
    """Draw the share of points inside their band against its nominal level.

    If the model is right and the points are independent, the line is inside the grey band with a
    probability of 95 % at each level.
    """
    n, levels = len(record.levels), np.linspace(0.0, 1.0, 101)
    # The smallest number of hits whose binomial distribution function reaches each tail.
    below = bdtr(np.arange(n + 1.0)[:, None], n, levels)
    tail = (1.0 - COVERAGE_LEVEL) / 2.0
    lower, upper = (np.argmax(below >= t, axis=0) / n for t in (tail, 1.0 - tail))
    ax.fill_between(
        levels, lower, upper, color=DATA, alpha=0.25, linewidth=0,
        label="what chance allows",
    )  # fmt: skip
    inside = [record.inside(level) for level in levels]
    ax.plot(levels, inside, color=BELIEF, label="points inside their band")
    ax.axline((0.0, 0.0), slope=1.0, color=INK, linewidth=1.0, linestyle=":", zorder=0)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.02), xlabel="nominal level", ylabel="share inside")
    return ax
