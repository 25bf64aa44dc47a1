"""The GP against scikit-learn to near machine precision."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from rahbo.model import GP, RBF, Linear, Matern32, Matern52

KERNELS = [RBF, Matern32, Matern52, Linear]


def theirs(kernel, lam):
    """The kernel of the prior f ~ GP(m, kappa / lam) on inputs divided by the lengthscales."""
    shape = {
        RBF: sk.RBF(1.0),
        Matern32: sk.Matern(1.0, nu=1.5),
        Matern52: sk.Matern(1.0, nu=2.5),
        Linear: sk.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed"),
    }[type(kernel)]
    return sk.ConstantKernel(kernel.variance / lam) * shape


def problem(seed, n, d):
    rng = np.random.default_rng(seed)
    X, X_new = rng.random((n, d)), rng.random((12, d))
    noise_var = np.exp(rng.uniform(-7.0, 0.0, n))
    y = 2.0 * np.sin(X @ rng.uniform(1.0, 5.0, d)) + rng.normal(size=n) * np.sqrt(noise_var)
    return X, y, noise_var, X_new, np.exp(rng.uniform(-1.2, 1.0, d)), np.exp(rng.uniform(-1, 1.5))


def same(found, expected):
    """Equal to 1e-8 relative, a vector that passes through zero relative to its size."""
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.max(np.abs(expected)))


@pytest.mark.parametrize(("lam", "m"), [(1.0, 0.0), (0.35, -1.3), (5.0, 0.8)])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 1), (30, 2), (60, 6), (25, 12)])
@pytest.mark.parametrize("kind", KERNELS)
def test_posterior_and_likelihood(kind, n, d, lam, m):
    for seed in range(3):
        X, y, noise_var, X_new, lengths, variance = problem(seed, n, d)
        kernel = kind(lengths, variance)
        gp = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=m)
        peer = GaussianProcessRegressor(theirs(kernel, lam), alpha=noise_var, optimizer=None)
        peer.fit(X / lengths, y - m)
        mu, std = peer.predict(X_new / lengths, return_std=True)
        _, covariance = peer.predict(X_new / lengths, return_cov=True)
        found_mu, sigma = gp.predict(X_new)
        same(found_mu, m + mu)
        np.testing.assert_allclose(sigma**2, std**2, rtol=1e-8)
        same(gp.covariance(X_new), covariance)
        assert gp.log_likelihood == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-8)


@pytest.mark.parametrize("kind", KERNELS)
def test_kernel_values(kind):
    X, _, _, X_new, lengths, variance = problem(3, 20, 4)
    kernel = kind(lengths, variance)
    expected = theirs(kernel, 1.0)(X_new / lengths, X / lengths)
    np.testing.assert_allclose(kernel(X_new, X), expected, rtol=1e-11)


@pytest.mark.parametrize("kind", [RBF, Matern32, Matern52])
def test_lengthscales_mean_what_theirs_do(kind):
    X, y, noise_var, X_new, lengths, variance = problem(4, 20, 3)
    shape = {
        RBF: sk.RBF(lengths),
        Matern32: sk.Matern(lengths, nu=1.5),
        Matern52: sk.Matern(lengths, nu=2.5),
    }[kind]
    peer = GaussianProcessRegressor(
        sk.ConstantKernel(variance) * shape, alpha=noise_var, optimizer=None
    ).fit(X, y)
    mu, sigma = GP.condition(kind(lengths, variance), X, y, noise_var).predict(X_new)
    expected_mu, expected_std = peer.predict(X_new, return_std=True)
    same(mu, expected_mu)
    np.testing.assert_allclose(sigma**2, expected_std**2, rtol=1e-8)
