"""How promising a point is: risk bounds with gradients, and the uncertainty of the noise.

For a risk measure R that rises with the mean and does not rise with the noise variance:
    optimistic  R(ucb_f, lcb_var)    Algorithm 1, line 4: ucb_MV = ucb_f - alpha lcb_var
    pessimistic R(lcb_f, ucb_var)    Corollary 1.1:       lcb_MV = lcb_f - alpha ucb_var
Values are in the model's units; ``X (m, d)`` are points of the cube.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from rahbo.model import MeanNoiseModel, NoisePosterior
from rahbo.numerics import Array
from rahbo.risk import RiskMeasure
from rahbo.state import State, kept


class Acquisition(ABC):
    """A function on the cube to be maximised."""

    @property
    def lengthscales(self) -> Array | None:
        """Distances ``(d,)`` over which the value changes, or None if they are unknown.

        They let a search take steps of the right length from the start.
        """
        return None

    def as_bound(self) -> RiskBound | None:
        """Return the acquisition as a bound of the risk value; None if it is something else."""
        return None

    @abstractmethod
    def value(self, X: Array) -> Array:
        """Return the values ``(m,)`` at ``X (m, d)``."""

    @abstractmethod
    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the values ``(m,)`` and gradients ``(m, d)`` at ``X (m, d)``."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """What both GPs say at some points, each ``(m,)``.

    Attributes:
        mu: Posterior mean of f.
        sigma: Posterior standard deviation of f.
        g: Posterior mean of the latent noise.
        s: Posterior standard deviation of the latent noise.
    """

    mu: Array
    sigma: Array
    g: Array
    s: Array


@dataclass(frozen=True, eq=False)
class RiskBound(Acquisition):
    """R(mu + z_f sigma, link(g + z_noise s)): the risk at one end of each confidence interval.

    Attributes:
        model: Both posteriors.
        risk: The risk measure in the model's units.
        z_f: Posterior standard deviations added to the mean.
        z_noise: Posterior standard deviations added to the latent noise.
    """

    model: MeanNoiseModel
    risk: RiskMeasure
    z_f: float
    z_noise: float

    @property
    def lengthscales(self) -> Array:
        """The lengthscales ``(d,)`` of the mean GP."""
        return self.model.mean.kernel.lengthscales

    def as_bound(self) -> RiskBound:
        """Return this bound."""
        return self

    def value(self, X: Array) -> Array:
        """Return the values ``(m,)`` at ``X (m, d)``."""
        v = self._clip(self.model.noise.variance(X, self.z_noise))
        if self.z_f == 0.0:
            return self.risk.value(self.model.mean.predict_mean(X), v)
        mu, sigma = self.model.mean.predict(X)
        return self.risk.value(mu + self.z_f * sigma, v)

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the values ``(m,)`` and, by the chain rule, the gradients ``(m, d)``."""
        return self.value_and_gradient_widened(X, np.ones(len(X)))

    def value_and_gradient_widened(self, X: Array, factors: Array) -> tuple[Array, Array]:
        """Return values and gradients of this bound, widened by ``factors (m,)``, one a point."""
        mu, sigma, d_mu, d_sigma = self.model.mean.predict_with_gradient(X)
        noise = self.model.noise
        g, s, d_g, d_s = noise.latent_with_gradient(X)
        z_f, z_noise = self.z_f * factors, self.z_noise * factors
        latent = g + z_noise * s
        raw = noise.link(latent)
        f, v = mu + z_f * sigma, self._clip(raw)
        d_f = d_mu + z_f[:, None] * d_sigma
        d_v = np.where(v == raw, noise.link_slope(latent), 0.0)[:, None] * (
            d_g + z_noise[:, None] * d_s
        )
        by_f, by_v = self.risk.gradient(f, v)
        return self.risk.value(f, v), by_f[:, None] * d_f + by_v[:, None] * d_v

    def value_of(self, at: Marginals) -> Array:
        """Return the values ``(m,)`` at points where both GPs are known."""
        v = self._clip(self.model.noise.link(at.g + self.z_noise * at.s))
        return self.risk.value(at.mu + self.z_f * at.sigma, v)

    @property
    def is_optimistic(self) -> bool:
        """Whether a larger posterior deviation never lowers the value."""
        return self.z_f >= 0.0 and self.z_noise <= 0.0

    def widened(self, factor: float) -> RiskBound:
        """Return the same bound with the intervals widened by a factor."""
        return replace(self, z_f=factor * self.z_f, z_noise=factor * self.z_noise)

    def _clip(self, v: Array) -> Array:
        """Return v, clipped at the smallest variance if the risk measure needs a positive one."""
        if self.risk.allows_negative_variance:
            return v
        return np.maximum(v, self.model.min_noise_var)


