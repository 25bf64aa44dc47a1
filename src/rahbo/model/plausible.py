"""Which other noise levels the data leave open, and what each would mean for both GPs.

Few values do not tell a rough mean from a noisy one. The answer moves the mean, the noise and the
width of every interval together, so that intervals about the likeliest answer alone are too narrow.
With the shape of the noise as it is believed, ``v (n,)``, the level is a factor e^t of all of it:
    p(t | data) ~ p(t) p(s^2 | e^t v) max over theta of p(y | theta, e^t v) p(theta) / sqrt(det H)
with theta the hyperparameters of the mean GP and H the curvature there. It is looked at in steps up
and down from t = 0 until what is left hardly counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from rahbo.errors import NumericalError
from rahbo.model.gp import GP, Evidence, Hyperparameters, fit
from rahbo.model.hyperprior import NOISE_STD
from rahbo.model.joint import MeanNoiseModel
from rahbo.model.noise import LogPosterior

# Nats between levels, and how many of them to each side at most.
STEP, MOST_STEPS = 0.7, 8
# Levels of a smaller share are left out. What other hyperparameters of the mean may still gain, in
# nats, where theirs is guessed from those of the level before.
LEAST_SHARE, MAY_GAIN = 0.01, 3.0


# Those of models still in use: intervals at one point after the other share them.
_found: WeakKeyDictionary[MeanNoiseModel, tuple[Alternative, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Alternative:
    """A model that the data leave open.

    Attributes:
        share: Its probability.
        model: Both posteriors.
    """

    share: float
    model: MeanNoiseModel


def alternatives(model: MeanNoiseModel) -> tuple[Alternative, ...]:
    """Models at the noise levels that count, likeliest first; one where the noise is known.

    A model of the paper's, linear in rho^2, is left as it is.
    """
    known = _found.get(model)
    if known is None:
        known = _found[model] = _search(model)
    return known


def _search(model: MeanNoiseModel) -> tuple[Alternative, ...]:
    noise = model.noise
    if not isinstance(noise, LogPosterior):
        return (Alternative(1.0, model),)
    found = [*_climb(model, noise, STEP), *list(_climb(model, noise, -STEP))[1:]]
    log_p = np.array([p for p, _ in found])
    share = np.exp(log_p - log_p.max())
    share[share < LEAST_SHARE] = 0.0
    share /= share.sum()
    order = np.argsort(-share, kind="stable")
    return tuple(Alternative(float(share[i]), found[i][1]) for i in order if share[i] > 0.0)


def _climb(
    model: MeanNoiseModel, noise: LogPosterior, step: float
) -> Iterator[tuple[float, MeanNoiseModel]]:
    """Log probabilities and models at levels 0, step, 2 step and so on, while they count."""
    settings, units, told = model.settings, model.learned, model.observations
    y = (told.mean - units.shift) / units.scale
    prior = settings.outputs.hyperprior(told.X.shape[1], y)
    data = settings.sample_variances(told, units.floor, units.scale)
    typical_level = math.log(0.1 * data.typical)
    g, repeated = noise.centre(told.X), told.count > 1
    theta, best = units.mean, -math.inf
    for i in range(MOST_STEPS + 1):
        v = np.exp(g + i * step)
        evidence = Evidence(
            settings.kernel, told.X, y, settings.noise_of_means(v, told.count, data), None,
            settings.lam, prior,
        )  # fmt: skip
        log_p = -0.5 * float(data.dof @ (np.log(v[repeated]) + data.s2 / v[repeated]))
        log_p -= 0.5 * ((float(np.mean(g)) + i * step - typical_level) / NOISE_STD) ** 2
        least = best + math.log(LEAST_SHARE) + 0.5 * _log_det(theta.hessian)
        if log_p + _log_posterior(evidence, theta) + MAY_GAIN < least:
            return
        theta = fit(evidence, theta)
        log_p += theta.log_posterior - 0.5 * _log_det(theta.hessian)
        best = max(best, log_p)
        mean = GP.condition(
            theta.kernel, told.X, y, evidence.noise_var, lam=settings.lam,
            prior_mean=theta.prior_mean,
        )  # fmt: skip
        shifted = replace(noise.gp, prior_mean=noise.gp.prior_mean + i * step)
        yield log_p, replace(model, mean=mean, noise=replace(noise, gp=shifted))


def _log_posterior(evidence: Evidence, at: Hyperparameters) -> float:
    """At the kernel of other hyperparameters."""
    try:
        return evidence(at.kernel.log_parameters)[0]
    except NumericalError:
        return -math.inf


def _log_det(hessian: np.ndarray) -> float:
    return float(np.linalg.slogdet(hessian)[1])
