"""Moments value by value, and comparisons that hold after every value."""

import numpy as np
import pytest
from scipy import stats

from race_tallies import tally_of
from rahbo.race import pairs_of, threshold


def test_moments_are_those_of_all_values(rng):
    values = rng.lognormal(size=40) + 1e6
    tally = tally_of(values, values[:7])
    off = values - values.mean()
    assert tally.counts.tolist() == [[40.0, 7.0]]
    assert tally.means[0, 0] == pytest.approx(values.mean())
    assert tally.variances[0, 0] == pytest.approx(values.var(ddof=1))
    assert tally.cubes[0, 0] == pytest.approx((off**3).sum(), rel=1e-6)
    assert tally.halves[:, 0, 0] == pytest.approx([values[::2].sum(), values[1::2].sum()])
    assert tally.of([1]).means[0, 0] == pytest.approx(values[:7].mean())


def test_with_many_values_the_statistic_is_welch_s(rng):
    a, b = rng.normal(0.0, 1.0, 3000), rng.normal(0.1, 3.0, 2000)
    pairs = pairs_of(tally_of(a, b), np.array([0]))
    expected = stats.ttest_ind(a, b, equal_var=False).statistic
    assert pairs.z[0, 1] == pytest.approx(expected, rel=0.02)
    assert pairs.leads[0, 1] == pytest.approx(a.mean() - b.mean())
    turned = pairs_of(tally_of(a, b), np.array([1]))
    assert turned.z[0, 0] == pytest.approx(-pairs.z[0, 1])


def test_few_values_and_skewed_ones_count_for_less():
    quiet = tally_of([1.0, 1.1, 0.9, 1.0, 1.05], [0.0, 0.1, -0.1, 0.0, 0.05])
    pairs = pairs_of(quiet, np.array([0]))
    assert 0.0 < pairs.z[0, 1] < pairs.leads[0, 1] / pairs.errors[0, 1]
    # Constant values may not be constant for ever.
    constant = pairs_of(tally_of([1.0] * 5, [0.0] * 5), np.array([0]))
    assert constant.errors[0, 1] > 0.0
    assert constant.z[0, 1] < constant.thresholds(0.05)[0, 1]
    equal = pairs_of(tally_of([1.0] * 5, [1.0] * 5), np.array([0]))
    assert equal.z[0, 1] == 0.0


def test_the_interval_leaves_out_zero_where_the_lead_is_called(rng):
    for n in (6, 15, 60):
        a, b = rng.normal(1.0, 1.0, n), rng.normal(0.0, 1.0, n)
        pairs = pairs_of(tally_of(a, b), np.array([0]))
        low, high = pairs.bounds(0.05)
        called = abs(pairs.z[0, 1]) > pairs.thresholds(0.05)[0, 1]
        assert called == (not low[0, 1] <= 0.0 <= high[0, 1])


@pytest.mark.slow
def test_a_random_walk_seldom_crosses_the_threshold_at_any_time(rng):
    steps = rng.standard_normal((4000, 2000)).cumsum(axis=1)
    n = np.arange(1.0, 2001.0)
    crossed = (np.abs(steps) / np.sqrt(n) > threshold(n, 0.05)).any(axis=1).mean()
    assert 0.01 < crossed < 0.05
