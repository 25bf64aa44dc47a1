"""Runs that are hard to draw: nothing differs, everything does, or there is far too much of it."""

import math
from collections.abc import Callable

import numpy as np

from rahbo import Candidates, Categorical, Float, Int, MeanVariance, Optimizer, Quantile

SPACE = {"x": Float(0.0, 1.0), "y": Float(-1.0, 1.0)}
MARKUP = ["<img src=x onerror=alert(1)>", "&amp;", "$x^2$", "", "\u202eabc", "a\nb", "%{x}", "\x00"]


def made(space, value: Callable, n: int = 12, repeats: int = 2, **settings) -> Optimizer:
    """A run at random points; a value is a function of generator, point and repeat."""
    rng = np.random.default_rng(0)
    cube = Optimizer(space, seed=0).settings.space
    points = [cube.decode(x) for x in cube.from_uniform(rng.random((n, cube.n_uniform)))]
    data = [(p, [float(value(rng, i, r)) for r in range(repeats)]) for i, p in enumerate(points)]
    return Optimizer(space, seed=1, data=data, **settings)


def always(value: float) -> Callable:
    return lambda rng, i, r: value


def neighbours(value: float) -> Callable:
    """A value and the next larger number."""
    return lambda rng, i, r: np.nextafter(value, math.inf) if (i + r) % 2 else value


def normal(scale: float = 1.0, offset: float = 0.0) -> Callable:
    return lambda rng, i, r: offset + scale * np.clip(rng.standard_normal(), -1.0, 1.0)


def failed_but_one() -> Optimizer:
    optimizer = Optimizer(SPACE, seed=1, repeats=1)
    for _ in range(11):
        optimizer.tell_failure(optimizer.ask(), "boom " * 1000)
    optimizer.tell(optimizer.ask(), 1.0)
    return optimizer


def choices(n: int) -> Categorical:
    return Categorical([f"choice number {i}" for i in range(n)])


RUNS: dict[str, Callable[[], Optimizer]] = {
    "always 0": lambda: made(SPACE, always(0.0)),
    "always 1": lambda: made(SPACE, always(1.0)),
    "always 1e60": lambda: made(SPACE, always(1e60)),
    "always 1e-300": lambda: made(SPACE, always(1e-300)),
    "neighbours of 1": lambda: made(SPACE, neighbours(1.0)),
    "neighbours of -1, minimised": lambda: made(SPACE, neighbours(-1.0), direction="minimize"),
    "neighbours of 9e59": lambda: made(SPACE, neighbours(9e59)),
    "neighbours of 1e-60": lambda: made(SPACE, neighbours(1e-60)),
    "neighbours of 1e-300": lambda: made(SPACE, neighbours(1e-300)),
    "denormal": lambda: made(SPACE, normal(5e-324)),
    "offset": lambda: made(SPACE, normal(1e-4, 1e12)),
    "scale 1e60": lambda: made(SPACE, normal(1e60)),
    "scale 1e-60": lambda: made(SPACE, normal(1e-60), risk=Quantile(0.05)),
    "one outlier": lambda: made(SPACE, lambda rng, i, r: 1e60 if i + r == 3 else i),
    "heavy tails": lambda: made(SPACE, lambda rng, i, r: rng.standard_cauchy(), n=30),
    "extreme alpha": lambda: made(SPACE, normal(), risk=MeanVariance(1e-300)),
    "one value": lambda: made({"x": Float(0.0, 1.0)}, always(1.0), n=1, repeats=1),
    "two points": lambda: made({"x": Float(0.0, 1.0)}, normal(), n=2, repeats=1),
    "one point again and again": lambda: made({"n": Int(1, 2)}, normal(), n=60),
    "all failed but one": failed_but_one,
    "50 inputs": lambda: made({f"p{i}": Float(0.0, 1.0) for i in range(50)}, normal()),
    "log scales": lambda: made(
        {f"p{i}": Float(1e-150, 1e150, log=True) for i in range(3)}, normal()
    ),
    "narrow scales": lambda: made(
        {"x": Float(1e12, 1e12 + 1e-3), "y": Float(1.0, 1.0 + 1e-9, log=True)}, normal()
    ),
    "huge scales": lambda: made({"x": Float(-1e290, 1e290), "y": Float(0.0, 1e-290)}, normal()),
    "large ints": lambda: made({"n": Int(0, 10**12), "m": Int(1, 10**12, log=True)}, normal()),
    "100 choices": lambda: made({"k": choices(100), "x": Float(0.0, 1.0)}, normal()),
    "markup": lambda: made(
        {"<b>k</b>": Categorical(MARKUP), "$\\frac12$": Float(0.0, 1.0)}, normal()
    ),
    "one candidate": lambda: made(Candidates([{"x": 1.0}]), normal()),
    "extreme candidates": lambda: made(
        Candidates([{"x": 10.0**i, "y": f"{i}<b>"} for i in range(-290, 290, 4)]), normal()
    ),
}
