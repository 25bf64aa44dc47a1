"""scikit-learn: folds, and tables of what fits on them gave.

A search of scikit-learn fits every candidate on every fold. `SingleFold` and `FoldTable` are for
a search that fits some candidates on one fold at a time, as if a cross-validation had that fold
alone. What comes of the fits is kept by candidate and fold. At the end it is put into
scikit-learn's form, with NaN for folds that were not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rahbo.trials import Suggestion


class SplitOnce:
    """A splitter that draws once, because candidates are comparable only on the same folds."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._folds: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """Return the train and test rows of each fold."""
        if self._folds is None:
            self._folds = list(self._cv.split(X, y, **params))
        return self._folds


@dataclass
class CandidateTable:
    """The rows of a search: candidates and fits as scikit-learn keeps them, and failed batches.

    It holds plain data, because scikit-learn sends the search to its workers.
    """

    n_splits: int = 1
    params: list[dict[str, Any]] = field(default_factory=list)
    out: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def with_failed(self, error_score: float) -> tuple[list[Any], list[Any]]:
        """Return all candidates, failed batches last, and all fits, ``n_splits`` for each."""

        def failed(key: str, value: Any) -> Any:
            if isinstance(value, dict):
                return dict.fromkeys(value, error_score)
            return error_score if key.endswith("_scores") else np.nan

        fit = {key: failed(key, value) for key, value in self.out[0].items()}
        return self.params + self.failed, self.out + [fit] * (self.n_splits * len(self.failed))


class SingleFold:
    """A splitter with one of the folds of another.

    Attributes:
        fold: The number of the fold, which may be changed between calls.
        n_splits: How many folds the other has, once they are known.
    """

    def __init__(self, cv: Any) -> None:
        self.fold = 0
        self.n_splits = 0
        self._cv = cv
        self._folds: list[Any] = []

    def get_n_splits(self, X: Any = None, y: Any = None, **params: Any) -> int:
        """Return 1, after drawing all folds."""
        if not self._folds and X is not None:
            self._folds = list(self._cv.split(X, y, **params))
            self.n_splits = len(self._folds)
        return 1

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """Return the train and test rows of the fold."""
        self.get_n_splits(X, y, **params)
        return [self._folds[self.fold]]

    def get_metadata_routing(self) -> Any:
        """Return what the other splitter asks for, such as groups."""
        return self._cv.get_metadata_routing()


class FoldTable:
    """Fits by candidate and fold, as scikit-learn reports them.

    Args:
        n_splits: The number of folds.

    Attributes:
        params: The candidates, in the order of their first fits.
        results: What a call of scikit-learn returns, and at the end the whole table.
    """

    def __init__(self, n_splits: int) -> None:
        self.n_splits = n_splits
        self.params: list[dict[str, Any]] = []
        self.results: dict[str, Any] = {}
        self._fits: dict[tuple[int, int], dict[str, Any]] = {}
        self._seen = 0
        self._newest: list[dict[str, Any]] = []

    def take(self, out: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Note the fits of the latest call, which come after those of all calls before."""
        self._newest, self._seen = list(out[self._seen :]), len(out)
        return self.results

    def newest(self, n: int) -> list[dict[str, Any]]:
        """Return the fits of the latest call, or nothing for each of n candidates if all failed."""
        found, self._newest = self._newest, []
        return found or [{}] * n

    def keep(self, suggestion: Suggestion, fold: int, fit: dict[str, Any]) -> None:
        """Keep the fit of a candidate on a fold; an empty one has failed."""
        row = next((i for i, p in enumerate(self.params) if p == suggestion.params), None)
        if row is None:
            row = len(self.params)
            self.params.append(suggestion.params)
        self._fits[row, fold] = fit

    def fits(self, error_score: float) -> list[dict[str, Any]]:
        """Return all fits, ``n_splits`` for each candidate, with NaN for those that are missing."""
        typical = next((fit for fit in self._fits.values() if fit), {})
        failed = {k: _filled(k, v, error_score) for k, v in typical.items()}
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


def score_of(fit: dict[str, Any], refit: object) -> float:
    """Return the score to search by; NaN if the fit failed."""
    scores = fit.get("test_scores", np.nan)
    return float(scores[refit] if isinstance(scores, dict) else scores)
