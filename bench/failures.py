"""What failing evaluations cost: later asks that fail, and regret beside runs without failures.

    python bench/failures.py                                 10 seeds of everything (half an hour)
    python bench/failures.py --problems branin --kinds ball --repeats 2

A fifth of the space fails, always ("random": every evaluation does with that probability):
    corner   a half-space, away from the optimum
    ball     around a point beside the optimum, which fails too: the mean promises most there
    slab     the lowest fifth of the first parameter
    pieces   where a product of sines in two parameters is large
"Failed" is the share of the evaluations after the initial design that failed. Regret is normalised
as in bench/regret.py, by the best and the median of what does not fail.
"""

import argparse
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from contest.problems import problem_of
from rahbo import Adaptive, Candidates, Categorical, Float, Int, MeanVariance, Optimizer
from rahbo.numerics import evaluation_seed
from rahbo.policy import initial_design
from rahbo.space import Space

SHARE, NEED = 0.2, 0.1
POINTS = 20_000
KINDS = ("corner", "ball", "slab", "pieces", "random")
RISK = MeanVariance(1.0)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem: its space, and f and v of many params at once, each ``(m,)``."""

    space: Space
    truth: Any

    def risk(self, params: list[dict[str, Any]]) -> np.ndarray:
        return RISK.value(*self.truth(params))


def of_contest(name):
    problem = problem_of(name)

    def truth(params):
        X = np.array([[p[n] for n in problem.space] for p in params], dtype=float)
        return problem.f(X), problem.noise_var(X)

    return truth


def mixed_truth(params):
    """Three machines with optima of their own; the best one is loud."""
    u, depth = (np.array([p[n] for p in params], dtype=float) for n in ("u", "depth"))
    machine = np.array(["abc".index(p["machine"]) for p in params])
    centre = np.array([0.3, 0.7, 0.5])[machine]
    f = np.array([1.0, 1.2, 0.6])[machine] - 4.0 * (u - centre) ** 2 - ((depth - 9) / 10) ** 2
    return f, np.array([0.02, 0.3, 0.02])[machine] * (0.5 + u)


@cache
def case_of(name):
    if name == "list":
        rows = initial_design(Space.of(problem_of("hartmann6").space), 1000, 0)
        named = [dict(zip(problem_of("hartmann6").space, map(float, x), strict=True)) for x in rows]
        return Case(Space.of(Candidates(named)), of_contest("hartmann6"))
    if name == "mixed":
        spec = {"u": Float(0.0, 1.0), "depth": Int(1, 15), "machine": Categorical(["a", "b", "c"])}
        return Case(Space.of(spec), mixed_truth)
    return Case(Space.of(problem_of(name).space), of_contest(name))


PROBLEMS = ("branin", "hartmann6", "fel", "list", "mixed")


@cache
def sample_of(name):
    """Points all over the space, and the risk value of each."""
    case = case_of(name)
    space, rng = case.space, np.random.default_rng(0)
    if isinstance(space.spec, Candidates):
        X = space.enumerate()
        return X, case.risk([space.decode(x) for x in X])
    X = space.from_uniform(rng.random((POINTS, space.n_uniform)))
    return X, case.risk([space.decode(x) for x in X])


def score_of(kind, name):
    """A function of points ``(m, d)``, largest where evaluations fail."""
    X, risk = sample_of(name)
    best = X[np.argmax(risk)]
    if kind == "corner":
        return lambda Z: Z @ (0.5 - best)
    if kind == "ball":
        middle = best + 0.1 * np.sign(0.5 - best)
        return lambda Z: -np.linalg.norm(Z - middle, axis=1)
    if kind == "slab":
        return lambda Z: -Z[:, 0]
    return lambda Z: (
        np.sin(2 * np.pi * (1.3 * Z[:, 0] + 0.1)) * np.sin(2 * np.pi * (1.3 * Z[:, 1] + 0.3))
    )


@dataclass(frozen=True, eq=False)
class Region:
    """Where evaluations fail, and the scale of regret elsewhere."""

    score: Any
    threshold: float
    best: float
    median: float

    def fails(self, X: np.ndarray) -> np.ndarray:
        if self.score is None:
            return np.zeros(len(X), dtype=bool)
        return self.score(X) > self.threshold


@cache
def region_of(kind, name):
    X, risk = sample_of(name)
    score = None if kind in ("none", "random") else score_of(kind, name)
    threshold = np.inf if score is None else float(np.quantile(score(X), 1.0 - SHARE))
    region = Region(score, threshold, 0.0, 0.0)
    fine = ~region.fails(X)
    best = refined(name, region, X[fine], risk[fine])
    return Region(score, threshold, best, float(np.median(risk[fine])))


def refined(name, region, X, risk):
    """The largest risk value that does not fail: small random steps from the best points."""
    case, rng = case_of(name), np.random.default_rng(1)
    if isinstance(case.space.spec, Candidates):
        return float(risk.max())
    best = -np.inf
    for start in np.argsort(-risk)[:5]:
        x, value = X[start], risk[start]
        for radius in np.geomspace(0.1, 1e-4, 40):
            near = x + radius * rng.standard_normal((64, len(x))) * case.space.continuous
            near = np.clip(near, 0.0, 1.0)
            near = near[~region.fails(near)]
            if len(near):
                values = case.risk([case.space.decode(z) for z in near])
                if values.max() > value:
                    x, value = near[np.argmax(values)], values.max()
        best = max(best, value)
    return float(best)


def run(name, kind, seed, repeats, budget):
    """Share of later evaluations that failed, and normalised regret at the end."""
    case, region = case_of(name), region_of(kind, name)
    opt = Optimizer(case.space, risk=RISK, repeats=repeats or Adaptive(), seed=seed)
    while opt.n_evaluations < budget:
        suggestion = opt.ask()
        fails = bool(region.fails(case.space.encode(suggestion.params)[None])[0])
        f, v = (float(a[0]) for a in case.truth([suggestion.params]))
        for i in suggestion.indices:
            rng = np.random.default_rng(evaluation_seed(seed, suggestion.id, i))
            value = f + np.sqrt(v) * rng.standard_normal()
            if fails or (kind == "random" and rng.random() < SHARE):
                opt.tell_failure(suggestion, "fails here", repeat=i)
            else:
                opt.tell(suggestion, value, repeat=i)
    later = [t for t in opt.trials if t.source == "strategy"]
    failed = sum(len(t.failures) for t in later) / sum(t.n_made for t in later)
    reached = float(case.risk([opt.recommend().params])[0])
    return failed, (region.best - reached) / (region.best - region.median)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--repeats", nargs="*", type=int, help="numbers; else the default")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100, help="single evaluations (100)")
    args = parser.parse_args()
    started = time.process_time()
    for repeats in args.repeats or [None]:
        print(f"\nRepeats {repeats or 'by default'}, {args.budget} evaluations, {args.seeds} seeds:"
              " failed / regret (median)\n")  # fmt: skip
        print("| problem | " + " | ".join(args.kinds) + " | no failures |")
        print("|---|" + "---|" * (1 + len(args.kinds)))
        shares = {kind: [] for kind in args.kinds}
        for name in args.problems:
            cells = []
            for kind in (*args.kinds, "none"):
                runs = [run(name, kind, s, repeats, args.budget) for s in range(args.seeds)]
                failed, regret = np.array(runs).T
                shares.setdefault(kind, []).append(failed.mean())
                told = "" if kind == "none" else f"{failed.mean():.3f} / "
                cells.append(f"{told}{regret.mean():.3f} ({np.median(regret):.3f})")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        cells = [f"{np.mean(shares[kind]):.3f}" for kind in args.kinds]
        print("| all | " + " | ".join(cells) + " | |")
        regions = [np.mean(shares[kind]) for kind in args.kinds if kind != "random"]
        if regions:
            print(f"\nFailed, mean over regions: {np.mean(regions):.3f} (needed: at most {NEED})")
    print(f"\n{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
