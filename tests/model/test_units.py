"""The border between the user's outputs and the model's."""

import numpy as np
import pytest

from rahbo.model import Limited, Raw, Standardized, Units, output_scale
from rahbo.model.units import SMALLEST_SCALE, STEP
from rahbo.risk import MeanStd, MeanVariance, Quantile
from rahbo.trials import Observations

UNITS = Units(shift=3.0, scale=2.0, sign=-1.0)


def test_there_and_back():
    outcome = np.array([1.0, 5.0, -2.0])
    f = UNITS.to_model(outcome)
    assert f.tolist() == [-1.0, 1.0, -2.5]
    assert UNITS.to_outcome(f).tolist() == outcome.tolist()
    assert UNITS.to_user(f).tolist() == (-outcome).tolist()
    assert UNITS.to_outcome(1.0) == 5.0
    assert UNITS.to_user(1.0) == -5.0


def test_variances_have_a_scale_and_no_sign():
    var = np.array([1.0, 0.25])
    assert UNITS.var_to_user(var).tolist() == [4.0, 1.0]
    assert UNITS.var_to_model(UNITS.var_to_user(var)).tolist() == var.tolist()
    assert UNITS.std_to_user(np.sqrt(var)).tolist() == [2.0, 1.0]


@pytest.mark.parametrize("risk", [MeanVariance(0.7), MeanStd(1.5), Quantile(0.1)])
def test_a_risk_measure_says_the_same_of_both(risk, rng):
    f, v = rng.standard_normal(9), rng.random(9)
    inside = UNITS.risk_to_model(risk).value(f, v)
    outside = risk.value(UNITS.to_outcome(f), UNITS.var_to_user(v))
    np.testing.assert_allclose(UNITS.to_outcome(inside), outside, rtol=1e-12)


def test_outputs_choose_the_units_and_keep_the_sign():
    X = [np.array([0.1]), np.array([0.9])]
    told = Observations.from_rounds(X, [[1.0, 3.0], [8.0]], sign=-1.0)
    assert told.values.tolist() == [-1.0, -3.0, -8.0]
    assert Raw().units(told) == Units(0.0, 1.0, -1.0)
    assert Standardized().units(told) == Units(-5.0, 3.0, -1.0, STEP)
    assert Standardized().units(told).to_model(told.mean).tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("values", "scale"), [([[1.0], [3.0]], 1.0), ([[1.0, 3.0]], np.sqrt(2.0)), ([[5.0]], 1.0)]
)
def test_the_scale_is_never_zero(values, scale):
    X = [np.array([float(i)]) for i in range(len(values))]
    assert output_scale(Observations.from_rounds(X, values)) == pytest.approx(scale)


def test_output_scale_falls_back_to_the_repeats_and_to_one():
    x, z = np.array([0.1]), np.array([0.9])
    assert output_scale(Observations.from_rounds([x, z], [[1.0], [3.0]])) == 1.0
    assert output_scale(Observations.from_rounds([x], [[0.0, 6.0]])) == pytest.approx(18.0**0.5)
    assert output_scale(Observations.from_rounds([x, z], [[2.0, 2.0], [2.0]])) == 1.0
    assert output_scale(Observations.from_rounds([x, z], [[2.0], [2.0]])) == 1.0


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-160, 1e-91])
def test_differences_too_small_to_square_count_as_nearly_none(size):
    points = [np.array([0.0]), np.array([1.0])]
    told = Observations.from_rounds(points, [[0.0], [size]])
    assert output_scale(told) in (SMALLEST_SCALE, 1.0)
    units = Standardized().units(told)
    assert np.all(np.abs(units.to_model(told.mean)) <= 0.1)
    assert np.isfinite(1e120 / units.scale**2)
    prior = Raw().hyperprior(1, told.mean)
    assert np.isfinite(np.exp(-prior.log_noise + prior.log_noise_reach))


def test_equal_values_are_as_far_apart_as_the_limit_is_away():
    X = np.linspace(0.0, 1.0, 11)[:, None]
    equal = Observations.from_rounds(list(X), [[5e-7]] * 11)
    for limit in (1e-6, -3.0):
        scale = Limited(limit=limit).units(equal).scale
        assert scale == pytest.approx(abs(limit - 5e-7))
    assert Limited(limit=5e-7).units(equal).scale == Standardized().units(equal).scale == 1.0
    varied = Observations.from_rounds(list(X), [[float(x[0])] for x in X])
    assert Limited(limit=9.0).units(varied) == Standardized().units(varied)


@pytest.mark.parametrize(("a", "b"), [(1e-6, 0.0), (3.0, 1e6), (1e6, -1e11)])
def test_the_model_sees_the_same_numbers_in_all_units(rng, a, b):
    points = list(rng.random((20, 1)))
    values = rng.standard_normal((20, 2))
    one, other = (Observations.from_rounds(points, v.tolist()) for v in (values, a * values + b))
    mine, its = Standardized().units(one), Standardized().units(other)
    np.testing.assert_array_equal(mine.to_model(one.mean), its.to_model(other.mean))
    variances = [
        u.rounded_var(u.var_to_model(told.sample_var)) for u, told in ((mine, one), (its, other))
    ]
    np.testing.assert_array_equal(*variances)
    np.testing.assert_allclose(variances[0], one.sample_var / mine.scale**2, rtol=1e-4, atol=STEP)


def test_differences_that_rounding_makes_are_none():
    points = [np.array([0.1]), np.array([0.9])]
    equal = Observations.from_rounds(points, [[1e9 + 0.1 + 0.2], [1e9 + 0.3]])
    assert output_scale(equal) == 1.0
    assert not Standardized().have_scale(equal)
    assert Raw().have_scale(equal)
    assert Standardized().have_scale(Observations.from_rounds(points, [[0.1 + 0.2], [0.31]]))
