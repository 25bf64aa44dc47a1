"""Risk measures against sampling, other libraries' formulas and finite differences."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from rahbo.errors import DataError, SettingsError
from rahbo.risk import (
    ExpectedShortfall,
    MeanStd,
    MeanVariance,
    Quantile,
    RiskMeasure,
    check_monotone,
)

ALL = [
    MeanVariance(0.0),
    MeanVariance(1.7),
    MeanStd(0.0),
    MeanStd(2.5),
    Quantile(0.05),
    Quantile(0.4),
    ExpectedShortfall(0.05),
    ExpectedShortfall(0.9),
]


@dataclass(frozen=True)
class Quadratic(RiskMeasure):
    """A user's own measure, not homogeneous: f - v/2 - v²/8."""

    def value(self, f, v):
        return f - 0.5 * v - 0.125 * v**2

    def gradient(self, f, v):
        return np.ones_like(f + v), -0.5 - 0.25 * v + 0.0 * f


def test_mean_variance_is_equation_2():
    f, v = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    np.testing.assert_array_equal(MeanVariance(2.0).value(f, v), [0.0, -8.0])
    np.testing.assert_array_equal(MeanVariance(0.0).value(f, v), f)


def test_mean_variance_takes_a_negative_bound_of_the_variance():
    assert MeanVariance.allows_negative_variance
    assert MeanVariance(2.0).value(1.0, -0.5) == 2.0


@pytest.mark.parametrize("level", [0.001, 0.05, 0.3, 0.499])
def test_quantile_agrees_with_scipy_stats(level):
    expected = stats.norm.ppf(level, loc=1.5, scale=0.7)
    assert Quantile(level).value(1.5, 0.49) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("level", [0.001, 0.05, 0.5, 0.95])
def test_expected_shortfall_is_the_mean_of_the_quantiles_below(level):
    total, _ = integrate.quad(lambda p: stats.norm.ppf(p, 1.5, 0.7), 0.0, level, epsabs=1e-12)
    assert ExpectedShortfall(level).value(1.5, 0.49) == pytest.approx(total / level, rel=1e-7)


def test_quantile_and_shortfall_agree_with_a_large_sample():
    y = np.sort(np.random.default_rng(3).normal(-1.0, 2.0, 400_000))
    # Standard errors are 0.007 and 0.008 here: the margins are four of them.
    assert float(Quantile(0.05).value(-1.0, 4.0)) == pytest.approx(y[20_000], abs=0.028)
    tail = y[:20_000].mean()
    assert float(ExpectedShortfall(0.05).value(-1.0, 4.0)) == pytest.approx(tail, abs=0.032)


@pytest.mark.parametrize("risk", ALL, ids=repr)
def test_gradient_agrees_with_central_differences(risk):
    rng = np.random.default_rng(0)
    f, v = rng.normal(size=50), rng.uniform(0.1, 3.0, size=50)
    h = 1e-5
    df, dv = risk.gradient(f, v)
    slope_f = (risk.value(f + h, v) - risk.value(f - h, v)) / (2 * h)
    slope_v = (risk.value(f, v + h) - risk.value(f, v - h)) / (2 * h)
    np.testing.assert_allclose(df, slope_f, atol=1e-6)
    np.testing.assert_allclose(dv, slope_v, atol=1e-6)


@pytest.mark.parametrize("risk", ALL, ids=repr)
def test_shapes_broadcast_and_gradient_is_finite_without_noise(risk):
    f, v = np.zeros((3, 1)), np.zeros(4)
    assert risk.value(f, v).shape == (3, 4)
    assert risk.value(0.0, 0.0).shape == ()
    for slope in risk.gradient(f, v):
        assert slope.shape == (3, 4)
        assert np.isfinite(slope).all()
        # A clipped variance has slope zero, and their product must be zero too.
        assert (0.0 * slope == 0.0).all()


@given(
    st.sampled_from([*ALL, Quadratic()]),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
    st.floats(-1e2, 1e2),
    st.floats(0.0, 1e2),
)
def test_standardised_identity(risk, shift, scale, f, v):
    inner = risk.standardised(shift, scale)
    user = float(risk.value(shift + scale * f, scale**2 * v))
    back = shift + scale * float(inner.value(f, v))
    # Rounding is relative to the largest term, v² of the quadratic measure included.
    size = 1.0 + abs(shift) + scale * abs(f) + scale**2 * v + (scale**2 * v) ** 2
    assert back == pytest.approx(user, abs=1e-13 * size)


@pytest.mark.parametrize("risk", [*ALL, Quadratic()], ids=repr)
def test_standardised_gradient_agrees_with_central_differences(risk):
    inner = risk.standardised(3.0, 0.25)
    f, v, h = np.linspace(-1, 1, 7), np.linspace(0.5, 2.0, 7), 1e-5
    df, dv = inner.gradient(f, v)
    slope_f = (inner.value(f + h, v) - inner.value(f - h, v)) / (2 * h)
    slope_v = (inner.value(f, v + h) - inner.value(f, v - h)) / (2 * h)
    np.testing.assert_allclose(df, slope_f, atol=1e-6)
    np.testing.assert_allclose(dv, slope_v, atol=1e-6)


