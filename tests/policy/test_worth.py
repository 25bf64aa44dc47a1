"""What an evaluation is worth, against closed forms and simulation, and the choice by it."""

import functools

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import norm

import rahbo
from rahbo.model import DirectNoise, KnownNoise, LogNoise, Matern52
from rahbo.policy import Adaptive, Domain, Fixed, Success, most_worth, optimistic, worth
from rahbo.policy.search import Pool
from rahbo.policy.worth import PAIRS
from rahbo.space import Candidates

SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
# Standard normal quantiles instead of draws, for one quantity and for pairs of two.
EVEN = norm.ppf((np.arange(2000) + 0.5) / 2000)[:, None]
EVEN_PAIRS = np.array(np.meshgrid(*2 * [norm.ppf((np.arange(120) + 0.5) / 120)])).reshape(2, -1, 1)


def noise_var(params):
    return (0.1 + 0.3 * params["x"]) ** 2


def values_at(params, rng, n):
    f = np.sin(5.0 * params["x"]) + params["y"]
    return list(f + noise_var(params) ** 0.5 * rng.standard_normal(n))


def told(seed=0, n=7, repeats=3, **settings):
    """A run after a few points, with kernels that are not learned."""
    rng = np.random.default_rng([3, seed])
    points = [{"x": float(x), "y": float(y)} for x, y in rng.random((n, 2))]
    data = [(p, values_at(p, rng, repeats)) for p in points]
    settings = {"kernel": Matern52([0.4, 0.6], 1.0), "noise": KnownNoise(noise_var)} | settings
    return rahbo.Optimizer(SQUARE, seed=0, data=data, **settings)


LOG = LogNoise(Matern52([0.7, 0.9], 1.0))
DIRECT = DirectNoise(Matern52([0.7, 0.9], 0.01))
POINTS = np.random.default_rng(8).random((6, 2))


def everything(opt):
    """The rows of all points that were told."""
    return np.arange(opt.observations.n)


def worths(opt, X, count=1, risk=None):
    count = np.broadcast_to(count, (len(X),))
    return worth(opt.model, risk or opt.settings.risk, X, everything(opt), count)


def among(opt, x):
    """All points that were told, and x."""
    return np.vstack([opt.observations.X, x])


def gain(R):
    """The mean of the best of all columns, less the best mean of all but the last: by hand."""
    return np.mean(R.max(axis=1)) - R[:, :-1].mean(axis=0).max()


# -- the draws -------------------------------------------------------------------------------------


