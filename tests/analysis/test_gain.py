"""What another setting might still gain, against cases known by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import rahbo
from rahbo.analysis import Gain, among, gain, posterior, prospects
from rahbo.analysis import domain as domain_of
from rahbo.analysis.gain import Prospects
from rahbo.model import Matern52, Raw
from rahbo.policy import is_listed, optimistic

RISK = rahbo.MeanVariance(1.0)
SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def smooth(x, y):
    return -((x - 0.3) ** 2) - (y - 0.6) ** 2


def optimizer(n=20, space=SQUARE, k=3, noise_std=0.05, seed=0, f=smooth, **settings):
    rng = np.random.default_rng(seed)
    data = [
        (dict(zip("xy", p, strict=True)), f(*p) + noise_std * rng.standard_normal(k))
        for p in rng.random((n, 2)).tolist()
    ]
    return rahbo.Optimizer(space, seed=0, data=data, **settings)


def prospects_of(opt, points=None, **changed):
    domain = replace(domain_of(opt.state), **changed)
    points = opt.observations.X[:1] if points is None else points
    return prospects(opt.model, opt.settings.risk, domain, points, opt.settings.seed)


# -- the record ----------------------------------------------------------------------------------


def test_a_gain_is_the_mean_of_what_is_better_and_a_quantile():
    drawn = np.concatenate([np.full(50, -2.0), np.full(30, 1.0), np.full(20, 4.0)])
    found = Gain.of(drawn, 0.75)
    assert (found.expected, found.bound, found.level) == (pytest.approx(1.1), 1.0, 0.75)
    assert Gain.of(drawn, 0.9).bound == 4.0
    assert Gain.of(drawn, 0.4).bound == -2.0
    assert Gain.of(np.full(10, -1.0), 0.9) == Gain(0.0, -1.0, 0.9)


def test_one_draw_of_many_does_not_make_the_expectation():
    drawn = np.append(np.linspace(0.0, 1.0, 999), 1e9)
    assert Gain.of(drawn, 0.9).expected == pytest.approx(0.5, abs=0.01)


def test_in_words():
    assert str(Gain(0.0042, 0.0213, 0.9)) == (
        "With 90 % probability no other setting is better by more than 0.021 "
        "(expected gain 0.0042)."
    )
    assert str(Gain(0.0042, 0.0, 0.95)) == (
        "With 95 % probability no other setting is better (expected gain 0.0042)."
    )
    assert str(Gain(0.0, 0.0, 0.9)) == "No other setting is expected to be better."


def test_the_shortfall_of_a_setting_is_what_the_best_has_above_it():
    risk = np.array([[1.0, 2.0, 0.0], [3.0, 2.0, 0.0], [1.0, 5.0, 7.0]])
    found = Prospects(np.array([[0.0], [0.5], [1.0]]), risk)
    np.testing.assert_array_equal(found.shortfall(np.array([0.5])), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(found.shortfall(np.array([0.0])), [1.0, 0.0, 6.0])
    np.testing.assert_array_equal(found.over(np.array([0.5]))[:, 2], [-2.0, -2.0, 2.0])


# -- a list of two, by hand ----------------------------------------------------------------------


def two(more=0.0, noise_var=0.25, counts=(4, 4)):
    """Two settings far apart whose sample means differ by ``more``, with known noise."""
    rows = rahbo.Candidates([{"x": "a"}, {"x": "b"}])
    data = [({"x": "a"}, [1.0] * counts[0]), ({"x": "b"}, [1.0 + more] * counts[1])]
    method = rahbo.Method(kernel=Matern52([0.05], variance=4.0), outputs=Raw())
    known = {"noise_std": np.sqrt(noise_var), "method": method}
    return rahbo.Optimizer(rows, seed=0, data=data, risk=RISK, **known)


def difference(opt):
    """Mean and standard deviation of what the setting that is not recommended has more."""
    X, model, units = opt.observations.X, opt.model, opt.model.units
    best = opt.settings.space.encode(opt.recommend().params)
    sign = np.where((best == X).all(axis=1), -1.0, 1.0)
    mean = units.scale * (sign @ model.mean.predict(X)[0])
    return float(mean), float(units.scale * np.sqrt(sign @ model.mean.covariance(X) @ sign))


@pytest.mark.parametrize("more", [0.0, 0.1, 0.4])
def test_at_one_half_the_bound_is_the_difference_of_the_means_or_none(more):
    opt = two(more)
    mean, std = difference(opt)
    assert mean <= 0.0
    assert opt.recommend(level=0.5).gain.bound == pytest.approx(0.0, abs=0.1 * std)
    # Measured so rarely that it is not recommended, though its mean is larger.
    opt = two(more=0.3, counts=(40, 1))
    mean, std = difference(opt)
    assert opt.recommend().params == {"x": "a"}
    assert mean > 0.0
    assert opt.recommend(level=0.5).gain.bound == pytest.approx(mean, abs=0.1 * std)


@pytest.mark.slow
def test_with_gaussian_tails_both_numbers_are_known(monkeypatch):
    # This test depends on how draws get their tails: so many degrees of freedom are Gaussian ones.
    monkeypatch.setattr(posterior, "DOF", 1e6)
    monkeypatch.setattr(posterior, "DRAWS", 20_000)
    for opt in (two(0.0), two(0.3), two(0.3, counts=(40, 1))):
        mean, std = difference(opt)
        z = stats.norm(mean, std)
        for level in (0.8, 0.9, 0.95):
            found = opt.recommend(level=level).gain
            assert found.bound == pytest.approx(max(z.ppf(level), 0.0), abs=0.03 * std)
        beyond = z.ppf(gain.FARTHEST)
        # E[max(d, 0)] less what lies beyond 99 %.
        expected = (
            mean * z.sf(0.0) + std**2 * z.pdf(0.0)
            - ((mean - beyond) * z.sf(beyond) + std**2 * z.pdf(beyond))
        )  # fmt: skip
        assert found.expected == pytest.approx(expected, abs=0.02 * std)
        best = opt.recommend()
        assert best.p_best == pytest.approx(z.cdf(0.0), abs=0.015)


# -- which settings ------------------------------------------------------------------------------


def test_a_list_has_all_its_settings():
    opt = two()
    assert is_listed(opt.settings.space)
    found = prospects_of(opt)
    assert len(found.X) == 2
    whole = rahbo.Optimizer(
        {"n": rahbo.Int(0, 30), "kind": ["a", "b"]}, seed=0,
        data=[({"n": 3, "kind": "a"}, [1.0, 1.1]), ({"n": 9, "kind": "b"}, [0.0, 0.2])],
    )  # fmt: skip
    found = prospects_of(whole)
    assert len(found.X) == 62
    assert len(np.unique(found.X, axis=0)) == 62
    assert not is_listed(optimizer().settings.space)
    assert not is_listed(rahbo.Optimizer({"n": rahbo.Int(0, 5000)}).settings.space)


def test_settings_are_distinct_legal_and_not_too_many():
    opt = optimizer(60, valid=lambda p: p["x"] + p["y"] < 1.2)
    X = opt.observations.X
    points = X[opt.settings.space.is_valid(X)][:7]
    found = prospects_of(opt, points)
    np.testing.assert_array_equal(found.X[:7], points)
    assert len(found.X) == gain.MOST
    assert len(np.unique(found.X, axis=0)) == gain.MOST
    assert opt.settings.space.is_valid(found.X).all()
    assert found.risk.shape == (posterior.DRAWS, gain.MOST)


def test_they_are_the_same_for_the_same_seed_alone():
    opt = optimizer()
    first, again = prospects_of(opt), prospects_of(opt)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.risk, again.risk)
    domain = domain_of(opt.state)
    other = prospects(opt.model, RISK, domain, opt.observations.X[:1], 99)
    assert not np.array_equal(first.X, other.X)


def test_the_most_promising_place_is_among_them():
    opt = optimizer()
    found = prospects_of(opt)
    grid = np.stack(np.meshgrid(*2 * [np.linspace(0, 1, 101)]), axis=-1).reshape(-1, 2)
    bound = replace(optimistic(opt.model, RISK), z_f=gain.SEARCHED, z_noise=-gain.SEARCHED)
    assert bound.value(found.X).max() >= bound.value(grid).max() - 1e-6


def test_of_many_evaluated_settings_those_are_drawn_that_may_reach_farthest(monkeypatch, rng):
    opt = optimizer()
    monkeypatch.setattr(gain, "MOST", 12)
    X = rng.random((50, 2))
    found = among(opt.model, RISK, X[:3], X, 0)
    assert len(found.X) == 12
    np.testing.assert_array_equal(found.X[:3], X[:3])
    bound = replace(optimistic(opt.model, RISK), z_f=gain.REACH, z_noise=-gain.REACH)
    kept = {x.tobytes() for x in found.X}
    left = np.array([x for x in X if x.tobytes() not in kept])
    assert bound.value(found.X[3:]).min() >= bound.value(left).max()
    assert len(among(opt.model, RISK, X[:20], X[20:], 0).X) == 20


def test_settings_that_break_are_not_rivals():
    def failing(n):
        opt = optimizer(n, f=lambda x, y: 3.0 * x, noise_std=0.02, space=SQUARE)
        rng = np.random.default_rng(5)
        for x, y in zip(0.75 + 0.25 * rng.random(60), rng.random(60), strict=True):
            opt.tell_failure({"x": float(x), "y": float(y)}, "broke")
        return opt

    plain, opt = optimizer(20, f=lambda x, y: 3.0 * x, noise_std=0.02), failing(20)
    tried = {x.tobytes() for x in opt.observations.X}
    there = np.array([x for x in prospects_of(opt).X if x.tobytes() not in tried])
    assert np.mean(there[:, 0] > 0.9) < 0.05
    assert np.mean(prospects_of(plain).X[:, 0] > 0.9) > 0.2
    # What gave a value stays, whatever failed around it.
    kept = {x.tobytes() for x in prospects_of(opt).X}
    assert sum(key in kept for key in tried) >= 15


def test_failures_that_come_anywhere_rule_nothing_out():
    opt = optimizer(30)
    rng = np.random.default_rng(1)
    for x, y in rng.random((60, 2)):
        opt.tell_failure({"x": float(x), "y": float(y)}, "beam trip")
    assert len(prospects_of(opt).X) == gain.MOST


# -- properties ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_gain_is_never_negative_and_shrinks_as_data_accumulate(direction):
    def f(x, y):
        return smooth(x, y) if direction == "maximize" else -smooth(x, y)

    found = [
        optimizer(n, k=4, noise_std=0.1, f=f, direction=direction).recommend().gain
        for n in (6, 30, 150)
    ]
    assert all(g.expected >= 0.0 and g.bound >= 0.0 for g in found)
    assert found[0].bound > found[1].bound > 2.0 * found[2].bound > 0.0
    assert found[0].expected > found[1].expected > 2.0 * found[2].expected > 0.0


def test_an_unknown_region_counts_though_no_point_of_it_was_tried():
    rng = np.random.default_rng(0)
    data = [
        ({"x": float(x)}, 1.0 + x + 0.05 * rng.standard_normal(6)) for x in np.linspace(0, 0.4, 9)
    ]
    half, whole = (
        rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data, valid=valid)
        for valid in (lambda p: p["x"] <= 0.4, None)
    )
    assert whole.recommend().gain.expected > 3.0 * half.recommend().gain.expected
    assert [r.params for r in whole.recommend().runner_ups] == [
        r.params for r in half.recommend().runner_ups
    ]
