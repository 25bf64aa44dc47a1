"""How the time of a proposal grows: points, rows of a list, and a whole run.

Each measurement runs in a fresh process on one thread and counts processor seconds. The unit "chol"
is one Cholesky factorisation of an n x n matrix (LAPACK), timed in the same process.

    python bench/scale.py                            all sizes (about ten minutes)
    python bench/scale.py --quick
    python bench/scale.py --before OTHER/src         the same beside another version of rahbo
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg import lapack

from provenance import commit

POINTS = (100, 300, 1000, 2000, 5000, 10_000)
LISTS = ((30_000, 100), (30_000, 400), (100_000, 400), (1_000_000, 100))
RUN = 400
ROUNDS = 20
# Sizes from which on fewer rounds are measured.
LARGE, FEW_ROUNDS = 5000, 5
NAMES = ("a", "b", "c", "d")


def mean(X):
    return np.sin(5.0 * X[:, 0]) + X[:, 1] * X[:, 2] - 2.0 * (X[:, 3] - 0.4) ** 2


def measured(X, rng):
    """One noisy value at each row."""
    return mean(X) + (0.05 + 0.4 * X[:, 0]) * rng.standard_normal(len(X))


def factorisation(n):
    """Seconds of one Cholesky factorisation, the best of three."""
    rng = np.random.default_rng(0)
    A = rng.random((n, n))
    A.flat[:: n + 1] += n
    seconds = []
    for _ in range(3):
        began = time.process_time()
        lapack.dpotrf(A.T, lower=1)
        seconds.append(time.process_time() - began)
    return min(seconds)


def peak_mb():
    """The largest memory of this process; ``ru_maxrss`` would be inherited from the parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def asked(optimizer, rng, rounds):
    """Seconds of the first proposal on past data, and of each of the following rounds."""
    seconds = []
    for _ in range(1 + rounds):
        began = time.process_time()
        suggestion = optimizer.ask()
        spent = time.process_time() - began
        x = np.array([[suggestion.params[name] for name in NAMES]])
        values = [float(measured(x, rng)[0]) for _ in range(suggestion.repeats)]
        began = time.process_time()
        optimizer.tell(suggestion, values)
        seconds.append(spent + time.process_time() - began)
    return seconds[0], seconds[1:]


def of_points(n):
    """Single past evaluations at n points in four dimensions."""
    import rahbo

    rng = np.random.default_rng(0)
    X = rng.random((n, 4))
    data = [
        (dict(zip(NAMES, x, strict=True)), [y])
        for x, y in zip(X.tolist(), measured(X, rng).tolist(), strict=True)
    ]
    optimizer = rahbo.Optimizer(dict.fromkeys(NAMES, (0.0, 1.0)), seed=0, data=data)
    first, rounds = asked(optimizer, rng, FEW_ROUNDS if n >= LARGE else ROUNDS)
    memory = peak_mb()
    return {"first": first, "round": float(np.mean(rounds)), "worst": max(rounds),
            "chol": factorisation(n), "mb": memory}  # fmt: skip


def of_list(m, n):
    """A list of m rows, n of them evaluated once."""
    import rahbo

    rng = np.random.default_rng(0)
    P = rng.random((m, 4)).round(7)
    rows = [dict(zip(NAMES, p, strict=True)) for p in P.tolist()]
    some = rng.choice(m, n, replace=False)
    data = [(rows[i], [float(measured(P[i : i + 1], rng)[0])]) for i in some]
    optimizer = rahbo.Optimizer(rahbo.Candidates(rows), seed=0, data=data)
    first, rounds = asked(optimizer, rng, ROUNDS)
    return {"first": first, "round": float(np.mean(rounds)), "worst": max(rounds),
            "chol": factorisation(n), "mb": peak_mb()}  # fmt: skip


