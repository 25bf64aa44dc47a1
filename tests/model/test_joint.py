"""Both GPs together: the noise of the means (eq. 16), units, bounds and pending points."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rahbo.model.confidence import ConstantBeta, Lemma1Beta
from rahbo.model.gp import Evidence, fit
from rahbo.model.hyperprior import Hyperprior
from rahbo.model.joint import ModelSettings, Raw, Standardized, output_scale
from rahbo.model.kernels import RBF, Linear, Matern32, Matern52
from rahbo.model.noise import CubeNoise, DirectNoise, LogNoise
from rahbo.observations import Observations

NOISES = {
    "log": LogNoise(),
    "direct": DirectNoise(),
    "bounded": DirectNoise(max_noise_var=4.0),
    "known": CubeNoise(lambda X: 0.01 + X[:, 0]),
}


def observed(seed=0, n=14, d=2, counts=(2, 7), scale=1.0, shift=0.0):
    """Noisy repeats of a smooth function whose noise grows with the first input."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    values = []
    for x in X:
        count = rng.integers(counts[0], counts[1] + 1)
        y = np.sin(4.0 * x.sum()) + (0.1 + x[0]) * rng.normal(size=count)
        values.append(scale * y + shift)
    return Observations.from_rounds(list(X), values)


def dense(kernel, X, y, noise_var, X_new, lam=1.0, m=0.0):
    """Posterior mean and variance (eq. 5, 6) by a general solver."""
    A, k = kernel(X, X) + lam * np.diag(noise_var), kernel(X_new, X)
    mu = m + k @ np.linalg.solve(A, y - m)
    return mu, (kernel.diagonal(X_new) - np.sum(k * np.linalg.solve(A, k.T).T, axis=1)) / lam


def model_of(settings, data, **kwargs):
    return settings.condition(data, settings.learn(data, **kwargs))


# Noise of the means


@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
@pytest.mark.parametrize(("low", "high"), [(None, None), (0.3, None), (None, 0.6), (0.2, 0.6)])
@pytest.mark.parametrize("noise", NOISES)
def test_noise_of_the_means_is_equation_16(noise, low, high, outputs):
    data = observed()
    plain = ModelSettings(
        noise=NOISES[noise], outputs=outputs, lam=0.7, beta_noise=ConstantBeta(1.5)
    )
    learned = plain.learn(data)
    noise_posterior = plain.condition(data, learned).noise
    upper = noise_posterior.variance(data.X, 0.0 if noise == "known" else 1.5) * learned.scale**2
    # Bounds at quantiles of the upper bound, so that some points are cut and some are not.
    low = None if low is None else float(np.quantile(upper, low))
    high = None if high is None else float(np.quantile(upper, high))
    truncated = upper.copy()
    if high is not None:
        truncated = np.minimum(truncated, high)
    if low is not None:
        truncated = np.maximum(truncated, low)
    settings = replace(plain, min_noise_var=low, max_noise_var=high)
    learned = settings.learn(data)
    model = settings.condition(data, learned)
    Sigma_hat = truncated / learned.scale**2 / data.count
    X_new = np.random.default_rng(1).random((8, 2))
    mu, sigma = model.mean.predict(X_new)
    expected_mu, expected_var = dense(
        learned.mean.kernel,
        data.X,
        (data.mean - learned.shift) / learned.scale,
        Sigma_hat,
        X_new,
        0.7,
        learned.mean.prior_mean,
    )
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(sigma**2, expected_var, rtol=1e-7)


def test_noise_of_the_means_by_hand():
    """Two points with known noise, one of them truncated."""
    data = Observations.from_rounds(
        [np.array([0.0]), np.array([1.0])], [[1.0, 3.0], [5.0, 5.0, 5.0, 5.0]]
    )
    settings = ModelSettings(
        kernel=RBF([0.5], 2.0),
        noise=CubeNoise(lambda X: 1.0 + 9.0 * X[:, 0]),
        outputs=Raw(),
        max_noise_var=6.0,
    )
    model = model_of(settings, data)
    c = 2.0 * math.exp(-2.0)
    A = np.array([[2.0 + 1.0 / 2, c], [c, 2.0 + 6.0 / 4]])
    expected = np.array([2.0, c]) @ np.linalg.inv(A) @ [2.0, 5.0]
    assert model.mean.predict(np.array([[0.0]]))[0][0] == pytest.approx(expected, rel=1e-12)


