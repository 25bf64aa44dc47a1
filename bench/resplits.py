"""Fixed folds or new ones for each setting: which search finds the better model?

    python bench/resplits.py search --seeds 1100:1120 --out resplits.jsonl
    python bench/resplits.py search --seeds 1100:1120 --methods random --out random.jsonl
    python bench/resplits.py report resplits.jsonl
    python bench/resplits.py report resplits.jsonl --fixed "one hold-out"

Every seed draws a small sample from a large data set. A search sees this sample only, and spends a
number of fits on folds of it. The setting that it recommends is judged in two ways: by the score of
the model that is fitted on the whole sample and tested on all other rows ("test"), which is what a
user wants, and by the scores on the folds of ten new splits of the sample ("new splits"; with a
risk measure, its value over these). Methods share the sample and the fixed folds of a seed, so
differences are paired. Develop on seeds 100 and above, judge on 1100 and above.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import rahbo
from rahbo.space import Space

FOLDS, BUDGET, STEP, NEW_SPLITS = 5, 100, 25, 10
RANDOM_BUDGET, RANDOM_MARKS = 250, (100, 250)


@dataclass(frozen=True)
class Case:
    """A data set, the size of the sample, a space and the models that it stands for."""

    data: Callable[[], tuple[np.ndarray, np.ndarray]]
    rows: int
    space: dict[str, Any]
    model: Callable[..., Any]
    classes: bool = True
    kappa: float = 0.0


def log(low: float, high: float) -> rahbo.Float:
    return rahbo.Float(low, high, log=True)


def scaled(data: Any) -> tuple[np.ndarray, np.ndarray]:
    X, y = data
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), y


def ridge(penalty: float, gamma: float) -> KernelRidge:
    return KernelRidge(alpha=penalty, kernel="rbf", gamma=gamma)


def friedman() -> tuple[np.ndarray, np.ndarray]:
    return datasets.make_friedman1(3000, n_features=6, noise=3.0, random_state=0)


def noisy_labels() -> tuple[np.ndarray, np.ndarray]:
    return datasets.make_classification(
        5000, 6, n_informative=4, n_redundant=0, n_clusters_per_class=3, flip_y=0.1, random_state=0
    )


RIDGE = {"penalty": log(1e-2, 1e2), "gamma": log(1e-3, 1e1)}
CASES = {
    "svm on digits": Case(
        lambda: scaled(datasets.load_digits(return_X_y=True)), 200,
        {"C": log(1e-1, 1e3), "gamma": log(1e-5, 1e0)}, SVC,
    ),
    "neighbours on cancer": Case(
        lambda: scaled(datasets.load_breast_cancer(return_X_y=True)), 150,
        {"n_neighbors": rahbo.Int(1, 60, log=True), "p": log(1.0, 10.0),
         "weights": ["uniform", "distance"]}, KNeighborsClassifier,
    ),
    "tree on noisy labels": Case(
        noisy_labels, 300,
        {"max_depth": rahbo.Int(1, 12), "min_samples_leaf": rahbo.Int(1, 50, log=True),
         "ccp_alpha": log(1e-4, 1e-1)},
        lambda **params: DecisionTreeClassifier(**params, random_state=0),
    ),
    "ridge on friedman": Case(friedman, 100, RIDGE, ridge, classes=False),
    "ridge on friedman, mean - std": Case(friedman, 100, RIDGE, ridge, classes=False, kappa=1.0),
}  # fmt: skip

# The settings of the optimizer. Names that begin with "new" draw a split for each suggestion, or
# "one at a time" for each fit; the labelled one tells it as a block.
METHODS: dict[str, dict[str, Any]] = {
    "Folds(5)": {"repeats": rahbo.Folds(FOLDS)},
    "blocks=5": {"blocks": FOLDS},
    "blocks=20": {"blocks": 4 * FOLDS},
    "new, repeats=5": {"repeats": FOLDS},
    "new, labelled": {"repeats": FOLDS},
    "new, one at a time": {},
    "one hold-out": {"repeats": rahbo.Folds(1)},
}
RANDOM = ("random, fixed folds", "random, new folds", "random, fixed hold-out",
          "random, new hold-out")  # fmt: skip


class Sample:
    """The rows that the searches of a seed see, and what is true of a setting."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case = case
        X, y = case.data()
        self.rng = np.random.default_rng(seed)
        order = self.rng.permutation(len(y))
        seen, rest = order[: case.rows], order[case.rows :]
        self.X, self.y, self.rest = X[seen], y[seen], (X[rest], y[rest])
        # Four splits, the first of which gives the fixed folds.
        self.fixed = [fold for _ in range(4) for fold in self.split(self.rng)]
        self.judges = [fold for _ in range(NEW_SPLITS) for fold in self.split(self.rng)]
        self._known: dict[Any, float] = {}

    def split(self, rng: np.random.Generator) -> list[np.ndarray]:
        """The test rows of each fold of a new split, with all classes in each of them."""
        order = rng.permutation(len(self.y))
        if self.case.classes:
            order = order[np.argsort(self.y[order], kind="stable")]
        return [order[j::FOLDS] for j in range(FOLDS)]

    def score(self, params: dict, test: np.ndarray) -> float:
        train = np.delete(np.arange(len(self.y)), test)
        fitted = self.case.model(**params).fit(self.X[train], self.y[train])
        return float(fitted.score(self.X[test], self.y[test]))

    def score_fixed(self, params: dict, fold: int) -> float:
        key = (*params.values(), fold)
        if key not in self._known:
            self._known[key] = self.score(params, self.fixed[fold])
        return self._known[key]

    def test(self, params: dict) -> float:
        return float(self.case.model(**params).fit(self.X, self.y).score(*self.rest))

    def new_splits(self, params: dict) -> tuple[float, float]:
        """The mean score over the folds of new splits, and the risk value."""
        scores = np.array([self.score(params, test) for test in self.judges])
        return float(scores.mean()), float(scores.mean() - self.case.kappa * scores.std(ddof=1))


