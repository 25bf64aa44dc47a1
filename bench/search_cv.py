"""Cross-validated searches at equal numbers of fits: the chosen parameters on fresh folds.

    python bench/search_cv.py                                10 seeds of everything (15 minutes)
    python bench/search_cv.py --data wine --seeds 3 --kappa 2

Each search spends 100 fits on the same five folds of a seed: 20 candidates, or 13, 5 and 2 on
growing parts of the data where it halves (wine is small: 15 and 5). What it chose is then evaluated
on ten new divisions into five folds, the same for all. "Fold variance" is that between the five
folds of one division, in the mean over the ten. Differences are RiskAverseSearchCV less the other,
paired by seed.
"""

import argparse
import platform
import time
import warnings
from functools import cache

import numpy as np
import scipy
import sklearn
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from provenance import commit
from rahbo import Categorical, Float, Int, MeanStd
from rahbo.integrations.sklearn import RiskAverseSearchCV, risk_averse_refit

try:
    import skopt
except ImportError:
    skopt = None

N_ITER, SPLITS, REPEATS = 20, 5, 10
OURS = "RiskAverseSearchCV"
# Candidates that halving starts with, so that its fits add up to those of the others.
HALVED = {"wine": 15, "breast_cancer": 13, "diabetes": 13}

# Loader, estimator, space.
CASES = {
    "wine": (
        load_wine,
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": Float(1e-2, 1e3, log=True), "svc__gamma": Float(1e-5, 1.0, log=True)},
    ),
    "breast_cancer": (
        load_breast_cancer,
        DecisionTreeClassifier(random_state=0),
        {
            "max_depth": Int(1, 12),
            "min_samples_leaf": Int(1, 60),
            "criterion": Categorical(["gini", "entropy"]),
        },
    ),
    "diabetes": (
        load_diabetes,
        GradientBoostingRegressor(n_estimators=40, random_state=0),
        {
            "learning_rate": Float(0.01, 1.0, log=True),
            "max_depth": Int(1, 6),
            "subsample": Float(0.3, 1.0),
        },
    ),
}


@cache
def data_of(name):
    return CASES[name][0](return_X_y=True)


def distribution(part):
    """A parameter as `RandomizedSearchCV` draws it."""
    if isinstance(part, Categorical):
        return list(part.choices)
    if isinstance(part, Int):
        return randint(part.low, part.high + 1)
    low, high = part.low, part.high
    return loguniform(low, high) if part.log else uniform(low, high - low)


def dimension(part):
    """A parameter of scikit-optimize."""
    if isinstance(part, Categorical):
        return skopt.space.Categorical(part.choices)
    if isinstance(part, Int):
        return skopt.space.Integer(part.low, part.high)
    prior = "log-uniform" if part.log else "uniform"
    return skopt.space.Real(part.low, part.high, prior=prior)


def searches(name, risk, cv, seed):
    """Every search, not yet fitted."""
    _, estimator, space = CASES[name]
    drawn = {key: distribution(part) for key, part in space.items()}
    common = {"cv": cv, "random_state": seed}
    found = {
        OURS: RiskAverseSearchCV(estimator, space, risk=risk, n_iter=N_ITER, **common),
        "RandomizedSearchCV": RandomizedSearchCV(estimator, drawn, n_iter=N_ITER, **common),
        "RandomizedSearchCV, risk_averse_refit": RandomizedSearchCV(
            estimator, drawn, n_iter=N_ITER, refit=risk_averse_refit(risk), **common
        ),
        "HalvingRandomSearchCV": HalvingRandomSearchCV(
            estimator, drawn, n_candidates=HALVED[name], **common
        ),
    }
    if skopt is not None:
        dimensions = {key: dimension(part) for key, part in space.items()}
        found["BayesSearchCV"] = skopt.BayesSearchCV(estimator, dimensions, n_iter=N_ITER, **common)
    return found


def folds(name, seed):
    """The folds of a search, and fresh ones."""
    kinds = (
        (KFold, RepeatedKFold) if name == "diabetes" else (StratifiedKFold, RepeatedStratifiedKFold)
    )
    search = kinds[0](SPLITS, shuffle=True, random_state=seed)
    return search, kinds[1](n_splits=SPLITS, n_repeats=REPEATS, random_state=1000 + seed)


def run(name, risk, seed):
    """Mean, fold variance and risk value of what each search chose, on fresh folds."""
    X, y = data_of(name)
    cv, fresh = folds(name, seed)
    found = {}
    for method, search in searches(name, risk, cv, seed).items():
        started = time.process_time()
        search.fit(X, y)
        spent = time.process_time() - started
        n_fits = SPLITS * len(search.cv_results_["params"])
        assert n_fits == SPLITS * N_ITER, f"{method} made {n_fits} fits"
        chosen = clone(search.estimator).set_params(**search.best_params_)
        scores = cross_val_score(chosen, X, y, cv=fresh).reshape(REPEATS, SPLITS)
        mean, var = scores.mean(), scores.var(axis=1, ddof=1).mean()
        found[method] = mean, var, float(risk.value(mean, var)), spent
    return found


def with_error(values, scale=1.0, digits=4):
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{scale * np.mean(values):.{digits}f} ± {scale * error:.{digits}f}"


def report(name, risk, seeds):
    runs = [run(name, risk, seed) for seed in range(seeds)]
    ours = np.array([one[OURS] for one in runs])
    for method in runs[0]:
        values = np.array([one[method] for one in runs])
        cells = [
            with_error(values[:, 0]),
            with_error(values[:, 1], 1e4, 2),
            with_error(values[:, 2]),
        ]
        gap = ours - values
        if method != OURS:
            cells += [with_error(gap[:, 0]), with_error(gap[:, 1], 1e4, 2), with_error(gap[:, 2])]
        else:
            cells += ["", "", ""]
        cells.append(f"{values[:, 3].mean():.1f}")
        print(f"| {name} | {method} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--kappa", type=float, default=1.0, help="risk: mean less kappa std (1)")
    args = parser.parse_args()
    # scikit-optimize says when it meets a point again.
    warnings.filterwarnings("ignore", category=UserWarning, module="skopt")
    libraries = f"NumPy {np.__version__}, SciPy {scipy.__version__}"
    libraries += f", scikit-learn {sklearn.__version__}"
    libraries += f", scikit-optimize {skopt.__version__}" if skopt else ""
    print(f"Commit {commit()}; Python {platform.python_version()}, {libraries}")
    if skopt is None:
        print("scikit-optimize is not installed: BayesSearchCV is left out")
    print(
        f"{SPLITS * N_ITER} fits, {args.seeds} seeds, mean ± standard error; variances times 1e4\n"
    )
    print(
        f"| data | search | score | fold variance | mean − {args.kappa:g} std | difference: score "
        "| fold variance | mean − std | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    started = time.process_time()
    for name in args.data:
        report(name, MeanStd(args.kappa), args.seeds)
    print(f"\n{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
