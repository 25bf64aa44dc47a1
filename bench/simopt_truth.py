"""The truth about SimOpt's problems: a check of it, and the numbers of the contest's table.

    python bench/simopt_truth.py check                the same draws, by SimOpt and by us
    python bench/simopt_truth.py landmarks            alpha, and the median and largest MV
    python bench/simopt_truth.py landmarks --records runs.jsonl
                                                      no less than any method has reported

Needs SimOpt, in an environment of its own: see bench/README.md.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from contest.runs import Store
from contest.simulations import outcomes as o
from contest.simulations.simulation import REPLICATIONS, Simulation, simulation
from contest.simulations.table import TABLE
from rahbo.space import Space

# Random points behind alpha and the median.
POINTS = 300
# The search: from so many starts, with these replications, then with all of them.
STARTS, FEW = 4, 1000
# How often a step should gain: with fewer gains it shrinks, with more it grows.
SHARE, GROW = 0.2, 1.5


def repeated(draw: Callable[[], float], count: int) -> np.ndarray:
    return np.array([draw() for _ in range(count)])


def calls(rngs: Sequence) -> o.Inputs:
    gaps, scene = (repeated(lambda r=r: r.expovariate(1.0), o.MOST_CALLS) for r in rngs[:2])
    return gaps, scene, *(repeated(lambda r=r: r.betavariate(2, 1), o.MOST_CALLS) for r in rngs[2:])


def customers(rngs: Sequence) -> o.Inputs:
    return tuple(repeated(lambda r=r: r.expovariate(1.0), o.CUSTOMERS) for r in rngs)


def pair(rngs: Sequence) -> o.Inputs:
    second = rngs[0].gammavariate(o.TRUE_PARAMETERS[1], 1)
    return np.array(rngs[1].gammavariate(o.TRUE_PARAMETERS[0] * second, 1)), np.array(second)


def messages(rngs: Sequence) -> o.Inputs:
    draws = (
        lambda: rngs[0].expovariate(1.0), rngs[1].random, lambda: rngs[2].triangular(0.0, 1.0, 0.5)
    )  # fmt: skip
    return tuple(repeated(draw, o.MESSAGES) for draw in draws)


def tasks(rngs: Sequence) -> o.Inputs:
    return (repeated(lambda: rngs[0].expovariate(1.0), len(o.ARCS)),)


def demand(rngs: Sequence) -> o.Inputs:
    return np.array(rngs[0].gammavariate(1.0, 1.0)), repeated(lambda: rngs[1].expovariate(1), 3)


# The inputs of one replication, drawn from SimOpt's streams as its models draw them.
REPLAY = {
    "AMBULANCE-1": calls, "MM1-1": customers, "PARAMESTI-1": pair, "NETWORK-1": messages,
    "SAN-1": tasks, "RMITD-1": demand,
}  # fmt: skip


def random_rows(problem: Simulation, count: int, seed: int) -> np.ndarray:
    space = Space.of(problem.space)
    uniform = np.random.default_rng(seed).random((count, space.n_uniform))
    return np.array([problem.params_to_row(space.decode(x)) for x in space.from_uniform(uniform)])


def largest_difference(problem: Simulation, count: int) -> float:
    """Between SimOpt's outcomes and ours from the same draws, relative, at random points."""
    entry, side, found = problem.entry, problem.simopt_side, []
    for i, row in enumerate(random_rows(problem, count, seed=1)):
        x = entry.variables(row)
        theirs, ours = (
            side.streams(problem.simopt_problem, np.random.default_rng(i)) for _ in range(2)
        )
        y = side.replication(problem.simopt_problem, x, theirs)
        inputs = (np.asarray(a)[..., None] for a in REPLAY[entry.name](ours))
        z = float(o.MODELS[entry.name].outcome(x, *inputs)[0])
        found.append(abs(y - z) / max(abs(y), 1.0))
    return max(found)


def check(args: argparse.Namespace) -> None:
    print("largest relative difference between SimOpt and us, from the same draws")
    for task in args.problems:
        problem = simulation(task)
        print(f"{task:20} {largest_difference(problem, args.count):.1e}", flush=True)


