"""Real tables of training runs: small models of scikit-learn on the data that come with it.

Configurations are drawn at random, and each is trained with the same 20 seeds, which choose the
split of the data and the start of the training. The truth of a configuration is the mean and the
variance of its 20 scores in per cent, and an evaluation is one of them, drawn with replacement.

A table is computed once, in one or two minutes, and kept in the user's cache directory.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from contest.lists import DesignList, as_candidates
from rahbo.errors import NotReadyError
from rahbo.problems import Problem

RUNS = 20
# A change of what is trained needs a new number: it is part of the file's name.
EDITION = 1


@dataclass(frozen=True)
class Runs(DesignList):
    """A list of configurations with all their scores.

    Attributes:
        scores: ``(N, 20)``.
    """

    scores: np.ndarray = field(compare=False, repr=False)

    def samples(
        self, params: Mapping[str, object], rngs: Iterable[np.random.Generator]
    ) -> list[float]:
        values = self.scores[self._rows(self.params_to_row(params)[None])[0]]
        return [float(values[rng.integers(len(values))]) for rng in rngs]


@dataclass(frozen=True)
class Training:
    """What is trained.

    Attributes:
        data: A data set of `sklearn.datasets`.
        train_size: The share of the data that it is trained with; the rest scores it.
        configurations: How many are drawn.
        space: The bounds of each number; a name that begins with log10 is its logarithm, and
            bounds that are whole numbers mean a whole number.
        score: The score of a configuration, from parts of the data and a seed.
    """

    data: str
    train_size: float
    configurations: int
    space: Mapping[str, tuple[float, float]]
    score: Callable[..., float]


def _digits(parts: list[np.ndarray], seed: int, log10_rate, log10_decay, l1, passes) -> float:
    """The accuracy of logistic regression after a few passes of stochastic gradients."""
    from sklearn.linear_model import SGDClassifier

    X_train, X_test, y_train, y_test = parts
    model = SGDClassifier(
        loss="log_loss", penalty="elasticnet", l1_ratio=l1, alpha=10.0**log10_decay,
        learning_rate="constant", eta0=10.0**log10_rate / 16.0**2, max_iter=passes, tol=None,
        random_state=seed,
    )  # fmt: skip
    return model.fit(X_train, y_train).score(X_test, y_test)


def _diabetes(parts: list[np.ndarray], seed: int, log10_rate, trees, depth, leaf, sample) -> float:
    """R² of boosted trees."""
    from sklearn.ensemble import GradientBoostingRegressor

    X_train, X_test, y_train, y_test = parts
    model = GradientBoostingRegressor(
        learning_rate=10.0**log10_rate, n_estimators=trees, max_depth=depth,
        min_samples_leaf=leaf, subsample=sample, random_state=seed,
    )  # fmt: skip
    return model.fit(X_train, y_train).score(X_test, y_test)


TABLES = {
    "digits": Training(
        "digits", 0.1, 300,
        {"log10_rate": (-2.5, 1.0), "log10_decay": (-5.0, -1.0), "l1": (0.0, 1.0),
         "passes": (1, 8)},
        _digits,
    ),
    "diabetes": Training(
        "diabetes", 0.5, 250,
        {"log10_rate": (-2.5, -0.2), "trees": (2, 40), "depth": (1, 5), "leaf": (1, 20),
         "sample": (0.1, 1.0)},
        _diabetes,
    ),
}  # fmt: skip


def training(name: str) -> Problem:
    """The table of this name, computed where the cache lacks it."""
    table = TABLES[name]
    rng = np.random.default_rng([27, len(table.space)])
    columns = [_column(bounds, table.configurations, rng) for bounds in table.space.values()]
    X = np.column_stack(columns)
    scores = _cached(name, table, X)
    return Runs(
        f"training {name}", as_candidates(X, list(table.space)), X,
        scores.mean(axis=1), scores.var(axis=1), scores,
    )  # fmt: skip


def _column(bounds: tuple[float, float], n: int, rng: np.random.Generator) -> np.ndarray:
    low, high = bounds
    if isinstance(low, int):
        return rng.integers(low, high + 1, n).astype(float)
    return np.round(rng.uniform(low, high, n), 4)


def _cached(name: str, table: Training, X: np.ndarray) -> np.ndarray:
    try:
        library = version("scikit-learn")
    except PackageNotFoundError:
        raise NotReadyError(
            "scikit-learn is not installed, which the table is made with."
        ) from None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rahbo-bench"
    path = home / f"training-{name}-{EDITION}-sklearn-{library}.npy"
    if not path.exists():
        print(f"Training the table {name}, which is kept in {path}.", file=sys.stderr, flush=True)
        scores = _trained(table, X)
        home.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.npy")
        np.save(part, scores)
        part.replace(path)
    return np.load(path)


def _trained(table: Training, X: np.ndarray) -> np.ndarray:
    """Scores in per cent ``(N, 20)``."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    data, target = getattr(datasets, f"load_{table.data}")(return_X_y=True)
    splits = [
        train_test_split(data, target, train_size=table.train_size, random_state=seed)
        for seed in range(RUNS)
    ]
    kinds = [int if isinstance(low, int) else float for low, _ in table.space.values()]
    scores = np.empty((len(X), RUNS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, x in enumerate(X.tolist()):
            settings = {n: kind(v) for n, kind, v in zip(table.space, kinds, x, strict=True)}
            scores[i] = [table.score(parts, s, **settings) for s, parts in enumerate(splits)]
    return 100.0 * scores
