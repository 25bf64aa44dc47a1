"""Lemma 1's band holds at all times and points; narrower ones do not.

Functions of known RKHS norm, f = sum_i a_i kappa(., z_i) with norm sqrt(a^T K a), are observed
where the upper bound of the band is largest, as GP-UCB and RAHBO with known noise choose. A run
is covered if the band holds the whole of f, on the grid, before the first value and after each.
"""

from collections.abc import Callable

import numpy as np
import pytest

from rahbo.model import GP, RBF, lemma1_beta

RUNS, ROUNDS, DELTA, NORM = 200, 25, 0.1, 8.0
pytestmark = pytest.mark.slow

KERNEL = RBF([0.1])
GRID = np.linspace(0.0, 1.0, 60)[:, None]
NOISE_VAR = 0.25 + GRID[:, 0]
FIRST_WITH_DATA = 3

Width = Callable[[float], float]


def function_of_norm(rng: np.random.Generator) -> np.ndarray:
    """Values on the grid of a random function whose RKHS norm is NORM."""
    Z, a = rng.uniform(size=(6, 1)), rng.normal(size=6)
    return KERNEL(GRID, Z) @ (a * NORM / np.sqrt(a @ KERNEL(Z, Z) @ a))


def rounds_missed(seed: int, lam: float, width: Width) -> list[int]:
    """The numbers of observations at which the band misses f somewhere."""
    rng = np.random.default_rng([seed, 7])
    f = function_of_norm(rng)
    chosen: list[int] = []
    y: list[float] = []
    missed = []
    for t in range(ROUNDS + 1):
        if t == 0:
            mu, sigma, beta = np.zeros(len(GRID)), np.full(len(GRID), lam**-0.5), width(0.0)
        else:
            gp = GP.condition(KERNEL, GRID[chosen], np.array(y), NOISE_VAR[chosen], lam=lam)
            (mu, sigma), beta = gp.predict(GRID), width(gp.information_gain)
        if np.any(np.abs(mu - f) > beta * sigma):
            missed.append(t)
        best = int(np.argmax(mu + beta * sigma))
        chosen.append(best)
        y.append(f[best] + np.sqrt(NOISE_VAR[best]) * rng.normal())
    return missed


def coverage(lam: float, width: Width, first: int = 0) -> float:
    """The share of runs whose band holds at every time from ``first`` observations on."""
    missed = [rounds_missed(seed, lam, width) for seed in range(RUNS)]
    return float(np.mean([not any(t >= first for t in run) for run in missed]))


@pytest.mark.parametrize("lam", [0.5, 1.0])
def test_band_of_lemma_1_holds(lam):
    assert coverage(lam, lambda gain: lemma1_beta(gain, NORM, DELTA, lam)) >= 1.0 - DELTA


# The second value shows that the narrow bands fail with data too, not in the prior alone.
@pytest.mark.parametrize("first", [0, FIRST_WITH_DATA])
@pytest.mark.parametrize("lam", [0.5, 1.0])
def test_band_without_the_norm_fails(lam, first):
    assert coverage(lam, lambda gain: lemma1_beta(gain, 0.0, DELTA, lam), first) < 1.0 - DELTA


@pytest.mark.parametrize("first", [0, FIRST_WITH_DATA])
@pytest.mark.parametrize("lam", [0.5, 1.0])
def test_band_of_two_deviations_fails(lam, first):
    assert coverage(lam, lambda gain: 2.0, first) < 1.0 - DELTA
