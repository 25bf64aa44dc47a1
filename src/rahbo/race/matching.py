"""Compare two entrants seed by seed where that is more precise than comparing their means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rahbo.numerics import Array
from rahbo.race.evidence import UNSEEN, Pairs, normal_score

# Seeds in common from which on a correlation is believed.
ENOUGH = 6
# How much smaller the variance must be to make up for fewer degrees of freedom.
GAIN = 0.9


def matched_pairs(pairs: Pairs, values: Sequence[Mapping[int, float]], focus: int) -> Pairs:
    """Return the comparisons of one race with those by seed where they have the smaller error.

    Args:
        pairs: The comparisons of the means, ``(1, k)``.
        values: The values of each entrant by the number of their seed.
        focus: The entrant in focus.
    """
    leads, errors, z = pairs.leads.copy(), pairs.errors.copy(), pairs.z.copy()
    sizes, matched = pairs.sizes.copy(), pairs.matched.copy()
    for j, others in enumerate(values):
        common = sorted(values[focus].keys() & others.keys())
        if j == focus or len(common) < ENOUGH:
            continue
        a, b = (np.array([part[i] for i in common]) for part in (values[focus], others))
        error_var = _error_var(a, b)
        if not error_var < GAIN * errors[0, j] ** 2:
            continue
        n, off = len(common), a - b
        third = float(((off - off.mean()) ** 3).mean()) / n**2
        found = [np.array(x) for x in (off.mean(), error_var, third / error_var**1.5, n - 1.0)]
        leads[0, j], errors[0, j] = off.mean(), math.sqrt(error_var)
        z[0, j], sizes[0, j], matched[0, j] = normal_score(*found), n, True
    return replace(pairs, leads=leads, errors=errors, z=z, sizes=sizes, matched=matched)


def correlation(a: Array, b: Array) -> float:
    """Return a correlation that is hardly too large: a standard error below the sample's."""
    spread = a.std() * b.std()
    if not spread > 0.0:
        return 0.0
    r = float(((a - a.mean()) * (b - b.mean())).mean() / spread)
    r = min(max(r, -1.0 + 1e-9), 1.0 - 1e-9)
    return max(0.0, math.tanh(math.atanh(r) - 1.0 / math.sqrt(len(a) - 3.0)))


def _error_var(a: Array, b: Array) -> float:
    """Return the variance of the mean difference, with the careful correlation."""
    n, lead = len(a), float(a.mean() - b.mean())
    var = a.var(ddof=1) + b.var(ddof=1) - 2.0 * correlation(a, b) * a.std(ddof=1) * b.std(ddof=1)
    # Both entrants may have values that were not seen yet.
    return float(var + 2.0 * UNSEEN * lead**2 / (n + 1.0)) / n
