"""Spaces, and objectives that depend on their arguments alone."""

import math
from typing import Any

import numpy as np

from rahbo import AtLeast, AtMost, Categorical, Context, Float, Int

PLANE = {"x": (0.0, 2.0), "y": (-1.0, 1.0)}
LIST = [{"x": i / 5, "y": j / 2} for i in range(11) for j in (-2, -1, 0, 1, 2)]
MIXED = {"n": Int(1, 9), "kind": ["a", "b", "c"], "rate": Float(1e-3, 1.0, log=True)}
WARM = {**PLANE, "warmth": Context(10.0, 30.0), "line": Context(["left", "right"])}
START = [({"x": 0.4, "y": 0.0}, [{"value": 0.1, "loss": 0.45}, {"value": 0.2, "loss": 0.5}])]
FINITE = {**MIXED, "rate": Categorical([0.01, 0.1])}
AT_MOST = {"loss": AtMost(1.2)}
TOO_HARD = {"loss": AtMost(-9.0), "power": AtLeast(0.0)}
AT_BOTH = {"loss": AtMost(1.5, 0.9), "power": AtLeast(-0.5)}


def normal(seed: int) -> float:
    """Return the noise of an evaluation."""
    return float(np.random.default_rng(seed).normal())


def hill(x: float, y: float, seed: int) -> float:
    """Return a value with more noise where the mean is larger."""
    return math.sin(2.0 * x) + 0.4 * x - (y - 0.3) ** 2 + (0.05 + 0.2 * x) * normal(seed)


def limited(x: float, y: float, seed: int) -> dict[str, float]:
    """Return a value and outcomes that have limits."""
    loss, power = x + 0.3 * y + 0.1 * normal(seed + 1), y + 0.2 * x + 0.1 * normal(seed + 2)
    return {"value": hill(x, y, seed), "loss": loss, "power": power}


def lossy(x: float, y: float, seed: int) -> dict[str, float]:
    """Return a value and one outcome that has a limit."""
    found = limited(x, y, seed)
    return {"value": found["value"], "loss": found["loss"]}


def failing(x: float, y: float, seed: int) -> float:
    """Raise an error in a corner, and sometimes elsewhere."""
    if x + y > 1.6 or normal(seed + 5) > 1.8:
        raise ValueError("the beam is lost")
    return hill(x, y, seed)


def limited_or_failing(x: float, y: float, seed: int) -> dict[str, float]:
    """Return a value and outcomes, or raise an error."""
    failing(x, y, seed)
    return lossy(x, y, seed)


def folded(x: float, y: float, block: str) -> float:
    """Return a value that depends on the block only."""
    return hill(x, y, seed=sum(map(ord, block))) + 0.3 * normal(len(block) + ord(block[-1]))


def losing_folded(x: float, y: float, block: str) -> dict[str, float]:
    """Return a value and an outcome of a block."""
    return {"value": folded(x, y, block), "loss": x + 0.3 * y + 0.02 * ord(block[-1]) - 1.0}


def failing_folded(x: float, y: float, block: str) -> float:
    """Raise an error in one block of most points."""
    if block == "1" and x > 0.3:
        raise ValueError("fold 1 has too few rows")
    return folded(x, y, block)


def warm(x: float, y: float, warmth: float, line: str, seed: int) -> float:
    """Return a value whose best setting depends on the conditions."""
    return hill(x - (warmth - 20.0) / 20.0, y, seed) + (0.2 if line == "left" else -0.1) * y


def warm_lossy(x: float, y: float, warmth: float, line: str, seed: int) -> dict[str, float]:
    """Return a value and an outcome under conditions."""
    return {"value": warm(x, y, warmth, line, seed), "loss": x + 0.02 * warmth - 0.4}


def warm_folded(x: float, y: float, warmth: float, line: str, block: str) -> float:
    """Return a value of a block under conditions."""
    return folded(x, y, block) + 0.02 * warmth * x + (0.1 if line == "left" else 0.0)


def drifting(x: float, y: float, time: float, seed: int) -> float:
    """Return a value that drifts."""
    return hill(x, y + 0.01 * time, seed)


def mixed(n: int, kind: str, rate: float, seed: int) -> float:
    """Return a value for whole numbers, choices and a logarithmic scale."""
    mean = -((n - 6) ** 2) / 20.0 + {"a": 0.0, "b": 0.3, "c": -0.2}[kind]
    return mean - (math.log10(rate) + 1.5) ** 2 + 0.1 * n * normal(seed)


def spiked(x: float, y: float, seed: int) -> float:
    """Return a value that is sometimes much too good."""
    return hill(x, y, seed) + (8.0 if normal(seed + 7) > 1.6 else 0.0)


def noise_var(params: dict[str, Any]) -> float:
    """Return the noise variance of `hill`."""
    return float(0.05 + 0.2 * params["x"]) ** 2
