"""Problems with finitely many different points, whose optimum and median are exact."""

from abc import abstractmethod

import numpy as np

from rahbo.problems import Optimum, Problem
from rahbo.risk import RiskMeasure

# The spread of alpha v over the space in units of that of f, where alpha is set from both.
BALANCE = 0.75


class Finite(Problem):
    """A problem that is known at all its points, which are equally likely in its space."""

    @abstractmethod
    def points(self) -> np.ndarray:
        """All of them ``(N, p)`` in user units."""

    def risk_value(self, X: np.ndarray, risk: RiskMeasure) -> np.ndarray:
        return risk.value(self.f(X), self.noise_var(X))

    def optimum(self, risk: RiskMeasure) -> Optimum:
        X = self.points()
        values = self.risk_value(X, risk)
        best = int(np.argmax(values))
        return Optimum(self.row_to_params(X[best]), float(values[best]))


def balanced_alpha(f: np.ndarray, noise_var: np.ndarray) -> float:
    """The coefficient with which risk matters about as much as the mean, to two digits.

    alpha = 0.75 * interquartile range of f / interquartile range of v

    >>> balanced_alpha(np.arange(101.0), np.arange(101.0) / 100.0)
    75.0
    """
    spreads = [float(np.subtract(*np.percentile(a, [75, 25]))) for a in (f, noise_var)]
    return float(f"{BALANCE * spreads[0] / spreads[1]:.2g}")