@given(st.integers(-8, 8), st.integers(-1000, 1000), st.integers(0, 1000))
def test_mean_variance_standardises_exactly_by_powers_of_two(power, f, v):
    scale = 2.0**power
    inner = MeanVariance(0.5).standardised(8.0, scale)
    assert inner == MeanVariance(0.5 * scale)
    user = MeanVariance(0.5).value(8.0 + scale * f, scale**2 * v)
    assert 8.0 + scale * inner.value(float(f), float(v)) == user


def test_std_measures_are_their_own_standardised_form():
    for risk in (MeanStd(2.0), Quantile(0.1), ExpectedShortfall(0.1)):
        assert risk.standardised(5.0, 3.0) is risk


def test_wrapper_keeps_whether_negative_variances_are_allowed():
    class Linear(Quadratic):
        allows_negative_variance = True

    assert Linear().standardised(1.0, 2.0).allows_negative_variance
    assert not Quadratic().standardised(1.0, 2.0).allows_negative_variance


@pytest.mark.parametrize("risk", [*ALL, Quadratic().standardised(1.0, 2.0)], ids=repr)
def test_measures_are_frozen_hashable_and_picklable(risk):
    assert pickle.loads(pickle.dumps(risk)) == risk
    assert hash(risk) == hash(pickle.loads(pickle.dumps(risk)))
    with pytest.raises(AttributeError):
        risk.alpha = 3.0


@pytest.mark.parametrize("risk", [*ALL, Quadratic()], ids=repr)
@pytest.mark.parametrize("units", [(0.0, 0.0), (0.0, -1.0), (0.0, np.nan), (np.inf, 1.0)])
def test_bad_units_are_refused(risk, units):
    with pytest.raises(SettingsError, match="standardised"):
        risk.standardised(*units)


@pytest.mark.parametrize("risk", [MeanStd(), Quantile(), ExpectedShortfall()], ids=repr)
def test_std_measures_refuse_negative_variances(risk):
    assert not risk.allows_negative_variance
    with pytest.raises(DataError, match=r"-0\.5"):
        risk.value([0.0, 0.0], [0.1, -0.5])


def test_settings_become_plain_floats():
    assert repr(MeanVariance(np.float64(2))) == "MeanVariance(alpha=2.0)"
    assert repr(Quantile(np.float32(0.25))) == "Quantile(level=0.25)"


@pytest.mark.parametrize("risk", [*ALL, Quadratic(), Quadratic().standardised(2.0, 3.0)], ids=repr)
def test_check_monotone_accepts_proper_measures(risk):
    check_monotone(risk)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_check_monotone_accepts_proper_measures_in_other_units(size):
    for risk in ALL:
        check_monotone(risk, means=(-size, size), variances=(0.0, size**2))


class Loving(Quadratic):
    """Likes noise."""

    def value(self, f, v):
        return f + 0.5 * v


class Falling(Quadratic):
    """Falls with the mean beyond 1."""

    def value(self, f, v):
        return np.where(f < 1.0, f, 2.0 - f) - v


class WrongSlope(Quadratic):
    """Claims another slope in v."""

    def gradient(self, f, v):
        return np.ones_like(f), np.full_like(f, -0.5)


class WrongMeanSlope(Quadratic):
    """Claims another slope in f."""

    def gradient(self, f, v):
        return np.full_like(f, 2.0), -0.5 - 0.25 * v


class Infinite(Quadratic):
    """Has an infinite slope without noise."""

    def value(self, f, v):
        return f - np.sqrt(v)

    def gradient(self, f, v):
        with np.errstate(divide="ignore"):
            return np.ones_like(f), -0.5 / np.sqrt(v)


class Scalar(Quadratic):
    """Answers with one number."""

    def value(self, f, v):
        return np.mean(f - v)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Loving(), "rises with the noise variance at f=-3, v=0"),
        (Falling(), "does not rise with the mean at f=0.9, v=0"),
        (WrongSlope(), "dR/dv is not the slope in v at f=-3, v=0.01"),
        (WrongMeanSlope(), "dR/df is not the slope in f"),
        (Infinite(), "dR/dv is not finite at f=-3, v=0"),
        (Scalar(), "broadcast shape"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, RiskMeasure) else "",
)
def test_check_monotone_says_where_a_measure_fails(wrong, message):
    with pytest.raises(SettingsError, match=message):
        check_monotone(wrong)


@pytest.mark.parametrize(
    "ranges",
    [{"n": 1}, {"means": (1.0, 1.0)}, {"variances": (-1.0, 1.0)}, {"variances": (2.0, 1.0)}],
)
def test_check_monotone_refuses_senseless_ranges(ranges):
    with pytest.raises(SettingsError, match="check_monotone"):
        check_monotone(MeanVariance(), **ranges)
