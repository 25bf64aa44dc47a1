"""scikit-learn: a cross-validated search for parameters that score well and steadily over folds.

The folds of one cross-validation are the repeats of a candidate. The search maximises their mean,
and the risk measure penalises their variance. All candidates see the same folds, so a hard fold is
hard for all of them, and evaluating a candidate again would give the same scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, TypeVar

import joblib
import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rahbo.errors import SettingsError
from rahbo.integrations.fold_by_fold import FoldSearch, PairedFolds, asked, best_complete_row
from rahbo.integrations.fold_tables import Fit, Folds, FoldTable
from rahbo.integrations.grids import several_grids, with_choices
from rahbo.integrations.split_scores import (
    metric_of,
    moments,
    shrunk_variances,
    split_scores,
    unnamed_metric,
    usable,
)
from rahbo.optimizer import Optimizer
from rahbo.risk import DEFAULT_RISK, RiskMeasure
from rahbo.space import Candidates, Space

# Settings of the optimizer that the search itself decides.
OWN_SETTINGS = {"risk", "repeats", "direction", "seed", "data", "trials", "journal", "blocks"}
AnyOptimizer = TypeVar("AnyOptimizer", bound=Optimizer)


class RiskAverseSearchCV(BaseSearchCV):
    """Searches for parameters whose score is high on average and varies little between folds.

    Use it in place of scikit-learn's `RandomizedSearchCV`, in the same way. Each candidate is
    evaluated once, on the same folds as all others, and its split scores are its repeats. The risk
    measure penalises the variation of the score **between the folds of this cross-validation**,
    not between training seeds, and not between data sets.

    Args:
        estimator: The estimator, or a pipeline of them.
        space: The parameters, as for `Optimizer`: ``{name: Float | Int | Categorical}``, a tuple of
            two floats for short, with names such as ``"svc__C"``; or ``Candidates(rows)``. A list
            holds choices, as in scikit-learn, also if it holds two numbers.
        risk: The risk measure, in the units of the scores. None means ``MeanStd(1.0)``, the mean
            minus one standard deviation; its weight has no units.
        n_iter: The number of candidates, including the initial design. A finite space may be
            exhausted earlier.
        scoring: As in scikit-learn; always maximised. With several metrics, ``refit`` must name
            the one to search by.
        n_jobs: The number of fits at the same time.
        refit: Whether to fit the chosen candidate on all data. With several metrics, the name of
            the one to search by. A callable chooses from ``cv_results_`` instead of the model.
        cv: The folds. A splitter that draws new folds each time is made to draw once.
        verbose: As in scikit-learn.
        pre_dispatch: As in scikit-learn.
        random_state: Seeds every random choice of the search, but not the folds that ``cv`` draws.
        error_score: The score of a fold that fails. If it is NaN, a candidate with such a fold
            counts as failed and is never chosen.
        return_train_score: Whether ``cv_results_`` has training scores.
        batch_size: The number of candidates evaluated at the same time after the initial design,
            which is always one batch. None means as many as keep ``n_jobs`` busy, so that the
            search depends on ``n_jobs``.
        settings: Further settings of `Optimizer`, such as ``{"n_initial": 10, "valid": allowed}``.
        fold_by_fold: Whether to run one fold of a candidate at a time, so that a bad candidate
            costs one fit instead of all folds. The folds are then blocks: what makes a fold hard
            for all candidates is no longer noise, and the risk measure penalises what is left.
            The search makes ``n_iter`` times the number of folds fits, at more candidates. In
            ``cv_results_`` a fold that was not run is NaN, and so are the means of that row.

    Attributes:
        cv_results_: As in scikit-learn, one row per candidate, with two more columns:
            ``risk_test_score``, the risk measure of mean and sample variance of the split scores,
            and ``pessimistic_test_score``, the lower bound that decides.
        best_index_: The row with the best pessimistic bound under the model. It need not have the
            best mean or the best ``risk_test_score``, which the luckiest row has.
        best_score_: The mean test score of the best row.
        recommendation_: The model's recommendation, which is the best row; None if every candidate
            failed. With ``fold_by_fold`` it may lack folds; the best row does not if any has all.
        optimizer_: The optimizer of the run, for `Optimizer.frontier`, `Optimizer.predict` and
            more.

    >>> from rahbo import Int
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> search = RiskAverseSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": Int(1, 8), "criterion": ["gini", "entropy"]},
    ...     n_iter=8,
    ...     random_state=0,
    ... ).fit(*load_wine(return_X_y=True))
    >>> sorted(search.best_params_), len(search.cv_results_["params"])
    (['criterion', 'max_depth'], 8)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's way
        **BaseSearchCV._parameter_constraints,
        "space": [Mapping, Candidates, Space],
        "risk": [RiskMeasure, None],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "settings": [Mapping, None],
        "fold_by_fold": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Any] | Candidates | Space,
        *,
        risk: RiskMeasure | None = None,
        n_iter: int = 30,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        batch_size: int | None = None,
        settings: Mapping[str, Any] | None = None,
        fold_by_fold: bool = False,
    ) -> None:
        self.space = space
        self.risk = risk
        self.n_iter = n_iter
        self.random_state = random_state
        self.batch_size = batch_size
        self.settings = settings
        self.fold_by_fold = fold_by_fold
        super().__init__(
            estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
            pre_dispatch=pre_dispatch, error_score=error_score,
            return_train_score=return_train_score,
        )  # fmt: skip

    def fit(self, X: Any, y: Any = None, **params: Any) -> RiskAverseSearchCV:
        """Search for the best candidate, as in scikit-learn."""
        if isinstance(self.space, list | tuple):
            raise several_grids(self.space)
        given = self.get_params(deep=False)["cv"]
        cv = check_cv(given, y, classifier=is_classifier(self.estimator))
        folds = Folds(cv, 0 if self.fold_by_fold else None)
        self.set_params(cv=folds)
        try:
            super().fit(X, y, **params)
        finally:
            self.set_params(cv=given)
        self.n_splits_ = folds.n_splits
        return self

    def _run_search(self, evaluate_candidates: Any, *, callback_ctx: Any = None) -> None:
        """Propose candidates and evaluate them on the folds until the budget is spent."""
        several = isinstance(self.scoring, list | tuple | set | dict)
        if several and not isinstance(self.refit, str):
            raise unnamed_metric(self.refit)
        self._table = table = FoldTable(self.cv.n_splits, self.error_score)
        try:
            evaluation = _Evaluation(self, evaluate_candidates, callback_ctx)
            run = self._run_by_fold if self.fold_by_fold else self._run_by_candidate
            optimizer = run(table, evaluation)
            evaluation.finish()
        finally:
            del self._table
        self.optimizer_: Optimizer = optimizer
        found = optimizer.recommend() if any(trial.n_values for trial in optimizer.trials) else None
        if found and not self.fold_by_fold:
            # The same folds would give the same scores again, so measuring again confirms nothing.
            found = replace(found, confirm=0)
        self.recommendation_ = found
        self._add_columns(table.results, metric_of(table.results, self.refit))

    def _run_by_candidate(self, table: FoldTable, evaluate: _Evaluation) -> Optimizer:
        """Evaluate candidates on all folds until there are ``n_iter``."""
        optimizer = self._make_optimizer(_FixedFolds, repeats=table.n_splits)
        size = optimizer.settings.n_initial
        while batch := asked(optimizer, min(size, self.n_iter - len(optimizer.trials))):
            fits = iter(evaluate([suggestion.params for suggestion in batch]))
            for suggestion in batch:
                scores = np.empty(table.n_splits)
                for fold in range(table.n_splits):
                    fit = next(fits)
                    table.keep(suggestion.params, fold, fit)
                    scores[fold] = table.score(fit, self.refit)
                if usable(scores):
                    optimizer.tell(suggestion, scores)
                else:
                    optimizer.tell_failure(suggestion, "a fold has no score")
            size = self.batch_size or -(-joblib.effective_n_jobs(self.n_jobs) // table.n_splits)
        return optimizer

    def _run_by_fold(self, table: FoldTable, evaluate: _Evaluation) -> Optimizer:
        """Evaluate candidates fold by fold, with as many fits as ``n_iter`` of them would need."""
        if table.n_splits < 2:
            raise SettingsError(f"fold_by_fold=True needs two folds or more, got {table.n_splits}.")
        optimizer = self._make_optimizer(PairedFolds, blocks=table.n_splits)
        search = FoldSearch(optimizer, self.cv, table, evaluate, self.refit)
        batch = self.batch_size or joblib.effective_n_jobs(self.n_jobs)
        search.run(self.n_iter * table.n_splits, batch)
        return optimizer

    def _make_optimizer(self, kind: type[AnyOptimizer], **decided: Any) -> AnyOptimizer:
        settings = dict(self.settings or {})
        if own := sorted(OWN_SETTINGS & settings.keys()):
            raise SettingsError(
                f"settings= must not contain {', '.join(own)}, which the search sets itself. Pass "
                "risk and random_state as arguments; the folds are the repeats."
            )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        risk = self.risk or DEFAULT_RISK
        return kind(with_choices(self.space), risk=risk, seed=seed, **decided, **settings)

    def _add_columns(self, results: dict[str, Any], metric: str) -> None:
        """Add the risk value and the pessimistic bound of each row that can be chosen."""
        optimizer = self.optimizer_
        scores = split_scores(results, metric)
        rows = np.flatnonzero([usable(row) for row in scores])
        empirical, pessimistic = np.full((2, len(scores)), np.nan)
        if len(rows):
            empirical[rows] = optimizer.settings.risk.value(*moments(scores[rows]))
        told = optimizer.predict([results["params"][i] for i in rows])
        pessimistic[rows] = [prediction.pessimistic for prediction in told]
        results[f"risk_test_{metric}"] = empirical
        results[f"pessimistic_test_{metric}"] = pessimistic

    def _format_results(
        self, candidate_params: list[Any], n_splits: int, out: list[Any], more_results: Any = None
    ) -> Any:
        """Note what came of the fits. The table is made at the end, with candidates that failed."""
        return self._table.take(out)

    def _select_best_index(self, refit: Any, refit_metric: str, results: dict[str, Any]) -> int:
        """Return the row of the recommendation, unless a callable chooses."""
        if callable(refit) or self.recommendation_ is None:
            chosen: int = super()._select_best_index(refit, refit_metric, results)
            return chosen
        if self.fold_by_fold:
            best = best_complete_row(results, refit_metric)
            if best is not None:
                return best
        encode = self.optimizer_.settings.space.encode
        rows = [encode(params).tobytes() for params in results["params"]]
        return rows.index(encode(self.recommendation_.params).tobytes())


class _FixedFolds(Optimizer):
    """An optimizer that asks for each point once, because the folds would give the same scores."""

    def excluded(self) -> Set[bytes]:
        """Return all points asked for before."""
        return {trial.x.tobytes() for trial in self.trials}


class _Evaluation:
    """Evaluates batches of candidates on the folds of a search.

    scikit-learn raises an error if all fits of one call fail. Here a call is a small batch, so this
    may happen at any time. It is an error only if no fit of the whole search succeeds.
    """

    def __init__(self, search: RiskAverseSearchCV, evaluate_candidates: Any, context: Any) -> None:
        self._search, self._table = search, search._table
        self._evaluate = evaluate_candidates
        self._context = context and context.subcontext(task_name="search", max_subtasks=None)
        self._error: ValueError | None = None
        if self._context:
            self._context.call_on_fit_task_begin(estimator=search)

    def __call__(self, candidates: list[dict[str, Any]]) -> list[Fit]:
        """Return a fit for each candidate and fold; empty ones if all failed."""
        n_fits = len(candidates) * self._search.n_splits_
        try:
            self._call(candidates, n_fits)
        except ValueError as error:
            if "All the " not in str(error) or "fits failed" not in str(error):
                raise
            warnings.warn(str(error), FitFailedWarning, stacklevel=2)
            self._error = error
            return [{}] * n_fits
        return self._table.newest()

    def _call(self, candidates: list[dict[str, Any]], n_fits: int) -> None:
        if not self._context:
            self._evaluate(candidates)
            return
        context = self._context.subcontext(
            task_name="batch", max_subtasks=n_fits, sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self._search)
        try:
            self._evaluate(candidates, callback_ctx=context)
        finally:
            context.call_on_fit_task_end(estimator=self._search)

    def finish(self) -> None:
        """Put the whole table into scikit-learn's form, or raise its error if no fit succeeded."""
        search, table = self._search, self._table
        if self._error and not table.seen:
            raise self._error
        with warnings.catch_warnings():
            if search.fold_by_fold:
                # The means of rows that lack folds are NaN.
                warnings.filterwarnings("ignore", "One or more of the", UserWarning)
            found = BaseSearchCV._format_results(search, table.params, table.n_splits, table.fits())
        table.results.update(found)
        if self._context:
            self._context.call_on_fit_task_end(estimator=search)


@dataclass(frozen=True)
class _Refit:
    """Chooses a row of ``cv_results_``."""

    risk: RiskMeasure
    metric: str

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        scores = split_scores(cv_results, self.metric)
        rows = np.flatnonzero([usable(row) for row in scores])
        if len(rows) == 0:
            # If all rows failed, there is nothing to choose, and scikit-learn returns 0 as well.
            return 0
        mean, s2 = moments(scores[rows])
        s2 = shrunk_variances(s2, dof=scores.shape[1] - 1)
        return int(rows[np.argmax(self.risk.value(mean, s2))])


def risk_averse_refit(risk: RiskMeasure | None = None, metric: str = "score") -> _Refit:
    """Return a ``refit=`` for `GridSearchCV` or `RandomizedSearchCV` that avoids lucky rows.

    It chooses the row whose split scores have the best risk value, computed from their mean and
    variance. A variance over five folds is mostly chance, so variances are shrunk towards each
    other as far as chance explains their differences; see `shrunk_variances`.

    Args:
        risk: The risk measure, in the units of the scores; None means ``MeanStd(1.0)``.
        metric: The metric to use, if there are several.

    >>> from rahbo.risk import MeanStd
    >>> refit = risk_averse_refit(MeanStd(2.0))
    >>> splits = {"split0_test_score": [0.80, 0.99, 0.5], "split1_test_score": [0.82, 0.65, 0.5]}
    >>> refit({name: np.array(scores) for name, scores in splits.items()})
    0
    """
    return _Refit(risk or DEFAULT_RISK, metric)
