"""Noise models against exact enumeration, integration, dense algebra and simulation."""

import itertools

import numpy as np
import pytest

from rahbo.errors import SettingsError
from rahbo.model import (
    RBF,
    DirectNoise,
    LogNoise,
    Matern52,
    SampleVariances,
    Units,
    sample_variance_var,
)
from sample_variances import given, simulated


def dense(kernel, X, g, var, X_new, lam=1.0, m=0.0):
    """Posterior mean and variance by a general solver."""
    A, k = kernel(X, X) + lam * np.diag(var), kernel(X_new, X)
    mu = m + k @ np.linalg.solve(A, g - m)
    return mu, (kernel.diagonal(X_new) - np.sum(k * np.linalg.solve(A, k.T).T, axis=1)) / lam


# The variance of a sample variance


@pytest.mark.parametrize(
    ("values", "weights"),
    [
        ([-1.0, 1.0], [0.5, 0.5]),
        ([-1.0, 0.0, 2.0], [0.3, 0.6, 0.1]),
        ([0.0, 1.0, 5.0], [0.5, 0.45, 0.05]),
    ],
)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_variance_of_sample_variance_by_enumeration(values, weights, k):
    values, weights = np.array(values), np.array(weights)
    mean = weights @ values
    rho2, mu4 = weights @ (values - mean) ** 2, weights @ (values - mean) ** 4
    outcomes = np.array(list(itertools.product(range(len(values)), repeat=k)))
    p, s2 = weights[outcomes].prod(axis=1), values[outcomes].var(axis=1, ddof=1)
    assert p @ s2 == pytest.approx(rho2)
    expected = p @ s2**2 - (p @ s2) ** 2
    assert sample_variance_var(rho2, k, mu4 / rho2**2) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_gaussian_variance_of_sample_variance(k):
    assert sample_variance_var(1.5, k) == pytest.approx(2.0 * 1.5**2 / (k - 1), rel=1e-14)


def test_variance_of_sample_variance_takes_arrays():
    found = sample_variance_var(np.array([1.0, 2.0]), np.array([3, 5]))
    np.testing.assert_allclose(found, [1.0, 2.0])


def test_strictly_sub_gaussian_noise_is_under_the_bound(rng):
    uniform = rng.uniform(-1.0, 1.0, (200_000, 4))
    s2 = uniform.var(axis=1, ddof=1)
    assert sample_variance_var(1 / 3, 4, 1.8) == pytest.approx(s2.var(), rel=0.02)
    assert s2.var() < sample_variance_var(1 / 3, 4)


# DirectNoise


@pytest.mark.parametrize("lam", [1.0, 0.5])
@pytest.mark.parametrize("kurtosis", [3.0, 1.8])
def test_direct_noise_with_a_bound(rng, kurtosis, lam):
    count = np.array([2, 5, 5, 30])
    data = SampleVariances(rng.random((4, 1)), rng.uniform(0.5, 2.0, 4), count - 1.0, 1e-9)
    kernel, X = Matern52([0.3], 1.2), rng.random((6, 1))
    model = DirectNoise(kernel, max_noise_var=1.5, kurtosis=kurtosis, lam=lam)
    mu, sigma = model.condition(data, model.learn(data)).latent(X)
    k = count.astype(float)
    eta = 1.5**2 * (kurtosis / k - (k - 3) / (k * (k - 1)))
    if kurtosis == 3.0:
        np.testing.assert_allclose(eta, 2.0 * 1.5**2 / (k - 1))
    expected_mu, expected_var = dense(kernel, data.X, data.s2, eta, X, lam)
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-9)
    np.testing.assert_allclose(sigma**2, expected_var, rtol=1e-9)


def test_direct_noise_learns_one_level_scaled_by_degrees_of_freedom(rng):
    count = np.array([2, 3, 9, 9, 33])
    data = SampleVariances(rng.random((5, 1)), rng.uniform(0.5, 2.0, 5), count - 1.0, 1e-9)
    kernel, X = Matern52([0.3], 1.2), rng.random((6, 1))
    posterior = DirectNoise(kernel).condition(data, given(kernel, noise_scale=0.8))
    mu, sigma = posterior.latent(X)
    expected_mu, expected_var = dense(kernel, data.X, data.s2, 0.8 / (count - 1), X)
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-9)
    np.testing.assert_allclose(sigma**2, expected_var, rtol=1e-9)
    later = posterior.with_pending(X[:1], np.array([5]))
    _, var = dense(
        kernel, np.vstack([data.X, X[:1]]), np.zeros(6), 0.8 / np.append(count - 1, 4), X
    )
    np.testing.assert_allclose(later.latent(X)[1] ** 2, var, rtol=1e-9)


