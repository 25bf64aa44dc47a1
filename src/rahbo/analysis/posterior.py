"""The posterior of mean, noise and risk, at each point separately and at several points jointly.

Notation: ``n`` draws at ``m`` points; mu and cov the posteriors of the mean f and of the latent
noise g (`model.joint`), v = link(g) the noise variance, never below ``min_noise_var``. A draw of f
or g is that of a Student process with nu degrees of freedom,
    mu + sqrt(nu / c) a,  a ~ N(0, cov),  c ~ chi-squared with nu degrees of freedom
with one c for all points, which leaves their correlations and ranks nearly unchanged.

For points taken separately, the same standard draws serve every point and every model. So an
interval depends only on the model, the risk measure, the point and the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from rahbo.errors import SettingsError
from rahbo.model import MeanNoiseModel, alternatives
from rahbo.numerics import Array, Justified, is_number
from rahbo.risk import RiskMeasure

# The default probability of an interval.
LEVEL = 0.9
DRAWS = 640
# New values for each draw of their mean and noise.
EACH = 9
# Points handled at once where each is drawn separately, to bound the memory.
CHUNK = 256
# Degrees of freedom. The posterior treats all hyperparameters except the noise level as known, and
# the reported point is the luckiest of many. With tails this heavy, intervals contain the true
# value as often as they claim (`bench/coverage.py`, `bench/tables.py`).
DOF = 4
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def plausible(model: MeanNoiseModel) -> list[tuple[MeanNoiseModel, int]]:
    """Return the models that the data allow, each with its number of draws."""
    found = [(one.model, round(one.share * DRAWS)) for one in alternatives(model)]
    return [(one, n) for one, n in found if n > 0]


def check_level(level: float) -> None:
    """Raise an error for a level that is not the probability of an interval."""
    if not (is_number(level) and 0.0 < level <= 0.99):
        raise SettingsError(f"level must be above 0 and at most 0.99, such as 0.9, got {level!r}.")


# -- each point by itself ------------------------------------------------------------------------


class Interval(NamedTuple):
    """A lower and an upper end."""

    lower: float
    upper: float

    def negated(self) -> Interval:
        """Return the interval of the negated quantity."""
        return Interval(-self.upper, -self.lower)

    def texts(self, value: float) -> tuple[str, str, str]:
        """Return an estimate and the ends of its interval, in the digits that it justifies.

        >>> Interval(26.1173, 27.3599).texts(26.7386)
        ('26.7', '26.1', '27.4')
        """
        show = Justified.by(value, self)
        return show.text(value), show.text(self.lower), show.text(self.upper)


@dataclass(frozen=True, eq=False)
class Marginals:
    """Lower end, centre and upper end at some points, each ``(m, 3)``, in user units.

    They are in the sense of maximisation. An interval always contains its centre.

    Attributes:
        mean: The mean of the objective.
        noise_std: The standard deviation of a single evaluation.
        risk: The risk measure.
    """

    mean: Array
    noise_std: Array
    risk: Array


def marginals(model: MeanNoiseModel, risk: RiskMeasure, X: Array, level: float) -> Marginals:
    """Return credible intervals with equal tails and probability ``level`` at ``X (m, d)``.

    The interval at a point does not depend on the other points.
    """
    pieces = np.array_split(X, max(1, -(-len(X) // CHUNK)))
    found = [_marginals(model, risk, some, level) for some in pieces]
    return Marginals(*(np.vstack(parts) for parts in zip(*found, strict=True)))


def _marginals(model: MeanNoiseModel, risk: RiskMeasure, X: Array, level: float) -> list[Array]:
    f, v = centre(model, X)
    drawn = [_alone(one, X, n) for one, n in plausible(model)]
    F, V = (np.vstack(parts) for parts in zip(*drawn, strict=True))
    return [
        _with_ends(f, F, level),
        _with_ends(np.sqrt(v), np.sqrt(V), level),
        _with_ends(risk.value(f, v), risk.value(F, V), level),
    ]


def new_values(model: MeanNoiseModel, x: Array, more_var: float) -> Array:
    """Return draws ``(n,)`` of one new value at ``x (d,)``, in user units.

    Each draw of mean and noise stands for a few values that fill its normal distribution evenly.

    Args:
        model: What is believed.
        x: The point.
        more_var: What is added to the noise variance, such as the variance between blocks.
    """
    drawn = [_alone(one, x[None], n) for one, n in plausible(model)]
    F, V = (np.vstack(parts) for parts in zip(*drawn, strict=True))
    z = ndtri((np.arange(EACH) + 0.5) / EACH)
    return np.asarray(F + np.sqrt(V + more_var) * z).ravel()


def centre(model: MeanNoiseModel, X: Array) -> tuple[Array, Array]:
    """Return the mean and the noise variance at the centre of the posterior, each ``(m,)``."""
    return _in_user_units(model, model.mean.predict_mean(X), model.noise.centre(X))


def _alone(model: MeanNoiseModel, X: Array, n: int) -> tuple[Array, Array]:
    """Return draws of mean and noise variance at each point separately, ``(n, m)``."""
    z = _standard_draws(n)
    mu, sigma = model.mean.predict(X)
    g, spread = model.noise.latent(X)
    return _in_user_units(model, mu + z[:, :1] * sigma, g + z[:, 1:] * spread)


def _in_user_units(model: MeanNoiseModel, f: Array, g: Array) -> tuple[Array, Array]:
    """Return the mean and noise variance of f and g, with the variance clipped to its bounds."""
    v = np.clip(model.noise.link(g), model.min_noise_var, model.max_noise_var)
    return model.units.to_outcome(f), model.units.var_to_user(v)


def _with_ends(middle: Array, drawn: Array, level: float) -> Array:
    """Return lower ends, centres and upper ends ``(m, 3)`` of ``drawn (n, m)``."""
    lower, upper = central_interval(drawn, level)
    ends = (np.minimum(lower, middle), middle, np.maximum(upper, middle))
    return np.column_stack(ends)


def central_interval(drawn: Array, level: float) -> Array:
    """Return the ends between which draws ``(n, ...)`` lie with probability ``level``."""
    tail = 0.5 * (1.0 - level)
    # With Hazen's rule, quantiles of the standard draws of one model are exact.
    return np.quantile(drawn, [tail, 1.0 - tail], axis=0, method="hazen")


# -- several points together ---------------------------------------------------------------------


def risk_draws(
    model: MeanNoiseModel, risk: RiskMeasure, X: Array, rng: np.random.Generator
) -> Array:
    """Return joint posterior draws of the risk value ``(n, m)`` at ``X (m, d)``, in user units."""
    return risk.value(*joint_draws(model, X, rng))


def joint_draws(model: MeanNoiseModel, X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return joint draws of mean and noise variance, each ``(n, m)``, in user units."""
    drawn = []
    for one, n in plausible(model):
        stretch = _stretches(n)
        f = one.mean.draws(X, rng, n, stretch[:, :1])
        g = one.noise.draws(X, rng, n, stretch[:, 1:])
        drawn.append(_in_user_units(one, f, g))
    F, V = (np.vstack(parts) for parts in zip(*drawn, strict=True))
    return F, V


# -- tails ---------------------------------------------------------------------------------------


def _standard_draws(n: int) -> Array:
    """Return standard draws for mean and noise, ``(n, 2)``: centre 0, unit scale."""
    return np.asarray(stdtrit(DOF, _lattice(n)))


def _stretches(n: int) -> Array:
    """Return factors for the joint deviations of mean and noise, ``(n, 2)``."""
    return np.asarray(np.sqrt(0.5 * DOF / gammaincinv(0.5 * DOF, _lattice(n))))


def _lattice(n: int) -> Array:
    """Return points ``(n, 2)`` that fill the unit square evenly and each of its sides exactly."""
    step = round(GOLDEN * n) or 1
    while math.gcd(step, n) > 1:
        step += 1
    i = np.arange(n)
    return (np.column_stack([i, i * step % n]) + 0.5) / n
