"""Two products to price and stock before the demand is known: a problem with non-Gaussian noise.

Notation: for each of the two products, p is the price, q the stock, c the cost, mu the mean demand,
D the demand and s = min(D, q) the sales. a is the shape of the demand's gamma distribution.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from rahbo.errors import SettingsError
from rahbo.numerics import Array
from rahbo.problems.base import Problem
from rahbo.space import Float

_COST = np.array([0.6, 0.4])
_SIZE = np.array([2.0, 2.5])
_OWN = np.array([1.0, 1.2])
_OTHER = 0.2


@dataclass(frozen=True)
class _Newsvendor(Problem):
    """The problem that `newsvendor` makes."""

    variability: float

    def f(self, X: Array) -> Array:
        price, stock = X[:, ::2], X[:, 1::2]
        sold, _ = self._moments_of_sales(X)
        return np.asarray((price * sold - _COST * stock).sum(axis=1))

    def noise_var(self, X: Array) -> Array:
        sold, squared = self._moments_of_sales(X)
        return np.asarray((X[:, ::2] ** 2 * np.maximum(squared - sold**2, 0.0)).sum(axis=1))

    def samples(
        self, params: Mapping[str, object], rngs: Iterable[np.random.Generator]
    ) -> list[float]:
        """Return a profit for each generator, which draws a demand for each product.

        y = sum p·min(D, q) - c·q, D ~ Gamma(a, mu/a)
        """
        X = self.params_to_row(params)[None]
        price, stock, mean = X[0, ::2], X[0, 1::2], _mean_demand(X)[0]
        demands = (rng.gamma(self._shape, mean / self._shape) for rng in rngs)
        return [float(price @ np.minimum(D, stock) - _COST @ stock) for D in demands]

    def _moments_of_sales(self, X: Array) -> tuple[Array, Array]:
        """Return E s and E s² ``(m, 2)``.

        E s = mu·P(a+1, t) + q·(1 - P(a, t)), E s² = mu²·(1 + 1/a)·P(a+2, t) + q²·(1 - P(a, t))

        with t = a·q/mu and P the regularised lower incomplete gamma function.
        """
        a, stock, mean = self._shape, X[:, 1::2], _mean_demand(X)
        t = a * stock / mean
        sold_out = 1.0 - gammainc(a, t)
        first = mean * gammainc(a + 1.0, t) + stock * sold_out
        second = mean**2 * (1.0 + 1.0 / a) * gammainc(a + 2.0, t) + stock**2 * sold_out
        return np.asarray(first), np.asarray(second)

    @property
    def _shape(self) -> float:
        return 1.0 / self.variability**2


def _mean_demand(X: Array) -> Array:
    """Return mu ``(m, 2)``, which falls with a product's price and rises with the other's price.

    mu_i = size_i·exp(-own_i·(p_i - 1) + 0.2·(p_j - 1))
    """
    above = X[:, ::2] - 1.0
    return np.asarray(_SIZE * np.exp(-_OWN * above + _OTHER * above[:, ::-1]))


def newsvendor(variability: float = 0.5) -> Problem:
    """Return the newsvendor problem: prices and stocks of two products, and the profit of a day.

    y = sum p·min(D, q) - c·q, D gamma distributed about mu_i = size_i·exp(-own_i·(p_i - 1) +
    0.2·(p_j - 1)), with costs (0.6, 0.4), sizes (2, 2.5) and own = (1, 1.2)

    Unsold stock is lost. Up to a point, a larger stock earns more on average, but the profit varies
    more from day to day. A small stock is sold out every day. The noise is bounded above.

    Args:
        variability: Standard deviation of the demand in units of its mean, from 0.01 to 2.

    Examples:
        >>> from rahbo.risk import MeanVariance
        >>> for alpha in (0.0, 1.0):
        ...     print(round(newsvendor().optimum(MeanVariance(alpha)).params["stock2"], 1))
        2.7
        1.5
    """
    if not (math.isfinite(variability) and 0.01 <= variability <= 2.0):
        raise SettingsError(
            f"newsvendor() needs a variability from 0.01 to 2, got {variability!r}. Pass the "
            "demand's standard deviation in units of its mean, 0.5 by default."
        )
    name = "newsvendor" if variability == 0.5 else f"newsvendor(variability={variability:g})"
    products = {
        f"{what}{i}": Float(*bounds)
        for i in (1, 2)
        for what, bounds in (("price", (1.0, 3.0)), ("stock", (0.0, 4.0)))
    }
    return _Newsvendor(name, products, float(variability))
