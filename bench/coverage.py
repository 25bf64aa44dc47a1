"""How often the intervals of a recommendation hold the truth, and its bound on what may be gained.

    python bench/coverage.py --json coverage.jsonl --jobs 2            40 runs a problem and budget
    python bench/coverage.py --runs 10 --evaluations 100 --problems sine fel
    python bench/coverage.py --runs 10 --evaluations 100 --repeats 5   five repeats a point

A run is ``rahbo.maximize`` with its defaults and a budget of single evaluations. The intervals at
the setting that it recommends are compared with the true mean, noise and mean-variance there, and
its bound on what another setting might still gain with what the best setting of the space truly
gains.

A run that the file of records holds is not made again, whatever the code has become since: start a
new file for new code.
"""

import argparse
from pathlib import Path

import numpy as np

import rahbo
from contest.problems import landmarks, problem_of, risk_of
from records import Job, Record, all_records, commits, markdown

PROBLEMS = ("sine", "branin", "fel", "euxfel", "newsvendor", "hartmann6", "ridge10")
HEAD = [
    "problem",
    "runs",
    "risk value",
    "mean",
    "noise std",
    "gain",
    "true gain",
    "expected",
    "bound",
]
LEVEL = 0.9


def run(job: Job) -> Record:
    """Return what a run says of its recommendation, and what is true of it."""
    name = job["problem"]
    problem, risk = problem_of(name), risk_of(name)

    def objective(seed: int, **params: float) -> float:
        return problem.sample(params, np.random.default_rng(seed))

    repeats = rahbo.Adaptive() if job["repeats"] is None else job["repeats"]
    best = rahbo.maximize(
        objective, problem.space, risk=risk, repeats=repeats,
        evaluations=job["evaluations"], seed=job["seed"],
    ).optimizer.recommend(level=LEVEL)  # fmt: skip
    row = problem.params_to_row(best.params)[None]
    f, noise_var = problem.f(row), problem.noise_var(row)
    said = {
        "risk": best.risk_interval,
        "mean": best.mean_interval,
        "noise": best.noise_std_interval,
    }
    true = {"risk": risk.value(f, noise_var), "mean": f, "noise": np.sqrt(noise_var)}
    return {
        "place": {
            key: int(true[key][0] > upper) - int(true[key][0] < lower)
            for key, (lower, upper) in said.items()
        },
        "gain": problem.regret(best.params, risk),
        "expected": best.gain.expected,
        "bound": best.gain.bound,
        "n_evaluations": best.n_evaluations,
    }


def held(place: list[int]) -> str:
    p = np.array(place)
    return f"{np.mean(p == 0):.1%} ({np.mean(p < 0):.1%}, {np.mean(p > 0):.1%})"


def line(title: str, records: list[Record]) -> list[str]:
    """Return a row of the table; gains are in units of the normalised regret."""
    scale = [np.subtract(*landmarks(r["job"]["problem"])) for r in records]
    gain, expected, bound = (
        np.array([r[key] for r in records]) / scale for key in ("gain", "expected", "bound")
    )
    places = [held([r["place"][key] for r in records]) for key in ("risk", "mean", "noise")]
    numbers = [f"{np.mean(a):.3g}" for a in (gain, expected, bound)]
    return [title, f"{len(records)}", *places, f"{np.mean(gain <= bound):.1%}", *numbers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40, help="seeds a problem and budget (40)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evaluations", type=int, nargs="+", default=[50, 100, 400])
    parser.add_argument("--repeats", type=int, help="at every point; by default adaptive")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--json", type=Path, help="file of records, one line a run")
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.runs)
    jobs = [
        {"problem": name, "evaluations": n, "repeats": args.repeats, "seed": seed}
        for n in args.evaluations
        for seed in seeds
        for name in args.problems
    ]
    records, notes = all_records(run, jobs, args.jobs, args.json)
    print(f"commits {commits(records)}; seeds {seeds.start} to {seeds.stop - 1}; level {LEVEL:.0%}")
    print("Share of runs whose interval holds the truth (truth below it, above it)")
    for n in args.evaluations:
        some = [r for r in records if r["job"]["evaluations"] == n]
        rows = [
            line(name, [r for r in some if r["job"]["problem"] == name]) for name in args.problems
        ]
        often = np.mean([r["n_evaluations"] for r in some])
        print(f"\nAfter {n} evaluations (the setting was measured {often:.1f} times on average):\n")
        print(markdown(HEAD, [*rows, line("all", some)]), flush=True)
    print("\n".join(notes))


if __name__ == "__main__":
    main()
