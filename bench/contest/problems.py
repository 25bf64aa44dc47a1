"""The problems of the contest, what an evaluation gives, and the scale of regret.

Notation: MV = f - alpha v; the regret of a point is (MV* - MV) / (MV* - median MV), with the median
over the space. It is 0 at the optimum and 1 at a middling point.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np

from contest import rough
from contest.finite import Finite, balanced_alpha
from contest.lists import SHAPES, design_list
from contest.simulations.simulation import Simulation, simulation
from contest.simulations.table import TABLE
from contest.training import training
from rahbo import problems
from rahbo.errors import NotReadyError
from rahbo.numerics import evaluation_seed
from rahbo.problems import Problem, Tabulated
from rahbo.risk import MeanVariance
from rahbo.space import Space

MEDIAN_POINTS = 20_000
MEDIAN_SEED = 0

# "uneven": noise that depends on the input. "even": the same everywhere, or none, so that being
# careful gains nothing. "table": a complete table of results, with no draws. "list": a list of
# designs, for rahbo alone, as the others take no lists. "rough": jumps, or noise with outliers.
# "rough-list": a list whose means jump, for rahbo alone. "simopt": a simulation of SimOpt's.
Kind = Literal["uneven", "even", "table", "list", "rough", "rough-list", "simopt"]


@dataclass(frozen=True)
class Even(Problem):
    """The mean of another problem with the same noise everywhere."""

    mean: Problem
    var: float

    def f(self, X: np.ndarray) -> np.ndarray:
        return self.mean.f(X)

    def noise_var(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.var)


def even(problem: Problem, var: float) -> Problem:
    return Even(f"{problem.name}, noise {var:g}", problem.space, problem, var)


@dataclass(frozen=True)
class Task:
    """One problem of the contest.

    Attributes:
        make: Makes the problem.
        kind: What its noise is like.
        alpha: The risk coefficient, known to every method; None sets it from the spread of mean
            and noise variance over the list.
    """

    make: Callable[[], Problem]
    kind: Kind = "uneven"
    alpha: float | None = 1.0


TASKS: Mapping[str, Task] = {
    "sine": Task(problems.sine),
    "branin": Task(lambda: problems.branin(2.0)),
    "fel": Task(problems.fel),
    "euxfel": Task(problems.euxfel),
    "newsvendor": Task(problems.newsvendor),
    "hartmann6": Task(problems.hartmann6),
    "ridge10": Task(problems.ridge10),
    # The paper's smaller coefficient: with 1 the fold variances would hardly count.
    "forest": Task(problems.forest, "table", 20.0),
    **{f"list{i}": Task(partial(design_list, i), "list") for i in range(len(SHAPES))},
    # The first half is for development, the second half to judge by.
    **{
        f"rough{i}": Task(partial(rough.rough_list, i), "rough-list", None)
        for i in range(len(rough.SHAPES))
    },
    "training-digits": Task(partial(training, "digits"), "rough-list", None),
    "training-diabetes": Task(partial(training, "diabetes"), "rough-list", None),
    "branin-snapped": Task(lambda: rough.snapped(problems.branin(2.0), 12), "rough"),
    "hartmann6-snapped": Task(lambda: rough.snapped(problems.hartmann6(), 5), "rough"),
    "fel-heavy": Task(lambda: rough.heavy(problems.fel()), "rough"),
    "hartmann6-skewed": Task(lambda: rough.skewed(problems.hartmann6()), "rough"),
    "branin-even": Task(lambda: even(problems.branin(), 4.0), "even"),
    "hartmann6-even": Task(lambda: problems.hartmann6(0.0), "even"),
    "branin-noiseless": Task(lambda: even(problems.branin(), 0.0), "even"),
    "hartmann6-noiseless": Task(lambda: even(problems.hartmann6(), 0.0), "even"),
    **{name: Task(partial(simulation, name), "simopt", row.alpha) for name, row in TABLE.items()},
}


@cache
def problem_of(name: str) -> Problem:
    """The problem of a task; the same object each time, so that it keeps the optima it found."""
    return TASKS[name].make()


@cache
def risk_of(name: str) -> MeanVariance:
    alpha = TASKS[name].alpha
    if alpha is None:
        problem = problem_of(name)
        X = problem.points()
        alpha = balanced_alpha(problem.f(X), problem.noise_var(X))
    return MeanVariance(alpha)


def why_absent(name: str) -> str | None:
    """Why a problem cannot be run here, if so."""
    try:
        problem_of(name)
    except NotReadyError as error:
        # The rest of the sentence names places on this machine.
        return str(error).split(",")[0]
    return None


@cache
def landmarks(name: str) -> tuple[float, float]:
    """The largest MV, and the median of MV over the space."""
    problem, risk = problem_of(name), risk_of(name)
    if isinstance(problem, Simulation):
        return problem.landmarks
    best = problem.optimum(risk).value
    if isinstance(problem, Finite):
        return best, float(np.median(problem.risk_value(problem.points(), risk)))
    space = Space.of(problem.space)
    uniform = np.random.default_rng(MEDIAN_SEED).random((MEDIAN_POINTS, space.n_uniform))
    points = [problem.params_to_row(space.decode(x)) for x in space.from_uniform(uniform)]
    median = float(np.median(problem.risk_value(np.array(points), risk)))
    return best, median


def normalised_regret(name: str, f: np.ndarray, noise_var: np.ndarray) -> np.ndarray:
    best, median = landmarks(name)
    return (best - risk_of(name).value(f, noise_var)) / (best - median)


class Evaluations:
    """What evaluations give: the noise depends on the seed, the number of the ask and the repeat.

    A table holds the five values of a point and no more: they are given in an order of their own
    for each point and seed, and when they are used up the same five come again.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.seed = problem, seed
        self.asked = 0
        self._given: Counter[bytes] = Counter()

    def __call__(self, params: dict[str, object], repeats: int) -> tuple[list[float], bool]:
        """The values, and whether they are new."""
        self.asked += 1
        if isinstance(self.problem, Tabulated):
            return self._from_table(params, repeats)
        seeds = (evaluation_seed(self.seed, self.asked - 1, i) for i in range(repeats))
        return [self.problem.sample(params, np.random.default_rng(s)) for s in seeds], True

    def _from_table(self, params: dict[str, object], repeats: int) -> tuple[list[float], bool]:
        row = self.problem.params_to_row(params)
        values = np.array(self.problem.values(params))
        rng = np.random.default_rng([self.seed, *row.astype(int).tolist()])
        shuffled = rng.permutation(values).tolist()
        given = self._given[row.tobytes()]
        fresh = shuffled[given : given + repeats]
        self._given[row.tobytes()] += len(fresh)
        return (fresh, True) if fresh else (shuffled, False)
