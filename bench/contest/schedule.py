"""Which runs are made, and the processes that make them."""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from threading import Thread

from contest.measures import CARELESS, OURS, PAPER
from contest.methods import PEERS, missing
from contest.problems import TASKS, why_absent
from contest.runs import Job, Record, run
from provenance import commit

# A peer is judged by its best number of repeats.
PEER_REPEATS = (2, 3, 5, 10)
METHODS = (
    OURS, PAPER,
    *(f"{peer}-{k}" for peer, library in PEERS.items() if library.only is None
      for k in PEER_REPEATS),
)  # fmt: skip
SIMOPT_METHODS = (
    OURS, PAPER,
    *(f"{peer}-{k}" for peer in ("optuna-gp", "optuna-tpe") for k in PEER_REPEATS),
    *(f"{peer}-{k}" for peer in ("hetgpy", "botorch", "astrodf") for k in (2, 3, 5)),
    *(f"{peer}-{k}" for peer in ("astrodf-grad", "astrodf-equal") for k in (2, 3)),
    "random-3",
)  # fmt: skip
# Where being careful gains nothing, it is compared with being careless.
EVEN_METHODS = (OURS, CARELESS)
# The peers take no lists.
METHODS_BY_KIND = {
    "even": EVEN_METHODS, "list": (OURS,), "rough-list": (OURS,), "simopt": SIMOPT_METHODS,
}  # fmt: skip
# In the order of the tables.
ALL_METHODS = tuple(dict.fromkeys((*METHODS, *SIMOPT_METHODS, *EVEN_METHODS)))
SEEDS, EVEN_SEEDS = 10, 30
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def methods_of(problem: str) -> tuple[str, ...]:
    return METHODS_BY_KIND.get(TASKS[problem].kind, METHODS)


def seeds_of(problem: str) -> int:
    return EVEN_SEEDS if TASKS[problem].kind == "even" else SEEDS


def present(problems: Sequence[str], notes: list[str]) -> list[str]:
    """The problems that can be run here; why others cannot is noted."""
    reasons = {problem: why_absent(problem) for problem in problems}
    notes += [f"Left out: {p}, because {why}." for p, why in reasons.items() if why is not None]
    return [problem for problem, why in reasons.items() if why is None]


def installed(methods: Sequence[str], notes: list[str]) -> list[str]:
    """The methods that can play here; why others cannot is noted once."""
    lacking = {method: missing(method) for method in methods}
    new = [f"Left out: {method}, because {', '.join(names)} is not installed."
           for method, names in lacking.items() if names]  # fmt: skip
    notes += [note for note in new if note not in notes]
    return [method for method, names in lacking.items() if not names]


def results(jobs: list[Job], workers: int, notes: list[str]) -> Iterator[Record]:
    """Records as runs finish; one that fails is noted, and the others go on."""
    if not jobs:
        return
    # Set before the workers import anything, which start as fresh interpreters.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_end_with_parent) as pool:
        futures = {pool.submit(run, job, commit()): job for job in jobs}
        for done, future in enumerate(as_completed(futures), start=1):
            job, error = futures[future], future.exception()
            if error is not None:
                notes.append(f"Failed: {job}, {error!r}.")
                log(f"{done}/{len(jobs)} {job} failed: {error!r}")
                continue
            record = future.result()
            log(f"{done}/{len(jobs)} {job.problem} {job.method} {job.seed}: {record.seconds:.1f} s")
            yield record


def _end_with_parent() -> None:
    """Have this worker end when the process that started it is killed: it would wait for ever."""
    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


def log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
