"""The search over cross-validated parameters, beside scikit-learn's own."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from rahbo import Candidates, Float, Int, MeanStd, MeanVariance
from rahbo.errors import SettingsError, SpaceError
from rahbo.integrations.sklearn import RiskAverseSearchCV, risk_averse_refit

X, Y = make_classification(60, 5, random_state=0)
C = {"C": Float(1e-3, 1e2, log=True)}
# The first feature tells how hard a row is.
HARDNESS = np.repeat(np.linspace(-1.0, 1.0, 5), 6)[:, None]


class Known(ClassifierMixin, BaseEstimator):
    """Scores a − 0.3 in the mean, which varies between folds as ``swing`` says."""

    def __init__(self, a=0.5, swing=0.0, fails_from=2.0):
        self.a = a
        self.swing = swing
        self.fails_from = fails_from

    def fit(self, X, y=None):
        if self.a >= self.fails_from:
            raise ValueError("a is too large")
        self.classes_ = np.array([0, 1])
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y=None):
        return self.a - 0.3 + self.swing * self.a**2 * float(np.mean(np.asarray(X)[:, 0]))


def known_search(space=None, **settings):
    estimator = Known(swing=settings.pop("swing", 0.0), fails_from=settings.pop("fails_from", 2.0))
    settings = {"n_iter": 10, "cv": KFold(5), "random_state": 0} | settings
    return RiskAverseSearchCV(estimator, space or {"a": (0.0, 1.0)}, **settings)


# -- beside RandomizedSearchCV ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        (LogisticRegression(), {"C": [0.1, 1.0]}),
        (Pipeline([("pca", PCA()), ("ridge", Ridge())]), {"ridge__alpha": [0.1, 1.0]}),
    ],
    ids=["classifier", "pipeline"],
)
def test_it_passes_every_estimator_check_that_randomized_search_passes(estimator, space) -> None:
    passed = {}
    for kind in (RandomizedSearchCV, RiskAverseSearchCV):
        search = kind(estimator, space, n_iter=2, cv=2, error_score="raise", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(search, on_skip=None, on_fail=None)
        passed[kind] = [row["check_name"] for row in found if row["status"] == "passed"]
    assert len(passed[RandomizedSearchCV]) > 40
    assert passed[RiskAverseSearchCV] == passed[RandomizedSearchCV]


@pytest.fixture(scope="module")
def routing():
    return pytest.importorskip("sklearn.tests.test_metaestimators_metadata_routing")


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        "test_default_request",
        "test_error_on_missing_requests_for_sub_estimator",
        "test_setting_request_on_sub_estimator_removes_error",
        "test_non_consuming_estimator_works",
        "test_metadata_is_routed_correctly_to_scorer",
        "test_metadata_is_routed_correctly_to_splitter",
    ],
)
def test_metadata_is_routed_as_by_randomized_search(routing, check) -> None:
    entries = (e for e in routing.METAESTIMATORS if e["metaestimator"] is RandomizedSearchCV)
    ours = {"metaestimator": RiskAverseSearchCV, "init_args": {"space": {"alpha": [0.1, 0.2]}}}
    getattr(routing, check)(next(entries) | ours)


def test_parameters_are_validated_as_in_scikit_learn() -> None:
    for wrong in ({"n_iter": 0}, {"risk": 1.0}, {"batch_size": 0}, {"space": 3}, {"settings": 1}):
        with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter of RiskAverse"):
            known_search().set_params(**wrong).fit(HARDNESS)


def test_callbacks_see_every_fit() -> None:
    recorders = pytest.importorskip("sklearn.callback.tests._utils")
    recorder = recorders.RecordingCallback()
    search = known_search(n_iter=8).set_callbacks(recorder).fit(HARDNESS)
    # The root, the search, the refit, the design of six, two batches of one, and forty fits.
    for hook in ("on_fit_task_begin", "on_fit_task_end"):
        assert recorder.count_hooks(hook) == 3 + 3 + 8 * search.n_splits_


# -- the search ------------------------------------------------------------------------------


def test_the_folds_are_the_repeats() -> None:
    search = known_search(swing=0.5).fit(HARDNESS)
    results = search.cv_results_
    assert len(results["params"]) == 10
    for row, trial in enumerate(search.optimizer_.trials):
        assert trial.params == results["params"][row]
        assert [trial.values[i] for i in range(5)] == [
            results[f"split{i}_test_score"][row] for i in range(5)
        ]


def test_the_best_row_is_the_recommended_one() -> None:
    search = known_search(swing=0.5).fit(HARDNESS)
    best, results = search.best_index_, search.cv_results_
    assert search.best_params_ == results["params"][best] == search.recommendation_.params
    assert search.recommendation_ == search.optimizer_.recommend()
    assert best == np.argmax(results["pessimistic_test_score"])
    assert search.best_score_ == results["mean_test_score"][best]
    std = np.sqrt(5 / 4) * results["std_test_score"]
    assert np.allclose(results["risk_test_score"], results["mean_test_score"] - std)


def test_steady_parameters_win_unless_risk_does_not_matter() -> None:
    # Mean a − 0.3, standard deviation 0.56 a²: mean less two of these is best at a = 0.45.
    averse = known_search(swing=0.8, risk=MeanStd(2.0), n_iter=14).fit(HARDNESS)
    neutral = known_search(swing=0.8, risk=MeanVariance(0.0), n_iter=14).fit(HARDNESS)
    assert 0.3 < averse.best_params_["a"] < 0.6
    assert neutral.best_params_["a"] > 0.9
    assert averse.best_score_ < neutral.best_score_


def test_the_same_seed_searches_the_same() -> None:
    first, again, other = (known_search(random_state=s).fit(HARDNESS) for s in (1, 1, 2))
    assert first.cv_results_["params"] == again.cv_results_["params"]
    assert first.cv_results_["params"] != other.cv_results_["params"]
    # A generator is drawn from: the same state gives the same search, and the next draw another.
    state = np.random.RandomState(0)
    drawn, following, repeated = (
        known_search(random_state=s, n_iter=2).fit(HARDNESS).cv_results_["params"]
        for s in (state, state, np.random.RandomState(0))
    )
    assert drawn == repeated != following


def test_no_candidate_is_tried_twice_and_a_finite_space_may_end() -> None:
    space = {"a": [0.1, 0.2, 0.3], "swing": [0.0, 0.1]}
    search = known_search(space, n_iter=20).fit(HARDNESS)
    tried = {tuple(p.values()) for p in search.cv_results_["params"]}
    assert len(tried) == len(search.cv_results_["params"]) == 6
    steps = known_search({"a": [0.1 * i for i in range(9)]}, n_iter=9).fit(HARDNESS)
    assert len({p["a"] for p in steps.cv_results_["params"]}) == 9


class NewEachTime:
    """A splitter of a user's own, which gives other folds at each call."""

    def split(self, X, y=None, groups=None):
        return ShuffleSplit(3, test_size=2).split(X)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(3, test_size=2),
        KFold(3, shuffle=True),
        RepeatedKFold(n_splits=3, n_repeats=2),
        KFold(3, shuffle=True, random_state=np.random.RandomState(0)),
        NewEachTime(),
    ],
    ids=lambda cv: type(cv).__name__,
)
@pytest.mark.parametrize("fold_by_fold", [False, True])
def test_a_splitter_without_a_seed_draws_once(cv, fold_by_fold) -> None:
    # Few initial points, so that there are several batches of fits.
    few = {"n_iter": 4, "settings": {"n_initial": 2}}
    search = known_search({"swing": (0.5, 1.0)}, cv=cv, fold_by_fold=fold_by_fold, **few)
    search.fit(HARDNESS)
    splits = range(search.n_splits_)
    scores = np.column_stack([search.cv_results_[f"split{i}_test_score"] for i in splits])
    swing = np.array([p["swing"] for p in search.cv_results_["params"]])
    hardness = (scores - 0.2) / (0.25 * swing[:, None])
    assert np.nanstd(hardness, axis=0).max() < 1e-9


