"""Where an evaluation returns a number at all: the chance of success, learned from failures.

Notation: ``X (n, d)`` points tried, ``count (n,)`` evaluations at each, ``share (n,)`` of them that
gave a value. The share is modelled like any other outcome, by the same exact GP, with lengthscales
and noise learned from the same evidence:
    share_i = p(x_i) + eps_i,  Var[eps_i] = scale / count_i
If a region fails, p varies with x. If failures are random, the noise is large and p is about the
same everywhere, so proposals are not turned away from any place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from rahbo.model import GP, Evidence, Hyperparameters, Hyperprior, Matern52, Units, fit
from rahbo.numerics import Array, Index
from rahbo.policy.acquisition import Acquisition
from rahbo.state import State, kept
from rahbo.trials import tallies_of

# The smallest noise of a share, in standardised units, because borders are seldom smooth.
FLOOR = 0.05
# The likelihood cannot tell random failures from a chance that changes from point to point. So the
# prior makes very short lengthscales unlikely and allows a small variance.
LOG_LENGTHSCALE_STD, LOG_VARIANCE_STD = 0.7, 3.0
# Lengthscales are learned from at most this many points, spread evenly over the run.
MOST = 128


class Chance(ABC):
    """The chance at any point that an evaluation there is of use."""

    @abstractmethod
    def chance(self, X: Array) -> Array:
        """Return the chance ``(m,)`` at ``X (m, d)``."""

    @abstractmethod
    def chance_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the chance ``(m,)`` and its gradients ``(m, d)``."""


@dataclass(frozen=True, eq=False)
class Success(Chance):
    """The chance of success at any point.

    Attributes:
        gp: The GP of the standardised shares.
        units: Converts between its numbers and shares.
    """

    gp: GP
    units: Units

    @classmethod
    def learn(cls, X: Array, values: Index, failures: Index) -> Success | None:
        """Return a model of the values and failures at ``X (n, d)``; None if nothing failed."""
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
        """Return the chance of success ``(m,)`` at ``X (m, d)``."""
        return np.clip(self.units.to_outcome(self.gp.predict_mean(X)), 0.0, 1.0)

    def chance_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the chance of success ``(m,)`` and its gradients ``(m, d)``."""
        mu, _, d_mu, _ = self.gp.predict_with_gradient(X)
        p = self.units.to_outcome(mu)
        inside = (p > 0.0) & (p < 1.0)
        return np.clip(p, 0.0, 1.0), np.where(inside[:, None], self.units.std_to_user(d_mu), 0.0)


@kept
def success(state: State) -> Success | None:
    """Return the chance of success; None if no evaluation has failed."""
    return Success.learn(*tallies_of(state.trials.values()))


def _prior(d: int) -> Hyperprior:
    return replace(
        Hyperprior.weak(d),
        log_lengthscale_std=LOG_LENGTHSCALE_STD,
        log_variance_std=LOG_VARIANCE_STD,
    )


def _fit(evidence: Evidence) -> Hyperparameters:
    """Fit from the centre of the prior: as good as several starts, and fast enough for each ask."""
    n, prior = len(evidence.y), evidence.prior
    if n > MOST:
        evidence = evidence.subset(np.linspace(0, n - 1, MOST).astype(np.intp))
    lengths = np.full(evidence.X.shape[1], prior.log_lengthscale)
    theta = np.append(lengths, [prior.log_variance, prior.log_noise])
    kernel, scale = evidence.kernel_at(theta), float(np.exp(prior.log_noise))
    return fit(evidence, Hyperparameters(kernel, 0.0, scale, 0.0, theta, np.eye(len(theta))))


def hoped(chance: Array, promise: Array, worst: float) -> Array:
    """Return values ``(m,)`` that allow for failure, which counts as the worst value.

    p^2 a + (1 - p^2) worst

    With p instead of p^2, an acquisition that grows towards a border is followed across it too
    often.
    """
    return worst + chance**2 * (promise - worst)


@dataclass(frozen=True, eq=False)
class Hoped(Acquisition):
    """An acquisition that allows for failure: see `hoped`.

    Attributes:
        promise: The acquisition a for an evaluation that succeeds.
        success: The model of p.
        worst: The smallest value of a that was seen.
    """

    promise: Acquisition
    success: Chance
    worst: float

    @property
    def lengthscales(self) -> Array | None:
        """The lengthscales ``(d,)`` of the acquisition."""
        return self.promise.lengthscales

    def value(self, X: Array) -> Array:
        """Return the values ``(m,)`` at ``X (m, d)``."""
        return self.weighed(self.success.chance(X), self.promise.value(X))

    def weighed(self, chance: Array, promise: Array) -> Array:
        """Return the values ``(m,)``, given the chances of success and the values of a."""
        return hoped(chance, promise, self.worst)

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the values ``(m,)`` and, by the product rule, the gradients ``(m, d)``."""
        a, d_a = self.promise.value_and_gradient(X)
        p, d_p = self.success.chance_with_gradient(X)
        above, weight = a - self.worst, p**2
        slope = weight[:, None] * d_a + (2.0 * p * above)[:, None] * d_p
        return self.worst + weight * above, slope


@dataclass(frozen=True, eq=False)
class Pressing(Hoped):
    """An acquisition that counts what is above a point that may be reported already.

    p(x) (a(x) - worst) where a(x) > worst, and a(x) - worst elsewhere

    The best point that keeps a limit usually lies at the border of what keeps it. There p is about
    a half, and `Hoped` would stay away from it: it weighs all of a, and not only the gain. Here
    ``worst`` is the pessimistic value of the point that would be reported now.
    """

    def weighed(self, chance: Array, promise: Array) -> Array:
        """Return the values ``(m,)``, given the chances of success and the values of a."""
        gain = promise - self.worst
        return np.where(gain > 0.0, chance * gain, gain)

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the values ``(m,)`` and, by the product rule, the gradients ``(m, d)``."""
        a, d_a = self.promise.value_and_gradient(X)
        p, d_p = self.success.chance_with_gradient(X)
        gain = a - self.worst
        slope = p[:, None] * d_a + gain[:, None] * d_p
        return self.weighed(p, a), np.where(gain[:, None] > 0.0, slope, d_a)
