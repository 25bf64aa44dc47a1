"""What mean, noise and risk may be: at each point by itself, and at several points together.

Notation: ``n`` draws at ``m`` points; mu and cov the posteriors of the mean f and of the latent
noise g (`model.joint`), v = link(g) the noise variance, never below ``min_noise_var``. A draw of f
or g is that of a Student process with nu degrees of freedom,
    mu + sqrt(nu / c) a,  a ~ N(0, cov),  c ~ chi-squared with nu degrees of freedom
with one c for all points, which leaves their correlations and their ranks nearly as they are.

At one point by itself, draws are standard ones, the same for every point and every model, so that
an interval depends on the model, the risk measure, the point and the level, and on nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.special import gammaincinv, stdtrit

from rahbo.errors import SettingsError
from rahbo.model import GP, MeanNoiseModel, alternatives
from rahbo.numerics import Array, is_number
from rahbo.risk import RiskMeasure

# The probability of an interval where none is asked for.
LEVEL = 0.9
DRAWS = 640
# Points drawn at once where each is drawn by itself, which bounds the memory.
CHUNK = 256
# The posterior takes all hyperparameters but the noise level as known, and the reported point is
# the luckiest of many. With tails this heavy, intervals hold the truth as often as they say
# (`bench/coverage.py`, `bench/tables.py`).
DOF = 4
# Joint deviations below this share of the largest are rounding errors, in variance.
SINGULAR = 1e-12
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def plausible(model: MeanNoiseModel) -> list[tuple[MeanNoiseModel, int]]:
    """The models that the data leave open, each with the number of draws it deserves."""
    found = [(one.model, round(one.share * DRAWS)) for one in alternatives(model)]
    return [(one, n) for one, n in found if n > 0]


def check_level(level: float) -> None:
    """Refuse what is not the probability of an interval."""
    if not (is_number(level) and 0.0 < level <= 0.99):
        raise SettingsError(
            f"level must be a probability of at most 0.99, such as 0.9, got {level!r}."
        )


# -- each point by itself ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Marginals:
    """Lower end, centre and upper end at some points, each ``(m, 3)``, in user units.

    The sense is that of maximisation. An interval always holds its centre.

    Attributes:
        mean: The mean of the objective.
        noise_std: The standard deviation of a single evaluation.
        risk: The risk measure.
    """

    mean: Array
    noise_std: Array
    risk: Array


def marginals(model: MeanNoiseModel, risk: RiskMeasure, X: Array, level: float) -> Marginals:
    """Credible intervals at ``X (m, d)``, with equal tails: each holds the truth with ``level``.

    They do not depend on which other points are asked about.
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


def centre(model: MeanNoiseModel, X: Array) -> tuple[Array, Array]:
    """The mean and the noise variance in the middle of what is believed, each ``(m,)``."""
    return _in_user_units(model, model.mean.predict_mean(X), model.noise.centre(X))


def _alone(model: MeanNoiseModel, X: Array, n: int) -> tuple[Array, Array]:
    """Draws of mean and noise variance at each point by itself, ``(n, m)``."""
    z = _standard_draws(n)
    mu, sigma = model.mean.predict(X)
    g, spread = model.noise.latent(X)
    return _in_user_units(model, mu + z[:, :1] * sigma, g + z[:, 1:] * spread)


def _in_user_units(model: MeanNoiseModel, f: Array, g: Array) -> tuple[Array, Array]:
    """Mean and noise variance of f and g, the variance at least the smallest there is."""
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
    # By Hazen's rule quantiles of the standard draws of one model are exactly those they stand for.
    return np.quantile(drawn, [tail, 1.0 - tail], axis=0, method="hazen")


# -- several points together ---------------------------------------------------------------------


def risk_draws(
    model: MeanNoiseModel, risk: RiskMeasure, X: Array, rng: np.random.Generator
) -> Array:
    """Joint posterior draws of the risk value ``(n, m)`` at ``X (m, d)``, in user units."""
    drawn = []
    for one, n in plausible(model):
        stretch = _stretches(n)
        f = draws(one.mean, X, rng, n, stretch[:, :1])
        if one.noise.gp is None:
            g = np.broadcast_to(one.noise.latent(X)[0], f.shape)
        else:
            g = draws(one.noise.gp, X, rng, n, stretch[:, 1:])
        drawn.append(risk.value(*_in_user_units(one, f, g)))
    return np.vstack(drawn)


def draws(
    gp: GP, X: Array, rng: np.random.Generator, n: int, stretch: Array | float = 1.0
) -> Array:
    """Joint posterior draws ``(n, m)`` at ``X (m, d)``, deviations multiplied by ``stretch``."""
    root = _root(gp.covariance(X))
    deviations = rng.standard_normal((n, root.shape[1])) @ root.T
    return np.asarray(gp.predict_mean(X) + stretch * deviations)


def _root(covariance: Array) -> Array:
    """A matrix ``(m, rank)`` whose product with its transpose is the covariance ``(m, m)``.

    With pivots, as posterior covariances of close points are singular up to rounding.
    """
    largest = max(float(covariance.diagonal().max()), 0.0)
    factor, pivots, rank, _ = dpstrf(covariance, tol=SINGULAR * largest, lower=1)
    root = np.empty((len(covariance), rank))
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root


# -- tails ---------------------------------------------------------------------------------------


def _standard_draws(n: int) -> Array:
    """Return standard draws for mean and noise, ``(n, 2)``: centre 0, unit scale."""
    return np.asarray(stdtrit(DOF, _lattice(n)))


def _stretches(n: int) -> Array:
    """Factors of the joint deviations of mean and noise, ``(n, 2)``."""
    return np.asarray(np.sqrt(0.5 * DOF / gammaincinv(0.5 * DOF, _lattice(n))))


def _lattice(n: int) -> Array:
    """Points ``(n, 2)`` that fill the unit square evenly, and each of its sides exactly."""
    step = round(GOLDEN * n) or 1
    while math.gcd(step, n) > 1:
        step += 1
    i = np.arange(n)
    return (np.column_stack([i, i * step % n]) + 0.5) / n
