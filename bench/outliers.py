"""Regret where the best-looking settings give a rare but very bad value.

    python bench/outliers.py --json outliers.jsonl --jobs 2      20 seeds (half an hour)
    python bench/outliers.py --seeds 5 --budgets 100 --problems "2 inputs, 1 in 20"

In one region of each space, one value in 10, 20 or 50 is 10 to 50 noise standard deviations worse.
The settings with the best values otherwise lie in that region, and another good setting lies
outside of it. ``rahbo.maximize`` with its defaults plays against random search with five repeats a
setting, which picks the best sample mean - alpha * sample variance.

A run that the file of records holds is not made again, whatever the code has become since: start a
new file for new code.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.stats import qmc

import rahbo
from records import Job, Record, all_records, commits, log, markdown

OURS, RANDOM = "rahbo", "random"
REPEATS = 5
# An outlier is uniformly between this many noise stds worse.
JUMP = (10.0, 50.0)
JUMP_MEAN = np.mean(JUMP)
JUMP_SQUARE = (JUMP[1] ** 3 - JUMP[0] ** 3) / (3 * (JUMP[1] - JUMP[0]))
SOBOL_POINTS = 2**14
LIST_SEED = 11
LIST_NAMES = ("x1", "x2", "x3", "supplier")


@dataclass(frozen=True, eq=False)
class Problem:
    """A noisy function to maximise whose outliers are known exactly.

    Settings are rows of numbers: y = g(x) + s·eps, less s·J with probability `rate` where
    `is_bad(x)`, J ~ U(10, 50). Hence

        f = g - rate·s·E[J],  v = s² (1 + rate·E[J²] - rate²·E[J]²)    in the bad region
        f = g,                v = s²                                   elsewhere

    Attributes:
        space: Ready for `maximize`.
        g: The mean without outliers.
        is_bad: Where outliers occur.
        rate: The share of outliers there.
        s: The noise std without outliers.
        rows: All settings of a list; None for a continuous space, the unit cube.
    """

    space: dict[str, tuple[float, float]] | rahbo.Candidates = field(repr=False)
    g: Callable[[np.ndarray], np.ndarray]
    is_bad: Callable[[np.ndarray], np.ndarray]
    rate: float
    s: float
    rows: np.ndarray | None = None

    def draw(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return one value at each setting."""
        m = len(X)
        eps, chance, jump = rng.standard_normal(m), rng.random(m), rng.uniform(*JUMP, m)
        struck = self.is_bad(X) & (chance < self.rate)
        return self.g(X) + self.s * (eps - struck * jump)

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the true mean and noise variance."""
        rate = self.rate * self.is_bad(X)
        f = self.g(X) - rate * self.s * JUMP_MEAN
        return f, self.s**2 * (1.0 + rate * JUMP_SQUARE - (rate * JUMP_MEAN) ** 2)

    def risk(self, X: np.ndarray, alpha: float) -> np.ndarray:
        f, v = self.moments(X)
        return f - alpha * v

    @cached_property
    def points(self) -> np.ndarray:
        """Points that stand for the space."""
        if self.rows is not None:
            return self.rows
        return qmc.Sobol(len(self.space), scramble=False).random(SOBOL_POINTS)

    @cached_property
    def alpha(self) -> float:
        """The coefficient that makes the careless choice exactly as bad as a middling setting.

        The careless choice has the best mean without outliers. So the normalised regret of a method
        that does not notice them is about 1, whatever their rate.
        """
        X = self.points
        careless = X[[np.argmax(self.g(X))]]

        def beyond_median(alpha: float) -> float:
            return float(self.risk(careless, alpha)[0] - np.median(self.risk(X, alpha)))

        return float(brentq(beyond_median, 0.0, 1e4))

    @cached_property
    def landmarks(self) -> tuple[float, float]:
        """The best risk value and the median over the space."""
        values = self.risk(self.points, self.alpha)
        best = float(values.max())
        if self.rows is None:
            found = minimize(
                lambda x: -self.risk(x[None], self.alpha)[0],
                self.points[np.argmax(values)],
                method="Nelder-Mead",
                bounds=[(0.0, 1.0)] * len(self.space),
                options={"xatol": 1e-6, "fatol": 1e-9},
            )
            best = max(best, -float(found.fun))
        return best, float(np.median(values))

    def regret(self, x: np.ndarray) -> float:
        """Return (best - value at x) / (best - median)."""
        best, median = self.landmarks
        return (best - float(self.risk(x[None], self.alpha)[0])) / (best - median)


def peaks(centres: list[list[float]], heights: list[float], width: float) -> Callable:
    """Return a sum of Gaussian bumps."""

    def g(X: np.ndarray) -> np.ndarray:
        gaps = np.sum((X[:, None] - np.array(centres)) ** 2, axis=2)
        return np.exp(-0.5 * gaps / width**2) @ np.array(heights)

    return g


def two_inputs(rate: float) -> Problem:
    """Return a higher peak with outliers in a corner box, and a lower peak without."""
    g = peaks([[0.75, 0.7], [0.25, 0.3], [0.2, 0.85]], [1.0, 0.9, 0.5], 0.18)
    return Problem(cube(2), g, lambda X: (X[:, 0] > 0.5) & (X[:, 1] > 0.4), rate, s=0.05)


def three_inputs(rate: float) -> Problem:
    """Return a higher peak with outliers above a threshold of one input, and a lower one below."""
    g = peaks([[0.3, 0.6, 0.8], [0.7, 0.35, 0.25]], [1.0, 0.85], 0.3)
    return Problem(cube(3), g, lambda X: X[:, 2] > 0.55, rate, s=0.05)


def cube(d: int) -> dict[str, tuple[float, float]]:
    return {f"x{j + 1}": (0.0, 1.0) for j in range(d)}


def design_list(rate: float) -> Problem:
    """Return 200 designs of three amounts and a supplier; the better supplier has the outliers."""
    rng = np.random.default_rng(LIST_SEED)
    rows = np.column_stack([np.round(rng.random((200, 3)), 3), np.arange(200) % 3 == 0])
    hill = peaks([[0.6, 0.4, 0.5]], [1.0], 0.35)
    dicts = [dict(zip(LIST_NAMES, [*x[:3], "AB"[int(x[3])]], strict=True)) for x in rows.tolist()]
    return Problem(
        rahbo.Candidates(dicts),
        lambda X: hill(X[:, :3]) + 0.15 * X[:, 3],
        lambda X: X[:, 3] > 0.5,
        rate, s=0.05, rows=rows,
    )  # fmt: skip


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "2 inputs, 1 in 20": lambda: two_inputs(1 / 20),
    "3 inputs, 1 in 50": lambda: three_inputs(1 / 50),
    "3 inputs, 1 in 10": lambda: three_inputs(1 / 10),
    "list, 1 in 20": lambda: design_list(1 / 20),
}


@cache
def problem_of(name: str) -> Problem:
    return PROBLEMS[name]()


# -- runs ----------------------------------------------------------------------------------------


def play(job: Job) -> Record:
    """Return the true regret of what a method reports."""
    problem = problem_of(job["problem"])
    method = {OURS: by_rahbo, RANDOM: by_random}[job["method"]]
    x = method(problem, job["evaluations"], job["seed"])
    return {
        "x": x.tolist(), "regret": problem.regret(x), "is_bad": bool(problem.is_bad(x[None])[0])
    }  # fmt: skip


def by_rahbo(problem: Problem, evaluations: int, seed: int) -> np.ndarray:
    """Return what the defaults report, told the budget in advance."""

    def objective(seed: int, **params: object) -> float:
        x = row_of(problem, params)
        return float(problem.draw(x[None], np.random.default_rng(seed))[0])

    result = rahbo.maximize(
        objective, problem.space, evaluations=evaluations, seed=seed,
        risk=rahbo.MeanVariance(problem.alpha),
    )  # fmt: skip
    return row_of(problem, result.recommendation.params)


def row_of(problem: Problem, params: dict) -> np.ndarray:
    values = [params[name] for name in (problem.space if problem.rows is None else LIST_NAMES)]
    return np.array([float(v == "B") if isinstance(v, str) else v for v in values])


def by_random(problem: Problem, evaluations: int, seed: int) -> np.ndarray:
    """Return the random setting with the best sample mean - alpha * sample variance."""
    n, rng = evaluations // REPEATS, np.random.default_rng(seed)
    if problem.rows is None:
        X = rng.random((n, len(problem.space)))
    else:
        X = problem.rows[rng.permutation(len(problem.rows))[:n]]
    noise = np.random.default_rng([seed, 1])
    values = np.array([problem.draw(np.tile(x, (REPEATS, 1)), noise) for x in X])
    return X[np.argmax(values.mean(axis=1) - problem.alpha * values.var(axis=1, ddof=1))]


# -- output --------------------------------------------------------------------------------------


def report(records: list[Record], names: list[str], budgets: list[int]) -> str:
    parts = [f"{len(records)} runs; commit {commits(records)}.", problems_table(names)]
    for budget in budgets:
        some = [r for r in records if r["job"]["evaluations"] == budget]
        if some:
            parts += [f"### After {budget} evaluations", regret_table(some, names)]
    parts.append(
        "Normalised regret: 0 at the best setting, 1 at a middling one; mean ± two standard "
        "errors. The difference is between runs of the same seed; positive is in favour of rahbo."
    )
    return "\n\n".join(parts)


def problems_table(names: list[str]) -> str:
    rows = []
    for name in names:
        problem = problem_of(name)
        X = problem.points
        bad, (best, median) = problem.is_bad(X), problem.landmarks
        in_region = problem.regret(X[bad][np.argmax(problem.risk(X[bad], problem.alpha))])
        rows.append([
            name, f"{problem.rate:g}", f"{bad.mean():.0%}", f"{problem.alpha:.3g}",
            f"{best:.3f}", f"{median:.3f}", f"{in_region:.2f}",
        ])  # fmt: skip
    return markdown(
        ["problem", "outliers", "share of the space", "alpha", "best", "median",
         "least regret with outliers"],
        rows,
    )  # fmt: skip


def regret_table(records: list[Record], names: list[str]) -> str:
    """Return a row a problem, and their mean: of seeds that both methods have."""
    found = {name: _paired([r for r in records if r["job"]["problem"] == name]) for name in names}
    found = {name: both for name, both in found.items() if both[OURS].size}
    rows = []
    for name, both in found.items():
        regrets = {method: both[method][:, 0] for method in (OURS, RANDOM)}
        gain = regrets[RANDOM] - regrets[OURS]
        rows.append([
            name, f"{len(gain)}", *(_mean([values]) for values in (*regrets.values(), gain)),
            *(f"{both[method][:, 1].mean():.0%}" for method in (OURS, RANDOM)),
        ])  # fmt: skip
    ours, other = ([both[method][:, 0] for both in found.values()] for method in (OURS, RANDOM))
    gains = [b - a for a, b in zip(ours, other, strict=True)]
    rows.append(["mean", "", _mean(ours), _mean(other), _mean(gains), "", ""])
    return markdown(
        ["problem", "seeds", OURS, RANDOM, "difference", f"{OURS} reports outliers",
         f"{RANDOM} reports outliers"],
        rows,
    )  # fmt: skip


def _paired(records: list[Record]) -> dict[str, np.ndarray]:
    """Return regret and whether outliers occur there, ``(seeds, 2)``, for each method."""
    by = {(r["job"]["method"], r["job"]["seed"]): (r["regret"], r["is_bad"]) for r in records}
    seeds = sorted(s for m, s in by if m == OURS and (RANDOM, s) in by)
    return {
        m: np.array([by[m, s] for s in seeds], dtype=float).reshape(-1, 2) for m in (OURS, RANDOM)
    }


def _mean(groups: list[np.ndarray]) -> str:
    """Return the mean of the means of some groups, and two standard errors."""
    mean = np.mean([group.mean() for group in groups])
    if min(len(group) for group in groups) < 2:
        return f"{mean:.3f}"
    error = np.sqrt(sum(group.var(ddof=1) / len(group) for group in groups)) / len(groups)
    return f"{mean:.3f} ± {2 * error:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs of each (20)")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of them (0)")
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time (1)")
    parser.add_argument("--json", type=Path, help="file of records, one line a run")
    args = parser.parse_args()
    jobs = [
        {"problem": problem, "method": method, "evaluations": budget, "seed": seed}
        for budget in args.budgets
        for seed in range(args.first_seed, args.first_seed + args.seeds)
        for problem in args.problems
        for method in (OURS, RANDOM)
    ]
    records, notes = all_records(play, jobs, args.jobs, args.json)
    for note in notes:
        log(note)
    if not records:
        raise SystemExit("No runs.")
    print("\n\n".join([report(records, args.problems, args.budgets), *notes]))


if __name__ == "__main__":
    main()
