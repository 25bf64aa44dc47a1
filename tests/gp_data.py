"""Data and kernels for tests of Gaussian processes."""

import math

import numpy as np

from rahbo.model import RBF, Linear, Matern32, Matern52

KERNELS = [RBF, Matern32, Matern52, Linear]


def close(found, expected, tolerance=1e-6):
    """Agreement relative to the largest component."""
    size = np.max(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * size)


def data_of(seed, n=20, d=2):
    """Random points, a smooth function of them and noise of known, uneven variance."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    noise_var = np.exp(rng.uniform(-6.0, -1.0, n))
    y = np.sin(X @ rng.uniform(1.0, 5.0, d)) + 0.5 * X[:, 0] + rng.normal(size=n) * noise_var**0.5
    return rng, X, y, noise_var


def kernel_of(kind, rng, d):
    return kind(np.exp(rng.uniform(-1.5, 0.5, d)), math.exp(rng.uniform(-1.0, 1.0)))
