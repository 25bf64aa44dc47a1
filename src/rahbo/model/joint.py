"""Both Gaussian processes together: the mean f(x) and the noise variance rho^2(x).

The noise model comes first; its upper bound is the noise of the sample means (eq. 16):
    Sigma_hat = diag(clip(ucb_var, min_noise_var, max_noise_var) / count)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from rahbo.arrays import Array, Index
from rahbo.model.confidence import Confidence, ConstantBeta
from rahbo.model.gp import GP, Evidence, Hyperparameters, Hyperprior, fit
from rahbo.model.kernels import Kernel, Matern52
from rahbo.model.noise import (
    CubeNoise,
    KnownPosterior,
    LogNoise,
    NoiseModel,
    NoisePosterior,
    SampleVariances,
)
from rahbo.observations import Observations

# The smallest noise variance told apart from none, as a share of the variance of the outputs.
NOISE_FLOOR = 1e-8


class Outputs(ABC):
    """How outputs enter the model: their units, and what is believed of them in advance."""

    @abstractmethod
    def units(self, observations: Observations) -> tuple[float, float]:
        """Shift and scale; the model sees (y - shift) / scale."""

    @abstractmethod
    def hyperprior(self, d: int, y: Array) -> Hyperprior:
        """Of the mean GP's hyperparameters, given its outputs."""


@dataclass(frozen=True)
class Standardized(Outputs):
    """Zero mean and unit variance over the points, weak hyperpriors, a learned prior mean."""

    def units(self, observations: Observations) -> tuple[float, float]:
        """Mean and standard deviation of the point means."""
        return float(np.mean(observations.mean)), output_scale(observations)

    def hyperprior(self, d: int, y: Array) -> Hyperprior:
        """Weak."""
        return Hyperprior.weak(d)


@dataclass(frozen=True)
class Raw(Outputs):
    """Outputs as they are, zero prior mean, plain marginal likelihood: the paper's setting."""

    def units(self, observations: Observations) -> tuple[float, float]:
        """The user's own."""
        return 0.0, 1.0

    def hyperprior(self, d: int, y: Array) -> Hyperprior:
        """Flat, with no lengthscale beyond the width of the cube.

        The likelihood of few points is nearly flat there, and an input that it drops by a nat's
        fraction stays dropped where hyperparameters are fitted once. Too short only costs time.
        """
        return replace(Hyperprior.flat(float(np.log(np.mean(y**2) or 1.0))), longest=1.0)


def output_scale(observations: Observations) -> float:
    """Spread of the point means; of the repeats, or 1, where that is zero."""
    spread = float(np.std(observations.mean))
    if spread == 0.0:
        spread = float(np.sqrt(np.nanmax(observations.sample_var, initial=0.0)))
    return spread or 1.0


@dataclass(frozen=True, eq=False)
class Learned:
    """Units and hyperparameters of both GPs, learned from some of the data.

    Attributes:
        shift: Subtracted from outputs.
        scale: Outputs are divided by it.
        floor: The smallest noise variance, in the model's units.
        mean: Hyperparameters of the mean GP.
        noise: Those of the noise model; None where it has none.
    """

    shift: float
    scale: float
    floor: float
    mean: Hyperparameters
    noise: Hyperparameters | None


