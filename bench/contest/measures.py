"""From records to what must hold.

Notation: curves ``(seeds, marks)`` of normalised regret for each problem and method, marks the
numbers of single evaluations.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contest.problems import TASKS, risk_of
from contest.runs import Record, regret_curve, tried_curve
from rahbo.experiments import Band

OURS, PAPER, CARELESS = "rahbo", "paper", "gpucb1"
# What must hold.
LOWEST_TARGET = 0.005
NEED_EVALUATIONS = 0.5
# Of the best peer's mean regret, in the contest and on SimOpt's problems.
NEED_REGRET = {"contest": 0.5, "simopt": 1.0}
NEED_CAREFUL = (1.1, 0.005)
NEED_COVERAGE = (0.85, 0.97)
NEED_COVERAGE_EACH = 0.80
NEED_RUNS = 400

# Kinds of problems that means are taken over. SimOpt's are a contest of their own.
GROUPS = {
    "contest": ("uneven", "table"),
    "lists": ("list",),
    "rough": ("rough", "rough-list"),
    "even": ("even",),
    "simopt": ("simopt",),
}
MARKS = (100, 200, 400)

# Below this, regret is as good as none: it keeps one exact hit from deciding a geometric mean.
FLOOR = 1e-4
RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Contest:
    """The curves of all runs with one budget.

    Attributes:
        problems: In the order of `TASKS`.
        methods: In the order asked for.
        marks: ``(marks,)``.
        runs: Records by problem, method and seed.
    """

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    marks: np.ndarray
    runs: Mapping[tuple[str, str], Mapping[int, Record]]

    @classmethod
    def of(cls, records: Iterable[Record], methods: Iterable[str]) -> "Contest":
        runs: dict[tuple[str, str], dict[int, Record]] = {}
        marks: list[int] = []
        for record in records:
            job = record.job
            runs.setdefault((job.problem, job.method), {})[job.seed] = record
            marks = record.marks
        problems = tuple(p for p in TASKS if any(p == problem for problem, _ in runs))
        seen = {method for _, method in runs}
        return cls(problems, tuple(m for m in methods if m in seen), np.array(marks), runs)

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        return tuple(p for p in self.problems if TASKS[p].kind in kinds)

    def players(self, problems: Sequence[str]) -> list[str]:
        """Methods with runs of any of these problems."""
        return [name for name in self.methods if any((p, name) in self.runs for p in problems)]

    def seeds(self, problem: str, *methods: str) -> list[int]:
        """Seeds that all of these have."""
        found = [set(self.runs.get((problem, method), {})) for method in methods]
        return sorted(set.intersection(*found))

    def curves(self, problem: str, method: str, seeds: Iterable[int] | None = None) -> np.ndarray:
        """Normalised regret ``(seeds, marks)``."""
        runs = self.runs[problem, method]
        return np.array([regret_curve(runs[s]) for s in (sorted(runs) if seeds is None else seeds)])

    def band(self, problem: str, method: str) -> Band | None:
        if (problem, method) not in self.runs:
            return None
        return Band.over_seeds(self.curves(problem, method))

    def main_marks(self) -> list[int]:
        """The marks that tables show: some round ones, and the last."""
        last = int(self.marks[-1])
        return sorted({mark for mark in MARKS if mark <= last} | {last})

    def at(self, mark: int) -> int:
        """The index of a mark."""
        return int(np.flatnonzero(self.marks == mark)[0])

    def mean_at(self, mark: int, method: str, problems: Iterable[str]) -> np.ndarray | None:
        """Mean regret on each problem ``(problems,)``; None if some have no runs."""
        bands = [self.band(problem, method) for problem in problems]
        if any(band is None for band in bands):
            return None
        return np.array([band.mean[self.at(mark)] for band in bands])

    def difference(self, mark: int, method: str, problems: Sequence[str]) -> tuple[float, float]:
        """Mean over the problems of the regret beyond that of the defaults with the same seeds.

        And twice its standard error.
        """
        i, found = self.at(mark), []
        for problem in problems:
            seeds = self.seeds(problem, OURS, method)
            both = (self.curves(problem, name, seeds)[:, i] for name in (method, OURS))
            found.append(np.subtract(*both))
        return mean_difference(found)

    def shares(self, problem: str, method: str, mark: int) -> tuple[float, float] | None:
        """Mean regret of the best point tried, and what the reported one has beyond it.

        None where there are no runs, or their records do not know what was tried.
        """
        runs = self.runs.get((problem, method), {})
        pairs = [(tried, regret_curve(run)) for run in runs.values()
                 if (tried := tried_curve(run)) is not None]  # fmt: skip
        if not pairs:
            return None
        tried, reported = np.array(pairs)[:, :, self.at(mark)].mean(axis=0)
        return float(tried), float(reported - tried)


def mean_difference(found: Sequence[np.ndarray]) -> tuple[float, float]:
    """The mean over problems of differences by seed, and twice its standard error.

    >>> mean_difference([np.array([0.0, 0.2]), np.array([0.4, 0.4])])
    (0.25, 0.1)
    >>> mean_difference([np.array([0.1])])
    (0.1, nan)
    """
    errors = [np.var(d, ddof=1) / len(d) if len(d) > 1 else np.nan for d in found]
    two_se = 2.0 * float(np.sqrt(sum(errors))) / len(found)
    return float(np.mean([d.mean() for d in found])), two_se


def resampled(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means of resampled rows of ``values (n, c)``, ``(resamples, c)``."""
    rows = rng.integers(len(values), size=(RESAMPLES, len(values)))
    return values[rows].mean(axis=1)


