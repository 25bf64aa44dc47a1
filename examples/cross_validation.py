"""Tune a classifier whose cross-validation folds disagree.

    pip install "rahbo[sklearn]"
    python examples/cross_validation.py

The folds are the repeats. The search looks for parameters that score well on all folds, not well on
average and badly on some. The variance is that of the score between the folds of this division.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import rahbo
from rahbo.integrations.sklearn import RiskAverseSearchCV


def main() -> None:
    """Search, then print the recommended parameters and what other risk aversions would choose."""
    X, y = load_breast_cancer(return_X_y=True)
    search = RiskAverseSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {
            "svc__C": rahbo.Float(1e-2, 1e3, log=True),
            "svc__gamma": rahbo.Float(1e-5, 1.0, log=True),
        },
        risk=rahbo.MeanStd(1.0),  # mean less one standard deviation over the folds
        n_iter=15,
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
        random_state=0,
    )
    search.fit(X, y)

    print("Recommended:", search.best_params_)
    print(f"Mean accuracy over the folds: {search.best_score_:.4f}")
    print(search.recommendation_)

    luckiest = int(search.cv_results_["mean_test_score"].argmax())
    print("Highest mean:", search.cv_results_["params"][luckiest])

    print("\nWhat other weights of the noise would choose, without another fit:")
    for kappa in (0.0, 1.0, 3.0):
        choice = search.optimizer_.recommend(risk=rahbo.MeanStd(kappa))
        print(f"  mean - {kappa:g} std: {choice.params}")


if __name__ == "__main__":
    main()