@dataclass(frozen=True)
class ModelSettings:
    """What the two GPs are made of; see `Optimizer` for each setting."""

    kernel: type[Kernel] | Kernel = Matern52
    noise: NoiseModel = field(default_factory=LogNoise)
    beta: Confidence = field(default_factory=ConstantBeta)
    beta_noise: Confidence = field(default_factory=ConstantBeta)
    lam: float = 1.0
    outputs: Outputs = field(default_factory=Standardized)
    min_noise_var: float | None = None
    max_noise_var: float | None = None

    def learn(self, observations: Observations, previous: Learned | None = None) -> Learned:
        """Fit the noise GP, then the mean GP under the noise it implies."""
        shift, scale = self.outputs.units(observations)
        floor = NOISE_FLOOR * (output_scale(observations) / scale) ** 2
        data = _sample_variances(observations, floor, scale)
        noise = None
        if len(data.s2) > 0:
            noise = self.noise.learn(data, previous.noise if previous else None)
        y = (observations.mean - shift) / scale
        prior = self.outputs.hyperprior(observations.X.shape[1], y)
        weights = None
        if noise is None and not isinstance(self.noise, CubeNoise):
            # No repeats, no sample variances: one noise level, learned by the mean GP.
            noise_var, weights = np.full(observations.n, floor), 1.0 / observations.count
        else:
            posterior = self.noise.condition(data, noise)
            noise_var = self._mean_noise(posterior, observations.X, observations.count, data)
        evidence = Evidence(self.kernel, observations.X, y, noise_var, weights, self.lam, prior)
        return Learned(
            shift, scale, floor, fit(evidence, previous.mean if previous else None), noise
        )

    def condition(self, observations: Observations, learned: Learned) -> MeanNoiseModel:
        """Both posteriors given all data, at hyperparameters learned before."""
        data = _sample_variances(observations, learned.floor, learned.scale)
        if learned.noise is None and not isinstance(self.noise, CubeNoise):
            level = learned.mean.noise_scale + learned.floor
            noise: NoisePosterior = KnownPosterior(lambda X: np.full(len(X), level))
        else:
            noise = self.noise.condition(data, learned.noise)
        noise_var = self._mean_noise(noise, observations.X, observations.count, data)
        y = (observations.mean - learned.shift) / learned.scale
        gp = GP.condition(
            learned.mean.kernel,
            observations.X,
            y,
            noise_var,
            lam=self.lam,
            prior_mean=learned.mean.prior_mean,
        )
        return MeanNoiseModel(self, learned, gp, noise, data)

    def _mean_noise(
        self, noise: NoisePosterior, X: Array, count: Index, data: SampleVariances
    ) -> Array:
        """Noise variance of the sample means (eq. 16), in the model's units."""
        upper = noise.variance(X, z=_width(self.beta_noise, noise))
        highest = np.inf if self.max_noise_var is None else self.max_noise_var / data.unit
        lowest = max(data.floor, (self.min_noise_var or 0.0) / data.unit)
        return np.asarray(np.clip(upper, lowest, max(highest, lowest)) / count)


@dataclass(frozen=True, eq=False)
class Belief:
    """Confidence intervals at some points, each ``(m,)``, in the model's units.

    Attributes:
        mu: Posterior mean of f.
        sigma: Posterior standard deviation of f.
        f_lower: mu - beta sigma.
        f_upper: mu + beta sigma (eq. 7).
        noise_var: Centre of the noise variance.
        noise_lower: Its lower bound (eq. 15).
        noise_upper: Its upper bound (eq. 14).
    """

    mu: Array
    sigma: Array
    f_lower: Array
    f_upper: Array
    noise_var: Array
    noise_lower: Array
    noise_upper: Array


@dataclass(frozen=True, eq=False)
class MeanNoiseModel:
    """What is believed of f and rho^2 after some observations.

    Attributes:
        settings: What it is made of.
        learned: Units and hyperparameters.
        mean: The GP of f.
        noise: The posterior of rho^2.
        data: The sample variances behind it.
    """

    settings: ModelSettings
    learned: Learned
    mean: GP
    noise: NoisePosterior
    data: SampleVariances

    @property
    def beta(self) -> float:
        """Width of the band of f."""
        return self.settings.beta.beta(self.mean)

    @property
    def beta_noise(self) -> float:
        """Width of the band of the noise variance; 0 where it is known."""
        return _width(self.settings.beta_noise, self.noise)

    @property
    def min_noise_var(self) -> float:
        """The lower bound of the noise variance, in the model's units."""
        return max(self.learned.floor, (self.settings.min_noise_var or 0.0) / self.data.unit)

    def belief(self, X: Array) -> Belief:
        """Confidence intervals at ``X (m, d)``."""
        mu, sigma = self.mean.predict(X)
        g, spread = self.noise.latent(X)
        width, width_noise = self.beta * sigma, self.beta_noise * spread
        return Belief(
            mu,
            sigma,
            f_lower=mu - width,
            f_upper=mu + width,
            noise_var=self.noise.link(g),
            noise_lower=self.noise.link(g - width_noise),
            noise_upper=self.noise.link(g + width_noise),
        )

    def with_pending(self, X: Array, count: Index) -> MeanNoiseModel:
        """The model once ``count (p,)`` repeats arrive at ``X (p, d)`` as it expects them."""
        if len(X) == 0:
            return self
        noise_var = self.settings._mean_noise(self.noise, X, count, self.data)
        return replace(
            self,
            mean=self.mean.with_pending(X, noise_var),
            noise=self.noise.with_pending(X, count),
        )


def _width(confidence: Confidence, noise: NoisePosterior) -> float:
    return 0.0 if noise.gp is None else confidence.beta(noise.gp)


def _sample_variances(observations: Observations, floor: float, scale: float) -> SampleVariances:
    use = observations.count > 1
    s2 = observations.sample_var[use] / scale**2
    return SampleVariances(observations.X[use], s2, observations.count[use], floor, scale**2)
