"""Records of a benchmark in a file, one JSON line a job, and the processes that make them.

A job is a dict of plain values, and so is what comes of it. The file may be used again: a job that
it holds is not run a second time.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

from provenance import commit

Job = dict[str, Any]
Record = dict[str, Any]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def all_records(
    work: Callable[[Job], Record], jobs: list[Job], workers: int, path: Path | None
) -> tuple[list[Record], list[str]]:
    """Return the records of all jobs and a note for each job that failed.

    Args:
        work: A function at the top of its module, so that other processes can import it.
        jobs: What to run.
        workers: Processes at the same time.
        path: The file of records; None keeps them in memory only.
    """
    kept = {_key(record): record for record in _read(path)}
    todo = [job for job in jobs if _key({"job": job}) not in kept]
    log(f"{len(jobs)} jobs, {len(jobs) - len(todo)} of them in the records already")
    notes = []
    # Set before the workers start: they are fresh interpreters that import NumPy anew.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_prepare) as pool:
        futures = {pool.submit(_timed, work, job): job for job in todo}
        for done, future in enumerate(as_completed(futures), start=1):
            job, error = futures[future], future.exception()
            if error is not None:
                notes.append(f"Failed: {job}, {error!r}.")
                log(notes[-1])
                continue
            record = {"job": job, "commit": commit(), **future.result()}
            kept[_key(record)] = record
            _append(path, record)
            log(f"{done}/{len(todo)} {' '.join(map(str, job.values()))}: {record['seconds']:.1f} s")
    return [kept[key] for job in jobs if (key := _key({"job": job})) in kept], notes


def commits(records: list[Record]) -> str:
    """Return the commits that made the records."""
    return ", ".join(sorted({record["commit"] for record in records}))


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _key(record: Record) -> str:
    return json.dumps(record["job"], sort_keys=True)


def _read(path: Path | None) -> list[Record]:
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _append(path: Path | None, record: Record) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _timed(work: Callable[[Job], Record], job: Job) -> Record:
    start = time.perf_counter()
    return {**work(job), "seconds": time.perf_counter() - start}


def _prepare() -> None:
    """Have a worker end when the process that started it is killed, or it would wait forever."""
    warnings.simplefilter("ignore")
    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
