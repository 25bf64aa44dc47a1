"""Both GPs together: the noise of the means (eq. 16), bounds and pending points."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bands import bands
from rahbo.model import (
    RBF,
    ConstantBeta,
    CubeNoise,
    DirectNoise,
    Lemma1Beta,
    LogNoise,
    ModelSettings,
    Raw,
    Standardized,
    condition,
    learn,
)
from rahbo.model.joint import mean_noise
from rahbo.model.units import STEP
from rahbo.trials import Observations
from tables import NOISES, dense, model_of, observed


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
@pytest.mark.parametrize(("low", "high"), [(None, None), (0.3, None), (None, 0.6), (0.2, 0.6)])
@pytest.mark.parametrize("noise", NOISES)
def test_noise_of_the_means_is_equation_16(noise, low, high, outputs):
    data = observed()
    plain = ModelSettings(
        noise=NOISES[noise], outputs=outputs, lam=0.7, beta_noise=ConstantBeta(1.5)
    )
    learned = learn(plain, data)
    noise_posterior = condition(plain, data, learned).noise
    upper = (
        noise_posterior.variance(data.X, 0.0 if noise == "known" else 1.5) * learned.units.scale**2
    )
    # Bounds at quantiles of the upper bound, so that some points are cut and some are not.
    low = None if low is None else float(np.quantile(upper, low))
    high = None if high is None else float(np.quantile(upper, high))
    truncated = upper.copy()
    if high is not None:
        truncated = np.minimum(truncated, high)
    if low is not None:
        truncated = np.maximum(truncated, low)
    settings = replace(plain, min_noise_var=low, max_noise_var=high)
    learned = learn(settings, data)
    model = condition(settings, data, learned)
    Sigma_hat = truncated / learned.units.scale**2 / data.count
    X_new = np.random.default_rng(1).random((8, 2))
    mu, sigma = model.mean.predict(X_new)
    expected_mu, expected_var = dense(
        learned.mean.kernel,
        data.X,
        (data.mean - learned.units.shift) / learned.units.scale,
        Sigma_hat,
        X_new,
        0.7,
        learned.mean.prior_mean,
    )
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-5, atol=4 * STEP)
    np.testing.assert_allclose(sigma**2, expected_var, rtol=1e-5)


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


@pytest.mark.parametrize("noise", NOISES)
def test_belief_holds_both_intervals(noise):
    settings = ModelSettings(
        noise=NOISES[noise], beta=ConstantBeta(1.7), beta_noise=ConstantBeta(0.9)
    )
    model = model_of(settings, observed())
    X = np.random.default_rng(2).random((9, 2))
    belief = bands(model, X)
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
    assert model.min_noise_var * model.units.scale**2 == pytest.approx(3.0, rel=4 * STEP)
    assert model_of(ModelSettings(), data).min_noise_var == pytest.approx(1e-8)


def test_max_noise_var_is_in_user_units_and_never_below_the_least():
    data = observed(scale=10.0)
    model = model_of(ModelSettings(max_noise_var=6.0), data)
    assert model.max_noise_var * model.units.scale**2 == pytest.approx(6.0, rel=4 * STEP)
    assert model_of(ModelSettings(), data).max_noise_var == math.inf
    tiny = model_of(ModelSettings(max_noise_var=1e-30), data)
    assert tiny.max_noise_var == tiny.min_noise_var > 0.0


@pytest.mark.parametrize("noise", NOISES)
def test_pending_points_narrow_both_bands_and_keep_both_means(noise):
    data = observed()
    settings = ModelSettings(noise=NOISES[noise], max_noise_var=0.8)
    model = model_of(settings, data)
    rng = np.random.default_rng(4)
    pending, count, X = rng.random((3, 2)), np.array([4, 1, 2]), rng.random((9, 2))
    later, before = model.with_pending(pending, count), bands(model, X)
    after = bands(later, X)
    np.testing.assert_allclose(after.mu, before.mu, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(after.noise_var, before.noise_var, rtol=1e-12, atol=1e-13)
    assert np.all(after.sigma < before.sigma)
    learned = model.learned
    highest = 0.8 / learned.units.scale**2
    noise_var = np.minimum(bands(model, pending).noise_upper, highest) / count
    known = np.minimum(bands(model, data.X).noise_upper, highest) / data.count
    _, var = dense(
        learned.mean.kernel,
        np.vstack([data.X, pending]),
        np.zeros(data.n + 3),
        np.append(known, noise_var),
        X,
    )
    np.testing.assert_allclose(after.sigma**2, var, rtol=STEP)
    if noise != "known":
        assert len(later.noise.gp.X) == data.n + 2
        assert np.all(after.noise_upper < before.noise_upper)


def test_no_pending_points_change_nothing():
    model = model_of(ModelSettings(), observed())
    assert model.with_pending(np.empty((0, 2)), np.empty(0, dtype=np.intp)) is model


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
    sigma = [mean_noise(s, model_of(s, data).noise, data.X, data.count, model_of(s, data).data)
             for s in (endless, five)]  # fmt: skip
    np.testing.assert_allclose(sigma[1], np.maximum(share * sigma[0], floor), rtol=1e-12)
    dof = [model_of(replace(s, noise=LogNoise()), data).data.dof for s in (endless, five)]
    np.testing.assert_allclose(dof[1], dof[0] / max(share, 0.01))


# Where values were observed


@pytest.mark.parametrize("noise", ["log", "direct", "known"])
@pytest.mark.parametrize("counts", [(1, 3), (2, 4)], ids=str)
def test_what_is_believed_at_the_observations_is_a_prediction(noise, counts):
    data = observed(counts=counts)
    model = model_of(ModelSettings(noise=NOISES[noise]), data)
    pending = model.with_pending(np.full((1, 2), 0.3), np.array([2]))
    for one in (model, pending):
        expected = (*one.mean.predict(data.X), *one.noise.latent(data.X))
        for found, value in zip(one.at_observations(), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("noise", ["log", "direct", "known"])
def test_predictions_at_a_list_follow_the_model(noise):
    data = observed(counts=(1, 3))
    listed = np.random.default_rng(4).random((50, 2))
    model = model_of(ModelSettings(noise=NOISES[noise]), data)
    pending = model.with_pending(listed[:2], np.array([2, 1]), np.random.default_rng(0))
    others = model_of(ModelSettings(noise=NOISES[noise]), observed(counts=(2, 4)))
    for one in (model, pending, model, replace(model, mean=others.mean)):
        expected = (*one.mean.predict(listed), *one.noise.latent(listed))
        for found, value in zip(one.predict_list(listed), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-8, atol=1e-10)


def test_of_equal_values_the_noise_that_is_known_is_the_scale():
    points = [np.array([0.1]), np.array([0.9])]
    equal, varied = (Observations.from_rounds(points, [[7.0], [y]]) for y in (7.0, 9.0))
    known = ModelSettings(noise=CubeNoise(lambda X: 100.0 * X[:, 0]))
    assert known.scale(equal) == known.units(equal).scale == math.sqrt(90.0)
    assert known.have_scale(equal)
    assert ModelSettings(max_noise_var=25.0).scale(equal) == 5.0
    assert ModelSettings().scale(equal) == 1.0
    assert not ModelSettings().have_scale(equal)
    for settings in (known, ModelSettings()):
        assert settings.scale(varied) == settings.units(varied).scale == 1.0


def test_values_that_became_nearly_equal_still_have_a_size():
    """As when the effects of blocks, found later, explain nearly all differences."""
    points = [np.array([0.1]), np.array([0.9])]
    first, later = (Observations.from_rounds(points, [[0.2], [0.2 + d]]) for d in (3e-3, 9e-15))
    settings = ModelSettings()
    assert condition(settings, later, learn(settings, first)).data.typical > 0.0
