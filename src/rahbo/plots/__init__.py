"""Pictures: functions that compute a small record, and functions that draw one on given axes.

`overview` draws a whole run in one figure. For single pictures, `fit_1d`, `fit_slice` and `slices`,
`surface`, `trade_off`, `ranking`, `effort`, `progress`, `sensitivity` and `left_out` compute
records from an `Optimizer`, and ``draw_...`` and ``figure_of_...`` draw them. `outcome_slice` is
for an outcome with a limit, and `draw_blocks` draws `Optimizer.blocks`. `figure_of_promises` shows
what the luckiest trial promised and what it gives. All of them need matplotlib:
``pip install "rahbo[plot]"``.

Records are computed from an `Optimizer` or a `Result`, in user units. They raise `NotReadyError`
if no value was told. They go through the recommended point, or mark it, unless ``at=`` is another.
"""

from rahbo.analysis import LeftOut, Sensitivity
from rahbo.plots.calibration import draw_coverage, draw_left_out, left_out
from rahbo.plots.figures import overview
from rahbo.plots.fits import (
    Fit1D,
    draw_fit_1d,
    draw_noise_1d,
    draw_noise_std_1d,
    figure_of_fits,
    figure_of_slices,
    fit_1d,
    fit_slice,
    slices,
)
from rahbo.plots.influence import draw_sensitivity, sensitivity
from rahbo.plots.outcomes import OutcomeSlice, draw_blocks, draw_outcome, outcome_slice
from rahbo.plots.points import (
    Effort,
    Ranking,
    TradeOff,
    draw_effort,
    draw_ranking,
    draw_trade_off,
    effort,
    ranking,
    trade_off,
)
from rahbo.plots.promises import figure_of_promises
from rahbo.plots.replay import Progress, draw_progress, draw_regret, progress, regret_of
from rahbo.plots.style import styled
from rahbo.plots.surfaces import Surface, draw_surface, figure_of_surface, surface

__all__ = [
    "Effort",
    "Fit1D",
    "LeftOut",
    "OutcomeSlice",
    "Progress",
    "Ranking",
    "Sensitivity",
    "Surface",
    "TradeOff",
    "draw_blocks",
    "draw_coverage",
    "draw_effort",
    "draw_fit_1d",
    "draw_left_out",
    "draw_noise_1d",
    "draw_noise_std_1d",
    "draw_outcome",
    "draw_progress",
    "draw_ranking",
    "draw_regret",
    "draw_sensitivity",
    "draw_surface",
    "draw_trade_off",
    "effort",
    "figure_of_fits",
    "figure_of_promises",
    "figure_of_slices",
    "figure_of_surface",
    "fit_1d",
    "fit_slice",
    "left_out",
    "outcome_slice",
    "overview",
    "progress",
    "ranking",
    "regret_of",
    "sensitivity",
    "slices",
    "styled",
    "surface",
    "trade_off",
]