def searched(sample: Sample, how: str, seed: int) -> Iterator[tuple[int, dict, list]]:
    """Run a search. Yield fits, recommended setting and reported mean with interval, at marks."""
    case, rng = sample.case, np.random.default_rng([seed, 1])
    opt = rahbo.Optimizer(case.space, risk=rahbo.MeanStd(case.kappa), seed=seed, **METHODS[how])
    made, n_splits = 0, 0
    while made < BUDGET:
        s = opt.ask()
        if how == "new, one at a time":
            told = [sample.score(s.params, sample.split(rng)[0]) for _ in s.indices]
        elif how.startswith("new"):
            told = [sample.score(s.params, test) for test in sample.split(rng)]
        else:
            folds = s.blocks or range(s.repeats)
            told = [sample.score_fixed(s.params, int(fold)) for fold in folds]
        n_splits += 1
        opt.tell(s, told, block=n_splits if how == "new, labelled" else None)
        due = range(made + 1, min(made + len(told), BUDGET) + 1)
        made += len(told)
        for mark in due:
            if mark % STEP == 0:
                found = opt.recommend()
                interval = found.mean_interval
                yield mark, found.params, [found.mean, interval.lower, interval.upper]


def drawn(sample: Sample, how: str, seed: int) -> Iterator[tuple[int, dict, list]]:
    """Run a random search: the largest mean over the folds of a setting wins."""
    case, rng = sample.case, np.random.default_rng([seed, 1])
    rng_settings = np.random.default_rng([seed, 2])
    cost = 1 if "hold-out" in how else FOLDS
    space, best, chosen, mean = Space.of(case.space), -np.inf, {}, np.nan
    for n in range(cost, RANDOM_BUDGET + 1, cost):
        params = space.decode(rng_settings.random(space.d))
        if "new" in how:
            told = [sample.score(params, test) for test in sample.split(rng)[:cost]]
        else:
            told = [sample.score_fixed(params, fold) for fold in range(cost)]
        value = np.mean(told) - case.kappa * np.std(told, ddof=1 if cost > 1 else 0)
        if value > best:
            best, chosen, mean = value, params, float(np.mean(told))
        if n in RANDOM_MARKS:
            yield n, chosen, [mean]


