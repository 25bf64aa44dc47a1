"""Risk measures against sampling, other libraries' formulas and finite differences."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from outside import Quadratic
from rahbo.errors import DataError, SettingsError
from rahbo.risk import (
    ExpectedShortfall,
    MeanStd,
    MeanVariance,
    Quantile,
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
