"""What confirmation costs and what it shows: the same runs with and without it, paired.

    python bench/confirmation.py                        three problems, 10 seeds
    python bench/confirmation.py --outliers 0.1 --seeds 30

Both runs of a pair are the same until the last part of the budget, which either goes on searching
or measures the leading points again. With ``--outliers`` half of the space, in stripes of its first
parameter, goes wrong at that rate: the value is then 20 noise standard deviations worse.
"""

import argparse

import numpy as np

from contest.problems import TASKS, normalised_regret, problem_of, risk_of
from provenance import commit
from rahbo import maximize

PROBLEMS = ("sine", "branin", "newsvendor")
STRIPES = 7.3  # a unit of the first parameter has so many
OUTLIER = 20.0  # in noise standard deviations


def goes_wrong(params):
    """Whether a setting gives an outlier now and then."""
    return int(np.floor(STRIPES * next(iter(params.values())))) % 2 == 0


def moments(problem, params, rate):
    """True mean and noise variance of a setting, outliers included."""
    row = problem.params_to_row(params)[None]
    f, v = problem.f(row), problem.noise_var(row)
    if not goes_wrong(params):
        return f, v
    drop = OUTLIER * np.sqrt(v)
    return f - rate * drop, v + rate * (1.0 - rate) * drop**2


def pair(name, seed, rate, evaluations):
    """Regret, values told and whether it goes wrong of what is recommended, without and with."""
    problem = problem_of(name)

    def objective(seed, **params):
        rng = np.random.default_rng(seed)
        value = problem.sample(params, rng)
        if rate and goes_wrong(params) and rng.random() < rate:
            noise_var = problem.noise_var(problem.params_to_row(params)[None])[0]
            value -= OUTLIER * float(np.sqrt(noise_var))
        return value

    settings = {"risk": risk_of(name), "seed": seed}
    searched = evaluations - evaluations // 10
    trials = maximize(objective, problem.space, evaluations=searched, confirm=0, **settings).trials
    found = []
    for confirm in (0, evaluations - searched):
        best = maximize(
            objective, problem.space, evaluations=evaluations, confirm=confirm, trials=trials,
            **settings,
        ).recommendation  # fmt: skip
        regret = float(normalised_regret(name, *moments(problem, best.params, rate))[0])
        found.append((regret, best.n_evaluations, rate > 0 and goes_wrong(best.params)))
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=TASKS)
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--outliers", type=float, default=0.0, help="how often values go wrong (0)")
    args = parser.parse_args()
    print(f"{commit()}: {args.evaluations} evaluations, {args.seeds} seeds, ± two standard errors")
    print("\n| problem | regret without | with | difference | values without | with | goes wrong |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in args.problems:
        runs = [pair(name, seed, args.outliers, args.evaluations) for seed in range(args.seeds)]
        found = np.array(runs)
        regret = found[:, :, 0]
        gap = regret[:, 1] - regret[:, 0]
        error = 2.0 * gap.std(ddof=1) / np.sqrt(len(gap))
        values, wrong = np.median(found[:, :, 1], axis=0), found[:, :, 2].sum(axis=0)
        print(
            f"| {name} | {regret[:, 0].mean():.4f} | {regret[:, 1].mean():.4f} | "
            f"{gap.mean():+.4f} ± {error:.4f} | {values[0]:g} | {values[1]:g} | "
            f"{wrong[0]:.0f}, {wrong[1]:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
