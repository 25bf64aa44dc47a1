"""Fitting both GPs: what repeats and residuals tell, units, hard data."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rahbo
from bands import bands
from rahbo.model import (
    RBF,
    CubeNoise,
    DirectNoise,
    Evidence,
    Hyperprior,
    Linear,
    LogNoise,
    Matern32,
    Matern52,
    ModelSettings,
    Raw,
    Standardized,
    condition,
    fit,
    learn,
    learning,
)
from rahbo.model.learning import contradicted
from rahbo.model.units import STEP
from rahbo.trials import Observations, observations_of
from tables import NOISES, model_of, observed

# Noise of the means


def test_the_mean_gp_is_fitted_under_this_noise():
    data, settings = observed(), ModelSettings()
    learned = learn(settings, data)
    y = learned.units.to_model(data.mean)
    sigma_hat = condition(settings, data, learned).noise.variance(data.X, 2.0) / data.count
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


# Many points


@pytest.mark.parametrize("counts", [(1, 1), (3, 3)], ids=["single", "repeated"])
def test_many_points_are_learned_from_a_selection_as_well_as_from_all(counts, monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.random((700, 2))
    noise = (0.1 + 0.4 * X[:, :1]) * rng.standard_normal((700, counts[0]))
    y = np.sin(7.0 * X[:, :1]) + X[:, 1:] + noise
    data = Observations.from_rounds(list(X), y.tolist())
    selected = learn(ModelSettings(), data)
    monkeypatch.setattr(learning, "ENOUGH", 700)
    everything = learn(ModelSettings(), data)
    assert selected.units == everything.units
    held_out = rng.random((2000, 2))
    beliefs = [condition(ModelSettings(), data, one).belief(held_out)
               for one in (selected, everything)]  # fmt: skip
    a, b = beliefs
    assert np.mean((a.mu - b.mu) ** 2 / b.sigma**2) < 0.1
    assert np.mean(np.abs(np.log(a.noise_var / b.noise_var))) < 0.1


# Single repeats


@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
def test_without_repeats_the_papers_model_learns_one_noise_level(outputs):
    rng = np.random.default_rng(3)
    X = rng.random((60, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.3 * rng.normal(size=60)
    data = Observations.from_rounds(list(X), [[v] for v in y])
    settings = ModelSettings(noise=DirectNoise(), outputs=outputs)
    learned = learn(settings, data)
    model = condition(settings, data, learned)
    assert learned.noise is None
    belief = bands(model, rng.random((7, 1)))
    level = belief.noise_var * learned.units.scale**2
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
    error = mu + 2.0 * np.log(model.units.scale) - (np.log(0.01) + 4.0 * grid[:, 0])
    # Two hundred values tell a straight line in log rho^2 to about 0.15.
    assert np.sqrt(np.mean(error**2)) < 0.4
    assert np.mean(np.abs(error) < 2.0 * sigma) > 0.8
    assert model.beta_noise == 2.0


@pytest.mark.parametrize("noise", ["log", "direct"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_single_values_leave_the_noise_open(n, noise):
    data = observed(n=n, d=2, counts=(1, 1))
    belief = bands(model_of(ModelSettings(noise=NOISES[noise]), data), data.X)
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
    noise_std = model.units.scale * np.sqrt(model.noise.variance(data.X))
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
    found = model.units.scale * np.sqrt(model.noise.variance(X))
    assert np.all(found[X[:, 0] > 0.6] < 0.03)
    assert np.all((found[X[:, 0] < 0.4] > 0.4) & (found[X[:, 0] < 0.4] < 2.5))


@pytest.mark.parametrize(("digits", "floor"), [(0, 0.29), (1, 0.029)])
def test_rounded_values_that_agree_are_not_taken_for_certain(digits, floor):
    rng = np.random.default_rng(2)
    X = rng.random((25, 1))
    y = 5.0 * X + 0.5 * floor * rng.standard_normal((25, 2))
    data = Observations.from_rounds(list(X), np.round(y, digits).tolist())
    model = model_of(ModelSettings(), data)
    noise_std = model.units.scale * np.sqrt(model.noise.variance(X))
    assert np.all((noise_std > 0.5 * floor) & (noise_std < 3.0 * floor))


@pytest.mark.parametrize(("noise", "used"), [("log", 14), ("direct", 10)])
def test_single_and_repeated_points_mix(noise, used):
    data = observed(counts=(1, 3))
    assert np.sum(data.count > 1) == 10
    model = model_of(ModelSettings(noise=NOISES[noise]), data)
    repeated = data.count > 1
    told = repeated if used == 10 else np.ones(14, dtype=bool)
    np.testing.assert_array_equal(model.data.X, data.X[told])
    np.testing.assert_array_equal(model.data.dof[repeated[told]], data.count[repeated] - 1)
    assert len(model.data.s2) == used
    # A residual is less than a degree of freedom, as its neighbours are not certain either.
    left = model.data.dof[~repeated[told]]
    assert np.all((left > 0) & (left < 1))
    assert len(model.mean.X) == data.n


@pytest.mark.parametrize("noise", ["log", "direct", "bounded", "known"])
def test_repeats_may_arrive_after_a_fit_without_them(noise):
    settings = ModelSettings(noise=NOISES[noise])
    singles = observed(counts=(1, 1))
    first = learn(settings, singles)
    repeated = Observations.from_rounds(
        [*singles.X, *singles.X[:4]], [*[[y] for y in singles.mean], *[[0.0, 1.0, 0.5]] * 4]
    )
    # Before the next fit the learned level goes on.
    before = condition(settings, repeated, first).belief(singles.X)
    assert np.all(np.isfinite(before.mu))
    later = learn(settings, repeated, first)
    after = condition(settings, repeated, later).belief(singles.X)
    assert np.all(np.isfinite(after.mu))
    fresh = learn(settings, repeated)
    assert later.mean.log_posterior >= fresh.mean.log_posterior - 1.0


# Units


@pytest.mark.parametrize("noise", [LogNoise(), DirectNoise()])
@pytest.mark.parametrize("power", [-30, -1, 3, 40])
def test_scaling_by_a_power_of_two_changes_no_bit_of_the_standardised_model(power, noise):
    settings = ModelSettings(noise=noise)
    plain, scaled = observed(seed=5), observed(seed=5, scale=2.0**power)
    a, b = learn(settings, plain), learn(settings, scaled)
    assert b.units.scale == a.units.scale * 2.0**power
    assert b.units.shift == a.units.shift * 2.0**power
    assert a.floor == b.floor
    for first, second in ((a.mean, b.mean), (a.noise, b.noise)):
        np.testing.assert_array_equal(first.theta, second.theta)
        assert first.log_posterior == second.log_posterior
    X = np.random.default_rng(6).random((9, 2))
    one, two = condition(settings, plain, a).belief(X), condition(settings, scaled, b).belief(X)
    for name in vars(one):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_standardised_outputs_have_mean_zero_and_unit_variance():
    data = observed(scale=7.0, shift=100.0)
    y = Standardized().units(data).to_model(data.mean)
    assert y.mean() == pytest.approx(0.0, abs=STEP)
    assert y.std() == pytest.approx(1.0, rel=STEP)


def test_raw_outputs_are_taken_as_they_are():
    data = observed(scale=7.0, shift=100.0)
    learned = learn(ModelSettings(outputs=Raw()), data)
    assert (learned.units.shift, learned.units.scale) == (0.0, 1.0)
    assert learned.mean.prior_mean == 0.0
    prior = Raw().hyperprior(2, data.mean)
    assert math.exp(prior.log_variance) == pytest.approx(np.mean(data.mean**2))
    assert prior.log_lengthscale_std == math.inf
    assert prior.mean_var == 0.0


def test_standardised_and_raw_agree_under_the_same_kernel():
    """With all hyperparameters given, units are only units."""
    data = observed(scale=5.0)
    units = Standardized().units(data)
    shift, scale = units.shift, units.scale
    known = CubeNoise(lambda X: 1.0 + X[:, 0])
    raw = ModelSettings(kernel=Matern52([0.4, 0.5], 9.0), noise=known, outputs=Raw())
    unit = ModelSettings(kernel=Matern52([0.4, 0.5], 9.0 / scale**2), noise=known)
    a, b = learn(raw, data), learn(unit, data)
    b = replace(b, mean=replace(b.mean, prior_mean=-shift / scale))
    X = np.random.default_rng(7).random((6, 2))
    one, two = condition(raw, data, a).belief(X), condition(unit, data, b).belief(X)
    np.testing.assert_allclose(one.mu, shift + scale * two.mu, rtol=1e-5, atol=scale * STEP)
    np.testing.assert_allclose(one.sigma, scale * two.sigma, rtol=1e-5)
    np.testing.assert_allclose(one.noise_var, scale**2 * two.noise_var, rtol=1e-9)


# Settings


@pytest.mark.parametrize("noise", NOISES)
def test_warm_start_learns_no_worse(noise):
    data, settings = observed(n=20), ModelSettings(noise=NOISES[noise])
    first = learn(settings, data)
    second = learn(settings, data, first)
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
    learned = learn(settings, observed(n=10))
    model = condition(settings, observed(n=14), learned)
    assert len(model.mean.X) == 14
    assert model.mean.kernel is learned.mean.kernel


# Hard cases


@pytest.mark.slow
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
    belief = bands(model, np.vstack([np.random.default_rng(8).random((5, d)), data.X]))
    assert all(np.all(np.isfinite(part)) for part in vars(belief).values())
    assert np.all(belief.sigma > 0)


@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
@pytest.mark.parametrize("noise", ["log", "direct"])
@pytest.mark.parametrize("values", [[0.0], [3.0], [0.0, 0.0], [3.0, 3.0], [1.0, 2.0]])
def test_the_same_values_at_all_points(values, noise, outputs):
    X = np.random.default_rng(9).random((6, 2))
    data = Observations.from_rounds(list(X), [values] * 6)
    model = model_of(ModelSettings(noise=NOISES[noise], outputs=outputs), data)
    belief = bands(model, X)
    assert all(np.all(np.isfinite(part)) for part in vars(belief).values())
    learned = model.learned
    found = learned.units.shift + learned.units.scale * belief.mu
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
    free = learn(ModelSettings(outputs=Standardized()), data).mean.kernel.lengthscales
    kept = learn(ModelSettings(outputs=Raw()), data).mean.kernel.lengthscales
    assert free[2] > 2.0
    assert kept[2] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_points_known_exactly_do_not_bend_a_mean_that_was_learned_before(seed):
    rng = np.random.default_rng(seed)
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, blocks=5, seed=0)

    def tell(x, blocks, f):
        values = f + 0.05 * rng.standard_normal(len(blocks))
        opt.tell({"x": float(x)}, values, block=[str(j) for j in blocks])

    for i, x in enumerate(np.linspace(0.0, 1.0, 14)):
        tell(x, [i % 5, (i + 1) % 5], np.sin(2.0 * x))
    learned = opt.model.learned
    assert not contradicted(opt.model)
    # Two neighbours in all blocks, which the smooth mean so far cannot explain.
    tell(0.30, range(5), 0.565)
    tell(0.31, range(5), 0.765)
    stale = condition(opt.settings.model, observations_of(opt.trials, 1.0), learned)
    assert contradicted(stale)
    bent, now = (
        np.ptp(m.units.to_user(m.mean.predict(np.linspace(0.0, 1.0, 101)[:, None])[0]))
        for m in (stale, opt.model)
    )
    assert bent > 1.5
    assert now < 1.2
