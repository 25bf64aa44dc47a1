"""Noise levels that data leave open, against densities written out and against simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rahbo.model import (
    RBF,
    CubeNoise,
    DirectNoise,
    Hyperprior,
    LogNoise,
    Matern52,
    ModelSettings,
    Raw,
    alternatives,
    condition,
    learn,
    plausible,
)
from rahbo.model.plausible import STEP
from rahbo.trials import Observations


def model_of(settings, data):
    return condition(settings, data, learn(settings, data))


def table(rng, n, counts=(1, 1), noise_std=0.3, d=2):
    X = rng.random((n, d))
    sizes = rng.integers(counts[0], counts[1] + 1, n)
    f = np.sin(5.0 * X[:, 0])
    rounds = [
        (m + noise_std * rng.standard_normal(k)).tolist() for m, k in zip(f, sizes, strict=True)
    ]
    return Observations.from_rounds(list(X), rounds)


def level(model):
    return model.noise.gp.prior_mean


@pytest.mark.parametrize(
    "noise", [CubeNoise(lambda X: np.full(len(X), 0.1)), DirectNoise()], ids=["known", "direct"]
)
def test_noise_that_is_known_or_the_papers_has_no_alternative(rng, noise):
    model = model_of(ModelSettings(noise=noise), table(rng, 12, (2, 4)))
    (only,) = alternatives(model)
    assert only.share == 1.0
    assert only.model is model


def test_shares_are_probabilities_and_the_likeliest_comes_first(rng):
    found = alternatives(model_of(ModelSettings(), table(rng, 20)))
    shares = [one.share for one in found]
    assert len(shares) > 1
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("counts", [(1, 1), (1, 3), (2, 2)])
def test_shares_are_those_of_the_densities_written_out(rng, counts):
    data = table(rng, 15, counts)
    # Nothing is learned of the mean GP, so that its hyperparameters cancel.
    kernel = RBF([0.4, 0.9], 1.2)
    settings = ModelSettings(kernel=kernel, noise=LogNoise(Matern52([1.0, 1.0], 0.5)))
    model = model_of(settings, data)
    found = {level(one.model) - level(model): one for one in alternatives(model)}
    assert len(found) > 2
    units, v = model.units, model.noise.variance(data.X)
    y = (data.mean - units.shift) / units.scale
    repeated = data.count > 1
    dof, s2 = data.count[repeated] - 1.0, data.sample_var[repeated] / units.scale**2
    log_p = []
    for t, one in found.items():
        A = kernel(data.X, data.X) + np.diag(np.exp(t) * v / data.count)
        m = one.model.mean.prior_mean
        mean = stats.multivariate_normal(np.full(len(y), m), A).logpdf(y)
        rho2 = np.exp(t) * v[repeated]
        squares = stats.chi2(dof).logpdf(dof * s2 / rho2) + np.log(dof / rho2)
        level_prior = stats.norm(np.log(0.1), 2.0).logpdf(np.mean(np.log(v)) + t)
        log_p.append(mean + squares.sum() + level_prior + stats.norm(0.0, 1.0).logpdf(m))
    expected = np.exp(np.array(log_p) - np.max(log_p))
    shares = np.array([one.share for one in found.values()])
    np.testing.assert_allclose(shares, expected / expected.sum(), rtol=2e-3)
    steps = np.array(list(found)) / STEP
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)


def log_posterior(data, model, theta, noise_var):
    """Log density of data and hyperparameters of the mean GP, written out."""
    kernel = Matern52(np.exp(theta[:2]), np.exp(theta[2]))
    A = kernel(data.X, data.X) + np.diag(noise_var)
    y, ones = model.units.to_model(data.mean), np.ones(len(data.X))
    # The prior mean has a standard normal prior of its own: its mode by ridge regression.
    m = ones @ np.linalg.solve(A, y) / (ones @ np.linalg.solve(A, ones) + 1.0)
    prior = Hyperprior.weak(2)
    log_prior = (
        stats.norm(prior.log_lengthscale, prior.log_lengthscale_std).logpdf(theta[:2]).sum()
        + stats.norm(prior.log_variance, prior.log_variance_std).logpdf(theta[2])
        + stats.norm(0.0, 1.0).logpdf(m)
    )
    return stats.multivariate_normal(np.full(len(y), m), A).logpdf(y) + log_prior


def curvature(f, theta, step=1e-3):
    """Minus the Hessian of a function by second differences of its values."""
    E = step * np.eye(len(theta))
    H = [[f(theta + a + b) - f(theta + a - b) - f(theta - a + b) + f(theta - a - b) for b in E]
         for a in E]  # fmt: skip
    return -np.array(H) / (4.0 * step**2)


@pytest.mark.slow
def test_learned_hyperparameters_count_by_their_best_value_and_their_curvature(rng):
    """Laplace's approximation at every level: the peak's height times its width."""
    data = table(rng, 12)
    model = model_of(ModelSettings(noise=LogNoise(Matern52([1.0, 1.0], 0.5))), data)
    found = {level(one.model) - level(model): one for one in alternatives(model)}
    assert len(found) > 2
    v = model.noise.variance(data.X)
    log_p, widths = [], []
    for t, one in found.items():
        theta, noise_var = one.model.mean.kernel.log_parameters, np.exp(t) * v
        H = curvature(lambda at, nv=noise_var: log_posterior(data, model, at, nv), theta)
        widths.append(-0.5 * np.linalg.slogdet(H)[1])
        level_prior = stats.norm(np.log(0.1), 2.0).logpdf(np.mean(np.log(v)) + t)
        log_p.append(log_posterior(data, model, theta, noise_var) + level_prior)
    shares = np.array([one.share for one in found.values()])
    expected = np.exp(np.array(log_p) + widths - np.max(log_p))
    np.testing.assert_allclose(shares, expected / expected.sum(), rtol=0.02)
    # Widths differ enough for their part to show.
    heights = np.exp(np.array(log_p) - np.max(log_p))
    assert np.abs(shares - heights / heights.sum()).max() > 0.02


def test_an_alternative_is_the_model_under_its_level(rng):
    data = table(rng, 14)
    model = model_of(ModelSettings(), data)
    X = rng.random((6, 2))
    for one in alternatives(model):
        t = level(one.model) - level(model)
        ratio = one.model.noise.variance(X) / model.noise.variance(X)
        np.testing.assert_allclose(ratio, np.exp(t), rtol=1e-9)
        expected = np.exp(t) * model.noise.variance(data.X)
        np.testing.assert_allclose(one.model.mean.noise_var, expected, rtol=1e-6)


def test_few_values_leave_the_level_open_and_many_do_not():
    spans = []
    for n, counts in ((8, (1, 1)), (120, (3, 3))):
        rng = np.random.default_rng(1)
        found = alternatives(model_of(ModelSettings(), table(rng, n, counts)))
        levels = [level(one.model) for one in found if one.share > 0.05]
        spans.append(max(levels) - min(levels))
    assert spans[0] > 2.0
    assert spans[1] < 1.0


def test_levels_are_relative_to_the_outputs(rng):
    data = table(rng, 15)
    far = replace(data, mean=1e6 * data.mean, values=1e6 * data.values)
    settings = ModelSettings()
    shares = [[one.share for one in alternatives(model_of(settings, some))] for some in (data, far)]
    np.testing.assert_allclose(shares[0], shares[1], rtol=1e-3)


def test_raw_outputs_and_finite_numbers_of_values_have_alternatives(rng):
    data = table(rng, 12, (1, 3))
    for settings in (ModelSettings(outputs=Raw()), ModelSettings(population=3)):
        found = alternatives(model_of(settings, data))
        assert sum(one.share for one in found) == pytest.approx(1.0)
        assert all(np.all(np.isfinite(one.model.belief(data.X).mu)) for one in found)


def test_the_same_model_is_searched_once(rng):
    model = model_of(ModelSettings(), table(rng, 10))
    assert alternatives(model) is alternatives(model)


def test_where_nothing_can_be_evaluated_the_model_stands_alone(rng, monkeypatch):
    model = model_of(ModelSettings(), table(rng, 10))
    unknown = replace(model.learned.mean, log_posterior=math.nan)
    monkeypatch.setattr(plausible, "fit", lambda *_: unknown)
    (only,) = alternatives(model)
    assert (only.share, only.model) == (1.0, model)
