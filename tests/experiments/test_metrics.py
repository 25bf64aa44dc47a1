"""Regrets against sums worked out by hand."""

import numpy as np
import pytest

from rahbo.experiments.metrics import Band, Runs
from rahbo.experiments.spec import Case
from rahbo.risk import MeanVariance

# On the sine problem the best f is 1, where the noise variance is 0.1.
RISK, BEST = MeanVariance(2.0), 1.0 - 2.0 * 0.1
CASE = Case("sine", "rahbo", 2.0, 5, 1, 3, 0)


def record(i, f, noise_var, reported=0.0, own=0.0):
    there = {
        "pessimistic": {"f": reported, "noise_var": 0.1},
        "own_round": {"f": own, "noise_var": 0.6},
    }
    return {
        "tried": {"f": f, "noise_var": noise_var},
        "reported": there,
        "evaluations": 5 * (i + 1),
    }


TRIED = [[(0.5, 0.1), (1.0, 1.1), (1.0, 0.1)], [(0.0, 0.6), (0.0, 0.1), (0.8, 0.2)]]
REPORTED = [[0.5, 0.9, 1.0], [0.1, 0.2, 0.3]]
RUNS = Runs(
    CASE,
    [
        [record(0, 9.0, 9.0), *(record(i + 1, *run[i], told[i]) for i in range(3))]
        for run, told in zip(TRIED, REPORTED, strict=True)
    ],
)


def test_the_initial_design_does_not_count():
    np.testing.assert_array_equal(RUNS.tried("f"), [[0.5, 1.0, 1.0], [0.0, 0.0, 0.8]])
    np.testing.assert_array_equal(RUNS.tried("noise_var"), [[0.1, 1.1, 0.1], [0.6, 0.1, 0.2]])
    np.testing.assert_array_equal(RUNS.evaluations(), [10, 15, 20])
    assert RUNS.seeds == 2


def test_cumulative_regret():
    # 0.8 - (f - 2 v) round by round: 0.5, 2.0, 0.0 and 2.0, 1.0, 0.4.
    expected = np.array([[0.5, 2.5, 2.5], [2.0, 3.0, 3.4]])
    np.testing.assert_allclose(RUNS.cumulative_regret(RISK), expected, atol=1e-7)
    by_evaluation = RUNS.cumulative_regret_by_evaluation(RISK)
    np.testing.assert_allclose(by_evaluation, 5 * expected, atol=1e-6)


def test_regret_of_the_reported_point():
    expected = [[0.5, 0.1, 0.0], [0.9, 0.8, 0.7]]
    np.testing.assert_allclose(RUNS.simple_regret(RISK), expected, atol=1e-7)
    np.testing.assert_allclose(
        RUNS.simple_regret(RISK, "own_round"), np.full((2, 3), 2.0), atol=1e-7
    )
    np.testing.assert_allclose(RUNS.suboptimality(), expected, atol=1e-7)


def test_learning_rounds_count_unless_told_otherwise():
    case = Case("sine", "rahbo-us", 2.0, 5, 1, 3, 0)
    runs = Runs(case, [[record(i, float(i), 0.1) for i in range(case.n_rounds)]])
    np.testing.assert_array_equal(runs.tried("f"), [[1, 2, 3]])
    np.testing.assert_array_equal(runs.without_learning().tried("f"), [[11, 12, 13]])
    np.testing.assert_array_equal(runs.without_learning().evaluations(), [60, 65, 70])
    np.testing.assert_array_equal(RUNS.without_learning().tried("f"), RUNS.tried("f"))


def test_bands():
    band = Band.over_seeds(np.array([[1.0, 2.0], [2.0, 2.0], [6.0, 2.0]]))
    np.testing.assert_allclose(band.mean, [3.0, 2.0])
    np.testing.assert_allclose(band.two_se, [2.0 * np.sqrt(7.0 / 3.0), 0.0])
    alone = Band.over_seeds(np.array([[1.0, 2.0]]))
    assert np.all(np.isnan(alone.two_se))
    assert float(Band.over_seeds(np.array([1.0, 3.0])).two_se) == pytest.approx(2.0)
