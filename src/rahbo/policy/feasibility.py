"""Where an evaluation gives a number at all: the chance of success, learned from failures.

Notation: ``X (n, d)`` points tried, ``count (n,)`` evaluations at each, ``share (n,)`` of them that
gave a value. The share is an outcome like any other, so its model is the same exact GP, its
lengthscales and its noise learned by the same evidence:
    share_i = p(x_i) + eps_i,  Var[eps_i] = scale / count_i
Failures of a region give a p that varies with x; failures at random a large noise and a p that
is about the same everywhere, which turns proposals away from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rahbo.model import GP, Evidence, Hyperparameters, Hyperprior, Matern52, Units, fit
from rahbo.numerics import Array, Index
from rahbo.policy.acquisition import Acquisition

# The least noise of a share, in its standardised units: borders are seldom smooth.
FLOOR = 0.05
# Failures at random are noise, or a chance that changes from point to point: the likelihood does
# not tell these apart, so very short lengthscales are not believed, and a small variance is.
LOG_LENGTHSCALE_STD, LOG_VARIANCE_STD = 0.7, 3.0
# Lengthscales are learned from so many points at most, evenly over the run.
MOST = 128


@dataclass(frozen=True, eq=False)
class Success:
    """The chance of success at any point.

    Attributes:
        gp: The GP of the standardised shares.
        units: How its numbers become shares.
    """

    gp: GP
    units: Units

    @classmethod
    def learn(cls, X: Array, values: Index, failures: Index) -> Success | None:
        """From the numbers of values and failures at ``X (n, d)``; None if nothing failed."""
        if not failures.any():
            return None
        count = values + failures
        share = values / count
        units = Units(float(share.mean()), float(share.std()) or 1.0)
        y, floor = units.to_model(share), np.full(len(X), FLOOR)
        found = _fit(Evidence(Matern52, X, y, floor, 1.0 / count, 1.0, _prior(X.shape[1])))
        noise_var = floor + found.noise_scale / count
        gp = GP.condition(found.kernel, X, y, noise_var, prior_mean=found.prior_mean)
        return cls(gp, units)

    def chance(self, X: Array) -> Array:
        """The chance of success ``(m,)`` at ``X (m, d)``."""
        return np.clip(self.units.to_outcome(self.gp.predict_mean(X)), 0.0, 1.0)

    def chance_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """The chance of success ``(m,)`` and its gradients ``(m, d)``."""
        mu, _, d_mu, _ = self.gp.predict_with_gradient(X)
        p = self.units.to_outcome(mu)
        inside = (p > 0.0) & (p < 1.0)
        return np.clip(p, 0.0, 1.0), np.where(inside[:, None], self.units.std_to_user(d_mu), 0.0)


def _prior(d: int) -> Hyperprior:
    return replace(
        Hyperprior.weak(d),
        log_lengthscale_std=LOG_LENGTHSCALE_STD,
        log_variance_std=LOG_VARIANCE_STD,
    )


def _fit(evidence: Evidence) -> Hyperparameters:
    """From the centre of the prior alone: as good as more starts, and it is done at each ask."""
    n, prior = len(evidence.y), evidence.prior
    if n > MOST:
        evidence = evidence.subset(np.linspace(0, n - 1, MOST).astype(np.intp))
    lengths = np.full(evidence.X.shape[1], prior.log_lengthscale)
    theta = np.append(lengths, [prior.log_variance, prior.log_noise])
    kernel, scale = evidence.kernel_at(theta), float(np.exp(prior.log_noise))
    return fit(evidence, Hyperparameters(kernel, 0.0, scale, 0.0, theta, np.eye(len(theta))))


@dataclass(frozen=True, eq=False)
class Hoped(Acquisition):
    """What a point promises when it may fail, and failing is as bad as the worst there is.

    p(x)^2 a(x) + (1 - p(x)^2) worst

    With p itself, a promise that grows towards a border is followed across it too often.

    Attributes:
        promise: The acquisition a, where the evaluation succeeds.
        success: The model of p.
        worst: The smallest value of a that was seen.
    """

    promise: Acquisition
    success: Success
    worst: float

    def value(self, X: Array) -> Array:
        """Values ``(m,)``."""
        return self.weighed(self.success.chance(X), self.promise.value(X))

    def weighed(self, chance: Array, promise: Array) -> Array:
        """Values ``(m,)`` where the chances of success and those of the promise are known."""
        return self.worst + chance**2 * (promise - self.worst)

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values ``(m,)`` and gradients ``(m, d)`` by the product rule."""
        a, d_a = self.promise.value_and_gradient(X)
        p, d_p = self.success.chance_with_gradient(X)
        above, weight = a - self.worst, p**2
        slope = weight[:, None] * d_a + (2.0 * p * above)[:, None] * d_p
        return self.worst + weight * above, slope
