"""Regrets against sums worked out by hand."""

import numpy as np
import pytest

from rahbo.experiments import Band, Case, Runs, run_case
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
    np.testing.assert_array_equal(RUNS.evaluations(), [[10, 15, 20], [10, 15, 20]])
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
    np.testing.assert_array_equal(runs.without_learning().evaluations(), [[60, 65, 70]])
    np.testing.assert_array_equal(RUNS.without_learning().tried("f"), RUNS.tried("f"))


def test_the_best_point_tried_counts_the_initial_design_and_no_later_round():
    case = Case("sine", "gpucb", 0.0, 5, 2, 3, 0)
    tried = [(0.1, 0.1), (0.9, 0.5), (0.5, 0.1), (1.0, 0.9), (0.5, 0.1), (2.0, 0.0)]
    runs = Runs(case, [[record(i, *there) for i, there in enumerate(tried)]])
    # MV with alpha 2: -0.1, -0.1, 0.3, -0.8, 0.3.
    np.testing.assert_array_equal(runs.best_tried("f", RISK), [[0.5, 0.5, 0.5]])
    np.testing.assert_array_equal(runs.best_tried("noise_var", RISK), [[0.1, 0.1, 0.1]])
    neutral = MeanVariance(0.0)
    np.testing.assert_array_equal(runs.best_tried("f", neutral), [[0.9, 1.0, 1.0]])
    np.testing.assert_array_equal(runs.best_tried("noise_var", neutral), [[0.5, 0.9, 0.9]])


def test_a_table_is_judged_under_a_measure_that_the_method_does_not_know(smooth_forest):
    tried = [(0.9, 0.05), (0.8, 0.01), (0.7, 0.001), (0.95, 0.1)]
    records = [
        record(i, *there) | {"reported": {"empirical": {"f": 0.95, "noise_var": 0.1}}}
        for i, there in enumerate(tried)
    ]
    on_table = Runs(Case("forest", "gpucb", 0.0, 5, 1, 3, 0), [records])
    assert on_table.judged("f", MeanVariance(20.0), "empirical").tolist() == [[0.8, 0.7, 0.7]]
    assert on_table.reported("f", "empirical").tolist() == [[0.95] * 3]
    best = smooth_forest.optimum(MeanVariance(20.0)).value
    np.testing.assert_allclose(
        on_table.simple_regret(MeanVariance(20.0), "empirical"),
        [[best - 0.6, best - 0.68, best - 0.68]],
    )
    elsewhere = Runs(Case("sine", "gpucb", 0.0, 5, 1, 3, 0), [records])
    assert elsewhere.judged("f", MeanVariance(20.0), "empirical").tolist() == [[0.95] * 3]


def test_on_a_table_a_method_that_knows_the_measure_is_judged_as_it_reports(smooth_forest):
    case = Case("forest", "rahbo", 20.0, 5, 4, 4, 1)
    runs, risk = Runs(case, [run_case(case)]), MeanVariance(20.0)
    for quantity in ("f", "noise_var"):
        np.testing.assert_allclose(
            runs.judged(quantity, risk, "empirical"), runs.reported(quantity, "empirical")
        )
        np.testing.assert_array_equal(runs.judged(quantity, risk), runs.reported(quantity))


def test_bands():
    band = Band.over_seeds(np.array([[1.0, 2.0], [2.0, 2.0], [6.0, 2.0]]))
    np.testing.assert_allclose(band.mean, [3.0, 2.0])
    np.testing.assert_allclose(band.two_se, [2.0 * np.sqrt(7.0 / 3.0), 0.0])
    alone = Band.over_seeds(np.array([[1.0, 2.0]]))
    assert np.all(np.isnan(alone.two_se))
    assert float(Band.over_seeds(np.array([1.0, 3.0])).two_se) == pytest.approx(2.0)
