"""How often the intervals of a recommendation hold the truth.

    python bench/coverage.py                      70 runs a problem, repeats as by default
    python bench/coverage.py --runs 10 --repeats 1 2 5 --problems sine fel
    python bench/coverage.py --dof 3 1000000      the same runs by Gaussian draws as well

A run spends a budget of single evaluations with the defaults of `Optimizer`; then the intervals at
the point that it reports are compared with the true mean, noise and mean-variance there. Beside
them stands how often what the best setting of the space truly gains is within the bound of the
run, and the true and the expected gain, each on average.
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
        gain: What the best setting of the space truly gains over the reported one.
        expected: What the run expected of that.
        bound: Its bound of that.
    """

    place: tuple[int, int, int]
    gain: float
    expected: float
    bound: float


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
    row = problem.params_to_row(best.params)[None]
    f, noise_var = problem.f(row), problem.noise_var(row)
    value = risk.value(f, noise_var)
    said = (best.risk_interval, best.mean_interval, best.noise_std_interval)
    true = (value[0], f[0], np.sqrt(noise_var[0]))
    place = tuple(
        int(t > upper) - int(t < lower) for (lower, upper), t in zip(said, true, strict=True)
    )
    gain = problem.regret(best.params, risk)
    return Outcome(place, gain, best.gain.expected, best.gain.bound)


def line(title, outcomes):
    """A row of the table."""
    place = np.array([outcome.place for outcome in outcomes])
    cells = [f"{np.mean(p == 0):.1%} ({np.mean(p < 0):.1%}, {np.mean(p > 0):.1%})" for p in place.T]
    gain, expected, bound = np.array([(o.gain, o.expected, o.bound) for o in outcomes]).T
    cells += [f"{np.mean(gain <= bound):.1%}", *(f"{np.mean(a):.3g}" for a in (gain, expected))]
    return f"| {title} | {len(place)} | {' | '.join(cells)} | {np.mean(bound):.3g} |"


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
        print(f"| problem | runs | {' | '.join(QUANTITIES)} | gain | true | expected | bound |")
        print("|---|---|---|---|---|---|---|---|---|")
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
