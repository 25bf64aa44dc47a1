"""The chance of success: what it learns from failures, and how it weighs an acquisition."""

from dataclasses import dataclass

import numpy as np
import pytest

from differences import slope_of
from rahbo.model import GP, Matern52, Units
from rahbo.policy import Acquisition, Domain, Success, maximise
from rahbo.policy.feasibility import FLOOR, MOST, Hoped, Pressing
from rahbo.policy.screening import CHUNK
from rahbo.space import Candidates, Space

SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


@dataclass(frozen=True)
class Slope(Acquisition):
    """3 x_1 + x_2^2 - 1, largest in a corner."""

    def value(self, X):
        return 3.0 * X[:, 0] + X[:, 1] ** 2 - 1.0

    def value_and_gradient(self, X):
        return self.value(X), np.column_stack([np.full(len(X), 3.0), 2.0 * X[:, 1]])


def tried(n=40, d=2, seed=0, count=2):
    """Points of which those with a small first coordinate fail."""
    X = np.random.default_rng(seed).random((n, d))
    failures = np.where(X[:, 0] < 0.25, count, 0)
    return X, count - failures, failures


def test_nothing_is_learned_where_nothing_failed():
    X, values, failures = tried()
    assert Success.learn(X, values + failures, 0 * failures) is None


@pytest.mark.parametrize("d", [1, 2, 6])
def test_a_failing_region_is_found(d):
    success = Success.learn(*tried(n=60, d=d))
    X = np.random.default_rng(1).random((500, d))
    p = success.chance(X)
    assert p[X[:, 0] < 0.2].mean() < 0.25
    assert p[X[:, 0] > 0.3].mean() > 0.9
    assert ((p >= 0.0) & (p <= 1.0)).all()


@pytest.mark.parametrize("count", [1, 3])
def test_failures_at_random_turn_away_from_nothing(count):
    spreads = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, failures = rng.random((80, 2)), rng.binomial(count, 0.2, 80)
        p = Success.learn(X, count - failures, failures).chance(rng.random((300, 2)))
        assert p.mean() == pytest.approx(0.8, abs=0.1)
        spreads.append(p.std())
    assert np.mean(spreads) < 0.06
    # The same numbers of failures in a region are told apart.
    region = Success.learn(*tried(80, count=count)).chance(
        np.random.default_rng(9).random((300, 2))
    )
    assert region.std() > 0.3


def test_the_chance_is_that_of_a_gp_on_the_shares_of_success():
    rng = np.random.default_rng(3)
    X, failures = rng.random((12, 2)), np.array([0, 1, 3, 0, 0, 2, 0, 0, 1, 0, 0, 0])
    values = np.full(12, 3) - failures
    success = Success.learn(X, values, failures)
    share = values / 3.0
    y = (share - share.mean()) / share.std()
    kernel, m = success.gp.kernel, success.gp.prior_mean
    A = kernel(X, X)
    noise = success.gp.noise_var
    assert np.ptp(noise) < 1e-9
    assert noise.min() >= FLOOR - 1e-9
    Z = rng.random((5, 2))
    mu = m + kernel(Z, X) @ np.linalg.solve(A + np.diag(noise), y - m)
    expected = np.clip(share.mean() + share.std() * mu, 0.0, 1.0)
    np.testing.assert_allclose(success.chance(Z), expected, atol=1e-9)


def test_more_failures_at_a_point_count_for_more():
    X, values, failures = tried(20)
    # One mixed point among the good ones, seen once or often.
    low = []
    for times in (1, 20):
        v, f = values.copy(), failures.copy()
        at = int(np.argmax(X[:, 0]))
        v[at], f[at] = times, times
        success = Success.learn(X, v, f)
        low.append(abs(float(success.chance(X[at][None])[0]) - 0.5))
    assert low[1] < low[0]


def test_everything_failing_alike_is_a_chance_of_nothing():
    X = np.random.default_rng(0).random((5, 2))
    p = Success.learn(X, np.zeros(5, dtype=int), np.full(5, 2)).chance(X)
    np.testing.assert_allclose(p, 0.0, atol=1e-6)


def test_long_runs_learn_from_some_of_their_points():
    X, values, failures = tried(3 * MOST)
    p = Success.learn(X, values, failures).chance(X)
    assert np.mean((p > 0.5) == (failures == 0)) > 0.97


