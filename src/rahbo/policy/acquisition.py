"""What a point promises: risk bounds with gradients, and the uncertainty of the noise.

For a risk measure R that rises with the mean and does not rise with the noise variance:
    optimistic  R(ucb_f, lcb_var)    Algorithm 1, line 4: ucb_MV = ucb_f - alpha lcb_var
    pessimistic R(lcb_f, ucb_var)    Corollary 1.1:       lcb_MV = lcb_f - alpha ucb_var
Values are in the model's units; ``X (m, d)`` are points of the cube.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rahbo.model import MeanNoiseModel, NoisePosterior
from rahbo.numerics import Array
from rahbo.risk import RiskMeasure


class Acquisition(ABC):
    """A function of the cube to be maximised."""

    @abstractmethod
    def value(self, X: Array) -> Array:
        """Values ``(m,)``."""

    @abstractmethod
    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values ``(m,)`` and gradients ``(m, d)``."""


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

    def value(self, X: Array) -> Array:
        """Values ``(m,)``."""
        v = self._clip(self.model.noise.variance(X, self.z_noise))
        if self.z_f == 0.0:
            return self.risk.value(self.model.mean.predict_mean(X), v)
        mu, sigma = self.model.mean.predict(X)
        return self.risk.value(mu + self.z_f * sigma, v)

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values ``(m,)`` and gradients ``(m, d)`` by the chain rule."""
        mu, sigma, d_mu, d_sigma = self.model.mean.predict_with_gradient(X)
        noise = self.model.noise
        g, s, d_g, d_s = noise.latent_with_gradient(X)
        latent = g + self.z_noise * s
        raw = noise.link(latent)
        f, v = mu + self.z_f * sigma, self._clip(raw)
        d_f = d_mu + self.z_f * d_sigma
        d_v = np.where(v == raw, noise.link_slope(latent), 0.0)[:, None] * (
            d_g + self.z_noise * d_s
        )
        by_f, by_v = self.risk.gradient(f, v)
        return self.risk.value(f, v), by_f[:, None] * d_f + by_v[:, None] * d_v

    def values_widened(self, X: Array, factors: Sequence[float]) -> Array:
        """Values of this bound widened by each of k factors, ``(k, m)``, at the cost of one."""
        noise = self.model.noise
        mu, sigma = self.model.mean.predict(X)
        g, s = noise.latent(X)
        ends = (
            (mu + width * self.z_f * sigma, noise.link(g + width * self.z_noise * s))
            for width in factors
        )
        return np.array([self.risk.value(f, self._clip(v)) for f, v in ends])

    def widened(self, factor: float) -> RiskBound:
        """The same bound at ends of wider intervals."""
        return replace(self, z_f=factor * self.z_f, z_noise=factor * self.z_noise)

    def _clip(self, v: Array) -> Array:
        """Risk measures that need a variance get at least the smallest one."""
        if self.risk.allows_negative_variance:
            return v
        return np.maximum(v, self.model.min_noise_var)


@dataclass(frozen=True, eq=False)
class NoiseUncertainty(Acquisition):
    """Posterior standard deviation of the latent noise: uncertainty sampling of rho^2."""

    noise: NoisePosterior

    def value(self, X: Array) -> Array:
        """Values ``(m,)``."""
        return self.noise.latent(X)[1]

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values ``(m,)`` and gradients ``(m, d)``."""
        _, s, _, d_s = self.noise.latent_with_gradient(X)
        return s, d_s


def optimistic(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """The upper bound R(ucb_f, lcb_var) that RAHBO maximises."""
    return _bound(model, risk, model.beta, -model.beta_noise)


def pessimistic(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """The lower bound R(lcb_f, ucb_var) that RAHBO reports by."""
    return _bound(model, risk, -model.beta, model.beta_noise)


def central(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """R(mu, centre of rho^2), between the two."""
    return _bound(model, risk, 0.0, 0.0)


def optimistic_at_mean_noise(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """R(ucb_f, centre of rho^2), the second stage of RAHBO-US.

    The centre is the posterior mean under `DirectNoise` and the median under `LogNoise`.
    """
    return _bound(model, risk, model.beta, 0.0)


def pessimistic_at_mean_noise(model: MeanNoiseModel, risk: RiskMeasure) -> RiskBound:
    """R(lcb_f, centre of rho^2), by which RAHBO-US reports."""
    return _bound(model, risk, -model.beta, 0.0)


def pessimistic_values(bound: RiskBound, X: Array) -> tuple[Array, Array, Array]:
    """The ends by which a strategy reports, and its pessimistic value there, each ``(m,)``.

    The mean and the noise variance at ``X (m, d)`` that the bound combines, and its value, in
    user units and the sense of maximisation. The noise variance is at least the smallest there is.
    """
    model, units = bound.model, bound.model.units
    mu, sigma = model.mean.predict(X)
    f = mu + bound.z_f * sigma
    v = np.maximum(model.noise.variance(X, bound.z_noise), model.min_noise_var)
    return units.to_outcome(f), units.var_to_user(v), units.to_outcome(bound.risk.value(f, v))


def _bound(model: MeanNoiseModel, risk: RiskMeasure, z_f: float, z_noise: float) -> RiskBound:
    return RiskBound(model, model.units.risk_to_model(risk), z_f, z_noise)
