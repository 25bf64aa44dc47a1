"""Runs for the tests of pages."""

import numpy as np

from rahbo import Categorical, Float, Int, Optimizer
from rahbo.pages import record_of, report_page

SPACE = {"lr": Float(1e-4, 1e-1, log=True), "depth": Int(1, 12), "kind": Categorical(list("abc"))}


def data(n: int, repeats: int, space=SPACE, seed: int = 0) -> list:
    """Values at random points, noisier where the first number is large."""
    rng = np.random.default_rng(seed)
    cube = Optimizer(space, seed=0).settings.space
    found = []
    for x in cube.from_uniform(rng.random((n, cube.n_uniform))):
        noise_std = 0.02 + 0.5 * x[0] ** 2
        values = np.sin(3.0 * x[0]) + 0.3 * x[-1] + noise_std * rng.standard_normal(repeats)
        found.append((cube.decode(x), values.tolist()))
    return found


def run(n: int = 12, repeats: int = 3, space=SPACE, **settings) -> Optimizer:
    """A run that was told some values."""
    return Optimizer(space, seed=1, data=data(n, repeats, space), **settings)


def blocked(names=("monday", "tuesday"), **settings) -> Optimizer:
    """A run whose values belong to blocks, each half a unit above or below the others."""
    rng = np.random.default_rng(3)
    optimizer = Optimizer({"x": Float(0.0, 1.0)}, seed=0, **settings)
    for x in np.linspace(0.0, 1.0, 8):
        y = np.sin(4.0 * x) + np.array([0.5, -0.5]) + 0.05 * rng.standard_normal(2)
        optimizer.tell({"x": float(x)}, y, block=list(names))
    return optimizer


def page_of(optimizer: Optimizer, source: str = "run.jsonl") -> str:
    """The report of a run."""
    return report_page(record_of(optimizer, source=source, made="2026-01-01"))
