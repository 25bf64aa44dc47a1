"""The log noise model against integration, optimisation and simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize

from rahbo.errors import SettingsError
from rahbo.model import (
    RBF,
    Hyperprior,
    LogNoise,
    Matern52,
    SampleVariances,
)
from sample_variances import given, simulated


def test_the_prior_of_the_log_noise_is_written_out():
    prior = LogNoise().hyperprior(replace(repeated(2, 3), typical=0.5))
    weak = Hyperprior.weak(2)
    assert math.exp(prior.log_lengthscale) == pytest.approx(3.0 * math.exp(weak.log_lengthscale))
    assert prior.shortest == pytest.approx(0.5 * math.exp(prior.log_lengthscale))
    assert prior.log_lengthscale_std == 1.0
    # A tenth of the variance of the outputs, give or take a factor e^2.
    assert (prior.mean, prior.mean_var) == pytest.approx((math.log(0.1 * 0.5), 4.0))


def test_precise_variances_may_vary_over_distances_like_those_of_the_outputs():
    weak, few = Hyperprior.weak(2), LogNoise().hyperprior(repeated(2, 30))
    precise = LogNoise().hyperprior(repeated(2, 31))
    assert precise.log_lengthscale == weak.log_lengthscale
    assert precise.log_lengthscale_std == weak.log_lengthscale_std
    assert precise.shortest == pytest.approx(weak.shortest)
    assert (precise.mean, precise.mean_var) == (few.mean, few.mean_var)
    # One more precise point changes little, so that a run does not jump between the two.
    half = LogNoise().hyperprior(repeated(2, [31, 31, 31, 31, 2, 2, 2, 2]))
    assert half.log_lengthscale == pytest.approx(
        (precise.log_lengthscale + few.log_lengthscale) / 2
    )
    assert precise.shortest < half.shortest < few.shortest
    # Three points in two inputs show no detail, however precise they are.
    assert LogNoise().hyperprior(repeated(2, [200, 200, 200])) == few


def test_detail_is_seen_where_the_noise_is_known_precisely(rng):
    X = rng.random((40, 1))
    noise_var = np.where(np.abs(X[:, 0] - 0.5) < 0.05, 1.0, 0.01)
    wrong = {}
    for dof in (400.0, 29.0):
        data = SampleVariances(X, noise_var, np.full(40, dof), floor=1e-12)
        found = LogNoise().condition(data, LogNoise().learn(data)).variance(X)
        wrong[dof] = np.abs(np.log(found / noise_var)).max()
    assert wrong[400.0] < 0.1
    assert wrong[29.0] > 3.0 * wrong[400.0]


def repeated(d, count):
    """Sample variances in d inputs with so many repeats at each point, or at four points."""
    count = np.broadcast_to(count, 4 if np.ndim(count) == 0 else len(count))
    X = np.random.default_rng(0).random((len(count), d))
    return SampleVariances(X, np.full(len(count), 0.2), count - 1.0, floor=1e-12)


def log_variance(X):
    return 1.5 * np.sin(2.0 * np.pi * X[:, 0])


def log_posterior(g, data, K, m):
    """Log p(g | s^2) up to a constant, written out."""
    likelihood = -0.5 * np.sum(data.dof * (g + data.s2 * np.exp(-g)))
    return likelihood - 0.5 * (g - m) @ np.linalg.solve(K, g - m)


def mode(data, K, m):
    """The mode of g by a general optimiser, and Laplace's covariance there."""
    found = optimize.minimize(
        lambda g: -log_posterior(g, data, K, m), np.full(len(data.s2), m), method="BFGS",
        options={"gtol": 1e-8, "maxiter": 2000},
    )  # fmt: skip
    curvature = 0.5 * data.dof * data.s2 * np.exp(-found.x)
    return found.x, np.linalg.inv(np.linalg.inv(K) + np.diag(curvature))


