"""Lists of designs, as a laboratory has them: mean and noise at each drawn from random functions.

Notation: N designs in d inputs; f a draw of a Gaussian process, log v one of another, both with
Matérn 5/2 kernels and lengthscales drawn for each input. What is drawn depends on the number of the
list alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from contest.finite import Finite
from rahbo.model import Matern52
from rahbo.problems import Problem
from rahbo.space import Candidates

# Inputs, designs and median noise variance of each list; f has variance 1.
SHAPES = ((4, 164, 0.2), (5, 600, 0.05), (6, 1000, 0.5), (8, 400, 0.1))
LOG_NOISE_STD = 1.2


@dataclass(frozen=True)
class DesignList(Finite):
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

    def points(self) -> np.ndarray:
        return self.X

    def params_to_row(self, params: Mapping[str, object]) -> np.ndarray:
        return np.array(list(params.values()), dtype=float)

    def row_to_params(self, row: np.ndarray) -> dict[str, float | int]:
        return dict(self.space.rows[self._rows(row[None])[0]])

    def _rows(self, X: np.ndarray) -> np.ndarray:
        return np.array([self._where[tuple(x)] for x in np.asarray(X).tolist()])

    @cached_property
    def _where(self) -> dict[tuple[float, ...], int]:
        return {tuple(x): i for i, x in enumerate(self.X.tolist())}


def as_candidates(X: np.ndarray, names: list[str] | None = None) -> Candidates:
    """The rows of X ``(N, d)`` as a space, with names x1, x2, ... by default."""
    names = names or [f"x{j + 1}" for j in range(X.shape[1])]
    return Candidates([dict(zip(names, row, strict=True)) for row in X.tolist()])


def design_list(number: int) -> Problem:
    """The list of this number."""
    d, n, level = SHAPES[number]
    rng = np.random.default_rng([7, number])
    X = np.round(rng.random((n, d)), 6)
    f, g = (smooth_draw(X, typical, rng) for typical in (0.35, 0.5))
    noise_vars = level * np.exp(LOG_NOISE_STD * g)
    return DesignList(f"list {number}", as_candidates(X), X, f, noise_vars)


def smooth_draw(X: np.ndarray, typical: float, rng: np.random.Generator) -> np.ndarray:
    """A function of unit variance with lengthscales around ``typical * sqrt(d)``."""
    n, d = X.shape
    kernel = Matern52(typical * np.sqrt(d) * np.exp(0.5 * rng.standard_normal(d)))
    root = np.linalg.cholesky(kernel(X, X) + 1e-8 * np.eye(n))
    return root @ rng.standard_normal(n)
