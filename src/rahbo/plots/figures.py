"""A whole run in one figure, with the panels that suit its space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rahbo.optimizer import Optimizer
from rahbo.plots.calibration import draw_coverage, draw_left_out, left_out
from rahbo.plots.fits import draw_fit_1d, draw_noise_std_1d, fit_slice
from rahbo.plots.influence import draw_sensitivity, sensitivity
from rahbo.plots.inputs import Params, run_in
from rahbo.plots.outcomes import draw_blocks, draw_outcome, outcome_slice
from rahbo.plots.points import (
    draw_effort,
    draw_ranking,
    draw_trade_off,
    effort,
    ranking,
    trade_off,
)
from rahbo.plots.replay import draw_progress, progress
from rahbo.plots.style import legends_under, panels, styled
from rahbo.plots.surfaces import Quantity, draw_surface, surface
from rahbo.policy import limits
from rahbo.running import Result
from rahbo.space import Candidates

COLUMNS, RANKED = 3, 8
# Inches for the legends of a row of panels.
LEGENDS = 0.9

Draw = Callable[[Axes], Axes]


def overview(optimizer: Optimizer | Result) -> Figure:
    """Draw a whole run in one figure.

    With one input, it shows the fits of mean and noise. With two, it shows maps. With more, it
    shows slices along the three inputs that matter most, and maps over the first two of them. For
    a list of candidates, it shows the best points. In all cases it also shows mean against noise,
    progress, the evaluations of each point, and how well the model predicts. Outcomes with limits
    and blocks have panels of their own.

    Returns:
        A figure that is not displayed; ``figure.savefig(path)`` saves it.
    """
    optimizer = run_in(optimizer)
    at = optimizer.tried_at(optimizer.recommend().params)
    drawn = [
        *_of_space(optimizer, at),
        *_of_outcomes(optimizer, at),
        *_of_points(optimizer, at),
        *_of_model(optimizer),
    ]
    with styled():
        rows = -(-len(drawn) // COLUMNS)
        figure, axes = panels(rows, COLUMNS)
        figure.set_figheight(figure.get_figheight() + LEGENDS * rows)
        for ax, draw in zip(axes.flat, drawn, strict=False):
            draw(ax)
        for ax in axes.flat[len(drawn) :]:
            ax.set_visible(False)
        legends_under(figure, axes.flat[: len(drawn)], LEGENDS)
    return figure


def _of_space(optimizer: Optimizer, at: Params) -> list[Draw]:
    """Return the panels of the estimates over the space."""
    if isinstance(optimizer.settings.space.spec, Candidates):
        return [partial(draw_ranking, ranking(optimizer, at=at, most=RANKED))]
    names = optimizer.settings.space.names
    if len(names) == 1:
        return _slices(optimizer, at, names)
    shares = sensitivity(optimizer)
    leading = shares.leading()[:COLUMNS]
    along = _slices(optimizer, at, leading) if len(names) > 2 else []
    # In the order of the space, so that two inputs do not swap axes during a run.
    first, second = sorted(leading[:2], key=names.index)
    over = surface(optimizer, (first, second), at=at)
    maps = [partial(draw_surface, over, quantity) for quantity in get_args(Quantity)]
    return [*along, *maps, partial(draw_sensitivity, shares)]


def _of_outcomes(optimizer: Optimizer, at: Params) -> list[Draw]:
    """Return the panels of outcomes with limits, and of blocks; none without them."""
    drawn: list[Draw] = []
    known = limits(optimizer.state)
    listed = isinstance(optimizer.settings.space.spec, Candidates)
    if known is not None and not listed:
        names = optimizer.settings.space.names
        # Each along the input over which its quantile varies most.
        for limit in [one for one in known.each if one.model is not None][:COLUMNS]:
            along = [outcome_slice(optimizer, name, limit.name, at=at, n=31) for name in names]
            widest = max(
                along,
                key=lambda record: float(np.nanmax(record.quantile) - np.nanmin(record.quantile)),
            )
            drawn.append(partial(draw_outcome, widest))
    effects = optimizer.blocks
    return drawn if effects is None else [*drawn, partial(draw_blocks, effects)]


def _slices(optimizer: Optimizer, at: Params, names: Sequence[str]) -> list[Draw]:
    fits = [fit_slice(optimizer, name, at=at) for name in names]
    return [partial(draw, fit) for draw in (draw_fit_1d, draw_noise_std_1d) for fit in fits]


def _of_points(optimizer: Optimizer, at: Params) -> list[Draw]:
    """Return the panels of the evaluated points."""
    return [
        partial(draw_trade_off, trade_off(optimizer, at=at)),
        partial(draw_progress, progress(optimizer)),
        partial(draw_effort, effort(optimizer, at=at)),
    ]


def _of_model(optimizer: Optimizer) -> list[Draw]:
    """Return the panels on how well the model predicts; none for a single point."""
    if optimizer.observations.n < 2:
        return []
    record = left_out(optimizer)
    # With one input, the fit itself shows how often its band contains the measurements.
    one = len(optimizer.settings.space.names) == 1
    return [partial(draw_left_out, record), *([] if one else [partial(draw_coverage, record)])]
