"""How often the intervals of a recommendation hold the truth.

    python bench/coverage.py                      70 runs a problem, repeats as by default
    python bench/coverage.py --runs 10 --repeats 1 2 5 --problems sine fel
    python bench/coverage.py --dof 3 1000000      the same runs by Gaussian draws as well

A run spends a budget of single evaluations with the defaults of `Optimizer`; then the intervals at
the point that it reports are compared with the true mean, noise and mean-variance there. Beside
them stands how often the reported point truly is the best of the evaluated ones, and how probable
the runs thought that to be.
"""

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from contest.problems import Evaluations, problem_of, risk_of
from rahbo import Adaptive, Optimizer
from rahbo.report import posterior

PROBLEMS = ("sine", "branin", "fel", "euxfel", "newsvendor", "hartmann6", "ridge10")
QUANTITIES = ("risk value", "mean", "noise std")


@dataclass(frozen=True)
class Outcome:
    """What one run said, and what is true.

    Attributes:
        place: Of the true risk value, mean and noise std: -1 below its interval, 0 in it, 1 above.
        p_best: What the run thought of its point.
        is_best: Whether the point is the best of the evaluated ones.
    """

    place: tuple[int, int, int]
    p_best: float
    is_best: bool


def run(name, repeats, evaluations, seed):
    """One run, its budget spent."""
    problem = problem_of(name)
    repeats = repeats or Adaptive()
    optimizer = Optimizer(problem.space, risk=risk_of(name), repeats=repeats, seed=seed)
    evaluate = Evaluations(problem, seed)
    while (left := evaluations - optimizer.n_evaluations) > 0:
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, evaluate(suggestion.params, suggestion.repeats)[0][:left])
        if suggestion.repeats > left:
            optimizer.cancel(suggestion)
    return optimizer


def outcome(optimizer, problem, risk, level):
    """What a run reports beside the truth."""
    best = optimizer.recommend(level=level)
    told = [trial.params for trial in optimizer.trials if trial.values]
    rows = np.array([problem.params_to_row(params) for params in [best.params, *told]])
    f, noise_var = problem.f(rows), problem.noise_var(rows)
    value = risk.value(f, noise_var)
    said = (best.risk_interval, best.mean_interval, best.noise_std_interval)
    true = (value[0], f[0], np.sqrt(noise_var[0]))
    place = tuple(
        int(t > upper) - int(t < lower) for (lower, upper), t in zip(said, true, strict=True)
    )
    return Outcome(place, best.p_best, bool(value[0] >= value.max()))


def line(title, outcomes):
    """A row of the table."""
    place = np.array([outcome.place for outcome in outcomes])
    cells = [f"{np.mean(p == 0):.1%} ({np.mean(p < 0):.1%}, {np.mean(p > 0):.1%})" for p in place.T]
    truly = np.mean([outcome.is_best for outcome in outcomes])
    thought = np.mean([outcome.p_best for outcome in outcomes])
    return f"| {title} | {len(place)} | {' | '.join(cells)} | {truly:.2f} | {thought:.2f} |"


def tables(repeats, args):
    """All problems at one number of repeats, a table for each number of degrees of freedom."""
    start, outcomes = time.perf_counter(), {dof: {} for dof in args.dof}
    for name in args.problems:
        for seed in range(args.runs):
            optimizer = run(name, repeats, args.evaluations, seed)
            for dof, found in outcomes.items():
                posterior.DOF = dof
                one = outcome(optimizer, problem_of(name), risk_of(name), args.level)
                found.setdefault(name, []).append(one)
            spent = time.perf_counter() - start
            print(f"\r{name} {seed + 1}/{args.runs}, {spent:.0f} s ", end="", file=sys.stderr)
    print(file=sys.stderr)
    how = "by default" if repeats is None else f"{repeats}"
    for dof, found in outcomes.items():
        print(
            f"\nIntervals at {args.level:.0%} by draws with {dof:g} degrees of freedom, "
            f"{args.evaluations} evaluations, repeats {how}: share of runs whose interval holds "
            "the truth (truth below it, above it)\n"
        )
        print(f"| problem | runs | {' | '.join(QUANTITIES)} | truly best | P(best) |")
        print("|---|---|---|---|---|---|---|")
        print("\n".join(line(name, some) for name, some in found.items()))
        print(line("all", [one for some in found.values() for one in some]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=70, help="seeds a problem")
    parser.add_argument("--repeats", type=int, nargs="*", help="tables for each of them")
    parser.add_argument("--evaluations", type=int, default=100, help="single ones a run")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--dof", type=float, nargs="+", default=[posterior.DOF])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    args = parser.parse_args()
    with threadpool_limits(1):
        for repeats in args.repeats or [None]:
            tables(repeats, args)


if __name__ == "__main__":
    main()
