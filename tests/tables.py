"""Tables of noisy repeats, and the model of one."""

import numpy as np

from rahbo.model import (
    CubeNoise,
    DirectNoise,
    LogNoise,
    condition,
    learn,
)
from rahbo.trials import Observations

NOISES = {
    "log": LogNoise(),
    "direct": DirectNoise(),
    "bounded": DirectNoise(max_noise_var=4.0),
    "known": CubeNoise(lambda X: 0.01 + X[:, 0]),
}


def observed(seed=0, n=14, d=2, counts=(2, 7), scale=1.0, shift=0.0):
    """Noisy repeats of a smooth function whose noise grows with the first input."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    values = []
    for x in X:
        count = rng.integers(counts[0], counts[1] + 1)
        y = np.sin(4.0 * x.sum()) + (0.1 + x[0]) * rng.normal(size=count)
        values.append(scale * y + shift)
    return Observations.from_rounds(list(X), values)


def dense(kernel, X, y, noise_var, X_new, lam=1.0, m=0.0):
    """Posterior mean and variance (eq. 5, 6) by a general solver."""
    A, k = kernel(X, X) + lam * np.diag(noise_var), kernel(X_new, X)
    mu = m + k @ np.linalg.solve(A, y - m)
    return mu, (kernel.diagonal(X_new) - np.sum(k * np.linalg.solve(A, k.T).T, axis=1)) / lam


def model_of(settings, data, **kwargs):
    return condition(settings, data, learn(settings, data, **kwargs))
