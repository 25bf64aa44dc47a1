"""The base class of test problems, and the search for their optimum.

Notation, with p parameters in the order of the problem's space:

    X   points in user units         ``(m, p)``
    f   mean of the outcome          ``(m,)``
    v   noise variance               ``(m,)``
    R   risk measure, R(f, v)        ``(m,)``
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import maximum_filter
from scipy.optimize import minimize

from rahbo.errors import DataError
from rahbo.numerics import Array
from rahbo.risk import RiskMeasure
from rahbo.space import Float, Int, Space

_GRID_POINTS = 200_000
_STARTS = 8
_STEP = 6e-6
# With this many parameters or more, a grid is too coarse to find the peaks.
_MANY = 6
_MANY_STARTS = 32


@dataclass(frozen=True)
class Optimum:
    """The best point of a problem under a risk measure.

    Attributes:
        params: The point in user units; one of them if several are equally good.
        value: The risk value R(f, v) of the point.
    """

    params: dict[str, float | int]
    value: float


@dataclass(frozen=True)
class Problem(ABC):
    """A noisy function to maximise, with known mean, noise variance and optimum.

    A subclass is a frozen dataclass with its own settings as further fields.

    Attributes:
        name: The name in records and tables, including its settings.
        space: The parameters by name, all numeric, ready for `Optimizer`.
    """

    name: str
    space: Mapping[str, Float | Int] = field(compare=False, repr=False)

    @abstractmethod
    def f(self, X: Array) -> Array:
        """Return the mean ``(m,)`` at X ``(m, p)`` in user units."""

    @abstractmethod
    def noise_var(self, X: Array) -> Array:
        """Return the noise variance ``(m,)`` at X ``(m, p)`` in user units."""

    def sample(self, params: Mapping[str, object], rng: np.random.Generator) -> float:
        """Return one noisy measurement.

        Args:
            params: A point of the space.
            rng: Generates the noise.
        """
        return self.samples(params, [rng])[0]

    def samples(
        self, params: Mapping[str, object], rngs: Iterable[np.random.Generator]
    ) -> list[float]:
        """Return a noisy measurement for each generator.

        y = f(x) + rho(x)·eps, eps ~ N(0, 1)

        Args:
            params: A point of the space.
            rngs: Generators of the noise; each gives one draw of eps.
        """
        X = self.params_to_row(params)[None]
        f, noise_std = float(self.f(X)[0]), float(np.sqrt(self.noise_var(X)[0]))
        return [f + noise_std * float(rng.standard_normal()) for rng in rngs]

    def params_to_row(self, params: Mapping[str, object]) -> Array:
        """Return params as a row ``(p,)`` in user units, in the order of the space.

        Raises:
            SpaceError: The params are not a point of the space.
        """
        self._checked_space.encode(params)
        return np.array([params[name] for name in self.space], dtype=np.float64)

    def row_to_params(self, row: Array) -> dict[str, float | int]:
        """Return a row ``(p,)`` in user units as params."""
        pairs = zip(self.space.items(), row, strict=True)
        return {
            name: round(float(value)) if isinstance(kind, Int) else float(value)
            for (name, kind), value in pairs
        }

    def risk_value(self, X: Array, risk: RiskMeasure) -> Array:
        """Return R(f, v) ``(m,)`` at X ``(m, p)`` in user units."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.space):
            raise DataError(
                f"{self.name} needs points of shape (m, {len(self.space)}), got {X.shape}. "
                f"Pass one row per point, with columns in the order {list(self.space)}."
            )
        return risk.value(self.f(X), self.noise_var(X))

    def optimum(self, risk: RiskMeasure) -> Optimum:
        """Return the best point under a risk measure.

        A bounded quasi-Newton search starts from the best local maxima of a dense grid, or, with
        six parameters or more, from the best of many random points. The result is cached. The
        search is meant for about ten parameters at most. A problem with a better method overrides
        it.

        Args:
            risk: The risk measure; a frozen dataclass, so that the result can be cached.
        """
        # For a risk measure that cannot be hashed, the search runs each time.
        hashable = getattr(risk, "__hash__", None) is not None
        kept = self._optima.get(risk) if hashable else None
        if kept is None:
            row, value = _search(self, risk)
            kept = Optimum(self.row_to_params(row), value)
            if hashable:
                self._optima[risk] = kept
        return replace(kept, params=dict(kept.params))

    def regret(self, params: Mapping[str, object], risk: RiskMeasure) -> float:
        """Return how much worse a point is than the optimum under a risk measure.

        r(x) = max R - R(x)    (eq. 4, for any risk measure)

        At the optimum it is 0, up to the precision of the search, about 1e-9.
        """
        X = self.params_to_row(params)[None]
        return self.optimum(risk).value - float(self.risk_value(X, risk)[0])

    @cached_property
    def _optima(self) -> dict[RiskMeasure, Optimum]:
        return {}

    @cached_property
    def _checked_space(self) -> Space:
        return Space.of(self.space)


