"""What to run: cases of a problem, a method, a risk coefficient, repeats and a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from rahbo import problems
from rahbo.errors import SettingsError
from rahbo.policy.strategies import GPUCB, Rahbo, RahboUS, Strategy
from rahbo.problems import Problem

LEARNING_ROUNDS = 10

METHODS: Mapping[str, Strategy] = {
    "rahbo": Rahbo(),
    "gpucb": GPUCB(),
    "rahbo-us": RahboUS(LEARNING_ROUNDS),
}

PROBLEMS: Mapping[str, Callable[[], Problem]] = {
    "sine": lambda: problems.sine(1.0),
    "sine-s2": lambda: problems.sine(2.0),
    "branin": lambda: problems.branin(1.0),
    "branin-s2": lambda: problems.branin(2.0),
}


@dataclass(frozen=True, order=True)
class Case:
    """One run.

    Attributes:
        problem: A name of `PROBLEMS`.
        method: A name of `METHODS`.
        alpha: The risk coefficient that the method works with; GP-UCB has none and gets 0.
        repeats: Evaluations a round, k.
        n_initial: Points of the initial design.
        rounds: Rounds after it, T; RAHBO-US gets its learning rounds on top.
        seed: Of the initial design and of the noise, the same for all methods.
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
        """A name for files, unique among cases."""
        return (
            f"{self.problem}/{self.method}-alpha{self.alpha:g}-k{self.repeats}"
            f"-n{self.n_initial}-T{self.rounds}-seed{self.seed:02d}"
        )

    @property
    def n_rounds(self) -> int:
        """All rounds, the initial design included."""
        learning = LEARNING_ROUNDS if self.method == "rahbo-us" else 0
        return self.n_initial + self.rounds + learning


@dataclass(frozen=True)
class Experiment:
    """A grid of cases.

    Attributes:
        name: What it is called on the command line.
        problems: Names of `PROBLEMS`.
        alphas: Risk coefficients.
        repeats: Numbers of evaluations a round.
        rounds: The paper's T.
        n_initial: Points of the initial design.
        seeds: Repetitions.
        methods: Names of `METHODS`.
    """

    name: str
    problems: tuple[str, ...]
    alphas: tuple[float, ...]
    repeats: tuple[int, ...]
    rounds: int
    n_initial: int
    seeds: int
    methods: tuple[str, ...] = tuple(METHODS)

    def cases(self) -> list[Case]:
        """Every case, the runs of a seed together, so that an early stop leaves whole seeds."""
        return [
            Case(problem, method, alpha, k, self.n_initial, self.rounds, seed)
            for seed in range(self.seeds)
            for problem in self.problems
            for k in self.repeats
            for method in self.methods
            for alpha in (self.alphas if method != "gpucb" else (0.0,))
        ]

    def quick(self) -> Experiment:
        """The same experiment, small enough to watch."""
        return replace(self, seeds=min(self.seeds, 2), rounds=min(self.rounds, 20))


EXPERIMENTS: Mapping[str, tuple[Experiment, ...]] = {
    "sine": (Experiment("sine", ("sine", "sine-s2"), (0.5, 1.0), (10,), 60, 10, 30),),
    "branin": (Experiment("branin", ("branin", "branin-s2"), (0.5, 1.0), (10,), 150, 10, 25),),
}


def problem_named(name: str) -> Problem:
    """The problem of a case."""
    if name not in PROBLEMS:
        raise SettingsError(f"No problem is called {name!r}. There are: {', '.join(PROBLEMS)}.")
    return PROBLEMS[name]()


def with_seeds(experiments: Iterable[Experiment], seeds: int) -> tuple[Experiment, ...]:
    """The same experiments with another number of repetitions."""
    return tuple(replace(experiment, seeds=seeds) for experiment in experiments)
