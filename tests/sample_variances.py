"""Sample variances and hyperparameters for tests of noise models."""

import numpy as np

from rahbo.model import Hyperparameters, SampleVariances


def given(kernel, prior_mean=0.0, noise_scale=0.0):
    """Hyperparameters chosen by hand."""
    theta = kernel.log_parameters
    return Hyperparameters(kernel, prior_mean, noise_scale, 0.0, theta, np.eye(len(theta)))


def simulated(rng, variance, n, count, d=1):
    """Sample variances of ``count`` Gaussian repeats at random points."""
    X = rng.random((n, d))
    count = np.broadcast_to(count, (n,)).astype(np.intp)
    rho2 = variance(X)
    s2 = rho2 * rng.chisquare(count - 1) / (count - 1)
    return SampleVariances(X, s2, count - 1.0, floor=1e-12)