class Tabulated(Problem):
    """A problem read from a table: a point has the same few values at every visit.

    f = mean, v = sample variance (ddof 1) of these values

    The values are the truth, not draws from it, so telling them again adds no evidence.
    """

    @abstractmethod
    def values(self, params: Mapping[str, object]) -> list[float]:
        """Return all values of a point."""


def _search(problem: Problem, risk: RiskMeasure) -> tuple[Array, float]:
    """Return the best row ``(p,)`` in user units and its risk value."""
    starts = _best_of_many(problem, risk) if len(problem.space) >= _MANY else _peaks(problem, risk)
    # A climb may end on a flat side, so the best start is kept as a candidate.
    rows = np.vstack([starts[:1], *(_refine(problem, risk, start)[None] for start in starts)])
    values = problem.risk_value(rows, risk)
    best = int(np.argmax(values))
    return rows[best], float(values[best])


def _peaks(problem: Problem, risk: RiskMeasure) -> Array:
    """Return the best local maxima of a dense grid, best first, ``(starts, p)``."""
    kinds = list(problem.space.values())
    n = int(_GRID_POINTS ** (1.0 / len(kinds)) + 1e-9)
    axes = [_axis(kind, n) for kind in kinds]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(kinds))
    values = problem.risk_value(X, risk)
    peaks = values == maximum_filter(values.reshape([len(a) for a in axes]), size=3).ravel()
    order = np.argsort(np.where(peaks, -values, np.inf), kind="stable")[:_STARTS]
    return np.asarray(X[order])


def _best_of_many(problem: Problem, risk: RiskMeasure) -> Array:
    """Return the best of a fixed set of random points, best first, ``(starts, p)``."""
    kinds = list(problem.space.values())
    uniform = np.random.default_rng(0).random((len(kinds), _GRID_POINTS))
    X = np.column_stack([_spread(kind, u) for kind, u in zip(kinds, uniform, strict=True)])
    return np.asarray(X[np.argsort(-problem.risk_value(X, risk), kind="stable")[:_MANY_STARTS]])


def _spread(kind: Float | Int, u: Array) -> Array:
    """Return values of a parameter from uniform numbers ``(m,)``."""
    low, high = float(kind.low), float(kind.high)
    inside = low * (high / low) ** u if kind.log else low + u * (high - low)
    return np.asarray(np.round(inside) if isinstance(kind, Int) else inside)


def _axis(kind: Float | Int, n: int) -> Array:
    """Return about n values from low to high, or every integer if there are at most n."""
    spread = np.geomspace if kind.log else np.linspace
    if isinstance(kind, Int):
        if kind.high - kind.low < n:
            return np.arange(kind.low, kind.high + 1, dtype=np.float64)
        return np.unique(np.round(spread(float(kind.low), float(kind.high), n)))
    return np.asarray(spread(kind.low, kind.high, n), dtype=np.float64)


def _refine(problem: Problem, risk: RiskMeasure, start: Array) -> Array:
    """Climb from a start within the bounds, changing only parameters that are not integers."""
    kinds = list(problem.space.values())
    free = np.array([isinstance(kind, Float) for kind in kinds])
    if not free.any():
        return start
    low = np.array([kind.low for kind in kinds], dtype=np.float64)[free]
    high = np.array([kind.high for kind in kinds], dtype=np.float64)[free]

    def rows(U: Array) -> Array:
        out = np.tile(start, (len(U), 1))
        out[:, free] = np.clip(low + U * (high - low), low, high)
        return out

    def loss(u: Array) -> tuple[float, Array]:
        # All central differences in one call; at a bound the difference is one-sided.
        up = np.minimum(u + _STEP * np.eye(len(u)), 1.0)
        down = np.maximum(u - _STEP * np.eye(len(u)), 0.0)
        values = -problem.risk_value(rows(np.vstack([u, up, down])), risk)
        rise = values[1 : 1 + len(u)] - values[1 + len(u) :]
        return float(values[0]), np.asarray(rise / np.diag(up - down))

    u0 = (start[free] - low) / (high - low)
    result = minimize(
        loss,
        u0,
        method="L-BFGS-B",
        jac=True,
        bounds=[(0.0, 1.0)] * len(low),
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return np.asarray(rows(np.asarray(result.x, dtype=np.float64)[None])[0])
