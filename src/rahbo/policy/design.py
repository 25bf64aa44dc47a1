"""The initial design: a scrambled Sobol sequence over the space."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from rahbo.errors import SpaceError
from rahbo.numerics import Array, Stream, generator, sobol_sequence
from rahbo.space import Space

# Points to try before reporting that nothing satisfies the predicate.
MAX_TRIES = 1 << 15


def initial_design(space: Space, n: int, seed: int) -> Array:
    """Return the first ``n`` distinct valid points of a scrambled Sobol sequence, ``(n, d)``.

    With the same seed, a longer design begins with the shorter one. If the space has fewer points,
    all that were found are returned.
    """
    wanted = int(min(n, space.size))
    tries = max(8, 1 << int(np.ceil(np.log2(max(wanted, 1)))))
    while True:
        sobol = sobol_sequence(space.n_uniform, generator(seed, Stream.DESIGN))
        X = space.from_uniform(sobol.random(tries))
        X = _distinct(X)
        X = X[space.is_valid(X)]
        if len(X) < wanted and space.size <= tries:
            X = _complete(space, X)
        if len(X) >= wanted or tries >= MAX_TRIES or space.size <= tries:
            break
        tries *= 2
    if len(X) == 0:
        raise SpaceError(
            f"None of {tries} points spread over the space satisfies valid=. "
            "Check the predicate, or choose bounds where it holds more often."
        )
    return np.array([space.canonical(x) for x in X[:wanted]])


def _distinct(X: Array) -> Array:
    """Return the rows of ``X (n, d)`` without those that came before.

    `np.unique` answers an interrupt with a TypeError when it compares rows.
    """
    first: dict[bytes, int] = {}
    # The sum turns -0.0 into 0.0.
    for i, x in enumerate(X + 0.0):
        first.setdefault(x.tobytes(), i)
    return X[list(first.values())]


def next_design_point(space: Space, seen: Set[bytes], seed: int) -> Array | None:
    """Return the first point of the initial design that was not seen; None if all were.

    Args:
        space: Where to look.
        seen: Distinct points that were already tried, as bytes.
        seed: The seed of the run.
    """
    design = initial_design(space, len(seen) + 1, seed)
    return next((x for x in design if x.tobytes() not in seen), None)


def _complete(space: Space, found: Array) -> Array:
    """Return all legal points of a small finite space, those already found first."""
    known = {x.tobytes() for x in found}
    rest = [x for x in space.enumerate() if x.tobytes() not in known]
    return np.vstack([found, *rest]) if rest else found
