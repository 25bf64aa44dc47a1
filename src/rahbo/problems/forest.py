"""The paper's random forest: fraud among credit-card transactions, scored on five folds in time.

The forest is trained on the first half of the transactions in time, and its balanced accuracy is
measured on five consecutive parts of the second half. The search space is small enough for a table
of every result, which `scripts/forest_table.py` makes from fits to the full data. `forest` reads
this table.

The data come from A. Dal Pozzolo, O. Caelen, R. A. Johnson and G. Bontempi, Calibrating probability
with undersampling for unbalanced classification (2015). They hold 284,807 transactions, 492 of them
frauds.

Notation, with S forest seeds in the table:

    X             settings (n_estimators, max_features, max_depth)   ``(m, 3)``
    hits          frauds that a forest marks in each fold            ``(S, 100, 24, 15, 5)``
    false_alarms  other transactions that it marks                   ``(S, 100, 24, 15, 5)``
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rahbo.errors import DataError, NotReadyError
from rahbo.numerics import Array
from rahbo.problems.base import Optimum, Tabulated
from rahbo.risk import RiskMeasure
from rahbo.space import Int

FOLDS = 5
N_ESTIMATORS, MAX_FEATURES, MAX_DEPTH = range(1, 101), range(5, 29), range(1, 16)
SPACE = {
    "n_estimators": Int(N_ESTIMATORS[0], N_ESTIMATORS[-1]),
    "max_features": Int(MAX_FEATURES[0], MAX_FEATURES[-1]),
    "max_depth": Int(MAX_DEPTH[0], MAX_DEPTH[-1]),
}

_LOW = np.array([N_ESTIMATORS[0], MAX_FEATURES[0], MAX_DEPTH[0]])
_SHAPE = (len(N_ESTIMATORS), len(MAX_FEATURES), len(MAX_DEPTH))
_TABLE = ("hits", "false_alarms", "positives", "negatives", "seeds")
_HOW_TO = (
    "Make it from the credit-card data, which takes some hours: run `python "
    "scripts/forest_table.py DATA --out DIR` and then `python scripts/forest_table.py --combine "
    "DIR --to FILE`, and pass FILE to forest()."
)

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Forest(Tabulated):
    """The problem that `forest` makes.

    Attributes:
        seeds: Seeds of the forests whose fold scores are averaged.
        scores: Fold scores by n_estimators, max_features and max_depth ``(100, 24, 15, 5)``.
    """

    seeds: tuple[int, ...]
    scores: Array = field(compare=False, repr=False)

    def f(self, X: Array) -> Array:
        """Return the mean ``(m,)`` of the five fold scores at X ``(m, 3)``."""
        return np.asarray(self._at(X).mean(axis=-1))

    def noise_var(self, X: Array) -> Array:
        """Return the sample variance ``(m,)`` of the five fold scores at X ``(m, 3)``."""
        return np.asarray(self._at(X).var(axis=-1, ddof=1))

    def values(self, params: Mapping[str, object]) -> list[float]:
        """Return the five fold scores of a setting, the same at every call."""
        values: list[float] = self._at(self.params_to_row(params)[None])[0].tolist()
        return values

    def samples(
        self, params: Mapping[str, object], rngs: Iterable[np.random.Generator]
    ) -> list[float]:
        """Return the score of one random fold for each generator, all folds equally likely.

        The variance of such a draw is four fifths of `noise_var`, which divides by four.

        Args:
            params: A point of the space.
            rngs: Generators; each gives one draw, which chooses a fold.
        """
        scores = self.values(params)
        return [scores[int(rng.integers(FOLDS))] for rng in rngs]

    def optimum(self, risk: RiskMeasure) -> Optimum:
        """Return the best of all 36,000 settings; on a tie, the one with the fewest trees."""
        values = risk.value(self.scores.mean(axis=-1), self.scores.var(axis=-1, ddof=1))
        best = np.unravel_index(np.argmax(values), values.shape)
        return Optimum(self.row_to_params(_LOW + np.array(best)), float(values[best]))

    def _at(self, X: Array) -> Array:
        """Return the fold scores ``(m, 5)`` at X ``(m, 3)``."""
        index = np.asarray(X) - _LOW
        whole = np.rint(index)
        if np.any(index != whole) or np.any(whole < 0) or np.any(whole >= _SHAPE):
            raise DataError(
                f"{self.name} needs whole numbers inside {SPACE}, but some of the {len(X)} points "
                f"are not. Round them, with columns in the order {list(SPACE)}."
            )
        return np.asarray(self.scores[tuple(whole.astype(np.intp).T)])


def forest(path: str | os.PathLike[str] | None = None) -> Forest:
    """Return the random-forest problem, read from the table of all its results.

    f = mean, v = sample variance (ddof 1) of the scores s_1..s_5 of five folds

    These five values are the truth of a setting, not draws from it. A revisit returns them again,
    so tell them once. Some folds are harder than others for all forests, so this noise is not
    independent between settings.

    In the table, all settings with the same max_features share one forest: fewer trees are its
    first trees, and a smaller max_depth is the same trees, cut. Each entry is distributed like a
    separately fitted forest, but neighbouring entries are more alike than separate fits would be.

    Args:
        path: A table written by `scripts/forest_table.py`; None for the one in the package.

    Raises:
        NotReadyError: There is no table, or it lacks some of the settings.
    """
    shipped: Traversable = files("rahbo.problems") / "data" / "forest.npz"
    table = _read_table(shipped if path is None else Path(path))
    scores = balanced_accuracy(
        table["hits"], table["false_alarms"], table["positives"], table["negatives"]
    )
    return Forest("forest", SPACE, tuple(table["seeds"].tolist()), scores.mean(axis=0))


def _read_table(path: Traversable) -> dict[str, Counts]:
    """Return the arrays of a table, checked to hold every setting."""
    if not path.is_file():
        raise NotReadyError(f"forest() needs a table of results, found none at {path}. {_HOW_TO}")
    with path.open("rb") as file, np.load(file) as stored:
        table = {name: stored[name].astype(np.int64) for name in _TABLE if name in stored}
    shape = (len(table.get("seeds", ())), *_SHAPE, FOLDS)
    lacking = [
        name
        for name in _TABLE
        if name not in table or (name in ("hits", "false_alarms") and table[name].shape != shape)
    ]
    if lacking:
        raise NotReadyError(
            f"A table for forest() must hold {_TABLE} of every setting, but {path} lacks {lacking} "
            f"or parts of them. {_HOW_TO}"
        )
    return table


def balanced_accuracy(
    hits: Counts, false_alarms: Counts, positives: Counts, negatives: Counts
) -> Array:
    """Return the mean of the two classes' recalls, fold by fold.

    s = (hits/positives + (negatives - false_alarms)/negatives)/2

    Args:
        hits: Frauds that were marked ``(..., 5)``.
        false_alarms: Other transactions that were marked ``(..., 5)``.
        positives: Frauds in each fold ``(5,)``.
        negatives: Other transactions in each fold ``(5,)``.
    """
    return np.asarray((hits / positives + (negatives - false_alarms) / negatives) / 2.0)