def test_the_pairs_are_standard_normal_as_far_as_64_can_be():
    assert PAIRS.shape == (64, 2)
    np.testing.assert_allclose(PAIRS.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(PAIRS.std(axis=0), 1.0, rtol=1e-12)
    assert abs(np.mean(PAIRS[:, 0] * PAIRS[:, 1])) < 0.05
    for column in PAIRS.T:
        assert np.max(np.abs(norm.cdf(np.sort(column)) - (np.arange(64) + 0.5) / 64)) < 0.04


# -- against independent calculation ---------------------------------------------------------------


def slopes(gp, x, error_var, at):
    """The means ``(k,)`` at some points, and their change per z if the output at x is z off."""
    mu, sigma = gp.predict(x[None])
    size = np.sqrt(sigma**2 + error_var)

    def after(z):
        return gp.with_outputs(x[None], mu + size * z, np.array([error_var])).predict_mean(at)

    now, slope = gp.predict_mean(at), after(1.0) - gp.predict_mean(at)
    for z in (-2.0, 0.0, 0.7, 3.0):
        np.testing.assert_allclose(after(z), now + z * slope, rtol=1e-9, atol=1e-10)
    return now, slope


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("seed", range(2))
def test_worth_is_what_outputs_under_known_noise_bring(seed, count):
    opt = told(seed)
    model, risk = opt.model, opt.model.units.risk_to_model(opt.settings.risk)
    X = np.vstack([POINTS, opt.observations.X[:2]])
    found = worths(opt, X, count)
    for x, value in zip(X, found, strict=True):
        at = among(opt, x)
        rho2 = model.noise.variance(x[None])[0]
        mu, slope = slopes(model.mean, x, rho2 / count, at)
        expected = gain(risk.value(mu + EVEN * slope, model.noise.variance(at)))
        # The error of 64 draws, as a share of the standard deviation of what they average.
        assert value == pytest.approx(expected, abs=0.015 * np.ptp(slope) + 1e-12)


def test_two_points_in_closed_form():
    off = []
    for seed in range(4):
        opt = told(seed, n=1)
        model = opt.model
        for x in POINTS:
            rho2 = model.noise.variance(x[None])[0]
            at = among(opt, x)
            (a, c), (b, d) = slopes(model.mean, x, rho2, at)
            risk = model.units.risk_to_model(opt.settings.risk)
            a, c = risk.value(np.array([a, c]), model.noise.variance(at))
            # E max(a + b Z, c + d Z) - a
            theta = abs(b - d)
            expected = theta * norm.pdf((c - a) / theta) + (c - a) * norm.cdf((c - a) / theta)
            off.append((worths(opt, x[None])[0] - expected) / theta)
    # The error of 64 draws. A bias would show in the mean.
    assert np.max(np.abs(off)) < 0.015
    assert abs(np.mean(off)) < 0.005


@pytest.mark.slow
@pytest.mark.parametrize(
    "risk",
    [rahbo.MeanVariance(2.0), rahbo.MeanStd(1.5), rahbo.Quantile(0.1), rahbo.ExpectedShortfall()],
    ids=lambda risk: type(risk).__name__,
)
def test_worth_is_what_outputs_bring_where_the_noise_is_learned_too(risk):
    opt = told(1, noise=LOG, risk=risk)
    model, noise, count = opt.model, opt.model.noise.gp, 2
    in_units = model.units.risk_to_model(risk)
    z1, z2 = EVEN_PAIRS
    X = np.vstack([POINTS[:4], opt.observations.X[:2]])
    found = worths(opt, X, count)
    for x, value in zip(X, found, strict=True):
        at = among(opt, x)
        g_x, s_x = noise.predict(x[None])
        mu, b_f = slopes(model.mean, x, np.exp(g_x + s_x**2 / 2)[0] / count, at)
        g, b_g = slopes(noise, x, 2.0 / count, at)
        later = noise.with_outputs(x[None], g_x, np.array([2.0 / count]))
        s = later.predict(at)[1]
        R = in_units.value(mu + z1 * b_f, np.exp(g + z2 * b_g + s**2 / 2))
        spread = np.std(R - R[:, -1:], axis=0).max()
        assert value == pytest.approx(gain(R), abs=0.03 * spread)


def test_only_repeats_tell_the_papers_model_of_the_noise():
    opt = told(2, noise=DIRECT, risk=rahbo.MeanVariance(4.0))
    model, noise = opt.model, opt.model.noise.gp
    in_units = model.units.risk_to_model(opt.settings.risk)
    z1, z2 = EVEN_PAIRS
    for count in (1, 5):
        for x, value in zip(POINTS[:3], worths(opt, POINTS[:3], count), strict=True):
            at = among(opt, x)
            rho2 = max(noise.predict_mean(x[None])[0], model.min_noise_var)
            mu, b_f = slopes(model.mean, x, rho2 / count, at)
            g, b_g = noise.predict_mean(at), 0.0
            if count > 1:
                g, b_g = slopes(noise, x, float(model.noise.eta_var(np.array([5]))[0]), at)
            v = np.maximum(g + z2 * b_g, model.min_noise_var)
            R = in_units.value(mu + z1 * b_f, v)
            spread = np.std(R - R[:, -1:], axis=0).max()
            assert value == pytest.approx(gain(R), abs=0.03 * spread)


# -- properties ------------------------------------------------------------------------------------

RISKS = st.sampled_from(
    [rahbo.MeanVariance(0.0), rahbo.MeanVariance(3.0), rahbo.MeanStd(2.0), rahbo.Quantile(0.05)]
)


known_runs = functools.cache(told)


@hypothesis.settings(max_examples=20)
@given(
    seed=st.integers(0, 2),
    noise=st.sampled_from([KnownNoise(noise_var), LOG, DIRECT]),
    risk=RISKS,
    count=st.integers(1, 50),
    at=st.integers(0, 2**32 - 1),
)
def test_no_evaluation_makes_the_recommendation_worse(seed, noise, risk, count, at):
    opt = known_runs(seed, noise=noise)
    X = np.vstack([np.random.default_rng(at).random((20, 2)), opt.observations.X])
    assert np.all(worths(opt, X, count, risk) >= -1e-12)


@pytest.mark.parametrize("noise", [KnownNoise(noise_var), LOG], ids=["known", "learned"])
def test_more_repeats_are_worth_more(noise):
    opt = told(0, noise=noise)
    X = np.vstack([POINTS, opt.observations.X])
    by_count = np.array([worths(opt, X, k) for k in (1, 2, 5, 20, 1000)])
    # If noise is learned, draws of both GPs are joined, and their error does not cancel.
    rounding = 1e-12 if isinstance(noise, KnownNoise) else 0.03 * by_count.max()
    assert np.all(np.diff(by_count, axis=0) >= -rounding)
    assert np.sum(by_count[-1] > 1.1 * by_count[0]) > len(X) // 2


def test_nothing_is_worth_much_where_everything_is_known():
    settings = {"noise": KnownNoise(1e-12), "kernel": Matern52([3.0, 3.0], 1.0)}
    opt = told(0, n=60, repeats=1, **settings)
    for count in (1, 100):
        assert np.max(worths(opt, opt.observations.X, count)) < 1e-5
    model = opt.model
    mu, sigma = model.mean.predict(POINTS)
    surplus = mu - model.at_observations()[0].max()
    # A new point is worth what is known of it.
    neutral = worths(opt, POINTS, risk=rahbo.MeanVariance(0.0))
    np.testing.assert_allclose(neutral, np.maximum(surplus, 0.0), atol=0.5 * sigma.max())
    assert sigma.max() < 0.1


@pytest.mark.parametrize("noise", [KnownNoise(noise_var), LOG], ids=["known", "learned"])
def test_a_new_point_beside_a_known_one_is_worth_as_much_as_a_repeat(noise):
    opt = told(0, noise=noise)
    X = opt.observations.X
    np.testing.assert_allclose(worths(opt, np.abs(X - 1e-7)), worths(opt, X), rtol=1e-4, atol=1e-8)


def test_a_better_expectation_elsewhere_is_worth_its_difference():
    opt = told(0)
    model, X = opt.model, np.random.default_rng(4).random((400, 2))
    risk = model.units.risk_to_model(opt.settings.risk)
    expected = risk.value(model.mean.predict_mean(X), model.noise.variance(X))
    mu = model.at_observations()[0]
    best = risk.value(mu, model.noise.variance(opt.observations.X)).max()
    assert np.sum(expected > best) >= 5
    assert np.all(worths(opt, X) >= expected - best - 1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, 1e3)])