def mv(problem: Simulation, row: np.ndarray, alpha: float, n: int) -> float:
    y = problem.outcomes(row, n)
    return float(np.nanmean(y) - alpha * np.nanvar(y, ddof=1))


def climb(
    problem: Simulation, start: np.ndarray, alpha: float, n: int, steps: int, spread: float
) -> np.ndarray:
    """Random steps in the unit cube that are kept where MV rises; they shrink and grow."""
    space, rng = Space.of(problem.space), np.random.default_rng([steps, n])
    best = space.encode(problem.row_to_params(start))
    row, value = start, mv(problem, start, alpha, n)
    for _ in range(steps):
        some = rng.random(space.d) < max(0.5, 1.0 / space.d)
        step = spread * rng.standard_normal(space.d) * some
        params = space.decode(np.clip(best + step, 0.0, 1.0))
        trial = problem.params_to_row(params)
        if (found := mv(problem, trial, alpha, n)) > value:
            best, row, value = space.encode(params), trial, found
            spread = min(spread * GROW, 0.5)
        else:
            spread = max(spread * GROW ** (-SHARE / (1.0 - SHARE)), 1e-4)
    return row


def best_row(problem: Simulation, starts: np.ndarray, alpha: float, steps: int) -> np.ndarray:
    """The best end of climbs with few replications, after a climb with all."""
    ends = [climb(problem, start, alpha, FEW, steps, 0.1) for start in starts]
    best = max([*ends, *starts], key=lambda row: mv(problem, row, alpha, REPLICATIONS))
    return climb(problem, best, alpha, REPLICATIONS, steps // 2, 0.01)


def rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def told_of(store: Store, task: str, alpha: float) -> list[float]:
    """MV at all points that were reported."""
    return [
        f - alpha * var
        for record in store.records.values()
        if record.job.problem == task
        for f, var in zip(record.f, record.noise_var, strict=True)
        if f is not None
    ]


def landmarks_of(task: str, steps: int, store: Store) -> None:
    problem = simulation(task)
    rows = random_rows(problem, POINTS, seed=0)
    f, var = problem.f(rows), problem.noise_var(rows)
    spread = [float(np.subtract(*np.percentile(a, (75, 25)))) for a in (f, var)]
    alpha = rounded(spread[0] / spread[1], 2)
    median = float(np.median(f - alpha * var))
    known = [row for row in (problem.entry.start, problem.entry.argmax) if row]
    points = {}
    for name, coefficient in (("risk-neutral", 0.0), ("risk-averse", alpha)):
        first = rows[np.argsort(-(f - coefficient * var))[:STARTS]]
        starts = np.vstack([first, *known, *points.values()])
        points[name] = best_row(problem, starts, coefficient, steps)
    told = told_of(store, task, alpha)
    best = max([mv(problem, points["risk-averse"], alpha, REPLICATIONS), *told])
    for name, row in points.items():
        mean, noise = float(problem.f(row[None])[0]), float(problem.noise_var(row[None])[0])
        regret = (best - mean + alpha * noise) / (best - median)
        print(f"{task} {name}: mean {mean:.6g}, variance {noise:.6g}, regret {regret:.4f} at "
              f"{[rounded(v, 4) for v in row]}")  # fmt: skip
    if told:
        print(f"{task}: lowest regret reported {(best - max(told)) / (best - median):.2g}")
    print(f"{task}: alpha={alpha:g}, best={best:.8g}, median={median:.6g}", flush=True)


def landmarks(args: argparse.Namespace) -> None:
    store = Store(args.records)
    for task in args.problems:
        landmarks_of(task, args.steps, store)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    checks = commands.add_parser("check", help="compare with SimOpt on the same draws")
    checks.add_argument("--count", type=int, default=50, help="random points (50)")
    checks.set_defaults(does=check)
    marks = commands.add_parser("landmarks", help="compute alpha, and the median and largest MV")
    marks.add_argument("--steps", type=int, default=1000, help="of each climb (1000)")
    marks.add_argument("--records", type=Path, help="of runs, whose reports count as well")
    marks.set_defaults(does=landmarks)
    for command in (checks, marks):
        command.add_argument("--problems", nargs="+", default=list(TABLE), choices=list(TABLE))
    return parser.parse_args()


if __name__ == "__main__":
    args = arguments()
    args.does(args)
