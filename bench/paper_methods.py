"""Cumulative mean-variance regret of the paper's three methods with the method of the paper.

    python bench/paper_methods.py                 the sine and Branin settings of the tests
    python bench/paper_methods.py --seeds 30       more repetitions
    python bench/paper_methods.py --refit 1.1      hyperparameters refitted as rounds grow

alpha = 1, k = 10; every round after the shared initial design counts.
"""

import argparse
from dataclasses import replace

import numpy as np

import rahbo
from rahbo.model import Refit
from rahbo.policy import GPUCB, Rahbo, RahboUS
from rahbo.problems import branin, sine

RISK = rahbo.MeanVariance(1.0)
METHODS = {"RAHBO": Rahbo(), "GP-UCB": GPUCB(), "RAHBO-US": RahboUS(10)}


def run(problem, strategy, rounds, seed, refit):
    """Cumulative regret, that of the first 20 rounds, and the regret of the reported point."""
    method = replace(rahbo.paper(), strategy=strategy, refit=refit)
    opt = rahbo.Optimizer(
        problem.space, risk=RISK, repeats=10, n_initial=10, seed=seed, method=method
    )
    rng = np.random.default_rng(seed)
    regrets = []
    for _ in range(10 + rounds):
        suggestion = opt.ask()
        opt.tell(suggestion, [problem.sample(suggestion.params, rng) for _ in range(10)])
        if opt.trials[-1].source == "strategy":
            regrets.append(problem.regret(suggestion.params, RISK))
    return sum(regrets), sum(regrets[:20]), problem.regret(opt.recommend().params, RISK)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help="repetitions of each (10 on sine, 5 on Branin)")
    parser.add_argument("--refit", type=float, default=np.inf, help="growth between refits")
    args = parser.parse_args()
    print("| problem | method | R_T, mean ± 2 se | RAHBO's share | R_20 | simple regret | seeds |")
    print("|---|---|---|---|---|---|---|")
    for problem, rounds, seeds in ((sine(1.0), 60, 10), (branin(2.0), 150, 5)):
        n = args.seeds or seeds
        best = None
        for name, strategy in METHODS.items():
            results = np.array(
                [run(problem, strategy, rounds, seed, Refit(args.refit)) for seed in range(n)]
            )
            total, early, simple = results.mean(axis=0)
            error = 2 * results[:, 0].std(ddof=1) / np.sqrt(n)
            best = total if best is None else best
            print(
                f"| {problem.name}, T = {rounds} | {name} | {total:.2f} ± {error:.2f} "
                f"| {best / total:.3f} | {early:.1f} | {simple:.4f} | {n} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
