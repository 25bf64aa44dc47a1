"""Intervals and draws against the posteriors they come from.

How heavy the tails are is the subject of the tests under "tails" alone.
"""

import numpy as np
import pytest
from scipy import stats

import rahbo
from bands import bands
from rahbo.analysis import centre, posterior
from rahbo.analysis.posterior import marginals, plausible, risk_draws
from rahbo.model import DirectNoise, KnownNoise, LogNoise, alternatives
from rahbo.policy import GPUCB, RahboUS, TopTwo, pessimistic, pessimistic_values

RISK = rahbo.MeanVariance(0.5)
QUANTITIES = ("mean", "noise_std", "risk")


def optimizer(n=12, risk=RISK, **settings):
    rng = np.random.default_rng(4)
    data = [
        ({"x": float(x)}, 50.0 + 20.0 * np.sin(5 * x) + (1.0 + 6.0 * x) * rng.standard_normal(5))
        for x in rng.random(n)
    ]
    return rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, risk=risk, data=data, **settings)


def standardised(opt, X, level):
    """Ends of the intervals of mean and log noise variance, in posterior standard deviations."""
    found, model, units = marginals(opt.model, RISK, X, level), opt.model, opt.model.units
    mu, sigma = model.mean.predict(X)
    g, spread = model.noise.latent(X)
    mean = ((found.mean[:, [0, 2]] - units.shift) / units.scale - mu[:, None]) / sigma[:, None]
    log_var = 2.0 * np.log(found.noise_std[:, [0, 2]] / units.scale)
    return mean, (log_var - g[:, None]) / spread[:, None]


# -- each point by itself ------------------------------------------------------------------------


def test_intervals_do_not_depend_on_what_else_is_asked(rng):
    opt = optimizer()
    X = rng.random((3 * posterior.CHUNK + 7, 1))
    whole = marginals(opt.model, RISK, X, 0.9)
    for i in (0, 5, posterior.CHUNK, len(X) - 1):
        alone = marginals(opt.model, RISK, X[[i]], 0.9)
        for name in QUANTITIES:
            np.testing.assert_allclose(getattr(alone, name)[0], getattr(whole, name)[i], rtol=1e-9)
    assert whole.mean.shape == (len(X), 3)


@pytest.fixture
def one_level(monkeypatch):
    """No other noise level but the likeliest."""
    monkeypatch.setattr(posterior, "plausible", lambda model: [(model, posterior.DRAWS)])


@pytest.mark.usefixtures("one_level")
def test_intervals_are_symmetric_where_the_posterior_is():
    opt = optimizer()
    for ends in standardised(opt, opt.observations.X, 0.9):
        np.testing.assert_allclose(ends[:, 0], -ends[:, 1], rtol=1e-3)
        assert (ends[:, 1] > 1.0).all()


def test_a_quarter_lies_beyond_each_end_of_an_interval_at_one_half():
    # Mutants of the tails: a level taken for a tail, one tail for both, or the ends swapped.
    opt = optimizer()
    X = opt.observations.X
    found = marginals(opt.model, RISK, X, 0.5)
    rng = np.random.default_rng(8)
    risk = risk_draws(opt.model, RISK, X, rng)
    assert np.mean(risk < found.risk[:, 0]) == pytest.approx(0.25, abs=0.03)
    assert np.mean(risk > found.risk[:, 2]) == pytest.approx(0.25, abs=0.03)
    wide = marginals(opt.model, RISK, X, 0.9)
    assert np.mean(risk < wide.risk[:, 0]) == pytest.approx(0.05, abs=0.015)
    assert np.mean(risk > wide.risk[:, 2]) == pytest.approx(0.05, abs=0.015)


def test_a_higher_level_gives_a_wider_interval():
    opt = optimizer()
    levels = (0.2, 0.5, 0.8, 0.9, 0.99)
    found = [marginals(opt.model, RISK, opt.observations.X, level) for level in levels]
    for name in QUANTITIES:
        lower = np.array([getattr(f, name)[:, 0] for f in found])
        upper = np.array([getattr(f, name)[:, 2] for f in found])
        assert (np.diff(lower, axis=0) <= 0.0).all()
        assert (np.diff(upper, axis=0) >= 0.0).all()
        assert (lower[-1] < lower[1]).all()


