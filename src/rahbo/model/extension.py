"""Both posteriors given a few more rounds, without conditioning on all data again.

Between two conditionings the noise of earlier outputs stays as it was. Later outputs add rows to
both GPs, so a round takes n^2 operations instead of n^3. The result differs from conditioning on
all data as far as later rounds would change what is believed of the noise at earlier points.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rahbo.model.gp import GP, Expected
from rahbo.model.joint import MeanNoiseModel, noise_of_means, noise_width, sample_variances
from rahbo.model.learning import PASSES, with_residuals
from rahbo.model.variance import NoisePosterior, SampleVariances
from rahbo.numerics import Array
from rahbo.trials import Observations


def can_extend(model: MeanNoiseModel) -> bool:
    """Return whether `extended` works for the noise model.

    The paper's model does without: it follows eq. 16 in every round.
    """
    noise = model.settings.noise
    return noise.extends and (noise.is_known or model.noise.gp is not None)


def extended(model: MeanNoiseModel, later: Observations) -> MeanNoiseModel:
    """Return the model given the observations of later rounds too."""
    if later.n == 0:
        return model
    y = model.units.to_model(later.mean)
    expected = model.mean.expect(later.X)
    noise, data = model.noise, model.data
    if noise.gp is not None:
        noise, data, noise_var = _noise_after(model, noise.gp, later, expected)
    else:
        noise_var = data.units.rounded_var(noise.variance(later.X))
    of_mean = noise_of_means(model.settings, noise_var, later.count, data)
    mean, observations = expected.told(y, of_mean), model.observations.joined(later)
    return replace(model, mean=mean, noise=noise, data=data, observations=observations)


def _noise_after(
    model: MeanNoiseModel, gp: GP, later: Observations, outputs: Expected
) -> tuple[NoisePosterior, SampleVariances, Array]:
    """Return the noise posterior after the later rounds, the sample variances behind it, and
    the noise variance that the mean GP uses at the later points.
    """
    noise, learned, before = model.noise, model.learned, model.data
    repeated = sample_variances(model.settings, later, learned.floor, learned.units)
    found = repeated = replace(repeated, typical=before.typical, rounding=before.rounding)
    width = noise_width(model.settings, noise)
    surprise = model.units.to_model(later.mean) - outputs.mu
    expected = gp.expect(later.X)
    covariance = expected.covariance
    g, spread = expected.mu, np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    for _ in range(PASSES if later.any_single else 1):
        if later.any_single:
            upper = noise.link(g + width * spread)
            of_mean = noise_of_means(model.settings, upper, later.count, repeated)
            precision = np.linalg.inv(outputs.covariance + np.diag(of_mean))
            own = precision.diagonal()
            left_out = np.asarray(precision @ surprise / own), np.asarray(1.0 / own)
            found = with_residuals(repeated, later, noise.link(g), of_mean, left_out)
        z, error_var = model.settings.noise.targets(found, expected.mu, covariance)
        gain = np.linalg.solve(covariance + np.diag(error_var), covariance).T
        g = expected.mu + gain @ (z - expected.mu)
        left = covariance.diagonal() - np.einsum("ij,ij->i", gain, covariance)
        spread = np.sqrt(np.maximum(left, 0.0))
    after = noise.given(expected.told(z, error_var))
    both = replace(
        before,
        X=np.vstack([before.X, found.X]),
        s2=np.append(before.s2, found.s2),
        dof=np.append(before.dof, found.dof),
    )
    return after, both, noise.link(g + width * spread)
