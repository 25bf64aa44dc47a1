"""Priors of hyperparameters, and what they are for."""

import math

import numpy as np
import pytest

from rahbo.model import Hyperprior, ModelSettings, condition, learn
from rahbo.trials import Observations


def test_weak_prior_grows_with_the_diagonal_of_the_cube():
    one, four = Hyperprior.weak(1), Hyperprior.weak(4)
    assert math.exp(four.log_lengthscale) == pytest.approx(2 * math.exp(one.log_lengthscale))


def test_flat_prior_leaves_every_scale_to_the_data():
    flat = Hyperprior.flat(math.log(4.0))
    stds = (flat.log_lengthscale_std, flat.log_variance_std, flat.log_noise_std)
    assert stds == (math.inf,) * 3
    assert math.exp(flat.log_noise) == pytest.approx(0.4)


@pytest.mark.parametrize("seed", range(4))
def test_few_single_values_are_not_taken_for_a_function_without_noise(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((30, 4))
    y = np.sin(3.0 * X[:, 0]) + 0.5 * rng.standard_normal(30)
    settings = ModelSettings()
    data = Observations.from_rounds(list(X), y[:, None].tolist())
    model = condition(settings, data, learn(settings, data))
    noise_std = np.sqrt(model.units.var_to_user(model.noise.variance(X)))
    # With a flat prior of the noise the second of these data sets gives 0.016.
    assert 0.1 < np.median(noise_std) < 1.0


def test_a_function_without_noise_is_still_found_to_be_one():
    X = np.random.default_rng(0).random((40, 2))
    y = np.sin(4.0 * X[:, 0]) + X[:, 1]
    settings = ModelSettings()
    data = Observations.from_rounds(list(X), y[:, None].tolist())
    model = condition(settings, data, learn(settings, data))
    assert np.sqrt(model.units.var_to_user(model.noise.variance(X))).max() < 0.02
