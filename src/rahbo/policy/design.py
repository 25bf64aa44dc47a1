"""The initial design: a scrambled Sobol sequence over the space."""

from __future__ import annotations

import numpy as np

from rahbo.arrays import Array
from rahbo.errors import SpaceError
from rahbo.space import Space

# Points tried before a predicate that nothing satisfies is reported.
MAX_TRIES = 1 << 15


def initial_design(space: Space, n: int, seed: int) -> Array:
    """The first ``n`` distinct valid points of a scrambled Sobol sequence, ``(n, d)``.

    A longer design of the same seed begins with a shorter one. A finite space that has fewer
    points gives all it has.
    """
    # scipy.stats takes longer to import than all of this package.
    from scipy.stats import qmc

    wanted = int(min(n, space.size))
    tries = max(8, 1 << int(np.ceil(np.log2(max(wanted, 1)))))
    while True:
        sobol = qmc.Sobol(space.n_uniform, scramble=True, rng=np.random.default_rng([seed, 0]))
        X = space.from_uniform(sobol.random(tries))
        X = np.array([space.canonical(x) for x in X])
        X = X[np.sort(np.unique(X, axis=0, return_index=True)[1])]
        X = X[space.is_valid(X)]
        if len(X) >= wanted:
            return X[:wanted]
        if tries >= MAX_TRIES:
            return _last_resort(space, X, wanted)
        tries *= 2


def _last_resort(space: Space, found: Array, wanted: int) -> Array:
    """Enumerate a finite space; otherwise make do with what was found, if anything."""
    if np.isfinite(space.size) and space.size <= MAX_TRIES:
        every = space.enumerate()
        known = {x.tobytes() for x in found}
        rest = [x for x in every if x.tobytes() not in known]
        found = np.vstack([found, *rest])[:wanted] if rest else found
    if len(found) == 0:
        raise SpaceError(
            f"None of {MAX_TRIES} points spread over the space satisfies valid=. "
            "Check the predicate, or choose bounds in which it holds more often."
        )
    return found
