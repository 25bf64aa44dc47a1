"""Tables of past results as runs, and points left out of them by hand."""

import math

import numpy as np

import rahbo
from rahbo.model import GP
from rahbo.space import Space

SPACE = {"x": (0.0, 2.0), "y": (-1.0, 1.0)}


def optimizer(n, count, seed=0, *, mean=None, noise_std=None, space=SPACE, **settings):
    """A table of past results, ``count`` values a point or a function of the rng."""
    rng = np.random.default_rng(seed)
    mean = mean or (lambda p: 100.0 + 5.0 * math.sin(3.0 * p["x"]) + p["y"])
    noise_std = noise_std or (lambda p: 1.0)
    decode = Space.of(space).decode
    rows = []
    for _ in range(n):
        params = decode(rng.random(Space.of(space).d))
        k = count(rng) if callable(count) else count
        rows.append((params, list(mean(params) + noise_std(params) * rng.standard_normal(k))))
    return rahbo.Optimizer(space, seed=0, data=rows, **settings)


def left_out(model, observations, i):
    """The mean GP without point i, at the same hyperparameters and noise."""
    gp = model.mean
    noise_var = gp.noise_var
    y = (observations.mean - model.units.shift) / model.units.scale
    keep = np.arange(observations.n) != i
    rest = GP.condition(
        gp.kernel, gp.X[keep], y[keep], noise_var[keep], lam=gp.lam, prior_mean=gp.prior_mean
    )
    mu, sigma = rest.predict(gp.X[[i]])
    return y[i] - mu[0], sigma[0] ** 2, noise_var[i]
