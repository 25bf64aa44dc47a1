"""A problem with a constraint, for tests: f rises towards a corner, and so does the cost."""

import numpy as np

import rahbo

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
LIMITS = {"cost": rahbo.AtMost(0.8)}


def measure(x, y, seed, std=0.05):
    rng = np.random.default_rng(seed)
    f = x + y + 0.05 * rng.standard_normal()
    return {"value": float(f), "cost": float(x**2 + y**2 + std * rng.standard_normal())}


def told(n=20, seed=0, **settings):
    """An optimizer that was told ``n`` random settings, once each."""
    opt = rahbo.Optimizer(SPACE, seed=seed, **{"constraints": LIMITS, **settings})
    rng = np.random.default_rng(seed)
    for i in range(n):
        x, y = map(float, rng.random(2))
        opt.tell({"x": x, "y": y}, measure(x, y, 1000 * seed + i))
    return opt
