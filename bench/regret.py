"""Regret at equal single evaluations, beside the paper preset and other libraries.

    python bench/regret.py --json runs.jsonl --jobs 2          everything (many hours)
    python bench/regret.py --problems sine --methods rahbo paper optuna-gp-5 --seeds 5
    python bench/regret.py --json runs.jsonl --markdown regret.md --figure regret.png

Runs that the file of records holds are not repeated, so a run may be stopped and started again.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from contest.measures import CARELESS, OURS, Contest
from contest.methods import VARIANTS, is_peer, missing, parsed
from contest.problems import TASKS, why_absent
from contest.report import draw, full_report
from contest.runs import Job, Record, Store, run
from provenance import commit

METHODS = (
    OURS, "paper", "optuna-gp-5", "optuna-gp-10", "optuna-tpe-5", "optuna-tpe-10", "smac-5",
    "botorch-10", "hetgpy-5", "random-5",
)  # fmt: skip
# Where being careful gains nothing, it is compared with being careless.
EVEN_METHODS = (OURS, CARELESS)
METHODS_BY_KIND = {"even": EVEN_METHODS, "list": (OURS,), "rough-list": (OURS,)}
SEEDS, EVEN_SEEDS = 10, 30
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD",
        help=f"{', '.join(VARIANTS)}, or a peer and its repeats such as optuna-gp-5; by default "
        f"{', '.join(METHODS)}, and {', '.join(EVEN_METHODS)} where noise is even",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=int, help=f"runs of each ({SEEDS}, and {EVEN_SEEDS} where noise is even)"
    )
    parser.add_argument("--budget", type=int, default=400, help="single evaluations (400)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--json", type=Path, help="file of records, one line a run")
    parser.add_argument("--markdown", type=Path, help="also write the tables here")
    parser.add_argument("--figure", type=Path, help="draw the curves here, a PNG")
    args = parser.parse_args()
    for method in args.methods or ():
        if is_peer(method):
            parsed(method)
    return args


def jobs_of(args: argparse.Namespace) -> tuple[list[Job], list[str]]:
    """All runs that can be made here, a seed after the other, and what is left out and why."""
    notes, jobs = [], []
    for problem in args.problems:
        reason = why_absent(problem)
        if reason is not None:
            notes.append(f"Left out: {problem}, because {reason}.")
            continue
        kind = TASKS[problem].kind
        methods = args.methods or METHODS_BY_KIND.get(kind, METHODS)
        seeds = args.seeds or (EVEN_SEEDS if kind == "even" else SEEDS)
        for method in methods:
            lacking = missing(method)
            if lacking:
                notes.append(f"Left out: {method}, because {', '.join(lacking)} is not installed.")
            else:
                jobs += [Job(seed, problem, method, args.budget) for seed in range(seeds)]
    return sorted(dict.fromkeys(jobs), key=lambda job: job.seed), list(dict.fromkeys(notes))


def results(jobs: list[Job], workers: int, notes: list[str]) -> Iterator[Record]:
    """Records as runs finish; one that fails is noted, and the others go on."""
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


def main() -> None:
    args = arguments()
    jobs, notes = jobs_of(args)
    for note in notes:
        log(note)
    store = Store(args.json)
    todo = store.missing(jobs)
    log(f"{len(jobs)} runs, {len(jobs) - len(todo)} of them in the records already")
    for record in results(todo, args.jobs, notes) if todo else ():
        store.add(record)
    records = store.of(jobs)
    if not records:
        raise SystemExit("No runs.")
    contest = Contest.of(records, args.methods or (*METHODS, CARELESS))
    text = full_report(contest, notes)
    print(text)
    if args.markdown is not None:
        args.markdown.write_text(text, "utf-8")
    if args.figure is not None:
        draw(contest, args.figure)


if __name__ == "__main__":
    main()
