"""How to choose a row of a grid search: by its mean, its risk, shrunk variances, or the model.

    python bench/refit.py                                    20 divisions of each (3 minutes)
    python bench/refit.py --data wine --divisions 5

A grid is evaluated on divisions into five folds. Each rule chooses a row from one division, and is
judged by the others: regret is how far the risk value of its row, of the mean over all their folds
and of the variance within a division, falls short of that of the best row.
"""

import argparse
import platform
import time

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from provenance import commit
from rahbo import Candidates, MeanStd, MeanVariance, Optimizer
from rahbo.integrations.sklearn import risk_averse_refit
from rahbo.integrations.split_scores import moments, split_scores

SPLITS = 5
RISKS = (MeanStd(1.0), MeanStd(2.0), MeanVariance(10.0))
RULES = ("mean", "empirical", "shrunk", "model")
LEAVES = [1, 2, 5, 10, 20, 50]
# Loader, estimator, grid.
CASES = {
    "wine": (
        load_wine,
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": np.logspace(-2, 3, 7), "svc__gamma": np.logspace(-5, 0, 7)},
    ),
    "breast_cancer": (
        load_breast_cancer,
        DecisionTreeClassifier(random_state=0),
        {
            "max_depth": list(range(1, 9)),
            "min_samples_leaf": LEAVES,
            "criterion": ["gini", "entropy"],
        },
    ),
    "diabetes": (
        load_diabetes,
        DecisionTreeRegressor(random_state=0),
        {"max_depth": list(range(1, 9)), "min_samples_leaf": LEAVES},
    ),
}


def tables(name, divisions):
    """The ``cv_results_`` of each division."""
    load, estimator, grid = CASES[name]
    X, y = load(return_X_y=True)
    kind = KFold if name == "diabetes" else StratifiedKFold
    for seed in range(divisions):
        cv = kind(SPLITS, shuffle=True, random_state=seed)
        yield GridSearchCV(estimator, grid, cv=cv, refit=False).fit(X, y).cv_results_


def ranked(rows):
    """Rows whose numbers are replaced by their ranks: grids are even on some scale or other."""
    columns = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        if not isinstance(values[0], str):
            values = np.unique(values, return_inverse=True)[1].tolist()
        columns[key] = values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def choices(table, risk):
    """The row that each rule chooses."""
    scores = split_scores(table, "score")
    mean, s2 = moments(scores)
    rows = ranked(table["params"])
    data = list(zip(rows, scores, strict=True))
    best = Optimizer(Candidates(rows), risk=risk, data=data, seed=0).recommend()
    return {
        "mean": int(np.argmax(mean)),
        "empirical": int(np.argmax(risk.value(mean, s2))),
        "shrunk": risk_averse_refit(risk)(table),
        "model": rows.index(best.params),
    }


def regrets(divisions, risk):
    """Regret of each rule, ``(divisions, rules)``."""
    found = []
    scores = np.array([split_scores(table, "score") for table in divisions])
    for i, table in enumerate(divisions):
        others = np.delete(scores, i, axis=0)
        value = risk.value(others.mean(axis=(0, 2)), others.var(axis=2, ddof=1).mean(axis=0))
        chosen = choices(table, risk)
        found.append([value.max() - value[chosen[rule]] for rule in RULES])
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--divisions", type=int, default=20)
    args = parser.parse_args()
    versions = f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    print(f"Commit {commit()}; {versions}; {args.divisions} divisions")
    print("Mean regret; the last column is the paired difference ± standard error\n")
    print("| data | risk | " + " | ".join(RULES) + " | shrunk less empirical |")
    print("|---|---|" + "---|" * (1 + len(RULES)))
    started = time.process_time()
    for name in args.data:
        divisions = list(tables(name, args.divisions))
        for risk in RISKS:
            found = regrets(divisions, risk)
            gap = found[:, RULES.index("shrunk")] - found[:, RULES.index("empirical")]
            error = np.std(gap, ddof=1) / np.sqrt(len(gap))
            cells = [f"{r:.4f}" for r in found.mean(axis=0)] + [f"{gap.mean():.4f} ± {error:.4f}"]
            print(f"| {name} | {risk} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