@pytest.mark.parametrize("d", [1, 3])
def test_gradients_against_differences(d):
    success = Success.learn(*tried(n=30, d=d))
    X = np.random.default_rng(4).random((40, d))
    p, d_p = success.chance_with_gradient(X)
    np.testing.assert_array_equal(p, success.chance(X))
    inside = np.flatnonzero((p > 0.02) & (p < 0.98))
    assert len(inside) >= 3
    for i in inside:
        slope = slope_of(lambda z: float(success.chance(z[None])[0]), X[i], 1e-5)
        np.testing.assert_allclose(d_p[i], slope, rtol=1e-4, atol=1e-5)


def test_clipped_chances_have_no_gradient():
    X = np.array([[0.0], [0.5], [1.0]])
    gp = GP.condition(Matern52([0.5]), X, np.array([-3.0, 0.0, 3.0]), np.full(3, 1e-6))
    p, d_p = Success(gp, Units(0.5, 0.5)).chance_with_gradient(X)
    np.testing.assert_array_equal(p[[0, 2]], [0.0, 1.0])
    np.testing.assert_array_equal(d_p[[0, 2]], 0.0)
    assert abs(d_p[1, 0]) > 0.1


# -- the weighed acquisition -----------------------------------------------------------------


def test_hoped_weighs_success_against_the_worst():
    success = Success.learn(*tried(n=30))
    hoped = Hoped(Slope(), success, worst=-1.5)
    X = np.random.default_rng(4).random((40, 2))
    p = success.chance(X)
    weight = p**2
    np.testing.assert_allclose(hoped.value(X), weight * Slope().value(X) + (1.0 - weight) * -1.5)
    value, gradient = hoped.value_and_gradient(X)
    np.testing.assert_array_equal(value, hoped.value(X))
    for i in np.flatnonzero((p > 0.02) & (p < 0.98)):
        slope = slope_of(lambda z: float(hoped.value(z[None])[0]), X[i], 1e-5)
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("listed", [False, True])
def test_the_search_keeps_out_of_a_failing_region(listed):
    rng = np.random.default_rng(0)
    rows = [{"x": float(a), "y": float(b)} for a, b in rng.random((200, 2))]
    space = Space.of(Candidates(rows) if listed else SQUARE)
    X = rng.random((60, 2))
    failures = np.where(X[:, 0] > 0.8, 1, 0)
    success = Success.learn(X, 1 - failures, failures)
    plain, careful = (Domain(space, np.empty((0, 2)), set(), chance) for chance in (None, success))
    assert maximise(Slope(), plain, np.random.default_rng(1))[0] > 0.95
    x = maximise(Slope(), careful, np.random.default_rng(1))
    assert 0.5 < x[0] < 0.82


def test_in_a_long_list_the_best_row_is_found_though_some_fail():
    rng = np.random.default_rng(0)
    rows = [{"x": float(a), "y": float(b)} for a, b in rng.random((2 * CHUNK + 5, 2))]
    X = rng.random((60, 2))
    failures = np.where(X[:, 0] > 0.8, 1, 0)
    success = Success.learn(X, 1 - failures, failures)
    where = Domain(Space.of(Candidates(rows)), np.empty((0, 2)), set(), success)
    points = where.listed()
    hoped = Hoped(Slope(), success, float(Slope().value(points).min()))
    best = points[int(np.argmax(hoped.value(points)))]
    np.testing.assert_array_equal(maximise(Slope(), where, np.random.default_rng(1)), best)


def test_pressing_counts_what_is_above_the_incumbent():
    success = Success.learn(*tried(n=30))
    X = np.random.default_rng(2).random((50, 2))
    pressing = Pressing(Slope(), success, 1.0)
    gain, p = Slope().value(X) - 1.0, success.chance(X)
    np.testing.assert_allclose(pressing.value(X), np.where(gain > 0, p * gain, gain))
    value, slope = pressing.value_and_gradient(X)
    np.testing.assert_allclose(value, pressing.value(X))
    step = np.array([1e-6, 0.0])
    away = np.abs(gain) > 1e-3
    numeric = (pressing.value(X + step) - pressing.value(X - step)) / 2e-6
    np.testing.assert_allclose(slope[away, 0], numeric[away], rtol=1e-3, atol=1e-4)
