"""Which other noise levels the data allow, and what each would mean for both GPs.

A few values cannot tell a rough mean from a noisy one. The answer changes the mean, the noise and
the width of every interval together, so intervals from the likeliest answer alone are too narrow.
The shape of the noise ``v (n,)`` is kept, and the level is a common factor e^t:
    p(t | data) ~ p(t) p(s^2 | e^t v) max over theta of p(y | theta, e^t v) p(theta) / sqrt(det H)
with theta the hyperparameters of the mean GP and H the curvature there. Levels are evaluated in
steps up and down from t = 0 until the remaining probability is negligible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from rahbo.errors import NumericalError
from rahbo.model.evidence import Evidence, Hyperparameters, fit
from rahbo.model.gp import GP
from rahbo.model.hyperprior import NOISE_STD
from rahbo.model.joint import (
    MeanNoiseModel,
    left_by_blocks,
    noise_of_means,
    sample_variances,
    unseen,
)
from rahbo.model.kernels import Kernel
from rahbo.model.lognoise import log_density
from rahbo.model.variance import NoisePosterior

# Nats between levels, and the most levels on each side.
STEP, MOST_STEPS = 0.7, 8
# Levels with a smaller share are left out. Refitting the mean GP may raise the log posterior of a
# level by up to this many nats.
LEAST_SHARE, MAY_GAIN = 0.01, 3.0
# More points than this determine the level so well that H at neighbouring levels does not matter.
# DIFFERENCE is the step of the differences that give H.
MANY, DIFFERENCE = 256, 1e-3

# The alternatives of models still in use, shared by intervals at one point after the other.
_found: WeakKeyDictionary[MeanNoiseModel, tuple[Alternative, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Alternative:
    """A model that the data allow.

    Attributes:
        share: The probability of the model.
        model: Both posteriors.
    """

    share: float
    model: MeanNoiseModel


def alternatives(model: MeanNoiseModel) -> tuple[Alternative, ...]:
    """Return the models at the noise levels that matter, likeliest first.

    There is only one if the noise is known, if every point has all its values, or for a noise
    model that has its own width, such as the paper's: see `NoisePosterior.at_level`.
    """
    if not model.settings.noise.takes_residuals:
        return (Alternative(1.0, model),)
    if not np.any(unseen(model.settings, model.observations.count)):
        return (Alternative(1.0, model),)
    known = _found.get(model)
    if known is None:
        known = _found[model] = _search(model, model.noise)
    return known


def _search(model: MeanNoiseModel, noise: NoisePosterior) -> tuple[Alternative, ...]:
    centre = _at_level(model, noise, 0.0, model.learned.mean, -math.inf)
    if centre is None:
        return (Alternative(1.0, model),)
    found = [centre, *_climb(model, noise, STEP, centre), *_climb(model, noise, -STEP, centre)]
    log_p = np.array([one.log_p for one in found])
    share = np.exp(log_p - log_p.max())
    share[share < LEAST_SHARE] = 0.0
    share /= share.sum()
    order = np.argsort(-share, kind="stable")
    return tuple(Alternative(float(share[i]), found[i].model) for i in order if share[i] > 0.0)


@dataclass(frozen=True, eq=False)
class _Level:
    """A model at one level, its log probability, and the hyperparameters of its mean GP."""

    log_p: float
    model: MeanNoiseModel
    theta: Hyperparameters
    half_log_det: float


def _climb(
    model: MeanNoiseModel, noise: NoisePosterior, step: float, start: _Level
) -> Iterator[_Level]:
    """Yield the levels step, 2 step and so on, as long as they matter."""
    last, best = start, start.log_p
    for i in range(1, MOST_STEPS + 1):
        least = best + math.log(LEAST_SHARE) + last.half_log_det
        found = _at_level(model, noise, i * step, last.theta, least)
        if found is None:
            return
        yield found
        last, best = found, max(best, found.log_p)


def _at_level(
    model: MeanNoiseModel, noise: NoisePosterior, t: float, start: Hyperparameters, least: float
) -> _Level | None:
    """Return the model at level t; None if its log probability cannot reach ``least``."""
    shifted = noise.at_level(t)
    if shifted is None:
        return None
    settings, units, told = model.settings, model.units, model.observations
    y = units.to_model(told.mean)
    prior = settings.outputs.hyperprior(told.X.shape[1], y)
    data = sample_variances(settings, told, model.learned.floor, units)
    g = noise.centre(told.X) + t
    v = noise.link(g)
    if (
        t > 0.0
        and settings.max_noise_var is not None
        and v.min() > data.bound(settings.max_noise_var)
    ):
        return None
    noise_var = noise_of_means(settings, v, told.count, data) + left_by_blocks(told, units)
    evidence = Evidence(settings.kernel, told.X, y, noise_var, None, settings.lam, prior)
    of_level = -0.5 * ((float(np.mean(g)) - prior.log_noise) / NOISE_STD) ** 2
    of_level += log_density(g[told.count > 1], data)
    if of_level + _log_posterior(evidence, start) + MAY_GAIN < least:
        return None
    theta = fit(evidence, start)
    if not math.isfinite(theta.log_posterior):
        return None
    half_log_det = 0.5 * _log_det(evidence, theta)
    mean = GP.condition(
        theta.kernel, told.X, y, noise_var, lam=settings.lam, prior_mean=theta.prior_mean
    )
    there = replace(model, mean=mean, noise=shifted)
    return _Level(of_level + theta.log_posterior - half_log_det, there, theta, half_log_det)


def _log_posterior(evidence: Evidence, at: Hyperparameters) -> float:
    """Return the log posterior at the kernel of given hyperparameters."""
    try:
        return evidence(at.kernel.log_parameters)[0]
    except NumericalError:
        return -math.inf


def _log_det(evidence: Evidence, at: Hyperparameters) -> float:
    """Return the log determinant of the curvature at a maximum, by differences of the gradient.

    It is 0 for a given kernel, which is not learned. Directions that are flat or held at a bound
    count with a curvature of 1.
    """
    if isinstance(evidence.kernel, Kernel) or len(evidence.y) > MANY:
        return 0.0
    theta = at.kernel.log_parameters
    here = evidence(theta)[1]
    H = np.empty((len(theta), len(theta)))
    for j, step in enumerate(DIFFERENCE * np.eye(len(theta))):
        H[j] = (here - evidence(theta + step)[1]) / DIFFERENCE
    curvature = np.linalg.eigvalsh(0.5 * (H + H.T))
    return float(np.log(np.where(curvature > 1e-3, curvature, 1.0)).sum())
