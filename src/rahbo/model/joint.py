"""Both Gaussian processes together: the mean f(x) and the noise variance rho^2(x).

The noise model comes first. Its upper bound is the noise of the sample means (eq. 16):
    Sigma_hat = diag(clip(ucb_var, min_noise_var, max_noise_var) / count)
`learning` fits both. This module defines their settings and the joint model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rahbo.model.blocks import Effects
from rahbo.model.confidence import Confidence, ConstantBeta
from rahbo.model.evidence import Hyperparameters
from rahbo.model.gp import GP
from rahbo.model.kept import Kept
from rahbo.model.kernels import Kernel, Matern52
from rahbo.model.lognoise import LogNoise
from rahbo.model.units import Outputs, Standardized, Units
from rahbo.model.variance import NoiseModel, NoisePosterior, SampleVariances
from rahbo.numerics import Array, Index
from rahbo.trials import Observations

# When a point has all its values, its variance counts as if this share were still missing.
CERTAIN = 0.01


@dataclass(frozen=True, eq=False)
class Learned:
    """Units and hyperparameters of both GPs, learned from some of the data.

    Attributes:
        units: Converts between the model's numbers and the user's.
        floor: The smallest noise variance, in the model's units.
        mean: Hyperparameters of the mean GP.
        noise: What the noise model learned; None if it learned nothing yet, or is known.
    """

    units: Units
    floor: float
    mean: Hyperparameters
    noise: Any


@dataclass(frozen=True)
class ModelSettings:
    """The settings of the two GPs. `Optimizer` explains those that are not listed here.

    Attributes:
        sigma_width: Posterior standard deviations added to the noise that the mean GP uses; None
            takes the width of the noise band (eq. 16).
        population: How many values exist at a point, which together give its mean and variance
            exactly; None if values can be drawn without end.
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

    def scale(self, observations: Observations) -> float:
        """Return the size of the differences between outputs, known or assumed."""
        return self._known_scale(observations) or self.outputs.scale(observations)

    def units(self, observations: Observations) -> Units:
        """Return the units in which the model sees these observations."""
        units, known = self.outputs.units(observations), self._known_scale(observations)
        return replace(units, scale=known) if known else units

    def have_scale(self, observations: Observations) -> bool:
        """Return whether anything shows how large a difference in the user's units is."""
        return self.outputs.have_scale(observations) or self._known_scale(observations) > 0.0

    def _known_scale(self, observations: Observations) -> float:
        """Return the scale that a known noise variance gives to equal outputs, or 0."""
        if self.outputs.have_scale(observations):
            return 0.0
        var = self.noise.known_var(observations.X)
        known = self.max_noise_var or self.min_noise_var or 0.0
        known = known if var is None else float(np.max(var))
        return math.sqrt(known) if 0.0 < known < math.inf else 0.0


def sample_variances(
    settings: ModelSettings, observations: Observations, floor: float, units: Units
) -> SampleVariances:
    """Return the sample variances of points with at least two repeats."""
    use = observations.count > 1
    count = observations.count[use]
    degrees = count - 1.0
    if observations.removed is not None:
        degrees = degrees - observations.removed.dof[use]
    dof = degrees / np.maximum(unseen(settings, count), CERTAIN)
    # With noise of a seventh of a rounding step, five of six pairs are equal. If values come from a
    # finite set, their last digits are not due to rounding.
    step = 0.0 if settings.population else units.std_to_model(observations.resolution)
    return SampleVariances(
        observations.X if use.all() else observations.X[use],
        units.rounded_var(units.var_to_model(observations.sample_var[use])),
        dof,
        floor,
        units=units,
        typical=max(units.std_to_model(settings.scale(observations)), units.step) ** 2,
        rounding=step**2 / 48.0,
    )


def unseen(settings: ModelSettings, count: Index) -> Array:
    """Return the share of a point's values that are still unknown after ``count (n,)`` repeats.

    Var[mean of n out of N] = (rho^2 / n) (1 - n / N)
    """
    total = math.inf if settings.population is None else settings.population
    return np.maximum(1.0 - count / total, 0.0)


def left_by_blocks(observations: Observations, units: Units) -> Array | float:
    """Return the variance that effects of blocks leave in the sample means, ``(n,)`` or 0."""
    removed = observations.removed
    return 0.0 if removed is None else units.rounded_var(units.var_to_model(removed.mean_var))


def mean_noise(
    settings: ModelSettings, noise: NoisePosterior, X: Array, count: Index, data: SampleVariances
) -> Array:
    """Return the noise variance of the sample means (eq. 16), in the model's units."""
    z = noise_width(settings, noise)
    if noise.is_known:
        # A known variance was given in the user's units, and so are its last digits.
        noise_var = data.units.rounded_var(noise.variance(X))
    else:
        # At its own data, a posterior is known without solving anything.
        at_data = noise.gp is not None and noise.gp.X is X
        noise_var = noise.at_data(z) if at_data else noise.variance(X, z)
    return noise_of_means(settings, noise_var, count, data)


def noise_width(settings: ModelSettings, noise: NoisePosterior) -> float:
    """Return the posterior standard deviations added to the noise that the mean GP uses."""
    if settings.sigma_width is None or noise.is_known:
        return noise.width(settings.beta_noise)
    return settings.sigma_width


