"""How busy a run keeps its workers: tasks that sleep, on threads and on processes.

    python bench/throughput.py                       1,000 evaluations a case
    python bench/throughput.py --quick               256 evaluations, two cases
    python bench/throughput.py --strategy random     random points of a grid: what the loop allows
    python bench/throughput.py --cases 64x1 --executors threads
    python bench/throughput.py --proposals           how many points a second can be proposed

The busy share is what the tasks slept, divided by workers times the time from the call of
`maximize` to the last value told. Workers are started before. `free` is the share that an endless
queue of tasks would reach on the same executor in the same run: it holds what the machine and the
executor take, so that a busy machine can be told from a slow run.
"""

import argparse
import math
import multiprocessing
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait

import numpy as np

import rahbo
from provenance import commit
from rahbo.policy import RandomSearch

CASES = ("8x0.1", "8x1", "64x0.1", "64x1")
QUICK = ("8x0.1", "64x1")
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}
# The model has 64 points at most, so that it takes no time.
GRID = {name: rahbo.Categorical([0.0, 0.33, 0.67, 1.0]) for name in SPACE}
NOISE = 0.1


def value(x, y, z, seed):
    """A smooth function with a maximum of 1 inside, and noise."""
    far = (x - 0.3) ** 2 + (y - 0.6) ** 2 + (z - 0.5) ** 2
    return math.exp(-4.0 * far) + NOISE * np.random.default_rng(seed).standard_normal()


class Sleeping:
    """The function above after a sleep, for workers of all kinds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, x, y, z, seed):
        time.sleep(self.seconds)
        return value(x, y, z, seed)


def busy_share(executor, workers, seconds, evaluations, space, **settings):
    """The share of time that the workers were busy, evaluations a second, and the mean at the end.

    The mean is the true one at the recommended point; the largest is 1.
    """
    told = []
    began = time.perf_counter()
    result = rahbo.maximize(
        Sleeping(seconds), space, evaluations=evaluations, executor=executor,
        parallel=workers, **settings,
        callback=lambda optimizer: told.append(time.perf_counter()),
    )  # fmt: skip
    lasted = told[-1] - began
    p = result.recommendation.params
    true = math.exp(-4.0 * ((p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2 + (p["z"] - 0.5) ** 2))
    return evaluations * seconds / (workers * lasted), evaluations / lasted, true


def proposals(sizes=(30, 100, 300, 1000), rounds=20, several=8):
    """Print processor times of rounds of ask and tell, and of several suggestions at once."""
    print(f"| points | one at a time, a second | {several} at once, a second |\n|---|---|---|")
    rng = np.random.default_rng(0)
    for n in sizes:
        points = [dict(zip(SPACE, row, strict=True)) for row in rng.random((n, 3)).tolist()]
        data = [(p, value(**p, seed=i)) for i, p in enumerate(points)]
        opt = rahbo.Optimizer(SPACE, seed=0, data=data)
        # The first proposal learns from all data, which a run does bit by bit.
        for i in range(n, n + rounds + 1):
            if i == n + 1:
                began = time.process_time()
            suggestion = opt.ask()
            opt.tell(suggestion, value(**suggestion.params, seed=i), repeat=0)
        ended = time.process_time()
        opt.ask(several)
        at_once = several / (time.process_time() - ended)
        print(f"| {n} | {rounds / (ended - began):.0f} | {at_once:.0f} |", flush=True)


def free_share(executor, workers, seconds, evaluations):
    """The share that the executor reaches if all tasks are submitted at once."""
    began = time.perf_counter()
    wait([executor.submit(time.sleep, seconds) for _ in range(evaluations)])
    return evaluations * seconds / (workers * (time.perf_counter() - began))


def started(kind: str, workers: int) -> Executor:
    """An executor whose workers are all there."""
    if kind == "threads":
        executor: Executor = ThreadPoolExecutor(workers)
    else:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["rahbo", "__main__"])
        executor = ProcessPoolExecutor(workers, mp_context=context)
    wait([executor.submit(time.sleep, 0.2) for _ in range(2 * workers)])
    return executor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", help="workers x seconds, such as 64x1")
    parser.add_argument("--executors", nargs="+", default=["threads", "processes"])
    parser.add_argument("--strategy", choices=["default", "random"], default="default")
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="256 evaluations, two cases")
    parser.add_argument("--proposals", action="store_true", help="time proposals, without workers")
    args = parser.parse_args()
    if args.proposals:
        print(f"Processor time, 3 inputs, commit {commit()}\n")
        proposals()
        return
    evaluations = 256 if args.quick else args.evaluations
    settings = {"space": SPACE, "seed": args.seed}
    if args.strategy == "random":
        settings |= {"space": GRID, "method": rahbo.Method(strategy=RandomSearch())}
    # What is loaded once does not count.
    rahbo.maximize(value, SPACE, evaluations=20, seed=0)
    print(f"{evaluations} evaluations, strategy {args.strategy}, commit {commit()}\n")
    print("| executor | workers | task, s | busy | free | evaluations a second | mean at the end |")
    print("|---|---|---|---|---|---|---|")
    for kind in args.executors:
        for case in args.cases or (QUICK if args.quick else CASES):
            workers, seconds = int(case.split("x")[0]), float(case.split("x")[1])
            with started(kind, workers) as executor:
                best = free_share(executor, workers, seconds, evaluations)
                share, rate, true = busy_share(executor, workers, seconds, evaluations, **settings)
            print(
                f"| {kind} | {workers} | {seconds:g} | {share:.0%} | {best:.0%} | {rate:.1f} "
                f"| {true:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