def test_direct_noise_learns_the_level_of_its_own_noise():
    rng = np.random.default_rng(3)
    data = simulated(rng, lambda X: 2.0 + np.sin(6.0 * X[:, 0]), 80, 11)
    found = DirectNoise().learn(data)
    # Var[s^2] = 2 rho^4 / nu, so the factor of 1 / nu is 2 E[rho^4].
    expected = 2.0 * np.mean((2.0 + np.sin(6.0 * data.X[:, 0])) ** 2)
    assert found.noise_scale == pytest.approx(expected, rel=0.4)
    assert found.prior_mean == 0.0


def test_direct_noise_recovers_a_known_function():
    rng = np.random.default_rng(4)

    def truth(X):
        return 1.0 + 0.8 * np.sin(6.0 * X[:, 0])

    data, grid = simulated(rng, truth, 80, 10), np.linspace(0.0, 1.0, 101)[:, None]
    model = DirectNoise()
    mu, sigma = model.condition(data, model.learn(data)).latent(grid)
    assert np.sqrt(np.mean((mu - truth(grid)) ** 2)) < 0.25
    assert np.mean(np.abs(mu - truth(grid)) <= 2.0 * sigma) > 0.8


def test_direct_noise_is_symmetric_and_may_go_below_zero(rng):
    data = SampleVariances(np.array([[0.5]]), np.array([0.1]), np.array([3.0]), 1e-9)
    posterior = DirectNoise().condition(data, given(Matern52([0.1]), noise_scale=1.0))
    low, centre, high = (posterior.variance(np.array([[0.9]]), z) for z in (-2.0, 0.0, 2.0))
    assert low[0] < 0
    assert low[0] + high[0] == pytest.approx(2.0 * centre[0])


def test_direct_noise_works_in_any_unit(rng):
    """Sample variances in units of 4 user units and the same in user units say the same."""
    X, s2, count = rng.random((6, 1)), rng.uniform(1.0, 9.0, 6), np.array([3, 3, 4, 5, 6, 7])
    user = SampleVariances(X, s2, count - 1.0, 4e-9, units=Units(0.0, 1.0))
    model = SampleVariances(X, s2 / 4.0, count - 1.0, 1e-9, units=Units(0.0, 2.0))
    settings, X_new = DirectNoise(max_noise_var=10.0), rng.random((5, 1))
    in_user = settings.condition(user, given(Matern52([0.3], 16.0))).latent(X_new)
    in_model = settings.condition(model, given(Matern52([0.3], 1.0))).latent(X_new)
    for a, b in zip(in_user, in_model, strict=True):
        np.testing.assert_allclose(a, 4.0 * b, rtol=1e-9)
    learned = [settings.learn(data).kernel for data in (user, model)]
    np.testing.assert_allclose(learned[0].lengthscales, learned[1].lengthscales, rtol=1e-4)
    assert learned[0].variance == pytest.approx(16.0 * learned[1].variance, rel=1e-4)


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise(), DirectNoise(max_noise_var=2.0)])
def test_a_given_kernel_is_kept(rng, model):
    kernel = RBF([0.17], 0.9)
    fixed = type(model)(**{**vars(model), "kernel": kernel})
    data = simulated(rng, lambda X: 1.0 + X[:, 0], 12, 4)
    assert fixed.learn(data).kernel is kernel


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise(), DirectNoise(max_noise_var=2.0)])
def test_one_point_and_zero_variance_are_enough(model):
    X = np.random.default_rng(0).random((4, 2))
    for s2 in (0.0, 1.0):
        data = SampleVariances(np.array([[0.5, 0.5]]), np.array([s2]), np.array([1.0]), 1e-8)
        posterior = model.condition(data, model.learn(data))
        for z in (-2.0, 0.0, 2.0):
            assert np.all(np.isfinite(posterior.variance(X, z)))


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise(), DirectNoise(max_noise_var=2.0)])
def test_conditioning_needs_hyperparameters(rng, model):
    data = simulated(rng, lambda X: 1.0 + X[:, 0], 3, 4)
    with pytest.raises(SettingsError, match="call learn"):
        model.condition(data, None)


def test_direct_noise_without_data_is_its_prior():
    kernel = RBF([0.3], 4.0)
    data = SampleVariances(np.empty((0, 1)), np.empty(0), np.empty(0), floor=1e-8)
    posterior = DirectNoise().condition(data, given(kernel, noise_scale=0.1))
    X = np.array([[0.1], [0.9]])
    mu, sigma = posterior.latent(X)
    assert mu.tolist() == [0.0, 0.0]
    assert sigma == pytest.approx([2.0, 2.0])
    later = posterior.with_pending(X[:1], np.array([3]))
    assert later.latent(X)[1][0] < 1.0


@pytest.mark.parametrize("size", [1e-160, 1e-155, 1e-130])
def test_direct_noise_of_tiny_sample_variances(rng, size):
    X = rng.random((8, 1))
    data = SampleVariances(X, size * rng.chisquare(2, 8), np.full(8, 2.0), floor=1e-8 * size)
    model = DirectNoise()
    mu, sigma = model.condition(data, model.learn(data)).latent(X)
    assert np.all(np.isfinite(mu) & np.isfinite(sigma))