@dataclass(frozen=True, eq=False)
class NoiseUncertainty(Acquisition):
    """The posterior standard deviation of the latent noise, for uncertainty sampling of rho^2."""

    noise: NoisePosterior

    def value(self, X: Array) -> Array:
        """Return the values ``(m,)`` at ``X (m, d)``."""
        return self.noise.latent(X)[1]

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the values ``(m,)`` and gradients ``(m, d)`` at ``X (m, d)``."""
        _, s, _, d_s = self.noise.latent_with_gradient(X)
        return s, d_s


def optimistic(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """Return the upper bound R(ucb_f, lcb_var) that RAHBO maximises."""
    return _bound(model, risk, model.beta, -model.beta_noise)


def pessimistic(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """Return the lower bound R(lcb_f, ucb_var) that RAHBO reports by."""
    return _bound(model, risk, -model.beta, model.beta_noise)


def central(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """Return R(mu, centre of rho^2), which lies between the two bounds."""
    return _bound(model, risk, 0.0, 0.0)


def optimistic_at_mean_noise(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """Return R(ucb_f, centre of rho^2), which RAHBO-US maximises in its second stage.

    The centre is the posterior mean under `DirectNoise` and the median under `LogNoise`.
    """
    return _bound(model, risk, model.beta, 0.0)


def pessimistic_at_mean_noise(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """Return R(lcb_f, centre of rho^2), which RAHBO-US reports by."""
    return _bound(model, risk, -model.beta, 0.0)


@kept
def report_bound(state: State) -> RiskBound:
    """Return the lower bound that the run's strategy reports by.

    Another risk measure takes the place of the run's; the ends of the intervals stay the same.
    """
    model, other = state.model, state.other_risk
    bound = state.settings.method.strategy.report_bound(model, state.settings.risk)
    return bound if other is None else replace(bound, risk=model.units.risk_to_model(other))


def at_observations(bound: RiskBound) -> Array:
    """Return the values ``(n,)`` of a bound where values were observed, without predictions."""
    return bound.value_of(Marginals(*bound.model.at_observations()))


def pessimistic_values(bound: RiskBound, X: Array) -> tuple[Array, Array, Array]:
    """Return the mean and noise variance that a bound combines, and its value, each ``(m,)``.

    They are taken at ``X (m, d)``, in user units and the sense of maximisation. The noise variance
    is at least the model's smallest one.
    """
    model, units = bound.model, bound.model.units
    if X is model.observations.X:
        mu, sigma, g, s = model.at_observations()
    else:
        (mu, sigma), (g, s) = model.mean.predict(X), model.noise.latent(X)
    f = mu + bound.z_f * sigma
    v = np.maximum(model.noise.link(g + bound.z_noise * s), model.min_noise_var)
    return units.to_outcome(f), units.var_to_user(v), units.to_outcome(bound.risk.value(f, v))


def _bound(model: MeanNoiseModel, risk: RiskMeasure, z_f: float, z_noise: float) -> RiskBound:
    return RiskBound(model, model.units.risk_to_model(risk), z_f, z_noise)