def of_run(evaluations):
    """A run on Hartmann 6 with the defaults, from nothing."""
    import rahbo
    from rahbo.problems import hartmann6

    problem, rng = hartmann6(), np.random.default_rng(0)
    optimizer = rahbo.Optimizer(problem.space, risk=rahbo.MeanVariance(1.0), seed=0)
    began = time.process_time()
    while optimizer.n_evaluations < evaluations:
        suggestion = optimizer.ask()
        draws = [rng] * suggestion.repeats
        optimizer.tell(suggestion, problem.samples(suggestion.params, draws))
    return {"all": time.process_time() - began, "mb": peak_mb()}


KINDS = {"points": of_points, "list": of_list, "run": of_run}


def measure(source, kind, *sizes):
    """What a fresh process measures with the rahbo of a source folder."""
    here = Path(__file__).resolve()
    environment = os.environ | {
        "PYTHONPATH": str(source),
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    done = subprocess.run(
        [sys.executable, str(here), "--one", kind, *map(str, sizes)],
        env=environment, capture_output=True, text=True, check=True, cwd=here.parent,
    )  # fmt: skip
    return json.loads(done.stdout)


def row(name, results):
    """One line of a table: each version's numbers, and how many times as fast the first is."""
    ours = results[0]
    cells = [name]
    for found in results:
        cells += [
            f"{found['first']:.2f}", f"{found['first'] / found['chol']:.0f}",
            f"{1e3 * found['round']:.0f}", f"{found['round'] / found['chol']:.1f}",
            f"{1e3 * found['worst']:.0f}", f"{found['mb']:.0f}",
        ]  # fmt: skip
    if len(results) > 1:
        cells += [f"{results[1]['first'] / ours['first']:.1f}",
                  f"{results[1]['round'] / ours['round']:.1f}"]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def table(name, jobs, sources, kind):
    head = [name]
    for label in ("",) if len(sources) == 1 else ("", " before"):
        head += [f"first{label}, s", "in chol", f"round{label}, ms", "in chol", "worst", "MB"]
    if len(sources) > 1:
        head += ["first: times as fast", "round: times as fast"]
    print("\n| " + " | ".join(head) + " |\n|" + "---:|" * len(head))
    for sizes in jobs:
        results = [measure(source, kind, *sizes) for source in sources]
        print(row(" x ".join(f"{s:,}" for s in sizes), results), flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="*", default=POINTS)
    parser.add_argument("--lists", nargs="*", default=["x".join(map(str, s)) for s in LISTS],
                        metavar="ROWSxPOINTS")  # fmt: skip
    parser.add_argument("--run", type=int, default=RUN, help="evaluations of Hartmann 6 (400)")
    parser.add_argument("--before", type=Path, help="source folder of another version")
    parser.add_argument("--quick", action="store_true", help="the small sizes only")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.points, args.lists, args.run = (100, 300, 1000), ["30000x100"], 100
    return args


def main():
    args = arguments()
    if args.one:
        print(json.dumps(KINDS[args.one[0]](*map(int, args.one[1:]))))
        return
    sources = [Path(__file__).resolve().parents[1] / "src"]
    if args.before:
        sources.append(args.before.resolve())
    print(f"Commit {commit()}, processor seconds on one thread. A round is an ask and its tell,")
    print(f"mean of {ROUNDS} after the first ({FEW_ROUNDS} from {LARGE} points on).")
    if args.points:
        table("points", [(n,) for n in args.points], sources, "points")
    if args.lists:
        table("rows x points", [tuple(map(int, s.split("x"))) for s in args.lists], sources, "list")
    if args.run:
        found = [measure(source, "run", args.run) for source in sources]
        print(f"\n{args.run} evaluations of Hartmann 6: " + ", ".join(
            f"{one['all']:.1f} s ({1e3 * one['all'] / args.run:.1f} ms each), {one['mb']:.0f} MB"
            for one in found))  # fmt: skip
        if len(found) > 1:
            print(f"{found[1]['all'] / found[0]['all']:.1f} times as fast as before.")


if __name__ == "__main__":
    main()