def noise_of_means(
    settings: ModelSettings, noise_var: Array, count: Index, data: SampleVariances
) -> Array:
    """Return the variance of the mean of ``count (n,)`` values with this noise variance."""
    highest = np.inf if settings.max_noise_var is None else data.bound(settings.max_noise_var)
    lowest = max(data.floor, data.bound(settings.min_noise_var or 0.0))
    of_mean = np.clip(noise_var, lowest, max(highest, lowest)) / count
    return np.asarray(np.maximum(of_mean * unseen(settings, count), data.floor))


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed at some points, each ``(m,)``, in the model's units.

    Attributes:
        mu: Posterior mean of f.
        sigma: Posterior standard deviation of f.
        noise_var: Centre of the noise variance.
    """

    mu: Array
    sigma: Array
    noise_var: Array


@dataclass(frozen=True, eq=False)
class MeanNoiseModel:
    """The posteriors of f and rho^2 given some observations.

    Attributes:
        settings: The settings of both GPs.
        learned: Units and hyperparameters.
        mean: The GP of f.
        noise: The posterior of rho^2.
        by_repeats: The posterior of rho^2 from repeats alone, without residuals. If no point has
            repeats, that from all data.
        data: The sample variances behind the noise posterior.
        observations: What was told.
        blocks: What is known of the effects of blocks; None if no value belongs to one.
        lists: Predictions at lists of points, kept for as long as both GPs have the same first
            data.
    """

    settings: ModelSettings
    learned: Learned
    mean: GP
    noise: NoisePosterior
    by_repeats: NoisePosterior
    data: SampleVariances
    observations: Observations
    blocks: Effects | None = None
    lists: dict[tuple[str, int], tuple[Array, Kept]] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> Units:
        """Converts between the model's numbers and the user's."""
        return self.learned.units

    @property
    def beta(self) -> float:
        """The width of the band of f."""
        return self.settings.beta.beta(self.mean)

    @property
    def beta_noise(self) -> float:
        """The width of the band of the noise variance; 0 if it is known."""
        return self.noise.width(self.settings.beta_noise)

    @property
    def min_noise_var(self) -> float:
        """The lower bound of the noise variance, in the model's units."""
        return max(self.learned.floor, self.data.to_model(self.settings.min_noise_var or 0.0))

    @property
    def max_noise_var(self) -> float:
        """The upper bound of the noise variance, in the model's units, or infinity."""
        if self.settings.max_noise_var is None:
            return math.inf
        return max(self.data.to_model(self.settings.max_noise_var), self.min_noise_var)

    def belief(self, X: Array) -> Belief:
        """Return what is believed at ``X (m, d)``."""
        return Belief(*self.mean.predict(X), self.noise.link(self.noise.latent(X)[0]))

    def draw(self, X: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return f and rho^2 at ``X (m, d)``, each ``(m,)``, drawn jointly from the posteriors."""
        f, g = self.mean.draws(X, rng, 1)[0], self.noise.draws(X, rng, 1)[0]
        return f, np.clip(self.noise.link(g), self.min_noise_var, self.max_noise_var)

    def at_observations(self) -> tuple[Array, Array, Array, Array]:
        """Return the means and deviations of f and of the latent noise where values were observed.

        Each is ``(n,)``. This is much cheaper than a prediction, because nothing is solved.
        """
        X, n = self.observations.X, self.observations.n
        mean, noise = self.mean, self.noise.gp
        mu, sigma = (mean.y - mean.residuals)[:n], mean.spread[:n]
        if noise is None or len(noise.X) < n or not np.array_equal(noise.X[:n], X):
            return mu, sigma, *self.noise.latent(X)
        return mu, sigma, (noise.y - noise.residuals)[:n], noise.spread[:n]

    def predict_list(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Return the means and deviations of f and of the latent noise at a list, each ``(m,)``.

        Args:
            X: The list ``(m, d)``. If the same array is passed in later rounds, most of the work
                is not repeated.
        """
        if self.noise.gp is None:
            return *self._at_list("mean", self.mean, X), *self.noise.latent(X)
        return *self._at_list("mean", self.mean, X), *self._at_list("noise", self.noise.gp, X)

    def _at_list(self, which: str, gp: GP, X: Array) -> tuple[Array, Array]:
        first = gp if gp.later is None else gp.later.first
        listed, kept = self.lists.get((which, id(X)), (None, None))
        if kept is None or listed is not X or kept.first is not first:
            kept = Kept(first, X)
            self.lists[which, id(X)] = X, kept
        return kept.predict(gp)

    def with_pending(
        self, X: Array, count: Index, rng: np.random.Generator | None = None
    ) -> MeanNoiseModel:
        """Return the model as if ``count (p,)`` repeats had arrived at ``X (p, d)``.

        Their sample means are those it expects or, with ``rng``, draws from it.
        """
        if len(X) == 0:
            return self
        noise_var = mean_noise(self.settings, self.noise, X, count, self.data)
        draws = None if rng is None else rng.standard_normal(len(X))
        return replace(
            self,
            mean=self.mean.with_pending(X, noise_var, draws),
            noise=self.noise.with_pending(X, count),
        )
