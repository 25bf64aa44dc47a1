"""Regret over conditions that are given, beside ignoring them and optimising each one alone.

    python bench/context.py --json context.jsonl --seeds 10            (ten minutes)
    python bench/context.py --json judged.jsonl --first-seed 1000 --seeds 20
    python bench/context.py --problems warm --methods context ignored --seeds 2

Each ask comes under a condition drawn at random. Every method spends the same number of single
evaluations under the same conditions in turn:
    context   one run whose space has the condition
    ignored   one run in the choices alone, which recommends one setting for all conditions
    alone     a run for each of 5 ranges of the number, or for each category
Regret is the mean, over a grid of conditions, of the best risk value there less that of what is
recommended there. It is in units of the best less the median risk value. Problems:
    warm      the optimum in 2 inputs moves with a temperature, and the noise grows with an input
    lines     3 similar production lines with optima of their own, noise by input and line
    loud      as lines, with 2.5 times the noise
    rough     as warm, with several local optima
    nothing   as warm at a fixed temperature: the condition has no effect
    drift     the optimum moves during the run; regret at its end, beside ignoring the time
"""

import argparse
import json
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import rahbo
from provenance import commit

EVALUATIONS, BINS, GRID = 100, 5, 21
RISK = rahbo.MeanVariance(1.0)
CHOICES = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
SIDE = np.linspace(0.0, 1.0, 201)
METHODS = ("context", "ignored", "alone")


@dataclass(frozen=True)
class Problem:
    """A problem: its condition, and mean and noise variance of choices ``(m, 2)`` under one."""

    name: str
    condition: Any
    conditions: tuple[Any, ...]
    truth: Any

    def risk(self, X, c):
        return RISK.value(*self.truth(np.atleast_2d(X), c))


def warm(X, t):
    u = (t - 10.0) / 25.0
    centre = np.array([0.2 + 0.6 * u, 0.75 - 0.4 * u])
    f = 1.0 + 0.5 * u - 4.0 * ((X - centre) ** 2).sum(axis=1)
    return f, (0.1 + 0.3 * X[:, 0]) ** 2


def rough(X, t):
    f, v = warm(X, t)
    u = (t - 10.0) / 25.0
    return f + 0.25 * np.cos(9.0 * (X[:, 0] - 0.5 * u)) * np.cos(7.0 * X[:, 1]), v


def lines(X, line, loudness=1.0):
    i = "abc".index(line)
    gap = X - np.array([[0.3, 0.65], [0.48, 0.45], [0.65, 0.64]])[i]
    f = [0.0, -0.1, 0.5][i] - 4.0 * gap[:, 0] ** 2 - 5.0 * gap[:, 1] ** 2
    f = f - 2.0 * gap[:, 0] * gap[:, 1] + 0.2 * np.cos(8.0 * X[:, 0])
    noise_std = loudness * np.array([0.1, 0.12, 0.08])[i] * (0.5 + 1.5 * X[:, 1])
    return f, noise_std**2


def loud(X, line):
    return lines(X, line, 2.5)


def drifting(X, t):
    u = t / EVALUATIONS
    centre = np.array([0.25 + 0.5 * u, 0.5 + 0.25 * np.sin(np.pi * u)])
    return 1.0 - 4.0 * ((X - centre) ** 2).sum(axis=1), (0.1 + 0.2 * X[:, 0]) ** 2


TEMPERATURES = tuple(np.linspace(10.0, 35.0, GRID).tolist())
PROBLEMS = {
    "warm": Problem("temperature", rahbo.Context(10.0, 35.0), TEMPERATURES, warm),
    "rough": Problem("temperature", rahbo.Context(10.0, 35.0), TEMPERATURES, rough),
    "lines": Problem("line", rahbo.Context(["a", "b", "c"]), ("a", "b", "c"), lines),
    "loud": Problem("line", rahbo.Context(["a", "b", "c"]), ("a", "b", "c"), loud),
    "nothing": Problem(
        "temperature", rahbo.Context(10.0, 35.0), TEMPERATURES, lambda X, t: warm(X, 22.5)
    ),
    "drift": Problem("time", rahbo.Time(100.0), (float(EVALUATIONS),), drifting),
}


