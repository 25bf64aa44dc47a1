"""Both Gaussian processes together: the mean f(x) and the noise variance rho^2(x).

The noise model comes first; its upper bound is the noise of the sample means (eq. 16):
    Sigma_hat = diag(clip(ucb_var, min_noise_var, max_noise_var) / count)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from rahbo.arrays import Array, Index
from rahbo.model.confidence import Confidence, ConstantBeta
from rahbo.model.gp import GP, Evidence, Hyperparameters, fit
from rahbo.model.hyperprior import Hyperprior
from rahbo.model.kernels import Kernel, Matern52
from rahbo.model.noise import (
    CubeNoise,
    KnownPosterior,
    LogNoise,
    NoiseModel,
    NoisePosterior,
    SampleVariances,
    level_posterior,
)
from rahbo.observations import Observations

# The smallest noise variance told apart from none, as a share of the variance of the outputs.
NOISE_FLOOR = 1e-8
# How often residuals of single evaluations go from the mean GP to the noise GP.
PASSES = 2
# Where a point has all its values, their variance counts as if this share were still to come.
CERTAIN = 0.01


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
    """What the two GPs are made of; see `Optimizer` for each setting.

    Attributes:
        sigma_width: Posterior standard deviations that the mean GP adds to the noise it is given;
            None for those of the noise band (eq. 16).
        population: How many values a point has in all, where they are not draws without end: that
            many give its mean and its variance for certain.
    """

    kernel: type[Kernel] | Kernel = Matern52
    noise: NoiseModel = field(default_factory=LogNoise)
    beta: Confidence = field(default_factory=ConstantBeta)
    beta_noise: Confidence = field(default_factory=ConstantBeta)
    lam: float = 1.0
    outputs: Outputs = field(default_factory=Standardized)
    min_noise_var: float | None = None
    max_noise_var: float | None = None
    sigma_width: float | None = None
    population: int | None = None

    def learn(self, observations: Observations, previous: Learned | None = None) -> Learned:
        """Fit the noise GP, then the mean GP under the noise it implies.

        A first fit begins with one noise level for all points, learned from repeats and residuals
        together: a pair of values that happen to agree must not decide what the mean has to follow.
        """
        shift, scale = self.outputs.units(observations)
        floor = NOISE_FLOOR * (output_scale(observations) / scale) ** 2
        y = (observations.mean - shift) / scale
        data = self.sample_variances(observations, floor, scale)
        noise, mean = (previous.noise, previous.mean) if previous else (None, None)
        if self._passes(observations) == 0:
            noise = self.noise.learn(data, noise) if len(data.s2) > 0 else None
            mean = self._learn_mean(observations, y, data, noise, mean)
            return Learned(shift, scale, floor, mean, noise)
        if mean is None or noise is None:
            mean = self._learn_with_level(observations, y, data, mean)
        # What was learned before is close enough to take residuals from once.
        for _ in range(1 if previous else PASSES):
            posterior = self._noise_posterior(data, noise, mean, floor)
            gp = self._mean_posterior(observations, y, mean, posterior, data)
            some = self._with_residuals(data, observations, gp, posterior)
            noise = self.noise.learn(some, noise)
            mean = self._learn_mean(observations, y, some, noise, mean)
        return Learned(shift, scale, floor, mean, noise)

    def condition(self, observations: Observations, learned: Learned) -> MeanNoiseModel:
        """Both posteriors given all data, at hyperparameters learned before."""
        y = (observations.mean - learned.shift) / learned.scale
        data = repeated = self.sample_variances(observations, learned.floor, learned.scale)
        noise = self._noise_posterior(data, learned.noise, learned.mean, learned.floor)
        gp = self._mean_posterior(observations, y, learned.mean, noise, data)
        for _ in range(self._passes(observations)):
            data = self._with_residuals(repeated, observations, gp, noise)
            noise = self._noise_posterior(data, learned.noise, learned.mean, learned.floor)
            gp = self._mean_posterior(observations, y, learned.mean, noise, data)
        return MeanNoiseModel(self, learned, gp, noise, data, observations)

    def _passes(self, observations: Observations) -> int:
        """How often residuals go from the mean GP to the noise GP."""
        return PASSES if self.noise.takes_residuals and observations.any_single else 0

    def _learn_with_level(
        self,
        observations: Observations,
        y: Array,
        data: SampleVariances,
        previous: Hyperparameters | None,
    ) -> Hyperparameters:
        """Fit the mean GP with one noise level, which repeats and residuals tell together."""
        prior = self.outputs.hyperprior(observations.X.shape[1], y)
        floor, weights = np.full(observations.n, data.floor), 1.0 / observations.count
        within = (float(data.dof.sum()), float(data.dof @ data.s2))
        X = observations.X
        return fit(Evidence(self.kernel, X, y, floor, weights, self.lam, prior, within), previous)

    def _learn_mean(
        self,
        observations: Observations,
        y: Array,
        data: SampleVariances,
        noise: Hyperparameters | None,
        previous: Hyperparameters | None,
    ) -> Hyperparameters:
        """Fit the mean GP under the noise that is believed."""
        if noise is None and not isinstance(self.noise, CubeNoise):
            return self._learn_with_level(observations, y, data, previous)
        prior = self.outputs.hyperprior(observations.X.shape[1], y)
        posterior = self.noise.condition(data, noise)
        noise_var = self.mean_noise(posterior, observations.X, observations.count, data)
        return fit(
            Evidence(self.kernel, observations.X, y, noise_var, None, self.lam, prior), previous
        )

    def _noise_posterior(
        self,
        data: SampleVariances,
        noise: Hyperparameters | None,
        mean: Hyperparameters,
        floor: float,
    ) -> NoisePosterior:
        if noise is not None or isinstance(self.noise, CubeNoise):
            return self.noise.condition(data, noise)
        if self.noise.takes_residuals:
            # What residuals are first taken from; they will tell how sure it is.
            level = mean.noise_scale + floor
            return KnownPosterior(lambda X: np.full(len(X), level))
        return level_posterior(mean, floor)

    def _mean_posterior(
        self,
        observations: Observations,
        y: Array,
        mean: Hyperparameters,
        noise: NoisePosterior,
        data: SampleVariances,
    ) -> GP:
        noise_var = self.mean_noise(noise, observations.X, observations.count, data)
        return GP.condition(
            mean.kernel, observations.X, y, noise_var, lam=self.lam, prior_mean=mean.prior_mean
        )

    def sample_variances(
        self, observations: Observations, floor: float, scale: float
    ) -> SampleVariances:
        """Return the sample variances of points with at least two repeats."""
        use = observations.count > 1
        count = observations.count[use]
        dof = (count - 1.0) / np.maximum(self.unseen(count), CERTAIN)
        s2 = observations.sample_var[use] / scale**2
        # Noise of a seventh of a rounding step leaves five of six pairs equal. The last digits of
        # values out of a finite number are theirs, not rounding's.
        step = 0.0 if self.population else observations.resolution / scale
        return SampleVariances(
            observations.X[use],
            s2,
            dof,
            floor,
            unit=scale**2,
            typical=(output_scale(observations) / scale) ** 2,
            rounding=step**2 / 48.0,
        )

    def unseen(self, count: Index) -> Array:
        """The share of its values that ``count (n,)`` repeats of a point leave open.

        Var[mean of n out of N] = (rho^2 / n) (1 - n / N)
        """
        total = math.inf if self.population is None else self.population
        return np.maximum(1.0 - count / total, 0.0)

    def _with_residuals(
        self,
        data: SampleVariances,
        observations: Observations,
        gp: GP,
        noise: NoisePosterior,
    ) -> SampleVariances:
        """Sample variances, and what single evaluations tell by their distance from the others.

        A value predicted by the others with variance u is off by a residual r of variance
        u + rho^2, of which noise has the share w:
        w = rho^2 / (u + rho^2), estimate of rho^2: w r^2, with w degrees of freedom
        This has the gradient of log N(r; 0, u + rho^2) in log rho^2.
        """
        single = observations.count == 1
        X = observations.X[single]
        r, total = gp.leave_one_out()
        u = total[single] - self.mean_noise(noise, X, observations.count[single], data)
        noise_var = noise.variance(X)
        w = np.clip(noise_var / (np.maximum(u, 0.0) + noise_var), 1e-3, 1.0)
        return replace(
            data,
            X=np.vstack([data.X, X]),
            s2=np.append(data.s2, w * r[single] ** 2),
            dof=np.append(data.dof, w),
        )

    def mean_noise(
        self, noise: NoisePosterior, X: Array, count: Index, data: SampleVariances
    ) -> Array:
        """Noise variance of the sample means (eq. 16), in the model's units."""
        width = self.sigma_width
        if width is None or noise.gp is None:
            width = _width(self.beta_noise, noise)
        return self.noise_of_means(noise.variance(X, z=width), count, data)

    def noise_of_means(self, noise_var: Array, count: Index, data: SampleVariances) -> Array:
        """Variance of the means of ``count (n,)`` values each of a given noise variance."""
        highest = np.inf if self.max_noise_var is None else self.max_noise_var / data.unit
        lowest = max(data.floor, (self.min_noise_var or 0.0) / data.unit)
        of_mean = np.clip(noise_var, lowest, max(highest, lowest)) / count
        return np.asarray(np.maximum(of_mean * self.unseen(count), data.floor))


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
        observations: What was told.
    """

    settings: ModelSettings
    learned: Learned
    mean: GP
    noise: NoisePosterior
    data: SampleVariances
    observations: Observations

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

    @property
    def max_noise_var(self) -> float:
        """The upper bound of the noise variance, in the model's units, or infinity."""
        if self.settings.max_noise_var is None:
            return math.inf
        return max(self.settings.max_noise_var / self.data.unit, self.min_noise_var)

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

    def noise_by_repeats(self, observations: Observations) -> NoisePosterior:
        """The noise that repeats of the same point show, none from residuals; all, if none do."""
        units = self.learned
        data = self.settings.sample_variances(observations, units.floor, units.scale)
        if len(data.s2) == 0 or units.noise is None:
            return self.noise
        return self.settings.noise.condition(data, units.noise)

    def with_pending(
        self, X: Array, count: Index, rng: np.random.Generator | None = None
    ) -> MeanNoiseModel:
        """The model once ``count (p,)`` repeats arrive at ``X (p, d)`` as it expects them.

        Or, with ``rng``, once their sample means arrive as it draws them.
        """
        if len(X) == 0:
            return self
        noise_var = self.settings.mean_noise(self.noise, X, count, self.data)
        draws = None if rng is None else rng.standard_normal(len(X))
        return replace(
            self,
            mean=self.mean.with_pending(X, noise_var, draws),
            noise=self.noise.with_pending(X, count),
        )


def _width(confidence: Confidence, noise: NoisePosterior) -> float:
    return 0.0 if noise.gp is None else confidence.beta(noise.gp)
