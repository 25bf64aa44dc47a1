"""From observations to both posteriors: learn hyperparameters, then condition on the data.

Single values have no sample variance. They inform the noise by their distance from what the other
points predict. So if there are any, the two GPs are fitted in turn: residuals of the mean GP go to
the noise GP, whose noise goes back to the mean GP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model.blocks import (
    Effects,
    effects_from,
    equations_of,
    first_effects,
    removed_by,
    separated,
)
from rahbo.model.evidence import Evidence, Hyperparameters, fit
from rahbo.model.gp import GP
from rahbo.model.hyperprior import Hyperprior
from rahbo.model.joint import (
    Learned,
    MeanNoiseModel,
    ModelSettings,
    left_by_blocks,
    mean_noise,
    sample_variances,
    unseen,
)
from rahbo.model.lognoise import level_posterior
from rahbo.model.units import Units
from rahbo.model.variance import KnownPosterior, NoisePosterior, SampleVariances
from rahbo.numerics import Array, Mask
from rahbo.trials import Observations

# The smallest noise variance that differs from none, as a share of the variance of the outputs.
NOISE_FLOOR = 1e-8
# How often the effects of blocks are found in turn with the two GPs.
BLOCK_PASSES = 1
# The largest share that a single value is taken to have in the effect of its block.
MOST_OWN = 0.8
# Deviations from what the other points predict that no point known exactly may have.
CONTRADICTION = 4.0
# How often residuals of single evaluations go from the mean GP to the noise GP.
PASSES = 2
# Hyperparameters are learned from at most so many points, as more would hardly change them. A
# first fit of many points begins with a few: the same optimum at a fraction of the cost.
ENOUGH, FEW = 320, 96


def learn(
    settings: ModelSettings, observations: Observations, previous: Learned | None = None
) -> Learned:
    """Fit both GPs, with the effects of blocks in turn if values belong to any."""
    observations = _with_effects(settings, observations)
    if observations.block is None:
        return _learn(settings, observations, previous)
    less = _less_first(settings, observations)
    if previous is not None:
        less = _less(_condition(settings, less, previous), observations)[0]
        return _learn(settings, less, previous)
    learned = _learn(settings, less)
    less = _less(_condition(settings, less, learned), observations)[0]
    return _learn(settings, less, learned)


def condition(
    settings: ModelSettings, observations: Observations, learned: Learned
) -> MeanNoiseModel:
    """Return both posteriors given all data, at hyperparameters learned before.

    If values belong to blocks, their effects are found in turn with the two GPs.
    """
    observations = _with_effects(settings, observations)
    if observations.block is None:
        return _condition(settings, observations, learned)
    less, effects = _less_first(settings, observations), None
    for _ in range(BLOCK_PASSES):
        less, effects = _less(_condition(settings, less, learned), observations)
    return replace(_condition(settings, less, learned), blocks=effects)


def contradicted(model: MeanNoiseModel) -> bool:
    """Return whether hyperparameters learned before cannot be right.

    A point that gets its last block is known exactly from then on, so the mean has to go through
    it. If it is far from what all other points predict there, the mean would be bent so much that
    it misleads elsewhere.
    """
    if model.blocks is None or model.settings.population is None:
        return False
    exact = unseen(model.settings, model.observations.count) == 0.0
    if not exact.any():
        return False
    residual, var = model.mean.leave_one_out()
    return bool(np.any(residual[exact] ** 2 > CONTRADICTION**2 * var[exact]))


def _with_effects(settings: ModelSettings, observations: Observations) -> Observations:
    """Return the data without blocks if none of them can be compared with another."""
    separate = _separated(settings, observations)[0]
    return separate if separate.block is None else observations


def _separated(settings: ModelSettings, observations: Observations) -> tuple[Observations, Mask]:
    """Return what `separated` returns. In a given set, all blocks can be compared."""
    if settings.population is not None or observations.block is None:
        return observations, np.zeros(observations.n, dtype=bool)
    return separated(observations)


def _less_first(settings: ModelSettings, observations: Observations) -> Observations:
    """Return the data less the effects of blocks, as differences within points show them."""
    observations, alone = _separated(settings, observations)
    units = settings.units(observations)
    scale = units.std_to_model(settings.scale(observations))
    y = units.to_model(observations.values)
    effects, level = first_effects(
        observations.blocks, observations, y, NOISE_FLOOR * scale**2, scale
    )
    noise_var = np.full(observations.n, level)
    return observations.less(removed_by(observations, effects, noise_var, units.scale, alone))


def _less(model: MeanNoiseModel, observations: Observations) -> tuple[Observations, Effects]:
    """Return the data less the effects of blocks, and these effects, under both GPs."""
    settings, learned, units = model.settings, model.learned, model.units
    observations, alone = _separated(settings, observations)
    noise_var = units.rounded_var(
        np.clip(model.noise.variance(observations.X), model.min_noise_var, model.max_noise_var)
    )
    y = units.to_model(observations.values)
    mean = learned.mean
    equations = equations_of(mean.kernel, settings.lam, mean.prior_mean, observations, y, noise_var)
    effects = effects_from(
        observations.blocks,
        equations,
        float(np.sqrt(np.median(noise_var))),
        math.sqrt(model.data.typical),
    )
    if settings.population is not None and len(observations.blocks) == settings.population:
        # f is the mean over all the blocks there are.
        effects = effects.centred()
    removed = removed_by(observations, effects, noise_var, units.scale, alone)
    return observations.less(removed), effects


def _learn(
    settings: ModelSettings, observations: Observations, previous: Learned | None = None
) -> Learned:
    """Fit the noise GP, then the mean GP under the noise it implies.

    A first fit begins with one noise level for all points, learned from repeats and residuals
    together. Otherwise a pair of values that happen to agree would decide what the mean follows.

    Of many points, an even selection is enough. Their first fit starts from that of a few.
    """
    if previous is None and observations.n > 2 * FEW:
        few = _learn(settings, observations.thinned(FEW))
        previous = _scaled(settings, few, observations.n)
    units = settings.units(observations)
    floor = NOISE_FLOOR * units.std_to_model(settings.scale(observations)) ** 2
    table = _Table.of(settings, observations.thinned(ENOUGH), units, floor)
    noise, mean = (previous.noise, previous.mean) if previous else (None, None)
    if table.passes == 0:
        data = table.repeated
        noise = _learn_noise(settings, data, noise)
        return Learned(units, floor, table.learn_mean(data, noise, mean), noise)
    if mean is None or noise is None:
        mean = table.learn_with_level(table.repeated, mean)
    # Earlier hyperparameters are close enough that one pass of residuals suffices.
    for _ in range(1 if previous else PASSES):
        posterior = table.noise_posterior(table.repeated, noise, mean)
        gp = table.mean_posterior(mean, posterior, table.repeated)
        data = table.with_residuals(gp, posterior)
        noise = _learn_noise(settings, data, noise)
        mean = table.learn_mean(data, noise, mean)
    return Learned(units, floor, mean, noise)


def _learn_noise(settings: ModelSettings, data: SampleVariances, previous: Any) -> Any:
    """Return what the noise model learns; None if there is nothing to learn or to learn from."""
    if settings.noise.is_known or len(data.s2) == 0:
        return None
    found = settings.noise.learn(data, previous)
    if found is None:
        raise SettingsError(
            f"{settings.noise!r}: learn() must return what was learned, got None. A model without "
            "hyperparameters leaves out learn(); one that is known sets is_known."
        )
    return found


def _condition(
    settings: ModelSettings, observations: Observations, learned: Learned
) -> MeanNoiseModel:
    """Return both posteriors given all data, at hyperparameters learned before."""
    table = _Table.of(settings, observations, learned.units, learned.floor)
    data = table.repeated
    noise = first = table.noise_posterior(data, learned.noise, learned.mean)
    gp = table.mean_posterior(learned.mean, noise, data)
    for _ in range(table.passes):
        data = table.with_residuals(gp, noise)
        noise = table.noise_posterior(data, learned.noise, learned.mean, noise)
        gp = table.mean_posterior(learned.mean, noise, data)
    repeated = len(table.repeated.s2) > 0 and learned.noise is not None
    return MeanNoiseModel(
        settings, learned, gp, noise, first if repeated else noise, data, observations
    )


def _scaled(settings: ModelSettings, learned: Learned, n: int) -> Learned:
    """Return a fit of `FEW` points as the start of a fit of n points.

    The curvature grows with the number of points, like the information.
    """
    factor = min(n, ENOUGH) / FEW
    noise = None if learned.noise is None else settings.noise.scaled(learned.noise, factor)
    return replace(learned, mean=learned.mean.scaled(factor), noise=noise)


@dataclass(frozen=True, eq=False)
class _Table:
    """Observations in the model's units, and the two GPs given them.

    Attributes:
        settings: The settings of both GPs.
        observations: The data.
        y: Sample means in the model's units, ``(n,)``.
        repeated: Sample variances of the points that have repeats.
        of_blocks: The variance that effects of blocks leave in the sample means, ``(n,)`` or 0.
    """

    settings: ModelSettings
    observations: Observations
    y: Array
    repeated: SampleVariances
    of_blocks: Array | float

    @classmethod
    def of(
        cls, settings: ModelSettings, observations: Observations, units: Units, floor: float
    ) -> _Table:
        repeated = sample_variances(settings, observations, floor, units)
        left = left_by_blocks(observations, units)
        return cls(settings, observations, units.to_model(observations.mean), repeated, left)

    @property
    def passes(self) -> int:
        """How often residuals go from the mean GP to the noise GP."""
        takes = self.settings.noise.takes_residuals and self.observations.any_single
        return PASSES if takes else 0

    @property
    def prior(self) -> Hyperprior:
        """The prior of the mean GP's hyperparameters."""
        return self.settings.outputs.hyperprior(self.observations.X.shape[1], self.y)

    def learn_with_level(
        self, data: SampleVariances, previous: Hyperparameters | None
    ) -> Hyperparameters:
        """Fit the mean GP and one noise level, learned from repeats and residuals together."""
        told, settings = self.observations, self.settings
        floor, weights = np.full(told.n, data.floor) + self.of_blocks, 1.0 / told.count
        within = (float(data.dof.sum()), float(data.dof @ data.s2))
        evidence = Evidence(
            settings.kernel, told.X, self.y, floor, weights, settings.lam, self.prior, within
        )
        return fit(evidence, previous)

    def learn_mean(
        self,
        data: SampleVariances,
        noise: Any,
        previous: Hyperparameters | None,
    ) -> Hyperparameters:
        """Fit the mean GP under the current noise posterior."""
        told, settings = self.observations, self.settings
        if noise is None and not settings.noise.is_known:
            return self.learn_with_level(data, previous)
        posterior = settings.noise.condition(data, noise)
        noise_var = mean_noise(settings, posterior, told.X, told.count, data) + self.of_blocks
        evidence = Evidence(
            settings.kernel, told.X, self.y, noise_var, None, settings.lam, self.prior
        )
        return fit(evidence, previous)

    def noise_posterior(
        self,
        data: SampleVariances,
        noise: Any,
        mean: Hyperparameters,
        near: NoisePosterior | None = None,
    ) -> NoisePosterior:
        """Return the noise posterior given these sample variances."""
        model = self.settings.noise
        if noise is not None or model.is_known:
            return model.condition(data, noise, near)
        if model.takes_residuals:
            # The first residuals use this level. They then show how certain it is.
            level = mean.noise_scale + data.floor
            return KnownPosterior(lambda X: np.full(len(X), level))
        return level_posterior(mean, data.floor)

    def mean_posterior(
        self, mean: Hyperparameters, noise: NoisePosterior, data: SampleVariances
    ) -> GP:
        """Return the posterior of the mean under this noise."""
        told, lam = self.observations, self.settings.lam
        noise_var = mean_noise(self.settings, noise, told.X, told.count, data) + self.of_blocks
        return GP.condition(
            mean.kernel, told.X, self.y, noise_var, lam=lam, prior_mean=mean.prior_mean
        )

    def with_residuals(self, gp: GP, noise: NoisePosterior) -> SampleVariances:
        """Return the sample variances with those from the residuals of single values."""
        told, data = self.observations, self.repeated
        of_mean = mean_noise(self.settings, noise, told.X, told.count, data)
        at_data = noise.gp is not None and noise.gp.X is told.X
        noise_var = noise.at_data() if at_data else noise.variance(told.X)
        residual, total = gp.leave_one_out()
        if told.removed is not None:
            # A value took part in the effect of its block, which is therefore too close to it.
            own = self.of_blocks / np.maximum(total - self.of_blocks, data.floor)
            residual = residual / (1.0 - np.minimum(own, MOST_OWN))
        return with_residuals(data, told, noise_var, of_mean, (residual, total))


