"""scikit-learn: the folds of a search, and the table of what fits on them gave.

A search that runs one fold at a time shows scikit-learn a cross-validation that has that fold
alone, so scikit-learn sees only a part of the table. What comes of the fits is kept here by
candidate and fold. At the end it is put into scikit-learn's form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import get_routing_for_object

from rahbo.integrations.split_scores import unnamed_metric

Fit = dict[str, Any]


class Folds:
    """The folds of a cross-validation, drawn once, so that candidates are comparable.

    Attributes:
        fold: The only fold to use, which may be changed between calls; None to use all.
        n_splits: How many folds there are, once they are known.
    """

    def __init__(self, cv: Any, fold: int | None = None) -> None:
        self.fold = fold
        self.n_splits = 0
        self._cv = cv
        self._drawn: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        # scikit-learn sends the search to its workers, which get their rows by themselves.
        return {**vars(self), "_drawn": []}

    def get_n_splits(self, X: Any = None, y: Any = None, **params: Any) -> int:
        """Return the number of folds in use, after drawing all folds."""
        if not self._drawn and X is not None:
            self._drawn = list(self._cv.split(X, y, **params))
            self.n_splits = len(self._drawn)
        return self.n_splits if self.fold is None else 1

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """Return the train and test rows of each fold in use."""
        self.get_n_splits(X, y, **params)
        return self._drawn if self.fold is None else [self._drawn[self.fold]]

    def get_metadata_routing(self) -> Any:
        """Return what the cross-validation asks for, such as groups."""
        return get_routing_for_object(self._cv)


class FoldTable:
    """Fits by candidate and fold, as scikit-learn reports them.

    Args:
        n_splits: The number of folds.
        error_score: The score of a fold that fails.

    Attributes:
        params: The candidates, in the order of their first fits.
        results: What a call of scikit-learn returns, and at the end the whole table.
        seen: How many fits scikit-learn has reported.
    """

    def __init__(self, n_splits: int, error_score: float) -> None:
        self.n_splits = n_splits
        self.params: list[dict[str, Any]] = []
        self.results: dict[str, Any] = {}
        self.seen = 0
        self._error_score = error_score
        self._fits: dict[tuple[int, int], Fit] = {}
        self._newest: list[Fit] = []

    def take(self, out: Sequence[Fit]) -> dict[str, Any]:
        """Note the fits of the latest call, which come after those of all calls before."""
        self._newest, self.seen = list(out[self.seen :]), len(out)
        return self.results

    def newest(self) -> list[Fit]:
        """Return the fits of the latest call."""
        return self._newest

    def keep(self, params: dict[str, Any], fold: int, fit: Fit) -> None:
        """Keep the fit of a candidate on a fold; an empty one has failed."""
        row = next((i for i, p in enumerate(self.params) if p == params), len(self.params))
        if row == len(self.params):
            self.params.append(params)
        self._fits[row, fold] = fit

    def score(self, fit: Fit, refit: object) -> float:
        """Return the score of a fit to search by."""
        scores = fit.get("test_scores", self._error_score)
        if not isinstance(scores, dict):
            return float(scores)
        if not (isinstance(refit, str) and refit in scores):
            raise unnamed_metric(refit)
        return float(scores[refit])

    def fits(self) -> list[Fit]:
        """Return all fits, ``n_splits`` for each candidate, with NaN for those that are missing."""
        typical = next((fit for fit in self._fits.values() if fit), {})
        failed = {k: _filled(k, v, self._error_score) for k, v in typical.items()}
        missing = {k: _filled(k, v, np.nan) for k, v in typical.items()}
        return [
            self._fits.get((row, fold), missing) or failed
            for row in range(len(self.params))
            for fold in range(self.n_splits)
        ]


def _filled(key: str, value: Any, score: float) -> Any:
    """Return a value in the place of that of a fit: a score, or NaN for times and numbers."""
    if isinstance(value, dict):
        return dict.fromkeys(value, score)
    return score if key.endswith("_scores") else np.nan
