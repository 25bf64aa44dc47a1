"""The search that runs one fold of a candidate at a time."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from rahbo import Candidates, Float, MeanVariance
from rahbo.errors import SettingsError
from rahbo.integrations.sklearn import RiskAverseSearchCV

# The first feature tells how hard a row is, for all candidates alike.
X = np.repeat(np.linspace(-1.0, 1.0, 5), 6)[:, None]
Y = np.tile([0, 1], 15)
MARKS = "split{}_test_score"


class Known(ClassifierMixin, BaseEstimator):
    """Scores -(a - 0.3)^2 in the mean, and more on easy folds."""

    def __init__(self, a=0.5, fails_from=2.0, fails_in=None):
        self.a = a
        self.fails_from = fails_from
        self.fails_in = fails_in

    def fit(self, X, y=None):
        if self.fails_in is not None and self.fails_in not in np.asarray(X):
            raise ValueError("the fold is broken")
        if self.a >= self.fails_from:
            raise ValueError("a is too large")
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y=None):
        return -((self.a - 0.3) ** 2) + float(np.mean(np.asarray(X)[:, 0]))


def search(space=None, fails_from=2.0, **settings):
    settings = {"n_iter": 8, "cv": KFold(5), "random_state": 0, "fold_by_fold": True} | settings
    estimator = Known(fails_from=fails_from)
    return RiskAverseSearchCV(estimator, space or {"a": (0.0, 1.0)}, **settings)


def scores_of(found) -> np.ndarray:
    columns = [found.cv_results_[MARKS.format(i)] for i in range(found.n_splits_)]
    return np.column_stack(columns)


def test_more_candidates_for_the_same_number_of_fits():
    found = search().fit(X, Y)
    scores = scores_of(found)
    assert np.isfinite(scores).sum() in range(40, 45)
    assert len(scores) > 12
    # The best row has all its folds, and its score is that of scikit-learn.
    best = found.best_index_
    assert np.isfinite(scores[best]).all()
    assert found.best_score_ == pytest.approx(scores[best].mean())
    assert abs(found.best_params_["a"] - 0.3) < 0.1
    assert (found.n_splits_, repr(found.cv)) == (5, repr(KFold(5)))


@pytest.mark.parametrize("n_iter", [3, 6])
def test_with_two_folds_all_fits_are_made(n_iter):
    # Here every candidate has both folds before the budget is spent.
    found = search(n_iter=n_iter, cv=KFold(2)).fit(X, Y)
    assert np.isfinite(scores_of(found)).sum() in (2 * n_iter, 2 * n_iter + 1)


def test_a_row_that_lacks_folds_has_no_mean():
    found = search().fit(X, Y)
    table, partly = found.cv_results_, ~np.isfinite(scores_of(found)).all(axis=1)
    assert partly.any()
    assert np.isnan(table["mean_test_score"][partly]).all()
    assert np.isfinite(table["mean_test_score"][~partly]).all()
    assert table["rank_test_score"][found.best_index_] <= (~partly).sum()
    assert {len(column) for column in table.values()} == {len(partly)}


def test_scores_are_those_of_their_folds():
    found = search().fit(X, Y)
    folds = [float(X[test].mean()) for _, test in KFold(5).split(X)]
    a = np.array([params["a"] for params in found.cv_results_["params"]])
    expected = -((a[:, None] - 0.3) ** 2) + folds
    scores = scores_of(found)
    np.testing.assert_allclose(scores, np.where(np.isnan(scores), np.nan, expected))
    effects = found.optimizer_.blocks.effects
    for fold, effect in enumerate(folds):
        assert effects[str(fold)] == pytest.approx(effect - np.mean(folds), abs=0.05)


def test_a_failing_candidate_costs_few_fits_and_is_never_chosen():
    with pytest.warns(FitFailedWarning):
        found = search(fails_from=0.5, n_iter=10).fit(X, Y)
    scores = scores_of(found)
    a = np.array([params["a"] for params in found.cv_results_["params"]])
    assert (a >= 0.5).any()
    assert np.isnan(scores[a >= 0.5]).all()
    assert found.best_params_["a"] < 0.5
    failed = [t for t in found.optimizer_.trials if t.failures]
    assert len({t.params["a"] for t in failed}) == len(failed)


def test_a_list_may_end_and_every_row_is_complete():
    rows = Candidates([{"a": 0.1}, {"a": 0.3}, {"a": 0.9}])
    found = search(rows, n_iter=10).fit(X, Y)
    assert np.isfinite(scores_of(found)).all()
    assert found.best_params_ == {"a": 0.3}


def test_groups_several_metrics_and_training_scores():
    data, labels = make_classification(60, 5, random_state=0)
    found = RiskAverseSearchCV(
        LogisticRegression(),
        {"C": Float(1e-3, 1e2, log=True)},
        risk=MeanVariance(1.0),
        n_iter=5,
        cv=GroupKFold(3),
        scoring=["accuracy", "roc_auc"],
        refit="roc_auc",
        return_train_score=True,
        random_state=0,
        fold_by_fold=True,
    ).fit(data, labels, groups=np.arange(60) % 6)
    table = found.cv_results_
    assert np.isfinite(table["split0_test_roc_auc"]).any()
    assert np.isfinite(table["mean_train_accuracy"][found.best_index_])
    assert found.predict(data).shape == (60,)


def test_one_iteration_is_enough_for_a_candidate():
    found = search(n_iter=1).fit(X, Y)
    scores = scores_of(found)
    assert np.isfinite(scores[found.best_index_]).all()
    assert np.isfinite(scores).sum() in range(5, 10)


@pytest.mark.slow
def test_if_no_candidate_has_all_folds_the_recommendation_is_chosen_with_a_warning():
    estimator = Known(fails_in=-1.0)
    broken = RiskAverseSearchCV(
        estimator, {"a": (0.0, 1.0)}, n_iter=8, cv=KFold(5), random_state=0, fold_by_fold=True
    )
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="in all folds"):
        found = broken.fit(X, Y)
    assert found.best_params_ == found.recommendation_.params
    assert np.isnan(found.best_score_)


@pytest.mark.slow
def test_the_best_row_is_complete_with_many_folds():
    found = search(cv=KFold(15), n_iter=4, settings={"n_initial": 4}).fit(X, Y)
    assert np.isfinite(scores_of(found)[found.best_index_]).all()


def test_one_fold_is_not_enough():
    with pytest.raises(SettingsError, match="two folds"):
        search(cv=ShuffleSplit(1)).fit(X, Y)


def test_the_same_seed_searches_the_same_and_clones_and_pickles():
    one, other = search().fit(X, Y), clone(search()).fit(X, Y)
    assert one.cv_results_["params"] == other.cv_results_["params"]
    np.testing.assert_array_equal(scores_of(one), scores_of(other))
    again = pickle.loads(pickle.dumps(one))
    assert again.best_params_ == one.best_params_


@pytest.mark.slow
def test_workers_find_as_many():
    found = search(n_jobs=2, batch_size=3).fit(X, Y)
    assert np.isfinite(scores_of(found)).sum() >= 40
    assert np.isfinite(scores_of(found)[found.best_index_]).all()