def test_centres_are_those_of_the_posterior(rng):
    opt = optimizer()
    X, units = rng.random((6, 1)), opt.model.units
    f, v = centre(opt.model, X)
    np.testing.assert_allclose(f, units.shift + units.scale * opt.model.mean.predict(X)[0])
    np.testing.assert_allclose(v, units.scale**2 * opt.model.noise.variance(X))
    found = marginals(opt.model, RISK, X, 0.9)
    np.testing.assert_allclose(found.mean[:, 1], f)
    np.testing.assert_allclose(found.noise_std[:, 1], np.sqrt(v))
    np.testing.assert_allclose(found.risk[:, 1], f - 0.5 * v)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [LogNoise(), DirectNoise(), KnownNoise(4.0)], ids=str)
@pytest.mark.parametrize("min_noise_var", [None, 9.0, 400.0])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
def test_every_interval_holds_its_centre(noise, min_noise_var, alpha, rng):
    opt = optimizer(method=rahbo.Method(min_noise_var=min_noise_var, noise=noise))
    X = np.vstack([opt.observations.X, rng.random((30, 1))])
    for level in (0.1, 0.5, 0.9):
        found = marginals(opt.model, rahbo.MeanVariance(alpha), X, level)
        for name in QUANTITIES:
            lower, middle, upper = getattr(found, name).T
            assert (lower <= middle).all()
            assert (middle <= upper).all()
    if min_noise_var is not None:
        assert found.noise_std.min() >= np.sqrt(min_noise_var) * (1.0 - 1e-12)


def test_known_noise_has_no_spread():
    opt = optimizer(noise_std=2.0)
    found = marginals(opt.model, RISK, opt.observations.X, 0.9)
    np.testing.assert_allclose(found.noise_std, 2.0)
    assert (found.mean[:, 0] < found.mean[:, 2]).all()
    np.testing.assert_allclose(found.risk, found.mean - 2.0)


def test_other_plausible_models_widen_the_intervals(monkeypatch):
    opt, other = optimizer(), optimizer(9)
    X = np.array([[0.2], [0.9]])
    one = marginals(opt.model, RISK, X, 0.9)
    pairs = [(opt.model, 300), (other.model, 100)]
    monkeypatch.setattr(posterior, "plausible", lambda model: pairs)
    both = marginals(opt.model, RISK, X, 0.9)
    np.testing.assert_array_equal(both.mean[:, 1], one.mean[:, 1])
    assert (both.mean[:, 0] != one.mean[:, 0]).all()
    assert risk_draws(opt.model, RISK, X, np.random.default_rng(0)).shape == (400, 2)


def test_a_noise_level_gets_draws_by_its_share():
    # Five single values leave the level open.
    data = [({"x": x}, x) for x in (0.0, 0.3, 0.5, 0.7, 1.0)]
    model = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data).model
    pairs = plausible(model)
    assert len(pairs) > 2
    assert [n for _, n in pairs] == [round(a.share * posterior.DRAWS) for a in alternatives(model)]
    assert sum(n for _, n in pairs) == pytest.approx(posterior.DRAWS, abs=len(pairs))


# -- what a strategy reports by ------------------------------------------------------------------


@pytest.mark.parametrize("risk", [RISK, rahbo.MeanStd(1.0)])
def test_pessimistic_values_are_those_of_the_bound(risk, rng):
    opt = optimizer(risk=risk)
    X, units = rng.random((8, 1)), opt.model.units
    bound = pessimistic(opt.model, risk)
    f, v, value = pessimistic_values(bound, X)
    np.testing.assert_allclose(value, units.shift + units.scale * bound.value(X))
    np.testing.assert_allclose(value, risk.value(f, v))
    b = bands(opt.model, X)
    np.testing.assert_allclose(f, units.shift + units.scale * b.f_lower)
    np.testing.assert_allclose(v, units.scale**2 * b.noise_upper)