def geometric_mean(values: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(values, FLOOR)))))


def evaluations_to_target(mean: np.ndarray, marks: np.ndarray, target: float) -> float:
    """The first mark from which a mean curve stays at or below a target; never is the last mark.

    >>> marks = np.array([10, 20, 30, 40])
    >>> evaluations_to_target(np.array([0.5, 0.1, 0.2, 0.1]), marks, 0.1)
    40.0
    >>> evaluations_to_target(np.array([0.5, 0.1, 0.05, 0.1]), marks, 0.1)
    20.0
    >>> evaluations_to_target(np.array([0.5, 0.4, 0.3, 0.2]), marks, 0.1)
    40.0
    >>> evaluations_to_target(np.array([0.1, 0.0, 0.0, 0.0]), marks, 0.1)
    10.0
    """
    above = np.flatnonzero(mean > target)
    first = 0 if above.size == 0 else min(int(above[-1]) + 1, len(marks) - 1)
    return float(marks[first])


def target_of(paper: np.ndarray) -> float:
    """The target from the mean curve of the paper preset ``(marks,)``."""
    return max(LOWEST_TARGET, float(paper[-1]))


@dataclass(frozen=True)
class ToTarget:
    """Single evaluations to the paper preset's final regret on one problem.

    Attributes:
        target: Normalised regret.
        paper: Evaluations of the paper preset.
        method: Evaluations of the other method.
        two_se: Twice the standard error of their difference, by resampling seeds.
        seeds: Runs of each.
    """

    target: float
    paper: float
    method: float
    two_se: float
    seeds: int

    @property
    def ratio(self) -> float:
        return self.method / self.paper

    @property
    def holds(self) -> bool:
        """Whether it is no more, up to the error."""
        return self.method - self.paper <= np.nan_to_num(self.two_se)


def to_target(contest: Contest, problem: str, method: str) -> ToTarget | None:
    """None where the two have no seeds in common."""
    seeds = contest.seeds(problem, method, PAPER)
    if not seeds:
        return None
    paper, mine = (contest.curves(problem, name, seeds) for name in (PAPER, method))

    def both(rows: np.ndarray) -> tuple[float, float, float]:
        target = target_of(paper[rows].mean(axis=0))
        spent = (
            evaluations_to_target(c[rows].mean(axis=0), contest.marks, target)
            for c in (paper, mine)
        )
        return (target, *spent)

    if len(seeds) < 2:
        return ToTarget(*both(np.arange(len(seeds))), float("nan"), len(seeds))
    rng = np.random.default_rng(0)
    resampled = [both(rng.integers(len(seeds), size=len(seeds))) for _ in range(RESAMPLES)]
    difference = np.array([b - a for _, a, b in resampled])
    return ToTarget(*both(np.arange(len(seeds))), 2.0 * float(difference.std()), len(seeds))


def covered(record: Record) -> bool | None:
    """Whether the last interval of MV holds the truth; None where there is none."""
    if record.interval[-1] is None:
        return None
    lower, upper = record.interval[-1]
    truth = risk_of(record.job.problem).value(record.f[-1], record.noise_var[-1])
    return bool(lower <= truth <= upper)