def test_the_units_of_outputs_do_not_count(scale, shift):
    measures = [
        (rahbo.MeanVariance(1.0), rahbo.MeanVariance(1.0 / scale)),
        (rahbo.MeanStd(1.0), rahbo.MeanStd(1.0)),
    ]
    for one, other in measures:
        opt = told(0, noise=LOG, risk=one)
        data = [(t.params, [shift * scale + scale * v for v in t.values.values()])
                for t in opt.trials]  # fmt: skip
        same = {"kernel": opt.settings.kernel, "noise": LOG, "seed": 0}
        scaled = rahbo.Optimizer(SQUARE, data=data, risk=other, **same)
        X = np.vstack([POINTS, opt.observations.X])
        np.testing.assert_allclose(worths(scaled, X), worths(opt, X), rtol=1e-4, atol=1e-7)


def test_a_point_under_way_is_not_worth_its_good_prospects_again():
    opt = told(0)
    n, mu = opt.observations.n, opt.model.at_observations()[0]

    class High:
        """Draws a value far above all others."""

        def standard_normal(self, n):
            return np.full(n, 5.0)

    x = POINTS[:1]
    under_way = opt.model.with_pending(x, np.array([1000]), High())
    assert under_way.mean.predict_mean(x)[0] > mu.max() + 1.0
    tried, risk = np.arange(n + 1), opt.settings.risk
    np.testing.assert_array_equal(under_way.mean.X[tried], among(opt, x))
    again = worth(under_way, risk, x, tried, np.array([1]))[0]
    assert again < 1e-3
    assert worth(under_way, risk, x, tried[:-1], np.array([1]))[0] > 1.0


