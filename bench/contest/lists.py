"""Lists of designs, as a laboratory has them: mean and noise at each drawn from random functions.

Notation: N designs in d inputs; f a draw of a Gaussian process, log v one of another, both with
Matérn 5/2 kernels and lengthscales drawn for each input. What is drawn depends on the number of the
list alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rahbo.model import Matern52
from rahbo.problems import Optimum, Problem
from rahbo.risk import RiskMeasure
from rahbo.space import Candidates

# Inputs, designs and median noise variance of each list; f has variance 1.
SHAPES = ((4, 164, 0.2), (5, 600, 0.05), (6, 1000, 0.5), (8, 400, 0.1))
LOG_NOISE_STD = 1.2


@dataclass(frozen=True)
class DesignList(Problem):
    """A list of designs with their true means and noise variances.

    Attributes:
        X: Designs, ``(N, d)``.
        means: ``(N,)``.
        noise_vars: ``(N,)``.
    """

    X: np.ndarray = field(compare=False, repr=False)
    means: np.ndarray = field(compare=False, repr=False)
    noise_vars: np.ndarray = field(compare=False, repr=False)

    def f(self, X: np.ndarray) -> np.ndarray:
        return self.means[self._rows(X)]

    def noise_var(self, X: np.ndarray) -> np.ndarray:
        return self.noise_vars[self._rows(X)]

    def params_to_row(self, params: Mapping[str, object]) -> np.ndarray:
        return np.array(list(params.values()), dtype=float)

    def risk_value(self, X: np.ndarray, risk: RiskMeasure) -> np.ndarray:
        return risk.value(self.f(X), self.noise_var(X))

    def optimum(self, risk: RiskMeasure) -> Optimum:
        value = risk.value(self.means, self.noise_vars)
        best = int(np.argmax(value))
        return Optimum(dict(self.space.rows[best]), float(value[best]))

    def _rows(self, X: np.ndarray) -> np.ndarray:
        return np.array([self._where[tuple(x)] for x in np.asarray(X).tolist()])

    @cached_property
    def _where(self) -> dict[tuple[float, ...], int]:
        return {tuple(x): i for i, x in enumerate(self.X.tolist())}


def design_list(number: int) -> Problem:
    """The list of this number."""
    d, n, level = SHAPES[number]
    rng = np.random.default_rng([7, number])
    X = np.round(rng.random((n, d)), 6)
    f, g = (_draw(X, typical, rng) for typical in (0.35, 0.5))
    space = Candidates([{f"x{j + 1}": x for j, x in enumerate(row)} for row in X.tolist()])
    return DesignList(f"list {number}", space, X, f, level * np.exp(LOG_NOISE_STD * g))


def _draw(X: np.ndarray, typical: float, rng: np.random.Generator) -> np.ndarray:
    """A function of unit variance with lengthscales around ``typical * sqrt(d)``."""
    n, d = X.shape
    kernel = Matern52(typical * np.sqrt(d) * np.exp(0.5 * rng.standard_normal(d)))
    root = np.linalg.cholesky(kernel(X, X) + 1e-8 * np.eye(n))
    return root @ rng.standard_normal(n)
