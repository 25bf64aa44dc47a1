"""Constraints on noisy outcomes: are the limits of the reported point kept, and what does it cost?

    python bench/constraints.py --records build/constraints.jsonl                   50 seeds of all
    python bench/constraints.py --problems disc --methods rahbo oracle --seeds 8 --first 100

Each evaluation returns the objective and one outcome, both noisy. The outcome must keep its limit
with probability 0.95, noise included. Methods:
    rahbo      constraints=
    safe       constraints= and safe=True, from five settings that are known to be safe
    oracle     no constraint, but valid= is the true feasible region
    random     random settings, with rahbo's report
    botorch    BoTorch's constrained noisy expected improvement, k repeats (botorch-1, botorch-3)
    tpe        Optuna's TPE with constraints_func, k repeats (tpe-1, tpe-3)
    gp         Optuna's GPSampler with constraints_func, k repeats (gp-1, gp-3)
"Kept" is the share of runs whose reported point truly keeps the limit with its probability. Regret
is normalised by the best feasible risk value and the median of the feasible region. A reported
point that violates counts as the median feasible one (regret 1), or as its own if that is larger.
"Violating" is the share of evaluations at settings that do not keep the limit with its probability.
"Over" is the share of single outcomes beyond the limit, which is 5 % on the boundary.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from rahbo import AtMost, MeanVariance, Method, maximize
from rahbo.policy import RandomSearch
from records import all_records, commits, log

PROBABILITY = 0.95
RISK = MeanVariance(1.0)
POINTS = 200_000
SAFE_POINTS = 5

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Problem:
    """Maximise f - v subject to P(c <= limit) >= 0.95, on the unit cube.

    f, f_std, c and c_std map points ``(m, d)`` to means and noise deviations ``(m,)``.
    """

    d: int
    f: Function
    f_std: Function
    c: Function
    c_std: Function
    limit: float

    @property
    def names(self) -> list[str]:
        return [f"x{i}" for i in range(self.d)]

    @property
    def space(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.names, (0.0, 1.0))

    def risk(self, X: np.ndarray) -> np.ndarray:
        return RISK.value(self.f(X), self.f_std(X) ** 2)

    def room(self, X: np.ndarray) -> np.ndarray:
        return self.limit - self.c(X) - ndtri(PROBABILITY) * self.c_std(X)

    def row(self, params: dict[str, float]) -> np.ndarray:
        return np.array([[params[name] for name in self.names]])

    def measure(self, x: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        f = self.f(x) + self.f_std(x) * rng.standard_normal()
        c = self.c(x) + self.c_std(x) * rng.standard_normal()
        return float(f[0]), float(c[0])


def _same(std: float) -> Function:
    return lambda X: np.full(len(X), std)


def _branin(X: np.ndarray) -> np.ndarray:
    """Negated and scaled to a few units."""
    a, b = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    y = (b - 5.1 * a**2 / (4 * np.pi**2) + 5 * a / np.pi - 6) ** 2
    return -(y + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10) / 50.0


A3 = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
               [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
P6 = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                      [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]],
                     )  # fmt: skip
ALPHA = np.array([1.0, 1.2, 3.0, 3.2])


def _hartmann(X: np.ndarray) -> np.ndarray:
    d = X.shape[1]
    inner = np.sum(A3[:, :d] * (X[:, None, :] - P6[:, :d]) ** 2, axis=2)
    return np.exp(-inner) @ ALPHA


PROBLEMS = {
    # Branin within a disc that leaves out all three optima; the noise of the outcome grows.
    "disc": Problem(
        2,
        _branin,
        _same(0.15),
        lambda X: 4.0 * np.sum((X - np.array([0.4, 0.55])) ** 2, axis=1),
        lambda X: 0.03 + 0.12 * X[:, 0],
        0.55,
    ),
    # Gardner's first problem: a wave in the objective and in the constraint.
    "wave": Problem(
        2,
        lambda X: -np.cos(6 * X[:, 0]) * np.cos(6 * X[:, 1]) - 0.5 * np.sin(6 * X[:, 0]),
        lambda X: 0.1 + 0.1 * X[:, 1],
        lambda X: -np.cos(6 * (X[:, 0] + X[:, 1])),
        _same(0.06),
        0.4,
    ),
    # Yield against loss: the objective rises towards the corner, and so does the noise of the loss.
    "yield": Problem(
        4,
        lambda X: np.sqrt(np.mean(X, axis=1)) + 0.3 * np.sin(3.0 * X[:, 0] + 2.0 * X[:, 1]),
        _same(0.05),
        lambda X: np.sum(X**2, axis=1) + 0.5 * X[:, 2] * X[:, 3],
        lambda X: 0.04 + 0.2 * X[:, 0] * X[:, 3],
        1.3,
    ),
    # Hartmann with six inputs and a bound on the distance from a point.
    "norm": Problem(
        6,
        _hartmann,
        _same(0.1),
        lambda X: np.sqrt(np.sum((X - 0.6) ** 2, axis=1)),
        _same(0.025),
        0.72,
    ),
    # Hartmann with four inputs, where a smooth sum is limited and its noise grows with one input.
    "sum": Problem(
        4,
        _hartmann,
        _same(0.1),
        lambda X: 4.0 - np.sum(X, axis=1),
        lambda X: 0.05 + 0.2 * X[:, 1] ** 2,
        2.1,
    ),
}


@dataclass(frozen=True)
class Scale:
    """The best and the median risk value of the feasible region, and its share."""

    best: float
    median: float
    share: float


@cache
def scale_of(name: str) -> Scale:
    problem, rng = PROBLEMS[name], np.random.default_rng(0)
    X = rng.random((POINTS, problem.d))
    inside = problem.room(X) >= 0.0
    risk = problem.risk(X)
    centres = X[inside][np.argsort(-risk[inside])[:20]]
    best = float(risk[inside].max())
    for radius in np.geomspace(0.1, 1e-5, 24):
        near = np.clip(
            np.repeat(centres, 500, axis=0)
            + radius * rng.standard_normal((500 * len(centres), problem.d)), 0.0, 1.0
        )  # fmt: skip
        near = np.vstack([centres, near[problem.room(near) >= 0.0]])
        value = problem.risk(near)
        best = max(best, float(value.max()))
        centres = near[np.argsort(-value)[:20]]
    return Scale(best, float(np.median(risk[inside])), float(inside.mean()))


def regret_of(name: str, x: np.ndarray) -> tuple[float, bool]:
    """Return the normalised regret of ``x (1, d)``, and whether it keeps the limit."""
    problem, scale = PROBLEMS[name], scale_of(name)
    kept = bool(problem.room(x)[0] >= 0.0)
    regret = (scale.best - float(problem.risk(x)[0])) / (scale.best - scale.median)
    return (max(regret, 0.0) if kept else max(regret, 1.0)), kept


def safe_settings(name: str, seed: int) -> list[dict[str, float]]:
    """Return settings well inside the feasible region, where its room is in the upper half."""
    problem, rng = PROBLEMS[name], np.random.default_rng([seed, 7])
    X = rng.random((20_000, problem.d))
    room = problem.room(X)
    X = X[room >= np.median(room[room >= 0.0])][:SAFE_POINTS]
    return [dict(zip(problem.names, map(float, x), strict=True)) for x in X]


def by_rahbo(name: str, method: str, seed: int, evaluations: int) -> dict[str, Any]:
    problem = PROBLEMS[name]
    tried: list[np.ndarray] = []
    over: list[bool] = []

    def objective(seed: int, **params: float) -> Any:
        x = problem.row(params)
        f, c = problem.measure(x, np.random.default_rng(seed))
        tried.append(x[0])
        over.append(c > problem.limit)
        return f if method == "oracle" else {"value": f, "cost": c}

    settings: dict[str, Any] = {"risk": RISK, "seed": seed}
    if method == "oracle":
        settings["valid"] = lambda params: bool(problem.room(problem.row(params))[0] >= 0.0)
    else:
        settings["constraints"] = {"cost": AtMost(problem.limit, PROBABILITY)}
    if method == "random":
        settings["method"] = Method(strategy=RandomSearch())
    if method == "safe":
        starts = safe_settings(name, seed)
        draws = np.random.default_rng([seed, 8])
        told = []
        for params in starts:
            pairs = [problem.measure(problem.row(params), draws) for _ in range(2)]
            told.append((params, [{"value": f, "cost": c} for f, c in pairs]))
        settings |= {"data": told, "safe": True}
        evaluations -= 2 * len(starts)
    result = maximize(objective, problem.space, evaluations=evaluations, **settings)
    best = result.recommendation
    checks = [(check.chance, check.kept) for check in best.constraints]
    return {
        **outcome(name, problem.row(best.params), tried, over),
        "claimed": bool(best.feasible),
        "checks": checks,
    }


def outcome(name: str, x: np.ndarray, tried: list[np.ndarray], over: list[bool]) -> dict[str, Any]:
    regret, kept = regret_of(name, x)
    problem, scale = PROBLEMS[name], scale_of(name)
    raw = (scale.best - float(problem.risk(x)[0])) / (scale.best - scale.median)
    return {
        "regret": regret,
        "raw": raw,
        "kept": kept,
        "room": float(problem.room(x)[0]),
        "violating": float(np.mean(problem.room(np.array(tried)) < 0.0)),
        "over": float(np.mean(over)),
    }


def work(job: dict[str, Any]) -> dict[str, Any]:
    name, method = job["problem"], job["method"]
    began = time.process_time()
    if method.split("-")[0] in ("botorch", "tpe", "gp"):
        from constraint_peers import by_peer

        found = by_peer(PROBLEMS[name], name, method, job["seed"], job["evaluations"])
        return {**outcome(name, *found), "cpu": time.process_time() - began}
    found = by_rahbo(name, method, job["seed"], job["evaluations"])
    return {**found, "cpu": time.process_time() - began}


def table(records: list[dict[str, Any]], problems: list[str], methods: list[str]) -> None:
    head = f"{'problem':8} {'feasible':>8} {'method':12} {'n':>3} {'kept':>6} {'claimed':>7}"
    print(f"{head} {'regret':>16} {'median':>7} {'violating':>9} {'over':>6} {'cpu s':>6}")
    for name in problems:
        share = scale_of(name).share
        for method in methods:
            mine = [
                r for r in records if (r["job"]["problem"], r["job"]["method"]) == (name, method)
            ]
            if not mine:
                continue
            regret = np.array([r["regret"] for r in mine])
            error = regret.std(ddof=1) / np.sqrt(len(regret)) if len(regret) > 1 else np.nan
            mean = {
                key: np.mean([r.get(key, np.nan) for r in mine])
                for key in ("kept", "claimed", "violating", "over", "cpu")
            }
            print(
                f"{name:8} {share:8.1%} {method:12} {len(mine):3d} {mean['kept']:6.1%} "
                f"{mean['claimed']:7.1%} {regret.mean():7.4f} ± {error:6.4f} "
                f"{np.median(regret):7.4f} {mean['violating']:9.1%} {mean['over']:6.1%} "
                f"{mean['cpu']:6.1f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--methods", nargs="+", default=["rahbo", "oracle", "random", "safe"])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--records", type=Path)
    given = parser.parse_args()
    jobs = [
        {"problem": name, "method": method, "seed": seed, "evaluations": given.evaluations}
        for seed in range(given.first, given.first + given.seeds)
        for name in given.problems
        for method in given.methods
    ]
    records, notes = all_records(work, jobs, given.workers, given.records)
    table(records, given.problems, given.methods)
    for note in notes:
        print(note)
    log(f"Commits: {commits(records)}.")


if __name__ == "__main__":
    main()
