"""Joint draws against the posteriors they come from."""

import numpy as np
import pytest
from scipy import stats

import rahbo
from rahbo.model.noise import DirectNoise, KnownNoise
from rahbo.policy.acquisition import optimistic
from rahbo.report import posterior
from rahbo.report.posterior import JointPosterior, draws, joint_posterior, leading

RISK = rahbo.MeanVariance(0.5)


def optimizer(n=12, **settings):
    rng = np.random.default_rng(4)
    data = [
        ({"x": float(x)}, 50.0 + 20.0 * np.sin(5 * x) + (1.0 + 6.0 * x) * rng.standard_normal(5))
        for x in rng.random(n)
    ]
    return rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, risk=RISK, data=data, **settings)


def drawn(opt, seed=0):
    X = opt.observations.X
    return joint_posterior(opt.model, RISK, X, np.arange(len(X)), seed)


def test_draws_have_the_mean_and_covariance_of_the_posterior(rng):
    gp = optimizer().model.mean
    X = rng.random((5, 1))
    found = draws(gp, X, rng, 40_000)
    mu, sigma = gp.predict(X)
    np.testing.assert_allclose(found.mean(axis=0), mu, atol=5 * sigma.max() / 200)
    size = sigma.max() ** 2
    np.testing.assert_allclose(np.cov(found.T) / size, gp.covariance(X) / size, atol=0.05)


def test_draws_at_the_same_point_are_the_same(rng):
    gp = optimizer().model.mean
    found = draws(gp, np.array([[0.3], [0.3], [0.30000001]]), rng, 100)
    np.testing.assert_allclose(found - found[:, :1], 0.0, atol=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.98])
def test_intervals_are_those_of_a_student_distribution(level):
    opt = optimizer()
    found, model, X = drawn(opt), opt.model, opt.observations.X
    t = stats.t(posterior.DOF).ppf(0.5 + 0.5 * level)
    # Five standard errors of a quantile of so many draws.
    q = 0.5 * (1.0 - level)
    error = 5.0 * np.sqrt(q * (1.0 - q) / posterior.DRAWS) / stats.t(posterior.DOF).pdf(t)
    mu, sigma = model.mean.predict(X)
    g, spread = model.noise.latent(X)
    units = model.learned
    for i in range(len(X)):
        (f_lower, f_upper), noise, _ = found.ends(i, level)
        for end, sign in ((f_lower, -1.0), (f_upper, 1.0)):
            z = ((end - units.shift) / units.scale - mu[i]) / sigma[i]
            assert abs(z - sign * t) < error
        for end, sign in zip(noise, (-1.0, 1.0), strict=True):
            z = (2.0 * np.log(end / units.scale) - g[i]) / spread[i]
            assert abs(z - sign * t) < error


def test_the_risk_is_that_of_each_draw():
    found = drawn(optimizer())
    np.testing.assert_allclose(found.risk, found.f - 0.5 * found.noise_std**2)
    lower, upper = found.ends(3, 0.8)[2]
    assert np.mean(found.risk[:, 3] < lower) == pytest.approx(0.1, abs=1e-3)
    assert np.mean(found.risk[:, 3] > upper) == pytest.approx(0.1, abs=1e-3)


def test_close_points_move_together_and_heavy_tails_are_shared():
    opt = optimizer()
    X = np.array([[0.5], [0.501], [0.0]])
    f = joint_posterior(opt.model, RISK, X, np.arange(3), 0).f
    rank = stats.spearmanr(f).statistic
    assert rank[0, 1] > 0.95 > abs(rank[0, 2])


def test_the_probability_of_being_best_counts_draws():
    risk = np.array([[1.0, 2.0, 0.0], [3.0, 2.0, 0.0], [1.0, 5.0, 0.0], [0.0, 0.5, 0.0]])
    found = JointPosterior(np.arange(3), risk, risk, risk)
    np.testing.assert_array_equal(found.p_best, [0.25, 0.75, 0.0])


def test_known_noise_has_no_spread():
    found = drawn(optimizer(noise=KnownNoise(4.0)))
    np.testing.assert_allclose(found.noise_std, 2.0)
    assert np.ptp(found.f[:, 0]) > 0.0


@pytest.mark.parametrize(
    "noise", [rahbo.Optimizer({"x": (0, 1.0)}).settings.model.noise, DirectNoise()]
)
def test_noise_is_at_least_its_lower_bound(noise):
    opt = optimizer(noise=noise, min_noise_var=9.0, max_noise_var=16.0)
    assert drawn(opt).noise_std.min() == pytest.approx(3.0)
    best = opt.recommend()
    assert best.noise_std_interval.lower <= best.noise_std <= best.noise_std_interval.upper
    assert best.risk_interval.lower <= best.risk <= best.risk_interval.upper


def test_leading_points_have_the_largest_optimistic_values(monkeypatch, rng):
    opt = optimizer()
    X = rng.random((30, 1))
    np.testing.assert_array_equal(leading(opt.model, RISK, X), np.arange(30))
    monkeypatch.setattr(posterior, "LEADING", 7)
    found = leading(opt.model, RISK, X)
    value = optimistic(opt.model, RISK).value(X)
    assert list(found) == sorted(found)
    assert len(found) == 7
    assert value[found].min() >= np.delete(value, found).max()


def test_a_thousand_points_cost_little_more_than_the_leading_ones(monkeypatch, rng):
    sizes = []
    monkeypatch.setattr(posterior, "_deviations", lambda gp, X, rng, n: sizes.append(len(X)) or 0.0)
    opt = optimizer()
    X = rng.random((1000, 1))
    joint_posterior(opt.model, RISK, X, leading(opt.model, RISK, X), 0)
    assert sizes == [posterior.LEADING] * 2
