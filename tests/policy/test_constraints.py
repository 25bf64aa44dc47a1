"""Where outcomes keep their limits: chance, gradient, and what may be reported."""

import numpy as np
import pytest
from scipy.special import stdtr

import rahbo
from constrained import told
from rahbo.policy import CONFIRMED, KEPT, Limit, Limits
from rahbo.policy.constraints import MAY_KEEP, Both, jointly

POINTS = np.random.default_rng(3).random((40, 2))


@pytest.fixture(scope="module")
def limits():
    return told(30).limits


def test_the_chance_is_that_of_the_quantile_beyond_the_limit(limits):
    (limit,) = limits.each
    model, z = limit.model, 1.6448536269514722
    (mu, sigma), (g, s) = model.mean.predict(POINTS), model.noise.latent(POINTS)
    rho = np.exp(0.5 * g)
    spread = np.hypot(sigma, 0.5 * z * rho * s)
    u = (mu - z * rho - model.units.to_model(-0.8)) / spread
    np.testing.assert_allclose(limits.room(POINTS), u, rtol=1e-5)
    np.testing.assert_allclose(limits.chance(POINTS), stdtr(4, u), rtol=1e-4)
    np.testing.assert_allclose(
        limit.quantile(POINTS), -(model.units.to_outcome(mu - z * rho)), rtol=1e-9
    )


def test_the_chance_is_high_where_the_limit_is_kept_and_low_elsewhere(limits):
    inside, outside = np.array([[0.2, 0.2]]), np.array([[0.9, 0.9]])
    assert limits.chance(inside)[0] > 0.95 > 0.05 > limits.chance(outside)[0] > 0.0


def test_a_hope_raises_the_chance(limits):
    assert np.all(limits.hoping(1.0).chance(POINTS) > limits.chance(POINTS))


def test_gradients_are_those_of_central_differences(limits):
    p, d_p = limits.chance_with_gradient(POINTS)
    np.testing.assert_allclose(p, limits.chance(POINTS), rtol=1e-9)
    h = 1e-5
    for j in range(2):
        step = h * np.eye(2)[j]
        slope = (limits.chance(POINTS + step) - limits.chance(POINTS - step)) / (2 * h)
        np.testing.assert_allclose(d_p[:, j], slope, rtol=1e-3, atol=1e-5)


def test_both_chances_multiply_with_their_gradients(limits):
    both = Both(limits, limits.hoping(1.0))
    p, d_p = both.chance_with_gradient(POINTS)
    np.testing.assert_allclose(p, limits.chance(POINTS) * limits.hoping(1.0).chance(POINTS))
    step = np.array([1e-5, 0.0])
    slope = (both.chance(POINTS + step) - both.chance(POINTS - step)) / 2e-5
    np.testing.assert_allclose(d_p[:, 0], slope, rtol=1e-3, atol=1e-5)
    assert jointly(None, None) is None
    assert jointly(limits, None) is limits is jointly(None, limits)


def test_only_points_far_enough_inside_are_reported(limits):
    valid = np.ones(len(POINTS), dtype=bool)
    chosen = limits.reportable(POINTS, valid)
    np.testing.assert_array_equal(chosen, limits.room(POINTS) >= KEPT)
    assert chosen.any()
    hopeless = POINTS[limits.room(POINTS) < KEPT]
    only = limits.reportable(hopeless, np.ones(len(hopeless), dtype=bool))
    assert only.sum() == 1
    assert limits.margin(hopeless)[only][0] == limits.margin(hopeless).max()
    assert not limits.reportable(POINTS, ~valid).any()


def test_ranks_put_points_that_keep_the_limits_first(limits):
    value = np.arange(len(POINTS), dtype=float)[::-1]
    ranked = limits.ranked(value, POINTS, np.zeros(len(POINTS), dtype=int))
    kept = limits.kept(POINTS)
    assert ranked[kept].min() > ranked[~kept].max()
    order = np.argsort(-ranked[~kept])
    assert np.all(np.diff(limits.margin(POINTS)[~kept][order]) <= 0)


def test_a_confirmed_leader_makes_way_for_a_better_point_that_may_keep_the_limits(limits):
    diagonal = np.linspace(0.1, 0.9, 2001)[:, None] * np.ones(2)
    room = limits.room(diagonal)
    may = np.flatnonzero((room >= MAY_KEEP) & (room < KEPT))
    kept = np.flatnonzero(room >= KEPT)
    X = diagonal[[kept[0], may[0]]]
    value, tried = np.array([1.0, 2.0]), np.array([CONFIRMED, 1])
    assert np.argmax(limits.ranked(value, X, tried)) == 1
    assert np.argmax(limits.ranked(value, X, tried - 1)) == 0
    assert np.argmax(limits.ranked(-value, X, tried)) == 0


def test_an_outcome_of_which_nothing_is_known_is_even_and_not_reported():
    unknown = Limits([Limit("cost", rahbo.AtMost(1.0), None)])
    p, d_p = unknown.chance_with_gradient(POINTS)
    assert np.all(p == 0.5)
    assert not d_p.any()
    assert not unknown.kept(POINTS).any()
    assert np.isnan(unknown.each[0].quantile(POINTS)).all()
    assert Limits.of({}, {}) is None


def test_every_limit_counts():
    two = told(20, constraints={"cost": rahbo.AtMost(0.8), "other": rahbo.AtLeast(0.0)})
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, constraints={
        "low": rahbo.AtMost(0.6), "high": rahbo.AtLeast(0.4)})  # fmt: skip
    for i, x in enumerate(np.linspace(0.0, 1.0, 21)):
        noise = 0.01 * (-1) ** i
        opt.tell({"x": float(x)}, {"value": 0.0, "low": x + noise, "high": x - noise})
    room = opt.limits.room(np.array([[0.1], [0.5], [0.9]]))
    assert room[1] > KEPT > 0 > max(room[0], room[2])
    assert not two.recommend().feasible