@pytest.mark.parametrize("lam", [1.0, 0.5])
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_the_posterior_is_laplaces_with_exp_g_at_its_expectation(rng, lam, scale):
    data = simulated(rng, lambda X: scale * np.exp(log_variance(X)), 12, [2, 3, 8] * 4)
    kernel, m = Matern52([0.3], 1.5), math.log(scale) + 0.2
    K = kernel(data.X, data.X) / lam
    first, cov = mode(data, K, m)
    spread = replace(data, s2=data.s2 * np.exp(0.5 * np.diag(cov)))
    expected, cov = mode(spread, K, m)
    assert np.all(expected > first)
    mu, sigma = LogNoise(lam=lam).condition(data, given(kernel, m)).latent(data.X)
    # The search ends where less than 0.002 nats a point are left to gain.
    assert np.max(np.abs(mu - expected) / sigma) < 0.03
    np.testing.assert_allclose(sigma**2, np.diag(cov), rtol=0.05)


@pytest.mark.parametrize("dof", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("s2", [0.2, 1.0, 6.0])
def test_one_point_against_quadrature(dof, s2):
    data = SampleVariances(np.array([[0.5]]), np.array([s2]), np.array([dof]), 1e-12)
    (mu,), (sigma,) = LogNoise().condition(data, given(RBF([1.0], 2.0))).latent(data.X)

    def density(g):
        return math.exp(-0.5 * dof * (g + s2 * math.exp(-g)) - 0.25 * g**2)

    total, mean, square = (
        integrate.quad(lambda g, p=p: g**p * density(g), -12.0, 12.0, limit=400)[0]
        for p in range(3)
    )
    mean, spread = mean / total, math.sqrt(square / total - (mean / total) ** 2)
    # The density leans to the right: its mean is above its mode.
    assert mu == pytest.approx(mean, abs=0.2 * spread)
    assert sigma == pytest.approx(spread, rel=0.2)


def test_repeats_that_agree_say_that_the_noise_is_small_and_no_more():
    X = np.linspace(0.0, 1.0, 9)[:, None]
    s2 = np.ones(9)
    s2[4] = 0.0
    hyper = given(Matern52([0.3], 1.0))
    for dof, drop in ((1.0, 2.0), (8.0, 4.0)):
        data = SampleVariances(X, s2, np.full(9, dof), 1e-12)
        mu, sigma = LogNoise().condition(data, hyper).latent(X)
        assert -drop < mu[4] < min(mu[3], mu[5]) < 0.0
        assert np.all(np.isfinite(sigma))


@pytest.mark.parametrize("s2", [0.0, 1e-300, 1e300])
def test_extreme_variances_stay_finite(s2):
    model = LogNoise()
    data = SampleVariances(np.linspace(0, 1, 4)[:, None], np.full(4, s2), np.full(4, 2.0), 1e-8)
    posterior = model.condition(data, model.learn(data))
    for z in (-2.0, 0.0, 2.0):
        assert np.all(np.isfinite(posterior.variance(data.X, z)))


def test_no_data_gives_the_prior_mean_and_no_hyperparameters_an_error():
    empty = SampleVariances(np.empty((0, 1)), np.empty(0), np.empty(0), 1e-8)
    posterior = LogNoise().condition(empty, given(Matern52([0.3]), math.log(0.25)))
    np.testing.assert_allclose(posterior.variance(np.array([[0.1], [0.9]]), 2.0), 0.25)
    with pytest.raises(SettingsError, match="call learn"):
        LogNoise().condition(empty, None)


def test_bounds_are_positive_and_ordered(rng):
    data = simulated(rng, lambda X: 0.1 + X[:, 0], 15, 3)
    model = LogNoise()
    posterior = model.condition(data, model.learn(data))
    X = rng.random((20, 1))
    low, centre, high = (posterior.variance(X, z) for z in (-2.0, 0.0, 2.0))
    assert np.all((low > 0) & (low < centre) & (centre < high))
    mu, sigma = posterior.latent(X)
    np.testing.assert_allclose(high, np.exp(mu + 2.0 * sigma), rtol=1e-12)
    np.testing.assert_allclose(centre**2, low * high, rtol=1e-9)


def test_the_noise_is_bounded_so_that_its_product_with_any_scale_is_finite(rng):
    data = simulated(rng, lambda X: 0.1 + X[:, 0], 5, 3)
    posterior = LogNoise().condition(data, given(Matern52([0.3])))
    low, high = posterior.link(np.array([-1e6, 1e6]))
    assert 0.0 < low < 1e-200
    assert 1e120 < high < 1e188


@pytest.mark.parametrize("counts", [(10, 10), (2, 20), (2, 2)])
def test_it_recovers_a_known_function(counts):
    rng = np.random.default_rng(1)
    grid, model = np.linspace(0.0, 1.0, 101)[:, None], LogNoise()
    errors, covered = [], []
    for _ in range(8):
        count = rng.integers(counts[0], counts[1] + 1, 60)
        data = simulated(rng, lambda X: np.exp(log_variance(X)), 60, count)
        mu, sigma = model.condition(data, model.learn(data)).latent(grid)
        errors.append(mu - log_variance(grid))
        covered.append(np.abs(errors[-1]) <= 2.0 * sigma)
    # A sample variance of one degree of freedom carries a ninth of what one of nine does.
    assert np.sqrt(np.mean(np.square(errors))) < (0.3 if counts[1] > 2 else 0.6)
    assert abs(np.mean(errors)) < (0.1 if counts[1] > 2 else 0.2)
    assert np.mean(covered) > (0.85 if counts[1] > 2 else 0.8)


def test_constant_noise_is_found_flat():
    rng, model = np.random.default_rng(2), LogNoise()
    errors, covered = [], []
    for _ in range(8):
        data = simulated(rng, lambda X: np.full(len(X), 4.0), 50, 6)
        mu, sigma = model.condition(data, model.learn(data)).latent(rng.random((50, 1)))
        errors.append(mu - math.log(4.0))
        covered.append(np.abs(errors[-1]) <= 2.0 * sigma)
    assert abs(np.mean(errors)) < 0.1
    assert np.sqrt(np.mean(np.square(errors))) < 0.35
    assert np.mean(covered) > 0.85


def test_pending_repeats_narrow_the_band_where_they_are_due(rng):
    data = simulated(rng, lambda X: 0.1 + X[:, 0], 10, 4)
    posterior = LogNoise().condition(data, given(Matern52([0.2], 2.0), 0.3))
    pending, count = np.array([[0.4], [0.9]]), np.array([5, 1])
    later = posterior.with_pending(pending, count)
    X = np.vstack([pending, rng.random((9, 1))])
    mu, sigma = posterior.latent(X)
    later_mu, later_sigma = later.latent(X)
    np.testing.assert_allclose(later_mu, mu, rtol=1e-12, atol=1e-13)
    # Five repeats are expected to bring a curvature of 4/2; a single one has no sample variance.
    assert later_sigma[0] ** -2 == pytest.approx(sigma[0] ** -2 + 2.0, rel=1e-9)
    alone = posterior.with_pending(pending[:1], count[:1]).latent(X)[1]
    np.testing.assert_allclose(later_sigma, alone, rtol=1e-12)


@pytest.mark.parametrize("seed", [5, 8, 12, 17, 18, 21])
def test_the_mode_is_found_beside_points_that_say_next_to_nothing(seed):
    # Newton's method with its curvature clipped leaps over the mode here, to exp(-g) = 1e280.
    rng = np.random.default_rng(seed)
    X = rng.random((60, 1))
    dof = np.where(rng.random(60) < 0.5, 1e-3, 1.0)
    s2 = rng.choice([1.0, 1e-4], 60) * rng.chisquare(1, 60)
    dof[0], s2[0] = 2999.0, 1e-8
    data = SampleVariances(X, s2, dof, floor=1e-8)
    hyper = given(Matern52([0.3], 1e4), prior_mean=-1.8)
    posterior = LogNoise().condition(data, hyper)
    g, spread = posterior.latent(X)
    assert np.all(np.isfinite(g) & np.isfinite(spread))
    assert np.max(dof * s2 * np.exp(-g)) < 1e4


@pytest.mark.parametrize("prior_mean", [-1e3, 1e3])
def test_log_noise_without_data_is_finite_at_any_prior(prior_mean):
    data = SampleVariances(np.empty((0, 1)), np.empty(0), np.empty(0), floor=1e-8)
    posterior = LogNoise().condition(data, given(RBF([0.3]), prior_mean))
    assert np.isfinite(posterior.variance(np.array([[0.5]])) ** 2).all()