@pytest.mark.parametrize("strategy", [TopTwo(), RahboUS(), GPUCB()])
@pytest.mark.parametrize("noise", [LogNoise(), DirectNoise()])
def test_no_pessimistic_value_is_above_the_risk_value(strategy, noise, rng):
    opt = optimizer(method=rahbo.Method(min_noise_var=100.0, noise=noise))
    X = rng.random((30, 1))
    bound = strategy.report_bound(opt.model, RISK)
    _, v, value = pessimistic_values(bound, X)
    middle = RISK.value(*centre(opt.model, X))
    assert (v >= 100.0 * (1.0 - 1e-12)).all()
    if not isinstance(strategy, GPUCB):
        assert (value <= middle + 1e-9).all()


# -- several points together ---------------------------------------------------------------------


def test_draws_have_the_mean_and_covariance_of_the_posterior(rng):
    gp = optimizer().model.mean
    X = rng.random((5, 1))
    found = gp.draws(X, rng, 40_000)
    mu, sigma = gp.predict(X)
    np.testing.assert_allclose(found.mean(axis=0), mu, atol=5 * sigma.max() / 200)
    size = sigma.max() ** 2
    np.testing.assert_allclose(np.cov(found.T) / size, gp.covariance(X) / size, atol=0.05)


def test_draws_at_the_same_point_are_the_same(rng):
    gp = optimizer().model.mean
    found = gp.draws(np.array([[0.3], [0.9], [0.3], [0.30000001]]), rng, 100)
    np.testing.assert_allclose(found[:, 2:] - found[:, :1], 0.0, atol=1e-5)
    assert np.std(found[:, 1] - found[:, 0]) > 1e-3


def test_risk_draws_are_those_of_their_generator():
    opt = optimizer()
    X = opt.observations.X
    first, again = (risk_draws(opt.model, RISK, X, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (posterior.DRAWS, len(X))
    other = risk_draws(opt.model, RISK, X, np.random.default_rng(4))
    assert (first != other).all()


def test_risk_draws_have_the_middle_of_the_posterior():
    opt = optimizer(noise_std=2.0)
    X = opt.observations.X
    drawn = risk_draws(opt.model, RISK, X, np.random.default_rng(0))
    found = marginals(opt.model, RISK, X, 0.5)
    width = found.risk[:, 2] - found.risk[:, 0]
    middle = np.median(drawn, axis=0)
    np.testing.assert_array_less(np.abs(middle - found.risk[:, 1]) / width, 0.15)


def test_noise_counts_in_the_draws_at_least_with_its_lower_bound():
    opt = optimizer(method=rahbo.Method(min_noise_var=400.0, noise=DirectNoise()))
    X = opt.observations.X
    averse, neutral = (
        risk_draws(opt.model, rahbo.MeanVariance(alpha), X, np.random.default_rng(0))
        for alpha in (1.0, 0.0)
    )
    assert (neutral - averse).min() == pytest.approx(400.0)


def test_close_points_move_together():
    opt = optimizer()
    drawn = risk_draws(opt.model, RISK, np.array([[0.5], [0.501], [0.0]]), np.random.default_rng(0))
    rank = stats.spearmanr(drawn).statistic
    assert rank[0, 1] > 0.95 > abs(rank[0, 2])


# -- tails: what changes with the way that draws get them ----------------------------------------


@pytest.mark.usefixtures("one_level")
@pytest.mark.parametrize("level", [0.5, 0.9, 0.98])
def test_intervals_are_those_of_a_student_distribution(level):
    opt = optimizer()
    # Four degrees of freedom, written out: coverage was measured with them.
    t = stats.t(4).ppf(0.5 + 0.5 * level)
    for ends in standardised(opt, opt.observations.X, level):
        np.testing.assert_allclose(ends, np.broadcast_to([-t, t], ends.shape), rtol=2e-2)


def test_draws_together_have_the_same_tails_as_alone():
    opt = optimizer(noise_std=2.0)
    X = opt.observations.X[:3]
    drawn = risk_draws(opt.model, RISK, X, np.random.default_rng(0))
    for level in (0.5, 0.9):
        q = 0.5 + 0.5 * level
        found = marginals(opt.model, RISK, X, level).risk
        width = found[:, 2] - found[:, 0]
        error = np.quantile(drawn, q, axis=0) - found[:, 2]
        np.testing.assert_array_less(np.abs(error) / width, 0.2)
