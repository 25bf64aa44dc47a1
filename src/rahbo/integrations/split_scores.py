"""Read the split scores of candidates from scikit-learn's ``cv_results_``, and shrink variances.

Notation: ``scores (m, n_splits)`` holds the test scores of each candidate on each fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from rahbo.errors import DataError, SettingsError
from rahbo.numerics import Array
from rahbo.trials import LARGEST_VALUE

# Bounds on half the degrees of freedom that the common variance counts for.
LEAST_SHRUNK, MOST_SHRUNK = 1e-6, 1e6


def metric_of(results: Mapping[str, Any], refit: object) -> str:
    """Return the metric to search by: the only one, or the one that ``refit`` names."""
    if isinstance(refit, str) and f"mean_test_{refit}" in results:
        return refit
    if "mean_test_score" not in results:
        raise unnamed_metric(refit)
    return "score"


def unnamed_metric(refit: object) -> SettingsError:
    """Return the error for several metrics of which none is named."""
    return SettingsError(
        f"With several metrics, refit= must name the one to search by, got {refit!r}. "
        "Name it, or pass one metric."
    )


def split_scores(results: Mapping[str, Any], metric: str) -> Array:
    """Return the test scores of each candidate on each fold, ``(n_candidates, n_splits)``."""
    names = (f"split{i}_test_{metric}" for i in range(len(results)))
    splits = [results[name] for name in names if name in results]
    if not splits:
        raise DataError(f"cv_results_ has no split scores for {metric!r}. Name one of its metrics.")
    return np.column_stack(splits)


def usable(scores: Array) -> bool:
    """Return whether every fold gave a number that a model can use."""
    return bool(np.all(np.abs(scores) <= LARGEST_VALUE))


def moments(scores: Array) -> tuple[Array, Array]:
    """Return mean and sample variance of each row of scores ``(m, n_splits)``.

    With a single split the variance is 0.
    """
    several = scores.shape[1] > 1
    return scores.mean(axis=1), scores.var(axis=1, ddof=1 if several else 0)


def shrunk_variances(s2: Array, dof: int) -> Array:
    """Return sample variances ``(m,)`` of ``dof`` degrees of freedom, shrunk to a common one.

    (d0 s0^2 + dof s^2) / (d0 + dof)

    Here s0^2 is the common variance and d0 its weight in degrees of freedom. Both are chosen so
    that log s^2 has the observed mean and variance (Smyth 2004). If the variances differ no more
    than by chance, all become s0^2. A variance of zero counts as a thousandth of the median one.
    """
    positive = s2[s2 > 0.0]
    if dof < 1 or len(positive) < 2:
        return s2
    log_s2 = np.log(np.maximum(s2, 1e-3 * np.median(positive)))
    log_s2 += _log_bias(dof)
    beyond_chance = float(np.var(log_s2, ddof=1) - polygamma(1, 0.5 * dof))
    if beyond_chance <= polygamma(1, MOST_SHRUNK):
        return np.full(len(s2), np.exp(np.mean(log_s2)))
    d0 = 2.0 * brentq(lambda half: polygamma(1, half) - beyond_chance, LEAST_SHRUNK, MOST_SHRUNK)
    s0 = np.exp(np.mean(log_s2) - _log_bias(d0))
    return np.asarray((d0 * s0 + dof * s2) / (d0 + dof))


def _log_bias(dof: float) -> float:
    """Return how far log s^2 lies below log sigma^2 on average."""
    return float(np.log(0.5 * dof) - digamma(0.5 * dof))
