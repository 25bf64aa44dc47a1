"""Problems that a smooth model with Gaussian noise does not fit.

A rule that trusts its model does well where all responses are smooth. These are not:

    lists with jumps   f = smooth + cells + rough, each with its share of the variance, and log v
                       likewise, with a part of f besides: good designs tend to be noisy. Some
                       inputs have few levels
    snapped            another problem at the centre of the cell of a grid: constant within a cell
    heavy, skewed      another problem's mean and noise variance, but noise with outliers

Everything that is drawn depends on the number of the list alone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from contest.finite import Finite
from contest.lists import LOG_NOISE_STD, DesignList, as_candidates, smooth_draw
from rahbo.problems import Optimum, Problem
from rahbo.risk import RiskMeasure


@dataclass(frozen=True)
class Shape:
    """What a list with jumps is like.

    Attributes:
        levels: How many different values each input has; 0 for any number.
        designs: How many are listed; all combinations if there are fewer.
        noise_var: The median; f has variance 1.
        jumps: The share of the cells in the variance of f and of log v.
        rough: The share of what one design has by itself or with its closest neighbours.
        cells: How many regions differ by a jump.
    """

    levels: tuple[int, ...]
    designs: int
    noise_var: float
    jumps: float
    rough: float
    cells: int


# The first half is for development, the second half to judge by.
SHAPES = (
    Shape((0, 0, 4), 150, 0.2, jumps=0.5, rough=0.2, cells=6),
    Shape((6, 5, 4, 3), 360, 0.5, jumps=0.4, rough=0.1, cells=10),
    Shape((0, 0, 0, 0, 3), 300, 0.1, jumps=0.3, rough=0.4, cells=8),
    Shape((0, 0, 0, 2, 4, 6), 500, 0.3, jumps=0.6, rough=0.1, cells=15),
    Shape((9, 6, 5), 270, 0.3, jumps=0.5, rough=0.1, cells=8),
    Shape((0, 0, 0, 5), 200, 0.1, jumps=0.4, rough=0.3, cells=6),
    Shape((0, 0, 8, 4, 2), 400, 0.5, jumps=0.6, rough=0.2, cells=12),
    Shape((0, 0, 0, 0, 3, 3), 250, 0.2, jumps=0.3, rough=0.3, cells=10),
)
# Lengthscales of the rough part of f, as in `smooth_draw`, and the share of f in log v.
SHORT = 0.08
COMMON = 0.3


def rough_list(number: int) -> Problem:
    """The list with jumps of this number."""
    shape = SHAPES[number]
    rng = np.random.default_rng([17, number])
    X = _designs(shape, rng)
    f = _mixture(X, shape, 0.35, smooth_draw(X, SHORT, rng), rng)
    g = _mixture(X, shape, 0.5, rng.standard_normal(len(X)), rng)
    g = np.sqrt(COMMON) * f + np.sqrt(1.0 - COMMON) * g
    noise_vars = shape.noise_var * np.exp(LOG_NOISE_STD * g)
    return DesignList(f"rough {number}", as_candidates(X), X, f, noise_vars)


def _designs(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Different designs in random order ``(N, d)``."""
    if all(shape.levels):
        every = product(*(np.linspace(0.0, 1.0, n).round(6) for n in shape.levels))
        return rng.permutation(np.array(list(every)))[: shape.designs]
    u = rng.random((shape.designs, len(shape.levels)))
    columns = [
        np.round(x if n == 0 else np.floor(n * x) / (n - 1), 6)
        for x, n in zip(u.T, shape.levels, strict=True)
    ]
    return np.column_stack(columns)


