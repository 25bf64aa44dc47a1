"""Which inputs matter: bars for the share of the variation that each input explains."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from rahbo.analysis import Sensitivity, sensitivity_of
from rahbo.numerics import one_blas_thread
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import check_size, inputs_of, run_in
from rahbo.plots.style import BELIEF, CHOSEN, fitting
from rahbo.running import Result


def sensitivity(optimizer: Optimizer | Result, *, n: int = 1024) -> Sensitivity:
    """Compute the shares from quasi-random points over the whole space, ignoring ``valid``.

    `analysis.sensitivity` has the formulas.

    Args:
        optimizer: The run.
        n: The number of points, best a power of 2. The model predicts p + 2 times as many.

    Raises:
        SpaceError: The space is a list of candidates, whose inputs do not vary independently.
    """
    optimizer = run_in(optimizer)
    inputs_of(optimizer)
    check_size("sensitivity(n)", n)
    with one_blas_thread():
        return sensitivity_of(optimizer.model, optimizer.settings.space, n)


def draw_sensitivity(record: Sensitivity, ax: Axes, *, most: int = 8) -> Axes:
    """Draw bars for the leading inputs: dark for each input alone, pale with interactions.

    Args:
        record: The shares.
        ax: The axes to draw on.
        most: The largest number of inputs to show.
    """
    names = record.leading()[:most]
    rows = [record.names.index(name) for name in names]
    y = np.arange(len(rows))
    for alone, total, shift, color, label in (
        (record.mean_alone, record.mean_total, -0.2, BELIEF, "mean"),
        (record.noise_alone, record.noise_total, 0.2, CHOSEN, "noise"),
    ):
        ax.barh(
            y + shift, total[rows], 0.36, color=color, alpha=0.3,
            label=f"{label}, with interactions",
        )  # fmt: skip
        ax.barh(y + shift, alone[rows], 0.36, color=color, label=f"{label}, input alone")
    ax.set_yticks(y, [fitting(name, 14) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(0.0, max(1.0, ax.get_xlim()[1]))
    ax.set_xlabel("share of variation")
    return ax