def with_residuals(
    repeated: SampleVariances,
    observations: Observations,
    noise_var: Array,
    of_mean: Array,
    left_out: tuple[Array, Array],
) -> SampleVariances:
    """Return the sample variances of all points, from repeats or from the residual of one value.

    A value predicted by the others with variance u has a residual r of variance u + rho^2, of
    which noise has the share w:
    w = rho^2 / (u + rho^2), estimate of rho^2: w r^2, with w degrees of freedom
    This has the gradient of log N(r; 0, u + rho^2) in log rho^2.

    Args:
        repeated: The sample variances of the points that have repeats.
        observations: All points.
        noise_var: The noise variance rho^2 now believed in, ``(n,)``.
        of_mean: The noise variance of the sample means, ``(n,)``.
        left_out: The residuals r and their variances u + ``of_mean``, each ``(n,)``.
    """
    single = observations.count == 1
    r, total = (part[single] for part in left_out)
    noise_var = noise_var[single]
    u = np.maximum(total - of_mean[single], 0.0)
    w = np.clip(noise_var / (u + noise_var), 1e-3, 1.0)
    s2, dof = np.empty(observations.n), np.empty(observations.n)
    s2[~single], dof[~single] = repeated.s2, repeated.dof
    s2[single], dof[single] = w * r**2, w
    return replace(repeated, X=observations.X, s2=s2, dof=dof)
