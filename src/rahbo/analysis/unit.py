"""Whether the weight of a mean-variance measure suits the unit of the objective.

Alpha has a unit, one over that of the objective. Whoever rescales the objective and forgets alpha
optimises the noise alone, or the mean alone, without being told.
"""

from __future__ import annotations

import numpy as np

from rahbo.numerics import brief
from rahbo.policy import report_bound
from rahbo.state import State

# Alpha times the variance, as a share of the spread of the means, below and above which alpha is
# most likely meant for another unit. The variance is that of the noisier settings.
LEAST, MOST = 1e-3, 10.0
# The noisier settings are beyond this quantile of all, the quieter ones below its counterpart.
NOISIER = 0.9
# Standard deviations differ if those of noisier and quieter settings do by this many posterior
# standard deviations on either side. If they may be the same, so may be the choices of all alphas.
APART = 1.645


def unsuited(state: State) -> str:
    """Return what to know if alpha counts the noise for nearly nothing or nearly everything.

    It is empty for other measures, for alpha = 0, and where the noise may be the same everywhere.
    So it is for raw outputs, as the paper's preset has them: a method that is
    reproduced has the alpha that it has.
    """
    model, risk = state.model, state.risk
    reported_by = report_bound(state).risk
    if risk.penalty != "noise variance" or model.settings.outputs.unchanged:
        return ""
    if not risk.weight or reported_by.weight == 0.0:
        return ""
    mean, _, g, sigma = model.at_observations()
    noisy = np.quantile(g - APART * sigma, NOISIER)
    quiet = np.quantile(g + APART * sigma, 1.0 - NOISIER)
    spread = float(np.std(mean))
    if noisy <= quiet or spread == 0.0:
        return ""
    noise_var = np.quantile(model.noise.link(g), NOISIER)
    share = risk.weight * model.units.scale * float(noise_var) / spread
    if LEAST <= share <= MOST:
        return ""
    much, change = ("", "lower") if share > MOST else ("only ", "raise")
    consequence = "the noise decides almost alone" if share > MOST else "the noise hardly counts"
    return (
        f"At the noisier settings alpha times the variance is {much}{brief(share)} times the "
        f"spread of the means, so {consequence}. Alpha has a unit, one over that of the objective: "
        f"{change} it, or use MeanStd, whose weight has none."
    )
