"""Folds, and tables of what fits on them gave."""

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit

from rahbo.integrations.fold_tables import FoldTable, SingleFold, SplitOnce, score_of
from rahbo.trials import Suggestion

ROWS = np.arange(12)[:, None]


def test_a_single_fold_is_one_of_all():
    folds = SingleFold(KFold(3))
    assert folds.get_n_splits(ROWS) == 1
    assert folds.n_splits == 3
    for folds.fold, (train, test) in enumerate(KFold(3).split(ROWS)):
        ((some, others),) = folds.split(ROWS)
        np.testing.assert_array_equal(some, train)
        np.testing.assert_array_equal(others, test)


def test_folds_are_drawn_once():
    for folds in (SplitOnce(ShuffleSplit(1)), SingleFold(ShuffleSplit(1))):
        (one,), (other,) = folds.split(ROWS), folds.split(ROWS)
        np.testing.assert_array_equal(one[0], other[0])


def test_missing_and_failed_fits_are_filled():
    table = FoldTable(3)
    fit = {"test_scores": {"a": 1.0}, "fit_time": 2.0}
    first, second = (Suggestion(i, {"x": i}, (0,)) for i in range(2))
    table.keep(first, 1, fit)
    table.keep(second, 0, {})
    found = table.fits(-9.0)
    assert len(found) == 6
    assert found[1] == fit
    assert np.isnan(found[0]["test_scores"]["a"])
    assert np.isnan(found[0]["fit_time"])
    assert found[3]["test_scores"] == {"a": -9.0}
    assert table.params == [{"x": 0}, {"x": 1}]


def test_only_the_newest_fits_are_taken():
    table = FoldTable(2)
    table.take([{"n": 1}])
    assert table.newest(1) == [{"n": 1}]
    table.take([{"n": 1}, {"n": 2}])
    assert table.newest(1) == [{"n": 2}]
    assert table.newest(2) == [{}, {}]


def test_the_score_to_search_by():
    assert score_of({"test_scores": 0.5}, True) == 0.5
    assert score_of({"test_scores": {"a": 0.5, "b": 0.1}}, "b") == 0.1
    assert np.isnan(score_of({}, True))
