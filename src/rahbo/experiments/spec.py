"""The runs of each experiment: a problem, a method, a risk coefficient, repeats and a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from rahbo import problems
from rahbo.errors import SettingsError
from rahbo.policy import GPUCB, Rahbo, RahboUS, Strategy
from rahbo.problems import Problem

LEARNING_ROUNDS = 10

METHODS: Mapping[str, Strategy] = {
    "rahbo": Rahbo(),
    "gpucb": GPUCB(),
    "rahbo-us": RahboUS(LEARNING_ROUNDS),
}

# Methods without a risk coefficient: one run is judged with every coefficient.
RISK_NEUTRAL = frozenset({"gpucb"})

TITLES: Mapping[str, str] = {"rahbo": "RAHBO", "gpucb": "GP-UCB", "rahbo-us": "RAHBO-US"}

PROBLEMS: Mapping[str, Callable[[], Problem]] = {
    "sine": lambda: problems.sine(1.0),
    "sine-s2": lambda: problems.sine(2.0),
    "branin": lambda: problems.branin(1.0),
    "branin-s2": lambda: problems.branin(2.0),
    "fel": problems.fel,
    "euxfel": problems.euxfel,
    "forest": problems.forest,
}


@dataclass(frozen=True, order=True)
class Case:
    """One run.

    Attributes:
        problem: A name in `PROBLEMS`.
        method: A name in `METHODS`.
        alpha: The risk coefficient of the method; GP-UCB has none and gets 0.
        repeats: The number of evaluations per round, k.
        n_initial: The number of points in the initial design.
        rounds: The number of rounds after the design, T; RAHBO-US gets its learning rounds on top.
        seed: Seeds the initial design and the noise, equally for all methods.
    """

    problem: str
    method: str
    alpha: float
    repeats: int
    n_initial: int
    rounds: int
    seed: int

    @property
    def key(self) -> str:
        """A file name that is unique among cases."""
        return (
            f"{self.problem}/{self.method}-alpha{self.alpha:g}-k{self.repeats}"
            f"-n{self.n_initial}-T{self.rounds}-seed{self.seed:02d}"
        )

    @property
    def learning_rounds(self) -> int:
        """The number of rounds after the initial design that only learn the noise."""
        strategy = METHODS[self.method]
        return strategy.learning_rounds if isinstance(strategy, RahboUS) else 0

    @property
    def n_rounds(self) -> int:
        """The number of all rounds, including the initial design."""
        return self.n_initial + self.learning_rounds + self.rounds


@dataclass(frozen=True)
class Experiment:
    """A grid of cases.

    Attributes:
        name: The name on the command line.
        problems: Names in `PROBLEMS`.
        alphas: Risk coefficients.
        repeats: Numbers of evaluations per round.
        rounds: The paper's T.
        n_initial: The number of points in the initial design.
        seeds: The number of repetitions.
        methods: Names in `METHODS`.
        quick_rounds: T of the quick version.
    """

    name: str
    problems: tuple[str, ...]
    alphas: tuple[float, ...]
    repeats: tuple[int, ...]
    rounds: int
    n_initial: int
    seeds: int
    methods: tuple[str, ...] = tuple(METHODS)
    quick_rounds: int = 20

    def cases(self) -> list[Case]:
        """Return every case once, ordered by seed, so that an early stop leaves whole seeds."""
        found = [
            case
            for problem in self.problems
            for k in self.repeats
            for method in self.methods
            for alpha in self.alphas
            for case in self.runs_of(problem, method, alpha, k)
        ]
        return sorted(dict.fromkeys(found), key=lambda case: case.seed)

    def runs_of(self, problem: str, method: str, alpha: float, repeats: int) -> list[Case]:
        """Return the runs of one method to be judged with ``alpha``; only their seeds differ."""
        known = 0.0 if method in RISK_NEUTRAL else alpha
        return [
            Case(problem, method, known, repeats, self.n_initial, self.rounds, seed)
            for seed in range(self.seeds)
        ]

    def quick(self) -> Experiment:
        """Return a smaller version of the experiment, for a quick trial."""
        rounds = min(self.rounds, self.quick_rounds)
        return replace(self, seeds=min(self.seeds, 2), rounds=rounds)


def _at_equal_evaluations(problem: str, budget: int, quick: int) -> tuple[Experiment, ...]:
    """Return experiments of RAHBO alone, from many rounds of few repeats to few rounds of many.

    T = budget / k
    """
    return tuple(
        Experiment(
            "repeats", (problem,), (1.0,), (k,), budget // k, 10, 15, ("rahbo",), quick // k
        )
        for k in (2, 3, 5, 10, 20)
    )  # fmt: skip


EXPERIMENTS: Mapping[str, tuple[Experiment, ...]] = {
    "sine": (Experiment("sine", ("sine", "sine-s2"), (0.5, 1.0), (10,), 60, 10, 30),),
    "branin": (Experiment("branin", ("branin", "branin-s2"), (0.5, 1.0), (10,), 150, 10, 25),),
    "repeats": (
        *_at_equal_evaluations("sine", 600, 120),
        *_at_equal_evaluations("branin-s2", 900, 180),
    ),
    "fel": (Experiment("fel", ("fel",), (0.5, 1.0, 2.0, 5.0), (10,), 200, 30, 15),),
    "euxfel": (Experiment("euxfel", ("euxfel",), (0.5, 1.0, 2.0, 5.0), (10,), 200, 30, 15),),
    "forest": (Experiment("forest", ("forest",), (20.0, 100.0), (5,), 50, 10, 15),),
}


@cache
def problem_named(name: str) -> Problem:
    """Return the problem of a name, always the same object, so that it keeps its optima."""
    if name not in PROBLEMS:
        raise SettingsError(f"The problem must be one of {', '.join(PROBLEMS)}, got {name!r}.")
    return PROBLEMS[name]()


def with_seeds(experiments: Iterable[Experiment], seeds: int) -> tuple[Experiment, ...]:
    """Return the experiments with another number of repetitions."""
    return tuple(replace(experiment, seeds=seeds) for experiment in experiments)
