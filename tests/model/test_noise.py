"""Noise models against exact enumeration, integration, dense algebra and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from rahbo.errors import DataError, SettingsError
from rahbo.model.gp import Hyperparameters
from rahbo.model.kernels import RBF, Matern52
from rahbo.model.noise import (
    CubeNoise,
    DirectNoise,
    KnownNoise,
    LogNoise,
    SampleVariances,
    sample_variance_var,
)
from rahbo.space import Candidates, Categorical, Float, Int, Space


def given(kernel, prior_mean=0.0, noise_scale=0.0):
    """Hyperparameters chosen by hand."""
    theta = kernel.log_parameters
    return Hyperparameters(kernel, prior_mean, noise_scale, 0.0, theta, np.eye(len(theta)))


def simulated(rng, variance, n, count, d=1):
    """Sample variances of ``count`` Gaussian repeats at random points."""
    X = rng.random((n, d))
    count = np.broadcast_to(count, (n,)).astype(np.intp)
    rho2 = variance(X)
    s2 = rho2 * rng.chisquare(count - 1) / (count - 1)
    return SampleVariances(X, s2, count, floor=1e-12)


def dense(kernel, X, g, var, X_new, lam=1.0, m=0.0):
    """Posterior mean and variance by a general solver."""
    A, k = kernel(X, X) + lam * np.diag(var), kernel(X_new, X)
    mu = m + k @ np.linalg.solve(A, g - m)
    return mu, (kernel.diagonal(X_new) - np.sum(k * np.linalg.solve(A, k.T).T, axis=1)) / lam


# The variance of a sample variance


@pytest.mark.parametrize(
    ("values", "weights"),
    [
        ([-1.0, 1.0], [0.5, 0.5]),
        ([-1.0, 0.0, 2.0], [0.3, 0.6, 0.1]),
        ([0.0, 1.0, 5.0], [0.5, 0.45, 0.05]),
    ],
)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_variance_of_sample_variance_by_enumeration(values, weights, k):
    values, weights = np.array(values), np.array(weights)
    mean = weights @ values
    rho2, mu4 = weights @ (values - mean) ** 2, weights @ (values - mean) ** 4
    outcomes = np.array(list(itertools.product(range(len(values)), repeat=k)))
    p, s2 = weights[outcomes].prod(axis=1), values[outcomes].var(axis=1, ddof=1)
    assert p @ s2 == pytest.approx(rho2)
    expected = p @ s2**2 - (p @ s2) ** 2
    assert sample_variance_var(rho2, k, mu4 / rho2**2) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_gaussian_variance_of_sample_variance(k):
    assert sample_variance_var(1.5, k) == pytest.approx(2.0 * 1.5**2 / (k - 1), rel=1e-14)


def test_variance_of_sample_variance_takes_arrays():
    found = sample_variance_var(np.array([1.0, 2.0]), np.array([3, 5]))
    np.testing.assert_allclose(found, [1.0, 2.0])


def test_strictly_sub_gaussian_noise_is_under_the_bound(rng):
    uniform = rng.uniform(-1.0, 1.0, (200_000, 4))
    s2 = uniform.var(axis=1, ddof=1)
    assert sample_variance_var(1 / 3, 4, 1.8) == pytest.approx(s2.var(), rel=0.02)
    assert s2.var() < sample_variance_var(1 / 3, 4)


# LogNoise


def apart(n):
    """Points so far apart, in lengthscales, that the prior makes them independent."""
    return np.linspace(0.0, 1.0, n)[:, None], RBF([1e-4], 50.0)


def targets(count, s2, **settings):
    """Target and error variance at each point, read back from an independent posterior."""
    X, kernel = apart(len(s2))
    data = SampleVariances(X, np.asarray(s2, dtype=float), np.asarray(count), 1e-12, **settings)
    mu, sigma = LogNoise().condition(data, given(kernel)).latent(X)
    error_var = 1.0 / (1.0 / sigma**2 - 1.0 / kernel.variance)
    return mu * (kernel.variance + error_var) / kernel.variance, error_var


@pytest.mark.parametrize("count", [2, 3, 5, 10, 50])
def test_log_noise_shift_and_variance_by_integration(count):
    nu = count - 1
    # The density of u = log(s^2 / rho^2) for nu s^2 / rho^2 ~ chi^2_nu.
    log_norm = 0.5 * nu * math.log(0.5 * nu) - math.lgamma(0.5 * nu)

    def moment(power):
        return integrate.quad(
            lambda u: u**power * math.exp(log_norm + 0.5 * nu * (u - math.exp(u))),
            -80.0,
            5.0,
            points=[-5.0, 0.0, 1.0],
            epsabs=1e-12,
            limit=500,
        )[0]

    assert moment(0) == pytest.approx(1.0)
    shift, spread = moment(1), moment(2) - moment(1) ** 2
    g, error_var = targets([count] * 3, [0.5, 1.0, 7.0])
    np.testing.assert_allclose(g, np.log([0.5, 1.0, 7.0]) - shift, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(error_var, spread, rtol=1e-6)


@pytest.mark.parametrize("count", [2, 4, 12])
def test_log_noise_is_unbiased_in_simulation(rng, count):
    n, rho2 = 800, 2.5
    y = rng.normal(scale=math.sqrt(rho2), size=(n, count))
    g, error_var = targets([count] * n, y.var(axis=1, ddof=1))
    spread = error_var[0]
    assert g.mean() == pytest.approx(math.log(rho2), abs=4.0 * math.sqrt(spread / n))
    # The log of a chi-square has heavier tails than a Gaussian, at most 3 times the variance here.
    assert g.var() == pytest.approx(spread, rel=4.0 * math.sqrt(7.0 / n))


def test_log_noise_with_unequal_counts():
    g, error_var = targets([2, 5, 5, 40], [1.0, 1.0, 1.0, 1.0])
    for i, count in enumerate([2, 5, 5, 40]):
        alone_g, alone_var = targets([count], [1.0])
        assert g[i] == pytest.approx(alone_g[0], rel=1e-6)
        assert error_var[i] == pytest.approx(alone_var[0], rel=1e-6)
    # For one degree of freedom the error variance is pi^2 / 2.
    assert error_var[0] == pytest.approx(math.pi**2 / 2, rel=1e-6)
    assert np.all(np.diff(error_var[[0, 1, 3]]) < 0)


def test_a_tie_counts_as_a_small_share_of_the_pooled_variance():
    tie, _ = targets([3, 3], [0.0, 1.0])
    # Two degrees of freedom each: pooled 1/2, of which a tie gets 0.3 / 2.
    share, _ = targets([3, 3], [0.075, 1.0])
    np.testing.assert_allclose(tie, share, rtol=1e-12)
    quiet, _ = targets([3, 3], [1e-5, 1.0])
    assert quiet[0] < tie[0] - 5


def test_no_noise_at_all_is_the_floor():
    zero, _ = targets([3, 3], [0.0, 0.0])
    tiny, _ = targets([3, 3], [1e-12, 1e-12])
    assert np.all(np.isfinite(zero))
    np.testing.assert_array_equal(zero, tiny)


def test_log_noise_bounds_are_positive_and_ordered(rng):
    data = simulated(rng, lambda X: 0.1 + X[:, 0], 15, 3)
    model = LogNoise()
    posterior = model.condition(data, model.learn(data))
    X = rng.random((20, 1))
    low, centre, high = (posterior.variance(X, z) for z in (-2.0, 0.0, 2.0))
    assert np.all((low > 0) & (low < centre) & (centre < high))
    mu, sigma = posterior.latent(X)
    np.testing.assert_allclose(high, np.exp(mu + 2.0 * sigma), rtol=1e-12)
    np.testing.assert_allclose(centre**2, low * high, rtol=1e-9)


def test_log_noise_link_and_its_slope(rng):
    data = simulated(rng, lambda X: 0.1 + X[:, 0], 5, 3)
    posterior = LogNoise().condition(data, given(Matern52([0.3])))
    g, h = np.array([-3.0, 0.0, 2.0]), 1e-5
    difference = (posterior.link(g + h) - posterior.link(g - h)) / (2 * h)
    np.testing.assert_allclose(posterior.link_slope(g), difference, rtol=1e-8)
    assert np.all(np.isfinite(posterior.link(np.array([-1e6, 1e6]))))


def log_variance(X):
    return 1.5 * np.sin(2.0 * np.pi * X[:, 0])


@pytest.mark.parametrize("counts", [(10, 10), (2, 20)])
def test_log_noise_recovers_a_known_function(counts):
    rng = np.random.default_rng(1)
    grid, model = np.linspace(0.0, 1.0, 101)[:, None], LogNoise()
    errors, covered = [], []
    for _ in range(8):
        count = rng.integers(counts[0], counts[1] + 1, 60)
        data = simulated(rng, lambda X: np.exp(log_variance(X)), 60, count)
        mu, sigma = model.condition(data, model.learn(data)).latent(grid)
        errors.append(mu - log_variance(grid))
        covered.append(np.abs(errors[-1]) <= 2.0 * sigma)
    # The error variance of one log s^2 is about 0.25: sixty of them give about 0.15 on a curve
    # of a few degrees of freedom. The curve itself has a standard deviation of 1.06.
    assert np.sqrt(np.mean(np.square(errors))) < 0.3
    assert abs(np.mean(errors)) < 0.1
    assert np.mean(covered) > 0.85


def test_log_noise_finds_constant_noise_flat():
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


def test_log_noise_with_pending_narrows_where_repeats_are_due(rng):
    data = simulated(rng, lambda X: 0.1 + X[:, 0], 10, 4)
    kernel = Matern52([0.2], 2.0)
    posterior = LogNoise().condition(data, given(kernel, 0.3))
    pending, count = np.array([[0.4], [0.9]]), np.array([5, 1])
    later = posterior.with_pending(pending, count)
    X = rng.random((9, 1))
    mu, _ = posterior.latent(X)
    later_mu, later_sigma = later.latent(X)
    np.testing.assert_allclose(later_mu, mu, rtol=1e-12, atol=1e-13)
    # A single repeat has no sample variance: only the first point counts.
    points, five_var = np.vstack([data.X, pending[:1]]), targets([5], [1.0])[1]
    error_var = np.append([targets([c], [1.0])[1][0] for c in data.count], five_var)
    _, var = dense(kernel, points, np.zeros(11), error_var, X)
    np.testing.assert_allclose(later_sigma**2, var, rtol=1e-5)


# DirectNoise


@pytest.mark.parametrize("lam", [1.0, 0.5])
@pytest.mark.parametrize("kurtosis", [3.0, 1.8])
def test_direct_noise_with_a_bound(rng, kurtosis, lam):
    count = np.array([2, 5, 5, 30])
    data = SampleVariances(rng.random((4, 1)), rng.uniform(0.5, 2.0, 4), count, 1e-9)
    kernel, X = Matern52([0.3], 1.2), rng.random((6, 1))
    model = DirectNoise(kernel, max_noise_var=1.5, kurtosis=kurtosis, lam=lam)
    mu, sigma = model.condition(data, model.learn(data)).latent(X)
    k = count.astype(float)
    eta = 1.5**2 * (kurtosis / k - (k - 3) / (k * (k - 1)))
    if kurtosis == 3.0:
        np.testing.assert_allclose(eta, 2.0 * 1.5**2 / (k - 1))
    expected_mu, expected_var = dense(kernel, data.X, data.s2, eta, X, lam)
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-9)
    np.testing.assert_allclose(sigma**2, expected_var, rtol=1e-9)


def test_direct_noise_learns_one_level_scaled_by_degrees_of_freedom(rng):
    count = np.array([2, 3, 9, 9, 33])
    data = SampleVariances(rng.random((5, 1)), rng.uniform(0.5, 2.0, 5), count, 1e-9)
    kernel, X = Matern52([0.3], 1.2), rng.random((6, 1))
    posterior = DirectNoise(kernel).condition(data, given(kernel, noise_scale=0.8))
    mu, sigma = posterior.latent(X)
    expected_mu, expected_var = dense(kernel, data.X, data.s2, 0.8 / (count - 1), X)
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-9)
    np.testing.assert_allclose(sigma**2, expected_var, rtol=1e-9)
    later = posterior.with_pending(X[:1], np.array([5]))
    _, var = dense(
        kernel, np.vstack([data.X, X[:1]]), np.zeros(6), 0.8 / np.append(count - 1, 4), X
    )
    np.testing.assert_allclose(later.latent(X)[1] ** 2, var, rtol=1e-9)


def test_direct_noise_learns_the_level_of_its_own_noise():
    rng = np.random.default_rng(3)
    data = simulated(rng, lambda X: 2.0 + np.sin(6.0 * X[:, 0]), 80, 11)
    found = DirectNoise().learn(data)
    # Var[s^2] = 2 rho^4 / nu, so the factor of 1 / nu is 2 E[rho^4].
    expected = 2.0 * np.mean((2.0 + np.sin(6.0 * data.X[:, 0])) ** 2)
    assert found.noise_scale == pytest.approx(expected, rel=0.4)
    assert found.prior_mean == 0.0


def test_direct_noise_recovers_a_known_function():
    rng = np.random.default_rng(4)

    def truth(X):
        return 1.0 + 0.8 * np.sin(6.0 * X[:, 0])

    data, grid = simulated(rng, truth, 80, 10), np.linspace(0.0, 1.0, 101)[:, None]
    model = DirectNoise()
    mu, sigma = model.condition(data, model.learn(data)).latent(grid)
    assert np.sqrt(np.mean((mu - truth(grid)) ** 2)) < 0.25
    assert np.mean(np.abs(mu - truth(grid)) <= 2.0 * sigma) > 0.8


def test_direct_noise_is_symmetric_and_may_go_below_zero(rng):
    data = SampleVariances(np.array([[0.5]]), np.array([0.1]), np.array([4]), 1e-9)
    posterior = DirectNoise().condition(data, given(Matern52([0.1]), noise_scale=1.0))
    low, centre, high = (posterior.variance(np.array([[0.9]]), z) for z in (-2.0, 0.0, 2.0))
    assert low[0] < 0
    assert low[0] + high[0] == pytest.approx(2.0 * centre[0])


def test_direct_noise_works_in_any_unit(rng):
    """Sample variances in units of 4 user units and the same in user units say the same."""
    X, s2, count = rng.random((6, 1)), rng.uniform(1.0, 9.0, 6), np.array([3, 3, 4, 5, 6, 7])
    user = SampleVariances(X, s2, count, 4e-9, unit=1.0)
    model = SampleVariances(X, s2 / 4.0, count, 1e-9, unit=4.0)
    settings, X_new = DirectNoise(max_noise_var=10.0), rng.random((5, 1))
    in_user = settings.condition(user, given(Matern52([0.3], 16.0))).latent(X_new)
    in_model = settings.condition(model, given(Matern52([0.3], 1.0))).latent(X_new)
    for a, b in zip(in_user, in_model, strict=True):
        np.testing.assert_allclose(a, 4.0 * b, rtol=1e-9)


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise(), DirectNoise(max_noise_var=2.0)])
def test_a_given_kernel_is_kept(rng, model):
    kernel = RBF([0.17], 0.9)
    fixed = type(model)(**{**vars(model), "kernel": kernel})
    data = simulated(rng, lambda X: 1.0 + X[:, 0], 12, 4)
    assert fixed.learn(data).kernel is kernel


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise(), DirectNoise(max_noise_var=2.0)])
def test_one_point_and_zero_variance_are_enough(model):
    X = np.random.default_rng(0).random((4, 2))
    for s2 in (0.0, 1.0):
        data = SampleVariances(np.array([[0.5, 0.5]]), np.array([s2]), np.array([2]), 1e-8)
        posterior = model.condition(data, model.learn(data))
        for z in (-2.0, 0.0, 2.0):
            assert np.all(np.isfinite(posterior.variance(X, z)))


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise(), DirectNoise(max_noise_var=2.0)])
def test_conditioning_needs_hyperparameters(rng, model):
    data = simulated(rng, lambda X: 1.0 + X[:, 0], 3, 4)
    with pytest.raises(SettingsError, match="call learn"):
        model.condition(data, None)


def test_direct_noise_refuses():
    for bound in (0.0, -1.0, math.nan):
        with pytest.raises(SettingsError, match="max_noise_var must be positive"):
            DirectNoise(max_noise_var=bound)
    for kurtosis in (0.9, math.nan):
        with pytest.raises(SettingsError, match="kurtosis"):
            DirectNoise(kurtosis=kurtosis)


# KnownNoise

SPACE = Space.of({"lr": Float(1e-4, 1e-1, log=True), "depth": Int(1, 5), "kind": ["a", "b"]})


def empty(d, unit=1.0, floor=1e-10):
    return SampleVariances(np.empty((0, d)), np.empty(0), np.empty(0, dtype=np.intp), floor, unit)


def test_known_function_is_asked_in_user_units():
    asked = []

    def noise_var(params):
        asked.append(params)
        return params["lr"] * params["depth"] + (1.0 if params["kind"] == "b" else 0.0)

    points = [{"lr": 0.01, "depth": 3, "kind": "a"}, {"lr": 0.1, "depth": 5, "kind": "b"}]
    X = np.array([SPACE.encode(p) for p in points])
    model = KnownNoise(noise_var).bind(SPACE)
    assert model.learn(empty(SPACE.d)) is None
    posterior = model.condition(empty(SPACE.d), None)
    np.testing.assert_allclose(posterior.variance(X), [0.03, 1.5], rtol=1e-9)
    assert asked == points
    assert posterior.gp is None


def test_known_noise_is_certain_and_pending_points_teach_nothing():
    posterior = CubeNoise(lambda X: 1.0 + X[:, 0]).condition(empty(1), None)
    X = np.array([[0.0], [0.5]])
    for z in (-3.0, 0.0, 3.0):
        np.testing.assert_array_equal(posterior.variance(X, z), [1.0, 1.5])
    np.testing.assert_array_equal(posterior.latent(X)[1], 0.0)
    assert posterior.with_pending(X, np.array([2, 2])) is posterior


def test_known_noise_is_converted_to_the_units_of_the_model():
    posterior = CubeNoise(lambda X: 8.0 * X[:, 0]).condition(empty(1, unit=4.0, floor=1e-3), None)
    np.testing.assert_allclose(posterior.variance(np.array([[0.5], [0.0]])), [1.0, 1e-3])


def test_known_noise_gradient_also_at_the_faces_of_the_cube():
    posterior = CubeNoise(lambda X: np.exp(X[:, 0]) + X[:, 1] ** 2).condition(empty(2), None)
    X = np.array([[0.0, 1.0], [0.3, 0.6], [1.0, 0.0]])
    v, zero, gradient, no_slope = posterior.latent_with_gradient(X)
    np.testing.assert_array_equal(v, posterior.variance(X))
    np.testing.assert_allclose(
        gradient, np.column_stack([np.exp(X[:, 0]), 2.0 * X[:, 1]]), rtol=1e-5, atol=1e-5
    )
    assert not np.any(zero)
    assert not np.any(no_slope)


ROWS = [{"t": 300, "s": "water"}, {"t": 350, "s": "ethanol"}, {"t": 400, "s": "acetone"}]


def test_known_variances_of_candidates_follow_their_order():
    space = Space.of(Candidates(ROWS))
    posterior = KnownNoise([0.1, 0.2, 0.3]).bind(space).condition(empty(space.d), None)
    for row, expected in zip(ROWS, [0.1, 0.2, 0.3], strict=True):
        x = space.encode(row)[None]
        assert posterior.variance(x)[0] == pytest.approx(expected)
        # A search may ask between the rows: the nearest one answers.
        nudged = np.clip(x + 1e-4, 0.0, 1.0)
        assert posterior.variance(nudged)[0] == pytest.approx(expected)


@pytest.mark.parametrize("variances", [[0.1, 0.2], [0.1] * 4, []])
def test_known_variances_must_match_the_candidates(variances):
    with pytest.raises(SettingsError, match=f"{len(variances)} variances for 3 candidates"):
        KnownNoise(variances).bind(Space.of(Candidates(ROWS)))


def test_known_variances_need_a_list_of_candidates():
    with pytest.raises(SettingsError, match="function of the parameters"):
        KnownNoise([0.1, 0.2]).bind(Space.of({"x": (0.0, 1.0)}))


def test_known_variances_of_a_small_grid():
    space = Space.of({"depth": Int(1, 3), "kind": Categorical(["a", "b"])})
    posterior = KnownNoise(np.arange(1.0, 7.0)).bind(space).condition(empty(space.d), None)
    np.testing.assert_allclose(posterior.variance(space.enumerate()), np.arange(1.0, 7.0))


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_known_noise_must_be_a_variance(bad):
    posterior = KnownNoise(lambda params: bad).bind(SPACE).condition(empty(SPACE.d), None)
    with pytest.raises(DataError, match="finite number >= 0"):
        posterior.variance(np.full((1, SPACE.d), 0.5))


def test_known_noise_must_give_one_number_a_point():
    posterior = CubeNoise(lambda X: np.ones((len(X), 2))).condition(empty(1), None)
    with pytest.raises(DataError, match="at every point"):
        posterior.variance(np.array([[0.5]]))


def test_known_noise_must_be_bound_first():
    model = KnownNoise(lambda params: 1.0)
    with pytest.raises(SettingsError, match="bind"):
        model.learn(empty(1))
    with pytest.raises(SettingsError, match="bind"):
        model.condition(empty(1), None)


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise()])
def test_learned_models_need_no_space(model):
    assert model.bind(SPACE) is model