# -- the choice ------------------------------------------------------------------------------------


ROWS = [{"x": float(x), "y": float(y)} for x, y in np.random.default_rng(5).random((20, 2))]


def listed(repeats=(3,) * 8, seed=0, **settings):
    """A run on a list of 20 rows, with some values at the first ones."""
    rng = np.random.default_rng([6, seed])
    data = [(ROWS[i], values_at(ROWS[i], rng, k)) for i, k in enumerate(repeats)]
    fixed = {"kernel": Matern52([0.4, 0.6], 1.0), "noise": LOG}
    return rahbo.Optimizer(Candidates(ROWS), seed=0, data=data, **fixed | settings)


def domain_of(opt, excluded=frozenset(), success=None):
    return Domain(opt.settings.space, opt.observations.best_first(), excluded, success)


def chosen(opt, repeats=None, domain=None, pool=None):
    risk, repeats = opt.settings.risk, repeats or Adaptive()
    domain = domain or domain_of(opt)
    bound, rng = optimistic(opt.model, risk), np.random.default_rng(0)
    return most_worth(bound, risk, domain, repeats, rng, pool)


@pytest.mark.parametrize("repeats", [Adaptive(), Adaptive(setup=3.0), Fixed(4)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_of_a_list_the_row_that_is_worth_most_for_its_cost_is_chosen(seed, repeats):
    opt = listed(seed=seed)
    X = opt.settings.space.enumerate()
    count = repeats.planned(opt.model, X)
    per_cost = worths(opt, X, count) / repeats.cost(count)
    for pool in (None, Pool(X)):
        np.testing.assert_array_equal(chosen(opt, repeats, pool=pool), X[np.argmax(per_cost)])
    first = X[np.argmax(per_cost)].tobytes()
    per_cost[np.argmax(per_cost)] = -1.0
    found = chosen(opt, repeats, domain_of(opt, frozenset({first})))
    np.testing.assert_array_equal(found, X[np.argmax(per_cost)])


def test_a_row_that_fails_is_worth_less():
    opt = listed()
    X = opt.settings.space.enumerate()
    first = chosen(opt)
    failures = np.array([5 * np.array_equal(x, first) for x in X])
    success = Success.learn(X, 5 - failures, failures)
    assert success.chance(first[None])[0] < 0.5
    found = chosen(opt, domain=domain_of(opt, success=success))
    assert not np.array_equal(found, first)


def test_on_the_square_nothing_on_a_grid_is_worth_much_more():
    for seed in range(3):
        opt = told(seed, n=12, noise=LOG)
        axis = np.linspace(0.0, 1.0, 25)
        grid = np.array([(x, y) for x in axis for y in axis])
        most = max(worths(opt, grid).max(), worths(opt, opt.observations.X).max())
        assert worths(opt, chosen(opt)[None])[0] > 0.8 * most


def test_if_no_point_may_be_recommended_yet_the_most_promising_is_tried():
    legal = {"valid": lambda p: p["x"] + p["y"] > 1.9}
    opt = told(0, n=4, **legal)
    assert not opt.settings.space.is_valid(opt.observations.X).any()
    x = chosen(opt)
    assert x.sum() > 1.9
    bound = optimistic(opt.model, opt.settings.risk)
    corner = 1.0 - 0.1 * np.random.default_rng(0).random((500, 2))
    corner = corner[corner.sum(axis=1) > 1.9]
    assert bound.value(x[None])[0] > np.quantile(bound.value(corner), 0.9)