def test_the_mean_gp_is_fitted_under_this_noise():
    data, settings = observed(), ModelSettings()
    learned = settings.learn(data)
    y = (data.mean - learned.shift) / learned.scale
    sigma_hat = settings.condition(data, learned).noise.variance(data.X, 2.0) / data.count
    evidence = Evidence(Matern52, data.X, y, sigma_hat, None, 1.0, Hyperprior.weak(2))
    assert learned.mean.log_posterior == pytest.approx(fit(evidence).log_posterior, rel=1e-9)
    assert evidence(learned.mean.theta)[0] == pytest.approx(learned.mean.log_posterior, rel=1e-9)


def test_floor_is_relative_to_the_outputs():
    for scale in (1e-6, 1.0, 1e6):
        data = observed(scale=scale)
        settings = ModelSettings(
            outputs=Raw(), noise=CubeNoise(lambda X: np.zeros(len(X))), kernel=RBF([0.3, 0.3])
        )
        model = model_of(settings, data)
        assert model.min_noise_var == pytest.approx(1e-8 * np.var(data.mean), rel=1e-9)
        assert model.noise.variance(data.X)[0] == model.min_noise_var


# Single repeats


@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
def test_without_repeats_the_papers_model_learns_one_noise_level(outputs):
    rng = np.random.default_rng(3)
    X = rng.random((60, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.3 * rng.normal(size=60)
    data = Observations.from_rounds(list(X), [[v] for v in y])
    settings = ModelSettings(noise=DirectNoise(), outputs=outputs)
    learned = settings.learn(data)
    model = settings.condition(data, learned)
    assert learned.noise is None
    belief = model.belief(rng.random((7, 1)))
    level = belief.noise_var * learned.scale**2
    np.testing.assert_allclose(level, level[0])
    assert level[0] == pytest.approx(0.09, rel=0.5)
    # Sixty values tell a variance to about a factor of sqrt(2 / 60) in one standard deviation.
    width = np.log(belief.noise_upper / belief.noise_var) / model.beta_noise
    np.testing.assert_allclose(width, width[0])
    assert width[0] == pytest.approx(np.sqrt(2.0 / 60.0), rel=0.5)


def test_without_repeats_residuals_tell_the_noise():
    rng = np.random.default_rng(3)
    X = rng.random((200, 1))
    log_var = np.log(0.01) + 4.0 * X[:, 0]
    y = np.sin(6.0 * X[:, 0]) + np.exp(0.5 * log_var) * rng.normal(size=200)
    data = Observations.from_rounds(list(X), [[v] for v in y])
    model = model_of(ModelSettings(), data)
    grid = np.linspace(0.05, 0.95, 19)[:, None]
    mu, sigma = model.noise.latent(grid)
    error = mu + 2.0 * np.log(model.learned.scale) - (np.log(0.01) + 4.0 * grid[:, 0])
    # Two hundred values tell a straight line in log rho^2 to about 0.15.
    assert np.sqrt(np.mean(error**2)) < 0.4
    assert np.mean(np.abs(error) < 2.0 * sigma) > 0.8
    assert model.beta_noise == 2.0


@pytest.mark.parametrize("noise", ["log", "direct"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_single_values_leave_the_noise_open(n, noise):
    data = observed(n=n, d=2, counts=(1, 1))
    belief = model_of(ModelSettings(noise=NOISES[noise]), data).belief(data.X)
    assert np.all(belief.noise_upper > 1.5 * belief.noise_var)
    assert np.all(belief.noise_lower < belief.noise_var / 1.5)


def quiet_pair(rng, n, gap):
    """Single values of a smooth function under loud noise, and two of them at one point."""
    X = rng.random((n, 2))
    y = np.sin(4.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return Observations.from_rounds([*X, X[0]], [[v] for v in [*y, y[0] + gap]])


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize("seed", range(4))
def test_one_pair_that_agrees_does_not_make_all_values_certain(seed, gap):
    data = quiet_pair(np.random.default_rng(seed), 50, gap)
    model = model_of(ModelSettings(), data)
    noise_std = model.learned.scale * np.sqrt(model.noise.variance(data.X))
    assert 0.2 < np.median(noise_std) < 0.45


def test_the_level_is_learned_from_repeats_and_residuals_together():
    # Two inputs that tell nothing of the outputs: residuals alone say that all of it is noise,
    # repeats that agree say that none is.
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 2)), rng.standard_normal(30)
    agreeing = Observations.from_rounds(list(X), [[v, v + 0.01] for v in y])
    singles = Observations.from_rounds(list(X), [[v] for v in y])
    quiet, loud = (
        np.median(model_of(ModelSettings(), data).noise.variance(X)) for data in (agreeing, singles)
    )
    assert quiet < 1e-2 < loud


@pytest.mark.parametrize("quiet", [0.0, 1e-3])
def test_a_region_without_noise_beside_a_loud_one(quiet):
    rng = np.random.default_rng(5)
    X = rng.random((20, 2))
    noise_std = np.where(X[:, 0] < 0.5, 1.0, quiet)
    rounds = np.sin(5.0 * X[:, 1])[:, None] + noise_std[:, None] * rng.standard_normal((20, 5))
    model = model_of(ModelSettings(), Observations.from_rounds(list(X), rounds.tolist()))
    found = model.learned.scale * np.sqrt(model.noise.variance(X))
    assert np.all(found[X[:, 0] > 0.6] < 0.03)
    assert np.all((found[X[:, 0] < 0.4] > 0.4) & (found[X[:, 0] < 0.4] < 2.5))


@pytest.mark.parametrize(("digits", "floor"), [(0, 0.29), (1, 0.029)])
def test_rounded_values_that_agree_are_not_taken_for_certain(digits, floor):
    rng = np.random.default_rng(2)
    X = rng.random((25, 1))
    y = 5.0 * X + 0.5 * floor * rng.standard_normal((25, 2))
    data = Observations.from_rounds(list(X), np.round(y, digits).tolist())
    model = model_of(ModelSettings(), data)
    noise_std = model.learned.scale * np.sqrt(model.noise.variance(X))
    assert np.all((noise_std > 0.5 * floor) & (noise_std < 3.0 * floor))


@pytest.mark.parametrize(("noise", "used"), [("log", 14), ("direct", 10)])
def test_single_and_repeated_points_mix(noise, used):
    data = observed(counts=(1, 3))
    assert np.sum(data.count > 1) == 10
    model = model_of(ModelSettings(noise=NOISES[noise]), data)
    np.testing.assert_array_equal(model.data.X[:10], data.X[data.count > 1])
    np.testing.assert_array_equal(model.data.dof[:10], data.count[data.count > 1] - 1)
    assert len(model.data.s2) == used
    # A residual is less than a degree of freedom, as its neighbours are not certain either.
    assert np.all((model.data.dof[10:] > 0) & (model.data.dof[10:] < 1))
    assert len(model.mean.X) == data.n


@pytest.mark.parametrize("noise", ["log", "direct", "bounded", "known"])
def test_repeats_may_arrive_after_a_fit_without_them(noise):
    settings = ModelSettings(noise=NOISES[noise])
    singles = observed(counts=(1, 1))
    first = settings.learn(singles)
    repeated = Observations.from_rounds(
        [*singles.X, *singles.X[:4]], [*[[y] for y in singles.mean], *[[0.0, 1.0, 0.5]] * 4]
    )
    # Before the next fit the learned level goes on.
    before = settings.condition(repeated, first).belief(singles.X)
    assert np.all(np.isfinite(before.mu))
    later = settings.learn(repeated, first)
    after = settings.condition(repeated, later).belief(singles.X)
    assert np.all(np.isfinite(after.mu))
    fresh = settings.learn(repeated)
    assert later.mean.log_posterior >= fresh.mean.log_posterior - 1.0


# Bounds


@pytest.mark.parametrize("noise", NOISES)
def test_belief_holds_both_intervals(noise):
    settings = ModelSettings(
        noise=NOISES[noise], beta=ConstantBeta(1.7), beta_noise=ConstantBeta(0.9)
    )
    model = model_of(settings, observed())
    X = np.random.default_rng(2).random((9, 2))
    belief = model.belief(X)
    mu, sigma = model.mean.predict(X)
    np.testing.assert_array_equal(belief.mu, mu)
    np.testing.assert_array_equal(belief.sigma, sigma)
    np.testing.assert_allclose(belief.f_lower, mu - 1.7 * sigma, rtol=1e-13)
    np.testing.assert_allclose(belief.f_upper, mu + 1.7 * sigma, rtol=1e-13)
    width = 0.0 if noise == "known" else 0.9
    assert model.beta == 1.7
    assert model.beta_noise == width
    np.testing.assert_allclose(belief.noise_var, model.noise.variance(X), rtol=1e-13)
    np.testing.assert_allclose(belief.noise_lower, model.noise.variance(X, -width), rtol=1e-13)
    np.testing.assert_allclose(belief.noise_upper, model.noise.variance(X, width), rtol=1e-13)


def test_beta_of_lemma_1_follows_both_posteriors():
    rule = Lemma1Beta(2.0, 0.05)
    settings = ModelSettings(beta=rule, beta_noise=rule, noise=DirectNoise(), outputs=Raw())
    model = model_of(settings, observed())
    assert model.beta == rule.beta(model.mean)
    assert model.beta_noise == rule.beta(model.noise.gp)
    assert model.beta != model.beta_noise


def test_min_noise_var_is_in_user_units():
    data = observed(scale=10.0)
    model = model_of(ModelSettings(min_noise_var=3.0), data)
    assert model.min_noise_var * model.learned.scale**2 == pytest.approx(3.0)
    assert model_of(ModelSettings(), data).min_noise_var == pytest.approx(1e-8)


# Pending points


@pytest.mark.parametrize("noise", NOISES)
def test_pending_points_narrow_both_bands_and_keep_both_means(noise):
    data = observed()
    settings = ModelSettings(noise=NOISES[noise], max_noise_var=0.8)
    model = model_of(settings, data)
    rng = np.random.default_rng(4)
    pending, count, X = rng.random((3, 2)), np.array([4, 1, 2]), rng.random((9, 2))
    later, before = model.with_pending(pending, count), model.belief(X)
    after = later.belief(X)
    np.testing.assert_allclose(after.mu, before.mu, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(after.noise_var, before.noise_var, rtol=1e-12, atol=1e-13)
    assert np.all(after.sigma < before.sigma)
    learned = model.learned
    highest = 0.8 / learned.scale**2
    noise_var = np.minimum(model.belief(pending).noise_upper, highest) / count
    known = np.minimum(model.belief(data.X).noise_upper, highest) / data.count
    _, var = dense(
        learned.mean.kernel,
        np.vstack([data.X, pending]),
        np.zeros(data.n + 3),
        np.append(known, noise_var),
        X,
    )
    np.testing.assert_allclose(after.sigma**2, var, rtol=1e-7)
    if noise != "known":
        assert len(later.noise.gp.X) == data.n + 2
        assert np.all(after.noise_upper < before.noise_upper)


def test_no_pending_points_change_nothing():
    model = model_of(ModelSettings(), observed())
    assert model.with_pending(np.empty((0, 2)), np.empty(0, dtype=np.intp)) is model


# Units


@pytest.mark.parametrize("noise", [LogNoise(), DirectNoise()])
@pytest.mark.parametrize("power", [-30, -1, 3, 40])
def test_scaling_by_a_power_of_two_changes_no_bit_of_the_standardised_model(power, noise):
    settings = ModelSettings(noise=noise)
    plain, scaled = observed(seed=5), observed(seed=5, scale=2.0**power)
    a, b = settings.learn(plain), settings.learn(scaled)
    assert b.scale == a.scale * 2.0**power
    assert b.shift == a.shift * 2.0**power
    assert a.floor == b.floor
    for first, second in ((a.mean, b.mean), (a.noise, b.noise)):
        np.testing.assert_array_equal(first.theta, second.theta)
        assert first.log_posterior == second.log_posterior
    X = np.random.default_rng(6).random((9, 2))
    one, two = settings.condition(plain, a).belief(X), settings.condition(scaled, b).belief(X)
    for name in vars(one):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_standardised_outputs_have_mean_zero_and_unit_variance():
    data = observed(scale=7.0, shift=100.0)
    shift, scale = Standardized().units(data)
    y = (data.mean - shift) / scale
    assert y.mean() == pytest.approx(0.0, abs=1e-12)
    assert y.std() == pytest.approx(1.0, rel=1e-12)


def test_raw_outputs_are_taken_as_they_are():
    data = observed(scale=7.0, shift=100.0)
    learned = ModelSettings(outputs=Raw()).learn(data)
    assert (learned.shift, learned.scale) == (0.0, 1.0)
    assert learned.mean.prior_mean == 0.0
    prior = Raw().hyperprior(2, data.mean)
    assert math.exp(prior.log_variance) == pytest.approx(np.mean(data.mean**2))
    assert prior.log_lengthscale_std == math.inf
    assert prior.mean_var == 0.0


def test_standardised_and_raw_agree_under_the_same_kernel():
    """With all hyperparameters given, units are only units."""
    data = observed(scale=5.0)
    shift, scale = Standardized().units(data)
    known = CubeNoise(lambda X: 1.0 + X[:, 0])
    raw = ModelSettings(kernel=Matern52([0.4, 0.5], 9.0), noise=known, outputs=Raw())
    unit = ModelSettings(kernel=Matern52([0.4, 0.5], 9.0 / scale**2), noise=known)
    a, b = raw.learn(data), unit.learn(data)
    b = replace(b, mean=replace(b.mean, prior_mean=-shift / scale))
    X = np.random.default_rng(7).random((6, 2))
    one, two = raw.condition(data, a).belief(X), unit.condition(data, b).belief(X)
    np.testing.assert_allclose(one.mu, shift + scale * two.mu, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.sigma, scale * two.sigma, rtol=1e-9)
    np.testing.assert_allclose(one.noise_var, scale**2 * two.noise_var, rtol=1e-9)


def test_output_scale_falls_back_to_the_repeats_and_to_one():
    x, z = np.array([0.1]), np.array([0.9])
    assert output_scale(Observations.from_rounds([x, z], [[1.0], [3.0]])) == 1.0
    assert output_scale(Observations.from_rounds([x], [[0.0, 6.0]])) == pytest.approx(18.0**0.5)
    assert output_scale(Observations.from_rounds([x, z], [[2.0, 2.0], [2.0]])) == 1.0
    assert output_scale(Observations.from_rounds([x, z], [[2.0], [2.0]])) == 1.0


# Settings


@pytest.mark.parametrize("noise", NOISES)
def test_warm_start_learns_no_worse(noise):
    data, settings = observed(n=20), ModelSettings(noise=NOISES[noise])
    first = settings.learn(data)
    second = settings.learn(data, first)
    if noise != "known":
        assert second.noise.log_posterior >= first.noise.log_posterior - 1e-9
    # The mean GP sees the noise GP's last refinement, so its data moved a little too.
    assert second.mean.log_posterior >= first.mean.log_posterior - 0.05


@pytest.mark.parametrize("kernel", [RBF([0.2, 0.3], 1.1), Linear([1.0, 2.0]), Matern32([0.5, 0.5])])
def test_given_kernels_are_kept(kernel):
    settings = ModelSettings(kernel=kernel, noise=LogNoise(kernel=RBF([0.4, 0.4])))
    model = model_of(settings, observed())
    assert model.mean.kernel is kernel
    assert model.noise.gp.kernel == RBF([0.4, 0.4])


def test_more_data_at_old_hyperparameters():
    settings = ModelSettings()
    learned = settings.learn(observed(n=10))
    model = settings.condition(observed(n=14), learned)
    assert len(model.mean.X) == 14
    assert model.mean.kernel is learned.mean.kernel


# Hard cases


@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
@pytest.mark.parametrize("noise", ["log", "direct"])
@pytest.mark.parametrize(
    ("n", "d", "counts", "scale", "shift"),
    [
        (1, 1, (1, 1), 1.0, 0.0),
        (1, 1, (3, 3), 1.0, 0.0),
        (2, 2, (2, 2), 1.0, 0.0),
        (2, 2, (1, 2), 1.0, 0.0),
        (10, 2, (3, 3), 1e12, 0.0),
        (10, 2, (3, 3), 1e-12, 0.0),
        (10, 2, (1, 1), 1e12, 0.0),
        (10, 2, (1, 1), 1e-12, 0.0),
        (10, 2, (3, 3), 1.0, 1e9),
        (12, 30, (2, 4), 1.0, 0.0),
    ],
)
def test_hard_data_gives_finite_beliefs(n, d, counts, scale, shift, noise, outputs):
    data = observed(n=n, d=d, counts=counts, scale=scale, shift=shift)
    model = model_of(ModelSettings(noise=NOISES[noise], outputs=outputs), data)
    belief = model.belief(np.vstack([np.random.default_rng(8).random((5, d)), data.X]))
    assert all(np.all(np.isfinite(part)) for part in vars(belief).values())
    assert np.all(belief.sigma > 0)


@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
@pytest.mark.parametrize("noise", ["log", "direct"])
@pytest.mark.parametrize("values", [[0.0], [3.0], [0.0, 0.0], [3.0, 3.0], [1.0, 2.0]])
def test_the_same_values_at_all_points(values, noise, outputs):
    X = np.random.default_rng(9).random((6, 2))
    data = Observations.from_rounds(list(X), [values] * 6)
    model = model_of(ModelSettings(noise=NOISES[noise], outputs=outputs), data)
    belief = model.belief(X)
    assert all(np.all(np.isfinite(part)) for part in vars(belief).values())
    learned = model.learned
    found = learned.shift + learned.scale * belief.mu
    # A zero prior mean draws what is noisy towards it, as far as the bands say.
    drawn = 2.0 * belief.sigma if isinstance(outputs, Raw) and np.ptp(values) > 0 else 0.0
    assert np.all(np.abs(found - np.mean(values)) <= 0.2 + 0.2 * abs(np.mean(values)) + drawn)


@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
def test_near_duplicate_points(outputs):
    X = np.random.default_rng(10).random((5, 2)) * 0.9
    rng = np.random.default_rng(11)
    values = [rng.normal(size=3) for _ in range(10)]
    data = Observations.from_rounds([*X, *(X + 1e-9)], values)
    belief = model_of(ModelSettings(outputs=outputs), data).belief(data.X)
    assert data.n == 10
    assert all(np.all(np.isfinite(part)) for part in vars(belief).values())
    np.testing.assert_allclose(belief.mu[:5], belief.mu[5:], rtol=1e-5, atol=1e-5)


def test_raw_outputs_keep_every_input():
    rng = np.random.default_rng(4)
    X = rng.random((20, 3))
    # The third input does nothing: its likelihood grows, ever more slowly, with the lengthscale.
    data = Observations.from_rounds(list(X), [[np.sin(4.0 * x[0]) + x[1]] * 2 for x in X])
    free = ModelSettings(outputs=Standardized()).learn(data).mean.kernel.lengthscales
    kept = ModelSettings(outputs=Raw()).learn(data).mean.kernel.lengthscales
    assert free[2] > 2.0
    assert kept[2] == pytest.approx(1.0)


@pytest.mark.parametrize("count", [2, 4, 5, 7])
def test_values_of_a_finite_number_leave_less_open(count):
    rng = np.random.default_rng(count)
    rounds = rng.standard_normal((12, count)).tolist()
    data = Observations.from_rounds(list(rng.random((12, 2))), rounds)
    known = CubeNoise(lambda X: np.full(len(X), 2.0))
    endless = ModelSettings(kernel=RBF([0.5, 0.5]), noise=known, outputs=Raw())
    five = replace(endless, population=5)
    share = max(0.0, 1.0 - count / 5)
    floor = model_of(five, data).learned.floor
    sigma = [s.mean_noise(model_of(s, data).noise, data.X, data.count, model_of(s, data).data)
             for s in (endless, five)]  # fmt: skip
    np.testing.assert_allclose(sigma[1], np.maximum(share * sigma[0], floor), rtol=1e-12)
    dof = [model_of(replace(s, noise=LogNoise()), data).data.dof for s in (endless, five)]
    np.testing.assert_allclose(dof[1], dof[0] / max(share, 0.01))
