"""Batches of suggestions against one at a time: evaluations to reach the same regret.

    python bench/batches.py                                  both numbers of repeats (half an hour)
    python bench/batches.py --problems sine --repeats 2 --seeds 3
    python bench/batches.py --ahead 3 --seeds 3             workers, with three tasks in a queue

With `--ahead`, the suggestions are not evaluated in batches but by as many workers, as `maximize`
does: a worker that is free takes the next one of a queue, and the queue is filled at once. Time is
simulated: a task takes one unit, give or take a fifth.

The target of a problem is the mean normalised regret of the sequential runs at their end, 0.005 at
least. Each side counts the evaluations from which its mean curve stays at or below it. Batches may
run on for longer than the sequential runs; one that never gets there counts as its last mark.
"""

import argparse
import heapq
import time

import numpy as np

from contest.measures import LOWEST_TARGET, evaluations_to_target, geometric_mean
from contest.problems import normalised_regret, problem_of, risk_of
from rahbo import Adaptive, Optimizer
from rahbo.numerics import evaluation_seed

PROBLEMS = ("sine", "branin", "hartmann6", "fel")
NEED = 1.3
MARK = 8


def curve(problem, seed, repeats, batch, budget):
    """Normalised regret at every eighth evaluation, of what is complete by then; 1 before that."""
    truth = problem_of(problem)
    opt = Optimizer(truth.space, risk=risk_of(problem), repeats=repeats or Adaptive(), seed=seed)
    regret = []
    while len(regret) < budget // MARK:
        asked = opt.ask(batch)
        coming = opt.n_evaluations + sum(s.repeats for s in asked)
        due = (coming - 1) // MARK - len(regret)
        regret += [regret_now(problem, opt)] * due if due else []
        for s in asked:
            seeds = (evaluation_seed(seed, s.id, i) for i in s.indices)
            opt.tell(s, truth.samples(s.params, map(np.random.default_rng, seeds)))
    return regret[: budget // MARK]


def curve_of_workers(problem, seed, repeats, workers, ahead, budget):
    """The same with workers that take suggestions from a queue of so many."""
    truth, clock = problem_of(problem), np.random.default_rng(seed)
    opt = Optimizer(truth.space, risk=risk_of(problem), repeats=repeats or Adaptive(), seed=seed)
    regret, queue, running, now, told = [], [], [], 0.0, 0
    while len(regret) < budget // MARK:
        while len(queue) + len(running) < workers + ahead:
            suggestion = opt.ask()
            queue += [(suggestion, i) for i in suggestion.indices]
        while len(running) < workers:
            heapq.heappush(
                running, (now + clock.uniform(0.8, 1.2), told + len(running), queue.pop(0))
            )
        now, _, (suggestion, i) = heapq.heappop(running)
        rng = np.random.default_rng(evaluation_seed(seed, suggestion.id, i))
        opt.tell(suggestion, truth.samples(suggestion.params, [rng])[0], repeat=i)
        told += 1
        if told % MARK == 0:
            regret.append(regret_now(problem, opt))
    return regret


def regret_now(problem, opt):
    if opt.n_evaluations == 0:
        return 1.0
    X = problem_of(problem).params_to_row(opt.recommend().params)[None]
    f, v = (value(X) for value in (problem_of(problem).f, problem_of(problem).noise_var))
    return float(normalised_regret(problem, f, v)[0])


def compare(problem, repeats, args):
    """Target, evaluations of both sides, and mean regret of both where sequential runs end."""
    longest = round(args.longest * args.budget)
    seeds = range(args.seeds)
    single = np.array([curve(problem, seed, repeats, 1, args.budget) for seed in seeds])
    if args.ahead is None:
        batch = np.array([curve(problem, seed, repeats, args.batch, longest) for seed in seeds])
    else:
        queue = (args.batch, args.ahead, longest)
        batch = np.array([curve_of_workers(problem, seed, repeats, *queue) for seed in seeds])
    target = max(LOWEST_TARGET, float(single.mean(axis=0)[-1]))
    spent = [
        evaluations_to_target(c.mean(axis=0), MARK * np.arange(1, 1 + c.shape[1]), target)
        for c in (single, batch)
    ]
    end = single.shape[1] - 1
    gap = batch[:, end] - single[:, end]
    se = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("nan")
    return target, *spent, single[:, end].mean(), batch[:, end].mean(), 2.0 * se


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS)
    parser.add_argument("--repeats", nargs="*", type=int, help="numbers; else the default")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8, help="suggestions at the same time (8)")
    parser.add_argument("--budget", type=int, default=200, help="of the sequential runs (200)")
    parser.add_argument("--longest", type=float, default=1.4, help="budget of batches, in these")
    parser.add_argument("--ahead", type=int, help="as many workers, with so many tasks in a queue")
    args = parser.parse_args()
    side = "Batches of" if args.ahead is None else f"With {args.ahead} ahead, workers:"
    print(f"{side} {args.batch} against one at a time, {args.seeds} seeds")
    print(
        "\n| repeats | problem | target | one at a time | batches | ratio "
        f"| regret at {args.budget}: one at a time | batches | ± 2 se of the difference |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    started, ratios = time.process_time(), []
    for repeats in args.repeats or [None]:
        for problem in args.problems:
            target, one, many, *ends = compare(problem, repeats, args)
            ratios.append(many / one)
            print(
                f"| {repeats or 'default'} | {problem} | {target:.4f} | {one:.0f} | {many:.0f} "
                f"| {ratios[-1]:.2f} | {ends[0]:.4f} | {ends[1]:.4f} | {ends[2]:.4f} |",
                flush=True,
            )
    mean = geometric_mean(np.array(ratios))
    print(f"\nGeometric mean of the ratios: {mean:.2f} (needed: at most {NEED})")
    print(f"{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
