"""Mean against noise: which evaluated point each alpha would report, with no new evaluation.

Notation: for point i, ``l`` the lower bound of its mean, ``u`` the upper bound of its noise
variance, each ``(n,)`` in user units and in the sense of maximisation.

The pessimistic mean-variance of a point is a line in alpha,
    lcb_MV_i(alpha) = l_i - alpha u_i    (Corollary 1.1)
so the points reported for some alpha >= 0 are those on the upper envelope of these lines, each on
an interval of alpha that is known exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rahbo.arrays import Array, Index
from rahbo.errors import NotReadyError, SettingsError
from rahbo.model.joint import MeanNoiseModel
from rahbo.report.recommendation import Prediction, predict, short
from rahbo.risk import RiskMeasure

__all__ = ["Choice", "Frontier", "envelope", "frontier"]


@dataclass(frozen=True)
class Choice:
    """A point that some alpha would report.

    Attributes:
        alpha_from: From this alpha on.
        alpha_to: Up to this one, which may be infinite.
        prediction: What is believed of the point.
        n_evaluations: Values told there.
    """

    alpha_from: float
    alpha_to: float
    prediction: Prediction
    n_evaluations: int


@dataclass(frozen=True)
class Frontier:
    """The trade-off between mean and noise among evaluated points.

    Attributes:
        choices: What each alpha would report, from alpha = 0 to infinity.
        evaluated: What is believed of every evaluated point, for a picture.
    """

    choices: tuple[Choice, ...]
    evaluated: tuple[Prediction, ...]

    def at(self, alpha: float) -> Choice:
        """What this alpha would report."""
        if not alpha >= 0:
            raise SettingsError(f"alpha must be a number >= 0, got {alpha!r}.")
        return next(choice for choice in self.choices if alpha <= choice.alpha_to)

    def negated(self) -> Frontier:
        """The record of the negated objective."""
        choices = (replace(c, prediction=c.prediction.negated()) for c in self.choices)
        return Frontier(tuple(choices), tuple(p.negated() for p in self.evaluated))

    def __str__(self) -> str:
        lines = [f"{'alpha':>21}{'mean':>12}{'noise std':>12}{'evaluated':>11}  params"]
        for choice in self.choices:
            p = choice.prediction
            ends = f"{choice.alpha_from:.4g} to {choice.alpha_to:.4g}"
            params = ", ".join(f"{name}={short(value)}" for name, value in p.params.items())
            lines.append(
                f"{ends:>21}{p.mean:>12.5g}{p.noise_std:>12.4g}{choice.n_evaluations:>11}  {params}"
            )
        return "\n".join(lines)


def frontier(
    model: MeanNoiseModel,
    risk: RiskMeasure,
    X: Array,
    params: list[dict[str, Any]],
    count: Index,
) -> Frontier:
    """The trade-off among evaluated points ``X (n, d)``, in the sense of maximisation.

    Args:
        model: What is believed.
        risk: The risk measure of the predictions.
        X: Points that were evaluated and may be reported.
        params: The same in user units.
        count: Values told at each, ``(n,)``.
    """
    if len(X) == 0:
        raise NotReadyError("frontier() needs a point that was told and satisfies valid=.")
    evaluated = predict(model, risk, X, params)
    belief, units = model.belief(X), model.learned
    lower = units.shift + units.scale * belief.f_lower
    upper = units.scale**2 * np.maximum(belief.noise_upper, model.min_noise_var)
    choices = (
        Choice(start, end, evaluated[i], int(count[i])) for i, start, end in envelope(lower, upper)
    )
    return Frontier(tuple(choices), tuple(evaluated))


def envelope(lower: Array, noise_upper: Array) -> list[tuple[int, float, float]]:
    """The lines ``lower - alpha * noise_upper`` that are largest for some alpha >= 0.

    Args:
        lower: Where each line begins, ``(n,)``.
        noise_upper: How fast it falls, ``(n,)``, not negative.

    Returns:
        Of each such line its index and the ends of its interval, in order of alpha.
    """
    # At alpha = 0 the largest mean wins, of equals the quieter one; then ever quieter lines.
    hull: list[int] = []
    starts: list[float] = []
    for i in np.lexsort((noise_upper, -lower)):
        if hull and noise_upper[i] >= noise_upper[hull[-1]]:
            continue
        start = 0.0
        while hull:
            j = hull[-1]
            start = float((lower[j] - lower[i]) / (noise_upper[j] - noise_upper[i]))
            if start > starts[-1]:
                break
            hull.pop()
            starts.pop()
        hull.append(int(i))
        starts.append(start if len(hull) > 1 else 0.0)
    ends = pairwise([*starts, math.inf])
    return [(i, start, end) for i, (start, end) in zip(hull, ends, strict=True)]