@cache
def scale_of(name):
    """The best risk value under each condition, and the best less the median on average."""
    problem = PROBLEMS[name]
    X = np.array(np.meshgrid(SIDE, SIDE)).reshape(2, -1).T
    found = [problem.risk(X, c) for c in problem.conditions]
    best = [float(r.max()) for r in found]
    return best, float(np.mean([r.max() - np.median(r) for r in found]))


def chosen(params):
    return np.array([[params["x"], params["y"]]])


def regret(name, recommend):
    """Return the normalised regret over conditions of ``recommend(c)``."""
    problem, (best, unit) = PROBLEMS[name], scale_of(name)
    lost = [
        b - float(problem.risk(chosen(recommend(c)), c)[0])
        for b, c in zip(best, problem.conditions, strict=True)
    ]
    return float(np.mean(lost)) / unit


def bin_of(problem, c):
    if isinstance(c, str):
        return c
    low, high = problem.conditions[0], problem.conditions[-1]
    return min(BINS - 1, int((c - low) / (high - low) * BINS))


def run(name, method, seed):
    """Return the regret of one run."""
    problem = PROBLEMS[name]
    drawn, noise = (np.random.default_rng([seed, i]) for i in (0, 1))
    runs: dict[Any, rahbo.Optimizer] = {}
    made = 0
    while made < EVALUATIONS:
        c = next_condition(problem, drawn, made)
        key = bin_of(problem, c) if method == "alone" else 0
        if key not in runs:
            space = dict(CHOICES)
            if method == "context":
                space[problem.name] = problem.condition
            runs[key] = rahbo.Optimizer(space, risk=RISK, seed=seed)
        with_context = method == "context" and name != "drift"
        s = runs[key].ask(context={problem.name: c}) if with_context else runs[key].ask()
        repeats = min(s.repeats, EVALUATIONS - made)
        f, v = problem.truth(chosen(s.params), c)
        runs[key].tell(s, (f + np.sqrt(v) * noise.standard_normal(repeats)).tolist())
        if repeats < s.repeats:
            runs[key].cancel(s.id)
        made += repeats

    def recommend(c):
        own = runs.get(bin_of(problem, c) if method == "alone" else 0)
        if own is None:
            return {"x": 0.5, "y": 0.5}
        return own.recommend(context={problem.name: c} if method == "context" else None).params

    return regret(name, recommend)


def next_condition(problem, rng, made):
    if problem.name == "time":
        return float(made)
    if isinstance(problem.conditions[0], str):
        return str(rng.choice(problem.conditions))
    return float(rng.uniform(problem.conditions[0], problem.conditions[-1]))


def records(args):
    path = Path(args.json) if args.json else None
    kept = {}
    if path and path.exists():
        for line in path.read_text().splitlines():
            record = json.loads(line)
            kept[record["problem"], record["method"], record["seed"]] = record
    found = []
    for name in args.problems:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            for method in args.methods:
                if name == "drift" and method == "alone":
                    continue
                record = kept.get((name, method, seed))
                if record is None:
                    begun = time.process_time()
                    record = {"problem": name, "method": method, "seed": seed}
                    record["regret"] = run(name, method, seed)
                    record["seconds"] = round(time.process_time() - begun, 2)
                    record["commit"] = commit()
                    if path:
                        with path.open("a") as file:
                            file.write(json.dumps(record) + "\n")
                found.append(record)
    return found


def report(found, args):
    print(f"{'problem':<9}{'method':<9}{'regret':>9}{'error':>9}{'ratio':>8}  paired difference")
    for name in args.problems:
        by = {
            m: {r["seed"]: r["regret"] for r in found if (r["problem"], r["method"]) == (name, m)}
            for m in METHODS
        }
        for method, runs in by.items():
            if not runs:
                continue
            own = np.array(list(runs.values()))
            line = f"{name:<9}{method:<9}{own.mean():>9.4f}{error(own):>9.4f}"
            if method != "context" and by["context"]:
                both = [s for s in runs if s in by["context"]]
                gap = np.array([by["context"][s] - runs[s] for s in both])
                share = np.mean([by["context"][s] for s in both]) / np.mean([runs[s] for s in both])
                line += f"{share:>8.2f}  {gap.mean():+.4f} ± {error(gap):.4f}"
            print(line)


def error(numbers):
    return float(np.std(numbers, ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else np.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", help="the file of records; runs that it holds are not repeated")
    args = parser.parse_args()
    report(records(args), args)


if __name__ == "__main__":
    main()
