"""Acquisition values against the bounds they are made of, gradients against differences."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bands import bands
from differences import slope_of
from rahbo.model import (
    ConstantBeta,
    CubeNoise,
    DirectNoise,
    KnownNoise,
    LogNoise,
    ModelSettings,
    Raw,
    Standardized,
    condition,
    learn,
)
from rahbo.policy import (
    NoiseUncertainty,
    optimistic,
    optimistic_at_mean_noise,
    pessimistic,
    pessimistic_at_mean_noise,
)
from rahbo.policy.acquisition import Marginals, central
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, Quantile, RiskMeasure
from rahbo.space import Space
from rahbo.trials import Observations


@dataclass(frozen=True)
class QuadraticRisk(RiskMeasure):
    """A measure of one's own, not homogeneous: f - v/2 - v^2/8."""

    def value(self, f, v):
        return np.asarray(f - 0.5 * v - 0.125 * v**2)

    def gradient(self, f, v):
        return np.ones_like(f + v), -0.5 - 0.25 * v + 0.0 * f


RISKS = [
    MeanVariance(0.0),
    MeanVariance(1.3),
    MeanStd(0.8),
    Quantile(0.05),
    ExpectedShortfall(0.1),
    QuadraticRisk(),
]
NOISES = {
    "log": LogNoise(),
    "direct": DirectNoise(),
    "bounded": DirectNoise(max_noise_var=2.0),
    "cube": CubeNoise(lambda X: 0.05 + X[:, 0] ** 2 + 0.3 * np.sin(3.0 * X[:, 1])),
}
BOUNDS = [optimistic, pessimistic, optimistic_at_mean_noise, pessimistic_at_mean_noise]
BETA, BETA_NOISE = 1.6, 0.7


def observed():
    rng = np.random.default_rng(0)
    X = rng.random((15, 2))
    values = [3.0 * np.sin(4.0 * x.sum()) + 2.0 + (0.2 + x[0]) * rng.normal(size=4) for x in X]
    return Observations.from_rounds(list(X), values)


DATA = observed()


def model_of(noise, outputs=None, **settings):
    made = ModelSettings(
        noise=noise,
        beta=ConstantBeta(BETA),
        beta_noise=ConstantBeta(BETA_NOISE),
        outputs=outputs or Standardized(),
        **settings,
    )
    return condition(made, DATA, learn(made, DATA))


@pytest.fixture(scope="module")
def models():
    return {name: model_of(noise) for name, noise in NOISES.items()}


X_NEW = np.random.default_rng(1).uniform(0.05, 0.95, (6, 2))


@pytest.mark.parametrize("noise", NOISES)
def test_the_centre_is_the_risk_at_both_centres(models, noise):
    model = models[noise]
    expected = model.units.risk_to_model(MeanVariance(1.3)).value(
        model.mean.predict(X_NEW)[0], model.noise.variance(X_NEW)
    )
    np.testing.assert_allclose(central(model, MeanVariance(1.3)).value(X_NEW), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("risk", RISKS, ids=repr)
@pytest.mark.parametrize("noise", NOISES)
def test_gradients(models, noise, risk, bound):
    acquisition = bound(models[noise], risk)
    value, gradient = acquisition.value_and_gradient(X_NEW)
    np.testing.assert_allclose(value, acquisition.value(X_NEW), rtol=1e-12)
    expected = np.array([slope_of(lambda x: acquisition.value(x[None])[0], x) for x in X_NEW])
    size = np.abs(expected).max()
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6 * size)


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [Standardized(), Raw()])
@pytest.mark.parametrize("risk", RISKS, ids=repr)
@pytest.mark.parametrize("noise", NOISES)
def test_values_are_the_risk_of_the_bounds_in_user_units(noise, risk, outputs):
    model = model_of(NOISES[noise], outputs)
    shift, scale = model.units.shift, model.units.scale
    mu, sigma = model.mean.predict(X_NEW)
    g, spread = model.noise.latent(X_NEW)
    for bound, z_f, z_noise in (
        (optimistic, 1, -1),
        (pessimistic, -1, 1),
        (optimistic_at_mean_noise, 1, 0),
        (pessimistic_at_mean_noise, -1, 0),
    ):
        latent = g + z_noise * BETA_NOISE * spread
        v = scale**2 * (np.exp(latent) if noise == "log" else latent)
        if not isinstance(risk, MeanVariance):
            v = np.maximum(v, scale**2 * model.min_noise_var)
        f = shift + scale * (mu + z_f * BETA * sigma)
        found = shift + scale * bound(model, risk).value(X_NEW)
        np.testing.assert_allclose(found, risk.value(f, v), rtol=1e-10)


@pytest.mark.parametrize("noise", NOISES)
def test_mean_variance_is_line_4_of_algorithm_1(models, noise):
    model, alpha = models[noise], 1.3
    belief, scale = bands(model, X_NEW), model.units.scale
    np.testing.assert_allclose(
        scale * optimistic(model, MeanVariance(alpha)).value(X_NEW),
        scale * belief.f_upper - alpha * scale**2 * belief.noise_lower,
        rtol=1e-10,
    )
    np.testing.assert_allclose(
        scale * pessimistic(model, MeanVariance(alpha)).value(X_NEW),
        scale * belief.f_lower - alpha * scale**2 * belief.noise_upper,
        rtol=1e-10,
    )


