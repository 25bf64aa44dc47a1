"""Optimistic values of many points, exact only where that can matter.

A posterior mean costs O(n) a point, a deviation O(n^2). Conditioning on a part of the data gives a
larger deviation, so an optimistic value from a part is a ceiling of the exact one. Points are
ranked by ceilings, and only the highest of them get exact values. What is found is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rahbo.model import GP, MeanNoiseModel
from rahbo.numerics import Array, Index, Mask
from rahbo.policy.acquisition import Acquisition, Marginals, RiskBound

MANY = 192  # data points from which on ceilings pay
PART = 8  # one of this many data points is used for ceilings
LEAST = 64  # but at least this many
FEW = 48  # points that get exact values first; later twice as many each time
CHUNK = 128  # points predicted at once, so that their covariances stay in the cache


@dataclass(frozen=True, eq=False)
class Screened:
    """Predictions at ``X (m, d)``, whose deviations may be too large where they are not exact.

    Exact deviations replace others in place, so that later values know them.

    Attributes:
        model: Both posteriors.
        X: The points, ``(m, d)``.
        found: The predictions.
        exact: Which of them are exact, ``(m,)``.
    """

    model: MeanNoiseModel
    X: Array
    found: Marginals
    exact: Mask

    @classmethod
    def of(cls, model: MeanNoiseModel, X: Array) -> Screened:
        """Return predictions at ``X (m, d)``, with rough deviations if there are many data."""
        gps = [gp for gp in (model.mean, model.noise.gp) if gp is not None]
        if max(len(gp.X) for gp in gps) < MANY or len(X) <= FEW:
            found = Marginals(*in_chunks(lambda some: np.array(_exact(model, some)), X))
            return cls(model, X, found, np.ones(len(X), dtype=bool))
        f, noise = (_part(gp) for gp in (model.mean, model.noise.gp))

        def rough(some: Array) -> Array:
            latent = model.noise.latent(some) if noise is None else noise(some)
            return np.array([*(model.mean.predict(some) if f is None else f(some)), *latent])

        return cls(model, X, Marginals(*in_chunks(rough, X)), np.zeros(len(X), dtype=bool))

    def best(
        self, bound: RiskBound, wanted: int, weigh: Callable[[Array], Array]
    ) -> tuple[Array, Index]:
        """Return optimistic values ``(m,)``, and which of them are exact, the largest first.

        The ``wanted`` largest values are exact, and the others are not above them.

        Args:
            bound: An optimistic bound.
            wanted: How many of the largest values are needed.
            weigh: Maps values ``(m,)`` to those that count. It must not reverse two values of a
                point.
        """
        few = FEW
        while True:
            F = weigh(bound.value_of(self.found))
            order = np.argsort(-F, kind="stable")
            if self.exact[order[:wanted]].all():
                return F, np.asarray(order[self.exact[order]])
            self._refine(order[~self.exact[order]][:few])
            few *= 2

    def _refine(self, rows: Index) -> None:
        _, sigma, _, s = in_chunks(lambda some: np.array(_exact(self.model, some)), self.X[rows])
        self.found.sigma[rows], self.found.s[rows], self.exact[rows] = sigma, s, True


def in_chunks(function: Callable[[Array], Array], X: Array) -> Array:
    """Return ``function(X (m, d))``, computed a chunk at a time; its last axis is the points."""
    if len(X) <= CHUNK:
        return function(X)
    pieces = np.array_split(X, -(-len(X) // CHUNK))
    return np.concatenate([function(piece) for piece in pieces], axis=-1)


def values(acquisition: Acquisition, X: Array) -> Array:
    """Return acquisition values ``(m,)``, computed a chunk at a time."""
    return in_chunks(acquisition.value, X)


def _exact(model: MeanNoiseModel, X: Array) -> tuple[Array, Array, Array, Array]:
    return *model.mean.predict(X), *model.noise.latent(X)


def _part(gp: GP | None) -> Callable[[Array], tuple[Array, Array]] | None:
    """Return a function that gives means and ceilings of deviations; None if there are few data."""
    if gp is None or len(gp.X) < MANY:
        return None
    n = len(gp.X)
    # Points are in the order of the run: early ones lie everywhere, late ones where it is good.
    some = np.linspace(0, n - 1, max(LEAST, n // PART)).astype(np.intp)
    part = GP.condition(gp.kernel, gp.X[some], np.zeros(len(some)), gp.noise_var[some], lam=gp.lam)
    return lambda X: (gp.predict_mean(X), part.predict(X)[1])