def test_folds_may_be_an_iterator_or_a_single_split() -> None:
    for cv in (KFold(3).split(HARDNESS), ShuffleSplit(1, random_state=0)):
        search = known_search(cv=cv, swing=0.5).fit(HARDNESS)
        assert len(search.cv_results_["params"]) == 10
        assert np.isfinite(search.cv_results_["pessimistic_test_score"]).all()


def test_groups_pipelines_and_training_scores() -> None:
    pipeline = Pipeline([("pca", PCA()), ("model", LogisticRegression())])
    space = {"pca__n_components": Int(1, 5), "model__C": Float(1e-3, 1e2, log=True)}
    search = RiskAverseSearchCV(
        pipeline, space, n_iter=8, cv=GroupKFold(3), random_state=0, return_train_score=True
    )
    search.fit(X, Y, groups=np.arange(60) // 6)
    assert search.best_params_["model__C"] == search.best_estimator_.named_steps["model"].C
    assert search.score(X, Y) > 0.7
    assert "mean_train_score" in search.cv_results_


def test_candidates_and_further_settings() -> None:
    rows = [{"a": a, "swing": s} for a in (0.2, 0.4, 0.6) for s in (0.0, 1.0)]
    search = known_search(Candidates(rows), n_iter=4).fit(HARDNESS)
    assert all(p in rows for p in search.cv_results_["params"])
    settings = {"n_initial": 3, "valid": lambda params: params["a"] < 0.5}
    search = known_search(settings=settings).fit(HARDNESS)
    assert max(p["a"] for p in search.cv_results_["params"]) < 0.5
    assert [t.source for t in search.optimizer_.trials].count("design") == 3
    with pytest.raises(SettingsError, match="must not contain repeats, seed"):
        known_search(settings={"repeats": 2, "seed": 0}).fit(HARDNESS)
    with pytest.raises(SpaceError):
        known_search({"a": (0, 1)}).fit(HARDNESS)


# -- several metrics -------------------------------------------------------------------------


def test_refit_names_the_metric() -> None:
    search = RiskAverseSearchCV(
        LogisticRegression(), C, n_iter=8, cv=3, random_state=0,
        scoring=["accuracy", "neg_log_loss"], refit="neg_log_loss",
    ).fit(X, Y)  # fmt: skip
    results = search.cv_results_
    assert search.best_index_ == np.argmax(results["pessimistic_test_neg_log_loss"])
    assert "risk_test_accuracy" not in results
    assert search.optimizer_.trials[0].values[0] == results["split0_test_neg_log_loss"][0]


@pytest.mark.parametrize("refit", [False, risk_averse_refit(metric="accuracy")])
def test_several_metrics_need_a_name(refit) -> None:
    search = known_search(scoring=["accuracy", "recall"], refit=refit)
    with pytest.raises(SettingsError, match="refit= must name the one to search by"):
        search.fit(HARDNESS, np.arange(30) % 2)
    search = known_search(scoring=lambda *_: {"one": 1.0, "two": 2.0}, refit=refit)
    with pytest.raises(SettingsError, match="refit= must name the one to search by"):
        search.fit(HARDNESS, np.arange(30) % 2)


def test_refit_may_choose_itself_or_not_happen() -> None:
    chosen = known_search(refit=lambda results: 3).fit(HARDNESS)
    assert chosen.best_index_ == 3
    assert not hasattr(chosen, "best_score_")
    assert chosen.recommendation_.params != chosen.best_params_
    bare = known_search(refit=False).fit(HARDNESS)
    assert bare.best_params_ == bare.recommendation_.params
    assert not hasattr(bare, "best_estimator_")


# -- failures --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_failures_are_learned_and_never_chosen() -> None:
    search = known_search(fails_from=0.7, n_iter=14)
    with pytest.warns(FitFailedWarning):
        search.fit(HARDNESS)
    results = search.cv_results_
    failed = np.isnan(results["mean_test_score"])
    assert failed.any()
    assert len(results["params"]) == 14
    assert [p["a"] >= 0.7 for p in results["params"]] == failed.tolist()
    assert np.isnan(results["pessimistic_test_score"][failed]).all()
    assert results["rank_test_score"][failed].min() == 1 + np.sum(~failed)
    assert 0.5 < search.best_params_["a"] < 0.7
    # Each of them counts alike, wherever in the search it failed.
    counts = [len(t.failures) for t in search.optimizer_.trials if t.failures]
    assert counts == [5] * failed.sum()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_first_batch_may_fail_as_a_whole() -> None:
    search = known_search(fails_from=0.4, n_iter=20, settings={"n_initial": 1}, random_state=0)
    with pytest.warns(FitFailedWarning, match="All the 5 fits failed"):
        search.fit(HARDNESS)
    assert search.optimizer_.trials[0].failures
    assert 0.0 <= search.best_params_["a"] < 0.4
    assert len(search.cv_results_["params"]) == 20


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("fold_by_fold", [False, True])
def test_if_all_fail_the_error_is_that_of_scikit_learn(fold_by_fold) -> None:
    search = known_search(fails_from=0.0, n_iter=3, fold_by_fold=fold_by_fold)
    with pytest.raises(ValueError, match=r"All the \d+ fits failed\."):
        search.fit(HARDNESS)
    assert search.cv.n_splits == 5
    own = [name for name in vars(search) if name.startswith("_")]
    # What scikit-learn itself keeps there.
    assert set(own) <= {"_checked_cv_orig"}
    with pytest.raises(ValueError, match="a is too large"):
        search.set_params(error_score="raise").fit(HARDNESS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_number_as_error_score_is_a_score() -> None:
    search = known_search(fails_from=0.7, n_iter=14, error_score=-1.0).fit(HARDNESS)
    scores = search.cv_results_["mean_test_score"]
    assert np.sum(scores == -1.0) >= 1
    assert not any(t.failures for t in search.optimizer_.trials)
    assert search.best_params_["a"] < 0.7


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_if_no_score_is_a_number_the_first_row_is_taken_as_by_scikit_learn() -> None:
    search = known_search(scoring=lambda *_: np.nan).fit(HARDNESS)
    assert search.best_index_ == 0
    assert search.recommendation_ is None


# -- copies and parallel fits ----------------------------------------------------------------


def test_clones_and_pickles() -> None:
    search = known_search(risk=MeanStd(2.0), swing=0.5, cv=ShuffleSplit(1, random_state=0))
    copy = clone(search)
    assert copy.get_params()["risk"] == MeanStd(2.0)
    assert copy.set_params(estimator__a=0.1).estimator.a == 0.1
    search.fit(HARDNESS)
    back = pickle.loads(pickle.dumps(search))
    assert back.best_params_ == search.best_params_
    assert back.optimizer_.recommend() == search.recommendation_
    assert np.array_equal(back.predict(HARDNESS), search.predict(HARDNESS))


def test_jobs_decide_the_batch_unless_it_is_given(capsys) -> None:
    for settings, sizes in (({}, [6, 2, 2]), ({"batch_size": 4}, [6, 4])):
        search = known_search(n_iter=10, cv=2, n_jobs=4, verbose=1, **settings)
        with joblib.parallel_backend("threading"):
            search.fit(HARDNESS, np.arange(30) % 2)
        printed = capsys.readouterr().out.splitlines()
        told = [line for line in printed if line.startswith("Fitting")]
        assert [int(line.split(" of ")[1].split()[0]) for line in told] == sizes


def test_worker_processes_find_the_same() -> None:
    alone, workers = (
        RiskAverseSearchCV(
            LogisticRegression(), C, n_iter=8, cv=2, random_state=0, batch_size=1, n_jobs=n
        ).fit(X, Y)
        for n in (1, 2)
    )
    assert alone.cv_results_["params"] == workers.cv_results_["params"]
    assert alone.best_index_ == workers.best_index_


# -- anyone's search -------------------------------------------------------------------------


def grid_search(refit, **settings):
    estimator = Known(swing=0.8, fails_from=settings.pop("fails_from", 2.0))
    grid = {"a": np.linspace(0.05, 1.0, 20)}
    return GridSearchCV(estimator, grid, cv=KFold(5), refit=refit, **settings).fit(HARDNESS)


def test_risk_averse_refit_takes_a_steady_row() -> None:
    assert grid_search(True).best_params_["a"] == 1.0
    averse = grid_search(risk_averse_refit(MeanStd(2.0)))
    assert 0.3 < averse.best_params_["a"] < 0.7
    assert grid_search(risk_averse_refit(MeanVariance(0.0))).best_params_["a"] == 1.0
    assert risk_averse_refit() == risk_averse_refit(MeanStd(1.0), metric="score")
    again = clone(averse)
    assert pickle.loads(pickle.dumps(again)).refit == averse.refit


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning")
def test_risk_averse_refit_leaves_failures_aside() -> None:
    search = grid_search(risk_averse_refit(MeanVariance(0.0)), fails_from=0.32)
    assert search.best_params_["a"] == pytest.approx(0.3)
    failed = {f"split{i}_test_score": np.full(4, np.nan) for i in range(3)}
    assert risk_averse_refit()(failed) == 0


def test_risk_averse_refit_looks_at_one_metric_of_several() -> None:
    scores = {"accuracy": [[0.9, 0.1], [0.9, 0.1]], "recall": [[0.2, 0.8], [0.2, 0.8]]}
    table = {f"split{i}_test_{m}": np.array(v[i]) for m, v in scores.items() for i in range(2)}
    assert risk_averse_refit(metric="accuracy")(table) == 0
    assert risk_averse_refit(metric="recall")(table) == 1


def test_a_list_of_grids_is_refused() -> None:
    grids = [{"a": (0.0, 1.0)}, {"a": (0.0, 1.0), "swing": (0.0, 0.1)}]
    with pytest.raises(SpaceError, match=r"one dict, got a list of 2, in which 'swing' is not al"):
        known_search(grids).fit(HARDNESS)