@pytest.mark.parametrize("risk", RISKS, ids=repr)
@pytest.mark.parametrize("noise", NOISES)
def test_predictions_give_the_values_of_every_widened_bound(models, noise, risk):
    X = np.random.default_rng(8).random((6, 2))
    bound, model = optimistic(models[noise], risk), models[noise]
    at = Marginals(*model.mean.predict(X), *model.noise.latent(X))
    for width in (1.0, 2.0, 4.0):
        wide = bound.widened(width)
        np.testing.assert_array_equal(wide.value_of(at), wide.value(X))
    assert bound.widened(4.0).z_f == 4.0 * BETA
    assert bound.widened(4.0).z_noise == 4.0 * bound.z_noise


@pytest.mark.parametrize("risk", RISKS, ids=repr)
@pytest.mark.parametrize("noise", NOISES)
def test_each_point_may_have_a_width_of_its_own(models, noise, risk):
    X = np.random.default_rng(9).random((6, 2))
    bound = optimistic(models[noise], risk)
    widths = np.array([1.0, 2.0, 4.0, 1.0, 4.0, 2.0])
    F, G = bound.value_and_gradient_widened(X, widths)
    for i, width in enumerate(widths):
        value, gradient = bound.widened(width).value_and_gradient(X[i : i + 1])
        np.testing.assert_allclose(F[i], value[0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(G[i], gradient[0], rtol=1e-8, atol=1e-10)


def test_only_a_bound_that_rises_with_both_deviations_is_optimistic(models):
    bound = optimistic(models["log"], MeanVariance(1.0))
    assert bound.is_optimistic
    assert central(models["log"], MeanVariance(1.0)).is_optimistic
    assert not pessimistic(models["log"], MeanVariance(1.0)).is_optimistic
    assert not replace(bound, z_noise=0.5).is_optimistic


@pytest.mark.parametrize("risk", RISKS, ids=repr)
@pytest.mark.parametrize("noise", NOISES)
def test_bounds_are_ordered(models, noise, risk):
    model = models[noise]
    X = np.random.default_rng(2).random((40, 2))
    best, good, bad, worst = (
        bound(model, risk).value(X)
        for bound in (optimistic, optimistic_at_mean_noise, pessimistic_at_mean_noise, pessimistic)
    )
    assert np.all(best >= good)
    assert np.all(good > bad)
    assert np.all(bad >= worst)


def test_negative_variances_reach_mean_variance_only():
    made = ModelSettings(noise=DirectNoise(), beta_noise=ConstantBeta(50.0))
    model = condition(made, DATA, learn(made, DATA))
    lower = bands(model, X_NEW).noise_lower
    assert np.all(lower < 0)
    f, scale = bands(model, X_NEW).f_upper, model.units.scale
    linear = optimistic(model, MeanVariance(2.0))
    np.testing.assert_allclose(linear.value(X_NEW), f - 2.0 * scale * lower, rtol=1e-10)
    clipped = optimistic(model, MeanStd(2.0))
    expected = f - 2.0 * np.sqrt(model.min_noise_var)
    np.testing.assert_allclose(clipped.value(X_NEW), expected, rtol=1e-10)
    # Where the variance is clipped it has no slope: what is left is the slope of ucb_f.
    plain = optimistic(model, MeanVariance(0.0)).value_and_gradient(X_NEW)[1]
    np.testing.assert_allclose(clipped.value_and_gradient(X_NEW)[1], plain, rtol=1e-9, atol=1e-12)


def test_a_lower_bound_in_user_units_clips_too():
    model = model_of(DirectNoise(), min_noise_var=100.0)
    scale = model.units.scale
    expected = scale * bands(model, X_NEW).f_lower - 3.0 * 10.0
    found = scale * pessimistic(model, MeanStd(3.0)).value(X_NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def known_in_user_units(models):
    space = Space.of({"a": (-5.0, 10.0), "b": (0.0, 15.0)})
    known = KnownNoise(lambda p: 0.1 + 0.01 * p["a"] ** 2 + 0.02 * p["b"]).bind(space)
    return optimistic(model_of(known), MeanStd(1.0))


def one_learned_level(models):
    made = ModelSettings()
    data = Observations.from_rounds(list(DATA.X), [[y] for y in DATA.mean])
    return pessimistic(condition(made, data, learn(made, data)), Quantile(0.1))


def with_pending_points(models):
    model = models["log"].with_pending(X_NEW[:2] + 0.03, np.array([3, 1]))
    return optimistic(model, ExpectedShortfall(0.1))


def uncertain_noise(models):
    return NoiseUncertainty(models["direct"].noise)


@pytest.mark.parametrize(
    "make", [known_in_user_units, one_learned_level, with_pending_points, uncertain_noise]
)
def test_gradients_of_other_acquisitions(models, make):
    acquisition = make(models)
    value, gradient = acquisition.value_and_gradient(X_NEW)
    np.testing.assert_allclose(value, acquisition.value(X_NEW), rtol=1e-12)
    expected = np.array([slope_of(lambda x: acquisition.value(x[None])[0], x) for x in X_NEW])
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("noise", NOISES)
def test_rows_are_independent(models, noise):
    acquisition = optimistic(models[noise], MeanVariance(1.0))
    value, gradient = acquisition.value_and_gradient(X_NEW)
    for i, x in enumerate(X_NEW):
        alone = acquisition.value_and_gradient(x[None])
        np.testing.assert_allclose(alone[0][0], value[i], rtol=1e-11)
        np.testing.assert_allclose(alone[1][0], gradient[i], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("noise", ["log", "direct", "bounded"])
def test_noise_uncertainty_is_the_spread_of_the_noise_gp(models, noise):
    value = NoiseUncertainty(models[noise].noise).value(X_NEW)
    np.testing.assert_allclose(value, models[noise].noise.gp.predict(X_NEW)[1], rtol=1e-12)
