"""What a set-up cost should change: regret at equal cost, where every suggestion costs extra.

    python bench/setup.py                                    a set-up as dear as five evaluations
    python bench/setup.py --setup 20 --problems branin --seeds 4

Each suggestion costs the set-up once and one for each of its repeats. What is compared is how many
repeats it asks for: by `Adaptive` told of the cost, by `Adaptive` not told of it, and by fixed
numbers. A run ends with the last suggestion that the cost allows, cut short if need be.
"""

import argparse
import time

import numpy as np

from contest.problems import TASKS, normalised_regret, problem_of, risk_of
from rahbo import Adaptive, Optimizer
from rahbo.numerics import evaluation_seed

PROBLEMS = ("sine", "branin", "fel", "hartmann6", "list0", "list1")


def regret(problem, seed, repeats, setup, cost):
    """Normalised regret of what is reported when the cost is spent, and the points it had."""
    truth = problem_of(problem)
    opt = Optimizer(truth.space, risk=risk_of(problem), repeats=repeats, seed=seed)
    left = cost
    while left >= setup + 1:
        asked = opt.ask()
        indices = asked.indices[: int(left - setup)]
        seeds = (evaluation_seed(seed, asked.id, i) for i in indices)
        opt.tell(asked, truth.samples(asked.params, map(np.random.default_rng, seeds)))
        if len(indices) < asked.repeats:
            opt.cancel(asked)
        left -= setup + len(indices)
    X = truth.params_to_row(opt.recommend().params)[None]
    return float(normalised_regret(problem, truth.f(X), truth.noise_var(X))[0]), opt.observations.n


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=TASKS)
    parser.add_argument("--setup", type=float, default=5.0, help="in evaluations (5)")
    parser.add_argument("--cost", type=float, default=400.0, help="of a run, in evaluations (400)")
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    ways = {
        f"Adaptive(setup={args.setup:g})": Adaptive(setup=args.setup),
        "Adaptive()": Adaptive(),
        **{str(k): k for k in (2, 5, 10)},
    }
    print(f"Set-up {args.setup:g}, cost {args.cost:g}, {args.seeds} seeds; ± two standard errors")
    print(f"\n| repeats | {' | '.join(args.problems)} | mean | points |")
    print("|---|" + "---:|" * (len(args.problems) + 2))
    started = time.process_time()
    for name, repeats in ways.items():
        cells, means, points = [], [], []
        for problem in args.problems:
            runs = [
                regret(problem, seed, repeats, args.setup, args.cost) for seed in range(args.seeds)
            ]
            found = np.array([r for r, _ in runs])
            error = 2.0 * found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
            cells.append(f"{found.mean():.4f} ± {error:.4f}")
            means.append(found.mean())
            points += [n for _, n in runs]
        row = " | ".join(cells)
        print(f"| {name} | {row} | {np.mean(means):.4f} | {np.median(points):.0f} |", flush=True)
    print(f"\n{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