def _mixture(
    X: np.ndarray, shape: Shape, typical: float, rough: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Smooth, cells and rough in their shares ``(N,)``, of mean 0 and variance 1."""
    parts = (smooth_draw(X, typical, rng), _cells(X, shape.cells, rng), rough)
    shares = (1.0 - shape.jumps - shape.rough, shape.jumps, shape.rough)
    return standardised(
        sum(np.sqrt(s) * standardised(p) for s, p in zip(shares, parts, strict=True))
    )


def _cells(X: np.ndarray, cells: int, rng: np.random.Generator) -> np.ndarray:
    """A constant in each cell: what is closest to one of some random centres ``(N,)``."""
    weights = np.exp(0.7 * rng.standard_normal(X.shape[1]))
    centres, heights = rng.random((cells, X.shape[1])), rng.standard_normal(cells)
    gaps = (weights * (X[:, None] - centres)) ** 2
    return heights[gaps.sum(axis=2).argmin(axis=1)]


def standardised(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


@dataclass(frozen=True)
class Snapped(Finite):
    """Another problem at the centre of the cell that a point is in.

    Attributes:
        smooth: The other problem.
        levels: Cells along each input.
    """

    smooth: Problem
    levels: int

    def f(self, X: np.ndarray) -> np.ndarray:
        return self.smooth.f(self._snap(X))

    def noise_var(self, X: np.ndarray) -> np.ndarray:
        return self.smooth.noise_var(self._snap(X))

    def points(self) -> np.ndarray:
        u = (np.arange(self.levels) + 0.5) / self.levels
        low, width = self._box
        return low + width * np.array(list(product(u, repeat=len(low))))

    def _snap(self, X: np.ndarray) -> np.ndarray:
        low, width = self._box
        cell = np.clip(np.floor(self.levels * (X - low) / width), 0, self.levels - 1)
        return low + width * (cell + 0.5) / self.levels

    @cached_property
    def _box(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.array([(kind.low, kind.high) for kind in self.space.values()]).T
        return low, high - low


def snapped(problem: Problem, levels: int) -> Problem:
    return Snapped(f"{problem.name}, {levels} levels", problem.space, problem, levels)


@dataclass(frozen=True)
class OtherNoise(Problem):
    """Another problem's mean and noise variance with noise that is not Gaussian.

    Attributes:
        gaussian: The other problem.
        draw: Draws noise of mean 0 and variance 1.
    """

    gaussian: Problem
    draw: Callable[[np.random.Generator], float] = field(compare=False, repr=False)

    def f(self, X: np.ndarray) -> np.ndarray:
        return self.gaussian.f(X)

    def noise_var(self, X: np.ndarray) -> np.ndarray:
        return self.gaussian.noise_var(X)

    def optimum(self, risk: RiskMeasure) -> Optimum:
        return self.gaussian.optimum(risk)

    def samples(
        self, params: Mapping[str, object], rngs: Iterable[np.random.Generator]
    ) -> list[float]:
        X = self.params_to_row(params)[None]
        f, noise_std = float(self.f(X)[0]), float(np.sqrt(self.noise_var(X)[0]))
        return [f + noise_std * self.draw(rng) for rng in rngs]


def heavy(problem: Problem) -> Problem:
    """Noise of Student's t with 3 degrees of freedom: its sample variance has no variance."""
    return OtherNoise(f"{problem.name}, heavy tails", problem.space, problem, _student)


def skewed(problem: Problem) -> Problem:
    """One value in 20 is far off, most often towards the bad."""
    return OtherNoise(f"{problem.name}, skewed", problem.space, problem, _contaminated)


DEGREES = 3.0
SHARE, AWAY, WIDTH = 0.05, -5.0, 3.0
_MEAN = SHARE * AWAY
_STD = np.sqrt(1.0 - SHARE + SHARE * (WIDTH**2 + AWAY**2) - _MEAN**2)


def _student(rng: np.random.Generator) -> float:
    return float(rng.standard_t(DEGREES) / np.sqrt(DEGREES / (DEGREES - 2.0)))


def _contaminated(rng: np.random.Generator) -> float:
    z, far = rng.standard_normal(), rng.random() < SHARE
    return float(((AWAY + WIDTH * z if far else z) - _MEAN) / _STD)
