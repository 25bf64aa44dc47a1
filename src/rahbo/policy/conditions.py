"""Conditions that are given: which choices were tried, and how they are placed under others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array
from rahbo.policy import acquisition as acq
from rahbo.policy.screening import values
from rahbo.risk import RiskMeasure
from rahbo.space import Space


def placed(space: Space, X: Array) -> Array:
    """Return the distinct choices of ``X (n, d)`` under the conditions that a space is at."""
    if len(X) == 0:
        return X
    first: dict[bytes, int] = {}
    moved = space.snap(X)
    for i, x in enumerate(moved):
        first.setdefault(x.tobytes(), i)
    return np.asarray(moved[list(first.values())])


def placed_best_first(space: Space, model: MeanNoiseModel, risk: RiskMeasure) -> Array:
    """Return the choices that were tried, the best under the given conditions first, ``(n, d)``.

    The values that were told do not tell which is best, as they come from other conditions.
    """
    X = placed(space, model.observations.X)
    return np.asarray(X[np.argsort(-values(acq.central(model, risk), X), kind="stable")])


def seen_in(space: Space, points: Iterable[Array]) -> set[bytes]:
    """Return points ``(d,)`` as bytes, under the conditions that a space is at, if it is at any."""
    X = list(points)
    if not X or not space.conditions:
        return {x.tobytes() for x in X}
    return {x.tobytes() for x in space.snap(np.array(X))}
