"""Who takes part: rahbo in several settings, and peers that are imported only when they play.

Everyone starts from the same scrambled Sobol points of a seed, as many as it is made for. A peer
takes k repeats of each point, and what it is told of them stands in its own module.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import rahbo
from contest.problems import TASKS, Kind, problem_of, risk_of
from rahbo import Adaptive, Folds, MeanVariance, Optimizer
from rahbo.model import DirectNoise
from rahbo.policy import GPUCB, Fixed, Repeats, initial_design
from rahbo.policy import Rahbo as Algorithm1
from rahbo.problems import Tabulated
from rahbo.space import Space

Params = dict[str, Any]

# The published experiments' number, and Optuna's own.
N_INITIAL = 10
TABLE_REPEATS = 5
# Random points, and points near the best one, to choose from where a table is known at the choice.
NEW_POINTS = 500

# rahbo by the name of its settings; those not named are its defaults.
VARIANTS: Mapping[str, dict[str, Any]] = {
    "rahbo": {},
    "paper": {
        "risk": MeanVariance(1.0),
        "repeats": 10,
        "n_initial": N_INITIAL,
        "method": rahbo.paper(),
    },
    "fixed2": {"repeats": 2},
    "fixed3": {"repeats": 3},
    "fixed5": {"repeats": 5},
    "fixed10": {"repeats": 10},
    # What the defaults were chosen by: each changes one of them.
    "min1": {"repeats": Adaptive(min=1)},
    "wide": {"method": rahbo.Method(beta=2.0, beta_noise=2.0)},
    "algorithm1": {"method": rahbo.Method(strategy=Algorithm1())},
    "direct": {"method": rahbo.Method(noise=DirectNoise())},
    "gpucb1": {"method": rahbo.Method(strategy=GPUCB()), "repeats": 1},
}


@dataclass(frozen=True)
class Library:
    """Where a peer is, and what it needs; `only` is the kind of problems that it is made for."""

    title: str
    module: str
    needs: tuple[str, ...] = ()
    only: Kind | None = None


PEERS: Mapping[str, Library] = {
    "optuna-gp": Library("Optuna GP", "of_optuna", ("optuna", "torch")),
    "optuna-tpe": Library("Optuna TPE", "of_optuna", ("optuna",)),
    "smac": Library("SMAC3", "of_smac", ("smac",)),
    "botorch": Library("recipe on BoTorch", "of_botorch", ("botorch", "gpytorch", "torch")),
    "hetgpy": Library("hetGPy", "of_hetgpy", ("hetgpy",)),
    "astrodf": Library("ASTRO-DF", "of_astrodf", ("simopt",), "simopt"),
    "astrodf-grad": Library("ASTRO-DF with gradients", "of_astrodf", ("simopt",), "simopt"),
    "astrodf-equal": Library(
        "ASTRO-DF from the common design", "of_astrodf", ("simopt",), "simopt"
    ),
    "random": Library("random", "methods"),
}


@dataclass(frozen=True)
class Report:
    """The point a method would report, with its interval of MV where it states one."""

    params: Params
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class WholeRun:
    """What a method did that makes its own evaluations.

    Attributes:
        reports: What it would have reported at each mark.
        tried: Its points, each with the evaluations spent when its first values were in.
    """

    reports: list[Report]
    tried: list[tuple[Params, int]]


class Method(ABC):
    """Asks for points, is told values, and can report a point at any time.

    Attributes:
        takes_fewer: Whether it can be told fewer values than it asked for.
    """

    takes_fewer = False

    @abstractmethod
    def ask(self) -> tuple[Params, int]:
        """The next point, and how many repeats of it."""

    @abstractmethod
    def tell(self, values: list[float], new: bool) -> None:
        """Take the values of the point asked for; those of a table may have come before."""

    @abstractmethod
    def report(self) -> Report: ...


class Rahbo(Method):
    """`Optimizer`, with its default rule of reporting."""

    takes_fewer = True

    def __init__(self, task: str, seed: int, settings: dict[str, Any]) -> None:
        problem = problem_of(task)
        settings = settings | {"risk": risk_of(task)}
        if isinstance(problem, Tabulated):
            settings["repeats"] = _of_table(settings.get("repeats"))
        self.optimizer = Optimizer(problem.space, seed=seed, **settings)

    def ask(self) -> tuple[Params, int]:
        self.suggestion = self.optimizer.ask()
        return self.suggestion.params, self.suggestion.repeats

    def tell(self, values: list[float], new: bool) -> None:
        if new:
            self.optimizer.tell(self.suggestion, values)
        if not new or len(values) < self.suggestion.repeats:
            self.optimizer.cancel(self.suggestion)

    def report(self) -> Report:
        best = self.optimizer.recommend()
        return Report(best.params, (best.risk_interval.lower, best.risk_interval.upper))


def _of_table(repeats: int | Repeats | None) -> Repeats:
    """What is asked of a table: by default all it has of a point, and never more."""
    if isinstance(repeats, int | Fixed):
        k = repeats if isinstance(repeats, int) else repeats.n_repeats
        return Fixed(min(k, TABLE_REPEATS))
    return Folds(TABLE_REPEATS)


class Peer(Method):
    """A method that takes k repeats of each point and knows nothing of rahbo.

    Attributes:
        X: Points told so far in the unit cube, ``(n, d)``.
        Y: Their values, ``(n, k)``.
    """

    n_initial = N_INITIAL

    def __init__(self, task: str, seed: int, k: int) -> None:
        self.problem, self.risk, self.seed = problem_of(task), risk_of(task), seed
        self.k = min(k, TABLE_REPEATS) if isinstance(self.problem, Tabulated) else k
        self.space = Space.of(self.problem.space)
        self.design = initial_design(self.space, self.n_initial, seed)
        self.X, self.Y = np.empty((0, self.space.d)), np.empty((0, self.k))
        self.asked = 0

    @abstractmethod
    def propose(self) -> np.ndarray:
        """The next point after the initial design, in the unit cube ``(d,)``."""

    def hope(self, X: np.ndarray) -> np.ndarray:
        """What is maximised at ``X (m, d)``, ``(m,)``, to choose among points that are new."""
        return np.zeros(len(X))

    def ask(self) -> tuple[Params, int]:
        raw = self.design[self.asked] if self.asked < len(self.design) else self.propose()
        self.asked += 1
        self.x = self.space.encode(self.space.decode(raw))
        if isinstance(self.problem, Tabulated) and self.is_known(self.x):
            self.x = self.new_point()
        return self.space.decode(self.x), self.k

    def is_known(self, x: np.ndarray) -> bool:
        return bool(np.any(np.all(x == self.X, axis=1)))

    def new_point(self) -> np.ndarray:
        """The most promising of many points of a table that are not known yet.

        A known one would give the same values again, of which nothing is learned, and the next
        proposal would be the same.
        """
        rng = np.random.default_rng([self.seed, 4, self.asked])
        best = self.X[int(np.argmax(self.hope(self.X)))]
        near = np.clip(best + 0.05 * rng.standard_normal((NEW_POINTS, self.space.d)), 0.0, 1.0)
        raw = np.vstack([rng.random((NEW_POINTS, self.space.d)), near])
        X = np.array([self.space.encode(self.space.decode(x)) for x in raw])
        X = X[[not self.is_known(x) for x in X]]
        return X[int(np.argmax(self.hope(X)))]

    def tell(self, values: list[float], new: bool) -> None:
        # A table may have fewer values left of a point than are asked for. They come too late.
        if new and len(values) == self.k:
            self.X, self.Y = np.vstack([self.X, self.x]), np.vstack([self.Y, values])

    def report(self) -> Report:
        """The point with the best MV of sample mean and sample variance."""
        return self.reported(int(np.argmax([self.score(y) for y in self.Y])))

    def reported(self, i: int) -> Report:
        return Report(self.space.decode(self.X[i]))

    def score(self, values: np.ndarray) -> float:
        """Sample mean less alpha times sample variance."""
        return float(self.risk.value(np.mean(values), np.var(values, ddof=1)))


class Random(Peer):
    """Uniformly random points from the first on."""

    n_initial = 1

    def __init__(self, task: str, seed: int, k: int) -> None:
        super().__init__(task, seed, k)
        self.rng = np.random.default_rng([seed, 2])

    def propose(self) -> np.ndarray:
        return self.space.from_uniform(self.rng.random((1, self.space.n_uniform)))[0]


def parsed(name: str) -> tuple[str, int]:
    """The peer and its k from a name such as ``random-5``."""
    found = re.fullmatch(r"(.+)-(\d+)", name)
    if found is None or found[1] not in PEERS or int(found[2]) < 2:
        peers = ", ".join(f"{peer}-K" for peer in PEERS)
        raise SystemExit(f"No method {name!r}. There are {', '.join(VARIANTS)}; {peers} (K >= 2).")
    return found[1], int(found[2])


def is_peer(name: str) -> bool:
    return name not in VARIANTS


def missing(name: str) -> list[str]:
    """Libraries that a method needs and that are not installed."""
    needs = PEERS[parsed(name)[0]].needs if is_peer(name) else ()
    return [module for module in needs if find_spec(module) is None]


def title(name: str) -> str:
    if not is_peer(name):
        return {"paper": "paper preset, k = 10"}.get(name, name)
    peer, k = parsed(name)
    return f"{PEERS[peer].title}, k = {k}"


def plays_on(name: str, task: str) -> bool:
    """Whether a method is made for a problem of this kind."""
    only = PEERS[parsed(name)[0]].only if is_peer(name) else None
    return only in (None, TASKS[task].kind)


def alone(name: str) -> Callable[..., WholeRun] | None:
    """What makes the whole run of a method that evaluates by itself; None for the others."""
    if not is_peer(name) or missing(name):
        return None
    peer, k = parsed(name)
    found = getattr(import_module(f"contest.{PEERS[peer].module}"), "ALONE", {}).get(peer)
    return None if found is None else partial(found, k=k)


def make_method(name: str, task: str, seed: int) -> Method:
    """Someone at the start of a run."""
    if task not in TASKS:
        raise SystemExit(f"No problem {task!r}. There are {', '.join(TASKS)}.")
    if not is_peer(name):
        return Rahbo(task, seed, VARIANTS[name])
    peer, k = parsed(name)
    module = import_module(f"contest.{PEERS[peer].module}")
    return module.METHODS[peer](task, seed, k)


METHODS = {"random": Random}
