"""Simulated races: wrong calls, runs and bias, with fixed seeds and wide margins."""

import numpy as np
import pytest

from rahbo.race import Rule, Tally, simulate, stopping_bias

RULE = Rule(0.05)
NOISES = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n) - np.exp(0.5),
    "two values": lambda rng, n: rng.integers(0, 2, n) - 0.5,
}


def draws(noise, means, stds, rng):
    return lambda races, entrants: means[entrants] + stds[entrants] * noise(rng, len(entrants))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 6])
@pytest.mark.parametrize("noise", NOISES)
def test_entrants_that_do_not_differ_are_seldom_called(noise, k):
    draw = draws(NOISES[noise], np.zeros(k), np.ones(k), np.random.default_rng(8))
    ended = simulate(draw, 200, k, 60 * k, RULE)
    assert np.mean(ended.winner >= 0) <= 0.05


@pytest.mark.slow
def test_unequal_noise_does_not_win_races():
    stds = np.array([1.0, 3.0])
    draw = draws(NOISES["gaussian"], np.zeros(2), stds, np.random.default_rng(9))
    assert np.mean(simulate(draw, 300, 2, 200, RULE).winner >= 0) <= 0.05


@pytest.mark.slow
def test_the_best_is_found_with_fewer_runs_than_in_turn():
    means = np.where(np.arange(10) == 3, 0.8, 0.0)

    def in_turn(tally: Tally, state, step):
        return np.full(len(tally.counts), step % 10)

    found = []
    for chooser in ({}, {"choose": in_turn}):
        draw = draws(NOISES["gaussian"], means, np.ones(10), np.random.default_rng(10))
        found.append(simulate(draw, 60, 10, 3000, RULE, **chooser))
    ours, equal = found
    assert np.mean(ours.winner == 3) >= 0.95
    assert ours.runs.mean() < 0.75 * equal.runs.mean()


@pytest.mark.slow
def test_the_lead_at_the_end_of_a_race_is_too_large_by_the_bias():
    means, stds = np.array([1.0, 0.0]), np.ones(2)
    draw = draws(NOISES["gaussian"], means, stds, np.random.default_rng(11))
    ended = simulate(draw, 1500, 2, 1000, RULE)
    excess = ended.lead[ended.winner == 0].mean() - 1.0
    found = stopping_bias(np.array([1.0 + excess, 0.0]), stds, 0, 1.0 + excess, RULE, 60)
    assert excess > 0.05
    assert found == pytest.approx(excess, abs=0.06)
