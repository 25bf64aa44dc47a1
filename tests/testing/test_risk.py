"""Every risk measure keeps its promises, and measures that break one are refused."""

import numpy as np
import pytest

from outside import Quadratic
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, Quantile, RiskMeasure
from rahbo.testing import check_risk

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


@pytest.mark.slow
@pytest.mark.parametrize("risk", [*ALL, Quadratic()], ids=repr)
def test_a_measure_keeps_its_promises(risk):
    check_risk(risk)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_measures_keep_their_promises_in_other_units(size):
    for risk in ALL[1::3]:
        check_risk(risk, means=(-size, size), variances=(0.0, size**2))


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


class Unscaled(Quadratic):
    """Takes its own units for everybody's."""

    def standardised(self, shift, scale):
        return self


class Unclipped(Quadratic):
    """Forgets in other units that it takes negative variances."""

    allows_negative_variance = True

    def value(self, f, v):
        return f - v

    def gradient(self, f, v):
        return np.ones_like(f + v), -np.ones_like(f + v)

    def standardised(self, shift, scale):
        return MeanStd(0.0)


class Weighty(Quadratic):
    """Says that it is linear in the variance."""

    penalty = "noise variance"
    weight = 0.5


class HalfWeighty(Quadratic):
    """Has a weight of nothing."""

    weight = 0.5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Loving(), "rises with the noise variance at f=-3, v=0"),
        (Falling(), "does not rise with the mean at f=0.9, v=0"),
        (WrongSlope(), "dR/dv is not the slope in v at f=-3, v=0.01"),
        (WrongMeanSlope(), "dR/df is not the slope in f"),
        (Infinite(), "dR/dv is not finite at f=-3, v=0"),
        (Scalar(), "broadcast shape"),
        (Unscaled(), "same value in other units"),
        (Unclipped(), "must not change allows_negative_variance"),
        (Weighty(), "mean less 0.5 times the noise variance"),
        (HalfWeighty(), "both a weight and a penalty"),
        (MeanStd, "must be derived from RiskMeasure"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, RiskMeasure) else "",
)
def test_a_broken_promise_is_named_with_its_place(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_risk(wrong)


@pytest.mark.parametrize(
    "ranges",
    [{"n": 1}, {"means": (1.0, 1.0)}, {"variances": (-1.0, 1.0)}, {"variances": (2.0, 1.0)}],
)
def test_senseless_ranges_are_refused(ranges):
    with pytest.raises(ValueError, match="check_risk"):
        check_risk(MeanVariance(), **ranges)
