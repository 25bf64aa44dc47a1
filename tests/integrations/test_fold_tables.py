"""Folds, and the table of what fits on them gave."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from rahbo.errors import SettingsError
from rahbo.integrations.fold_tables import Folds, FoldTable

ROWS = np.arange(12)[:, None]


def test_all_folds_or_one_of_them():
    expected = list(KFold(3).split(ROWS))
    for fold in (None, 0, 2):
        folds = Folds(KFold(3), fold)
        wanted = expected if fold is None else [expected[fold]]
        assert folds.get_n_splits(ROWS) == len(wanted)
        assert folds.n_splits == 3
        for found, own in zip(folds.split(ROWS), wanted, strict=True):
            np.testing.assert_array_equal(found[0], own[0])
            np.testing.assert_array_equal(found[1], own[1])


def test_folds_are_drawn_once_and_not_sent_to_workers():
    folds = Folds(ShuffleSplit(1))
    (one,), (other,) = folds.split(ROWS), folds.split(ROWS)
    np.testing.assert_array_equal(one[0], other[0])
    folds.split(np.arange(100_000)[:, None])
    assert len(pickle.dumps(folds)) < 1000


def test_missing_and_failed_fits_are_filled():
    table = FoldTable(3, error_score=-9.0)
    fit = {"test_scores": {"a": 1.0}, "fit_time": 2.0}
    table.keep({"x": 0}, 1, fit)
    table.keep({"x": 1}, 0, {})
    found = table.fits()
    assert len(found) == 6
    assert found[1] == fit
    assert np.isnan(found[0]["test_scores"]["a"])
    assert np.isnan(found[0]["fit_time"])
    assert found[3]["test_scores"] == {"a": -9.0}
    assert table.params == [{"x": 0}, {"x": 1}]


def test_only_the_newest_fits_are_taken():
    table = FoldTable(2, np.nan)
    table.take([{"n": 1}])
    assert table.newest() == [{"n": 1}]
    table.take([{"n": 1}, {"n": 2}])
    assert table.newest() == [{"n": 2}]


def test_the_score_to_search_by():
    table = FoldTable(2, error_score=-9.0)
    assert table.score({"test_scores": 0.5}, True) == 0.5
    assert table.score({"test_scores": {"a": 0.5, "b": 0.1}}, "b") == 0.1
    assert table.score({}, True) == -9.0
    with pytest.raises(SettingsError, match="must name the one"):
        table.score({"test_scores": {"a": 0.5}}, True)