def run(name: str, how: str, seed: int, sample: Sample) -> dict:
    began = process_time()
    found = list((drawn if how in RANDOM else searched)(sample, how, seed))
    tests = {str(mark): sample.test(params) for mark, params, _ in found}
    _, params, reported = found[-1]
    mean, value = sample.new_splits(params)
    return {"case": name, "how": how, "seed": seed, "test": tests, "new splits": value,
            "mean": mean, "reported": reported,
            "seconds": round(process_time() - began, 2)}  # fmt: skip


def report(path: str, fixed_by: str) -> None:
    """The judged scores, their differences from fixed folds, and how far reported means are off."""
    rows: dict[tuple[str, str], dict[int, dict]] = defaultdict(dict)
    for line in Path(path).read_text().splitlines():
        row = json.loads(line)
        rows[row["case"], row["how"]][row["seed"]] = row
    titles = ("case", "method", "fits", "runs", "test", "less fixed", "new splits", "less fixed",
              "reported mean less that of new splits", "in interval", "seconds")  # fmt: skip
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
    for case, how in rows:
        fixed = ("random, fixed " + how.split()[-1]) if how in RANDOM else fixed_by
        other = rows[case, fixed]
        mine = {s: row for s, row in rows[case, how].items() if s in other}
        of = [[run for _, run in sorted(r.items()) if run["seed"] in mine] for r in (mine, other)]
        *early, last = of[0][0]["test"]
        for mark in early:
            print(f"| {case} | {how} | {mark} | {len(mine)} | {judged(of, 'test', mark)} |||||")
        off = np.array([run["reported"][0] - run["mean"] for run in of[0]])
        inside = [run["reported"][1] <= run["mean"] <= run["reported"][2]
                  for run in of[0] if len(run["reported"]) == 3]  # fmt: skip
        share = f"{np.mean(inside):.0%}" if inside else ""
        spent = np.mean([run["seconds"] for run in of[0]])
        print(f"| {case} | {how} | {last} | {len(mine)} | {judged(of, 'test', last)} "
              f"| {judged(of, 'new splits')} | {said(off)} | {share} | {spent:.1f} |")  # fmt: skip


def judged(runs: list[list[dict]], by: str, mark: str | None = None) -> str:
    """Two cells: the score of a method, and how much it is above that of fixed folds."""
    mine, other = np.array([[r[by][mark] if mark else r[by] for r in one] for one in runs])
    return f"{said(mine)} | {said(mine - other) if np.any(mine != other) else ''}"


def said(values: np.ndarray) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["search", "report"])
    parser.add_argument("path", nargs="?")
    parser.add_argument("--seeds", default="100:103")
    parser.add_argument("--cases", default=";".join(CASES), help="separated by semicolons")
    parser.add_argument("--methods", default=";".join(METHODS), help="the same; or random")
    parser.add_argument("--fixed", default="Folds(5)", help="the method to compare others with")
    parser.add_argument("--out", default="resplits.jsonl")
    given = parser.parse_args()
    if given.what == "report":
        return report(given.path or given.out, given.fixed)
    methods = RANDOM if given.methods == "random" else given.methods.split(";")
    with open(given.out, "a") as out:
        for seed in range(*map(int, given.seeds.split(":"))):
            for name in given.cases.split(";"):
                sample = Sample(CASES[name], seed)
                for how in methods:
                    print(json.dumps(run(name, how, seed, sample)), file=out, flush=True)
    return None


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    sys.exit(main())
