"""The six problems: bounds, parameters and risk coefficients, all in one table.

Bounds are SimOpt's where they are finite. `variables` turns our parameters into SimOpt's, where
SimOpt has more than bounds on them. `start` is SimOpt's initial solution in our parameters.

`alpha` is the interquartile range of the mean over that of the variance, over the space, so that
both count about as much; `best` and `median` are those of MV. All three, and `argmax`, come from
`python bench/simopt_truth.py landmarks`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rahbo.space import Float, Int

Space = Mapping[str, Float | Int]


def same(x: np.ndarray) -> np.ndarray:
    return x


def probabilities(x: np.ndarray) -> np.ndarray:
    """Weights as probabilities: they sum to 1."""
    return x / x.sum()


def stock(x: np.ndarray) -> np.ndarray:
    """What is bought for each period as the stock and what of it is kept back twice."""
    return np.cumsum(x[::-1])[::-1]


@dataclass(frozen=True)
class Entry:
    """One problem.

    Attributes:
        name: In SimOpt.
        space: Our parameters.
        start: SimOpt's initial solution, in our parameters.
        variables: SimOpt's variables from our parameters, both as rows ``(p,)`` and ``(d,)``.
        sign: 1 where SimOpt maximises, -1 where it minimises.
        alpha: The risk coefficient.
        best: The largest known MV.
        median: The median of MV over the space.
        argmax: Where MV is largest, as far as known.
    """

    name: str
    space: Space
    start: tuple[float, ...]
    sign: int
    variables: Callable[[np.ndarray], np.ndarray] = same
    alpha: float = 1.0
    best: float = float("nan")
    median: float = float("nan")
    argmax: tuple[float, ...] = ()


def numbered(name: str, count: int, kind: Float | Int) -> Space:
    return {f"{name}{i + 1}": kind for i in range(count)}


TABLE: Mapping[str, Entry] = {
    # Where two ambulances stand in a square; SimOpt's bounds.
    "simopt-ambulance": Entry(
        "AMBULANCE-1", {name: Float(0.0, 20.0) for name in ("east1", "north1", "east2", "north2")},
        start=(6.0, 6.0, 6.0, 6.0), sign=-1,
        alpha=0.42, best=-9.5745582, median=-15.7318, argmax=(16.64, 15.74, 14.99, 12.02),
    ),
    # A service slower than the arrivals has no steady state; above 6 the rate alone costs twice
    # the smallest mean.
    "simopt-mm1": Entry(
        "MM1-1", {"rate": Float(1.5, 6.0)}, start=(5.0,), sign=-1,
        alpha=55.0, best=-2.1259536, median=-3.00078, argmax=(3.621,),
    ),
    # SimOpt's bounds.
    "simopt-paramesti": Entry(
        "PARAMESTI-1", numbered("x", 2, Float(0.1, 10.0)), start=(1.0, 1.0), sign=1,
        alpha=0.1, best=-4.7495542, median=-23.5657, argmax=(2.01, 5.227),
    ),
    # Probabilities that sum to 1, as ten weights: all of the simplex, up to a share of 0.001.
    "simopt-network": Entry(
        "NETWORK-1", numbered("weight", 10, Float(0.1, 10.0)), start=(5.0,) * 10, sign=-1,
        variables=probabilities, alpha=0.065, best=-62.797109, median=-584.641,
        argmax=(0.1, 9.964, 6.525, 4.672, 3.409, 2.604, 2.078, 1.608, 1.27, 0.9864),
    ),
    # SimOpt's random solutions are log-normal, mostly from 0.1 to 10.
    "simopt-san": Entry(
        "SAN-1", numbered("mean", 13, Float(0.1, 10.0, log=True)), start=(8.0,) * 13, sign=-1,
        alpha=0.19, best=-19.518668, median=-60.5334,
        argmax=(
            0.9014, 1.675, 1.539, 0.9899, 1.803, 1.356, 1.142, 1.292, 1.35, 1.355, 1.064, 1.296,
            1.115,
        ),
    ),
    # The stock is at least what is kept back for later, so the parameters are what is bought for
    # each of three periods: up to 100, SimOpt's whole initial stock.
    "simopt-rmitd": Entry(
        "RMITD-1", {"first": Int(0, 100), "second": Int(0, 100), "third": Int(1, 100)},
        start=(50.0, 20.0, 30.0), sign=1, variables=stock,
        alpha=1.6e-5, best=4935.0656, median=319.55, argmax=(4, 37, 14),
    ),
}  # fmt: skip
