"""Comparisons seed by seed."""

import numpy as np
import pytest

from race_tallies import tally_of
from rahbo.race import correlation, matched_pairs, pairs_of


def compared(a, b):
    plain = pairs_of(tally_of(a, b), np.array([0]))
    return plain, matched_pairs(plain, [dict(enumerate(a)), dict(enumerate(b))], 0)


def test_noise_that_both_share_drops_out(rng):
    shared = rng.normal(0.0, 10.0, 30)
    a, b = shared + rng.normal(1.0, 0.5, 30), shared + rng.normal(0.0, 0.5, 30)
    plain, matched = compared(a, b)
    assert matched.matched[0, 1]
    assert matched.leads[0, 1] == pytest.approx((a - b).mean())
    assert matched.errors[0, 1] < 0.2 * plain.errors[0, 1]
    assert matched.z[0, 1] > matched.thresholds(0.05)[0, 1]
    assert abs(plain.z[0, 1]) < plain.thresholds(0.05)[0, 1]


def test_values_that_share_nothing_are_compared_by_their_means(rng):
    used = [compared(*rng.normal(size=(2, 20)))[1].matched[0, 1] for _ in range(200)]
    assert np.mean(used) < 0.3
    few = compared([1.0, 2.0, 3.0], [1.1, 2.1, 3.1])[1]
    assert not few.matched.any()


def test_a_correlation_is_rather_too_small_than_too_large(rng):
    a = rng.normal(size=400)
    assert correlation(a, np.zeros(400)) == 0.0
    assert correlation(a, -a) == 0.0
    found = [
        correlation(x, 0.8 * x + 0.6 * rng.normal(size=12)) for x in rng.normal(size=(300, 12))
    ]
    assert np.mean(np.array(found) > 0.8) < 0.3
    assert np.median(found) > 0.5
