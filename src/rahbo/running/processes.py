"""Processes of our own for ``n_jobs=``, each with a pipe, and a thread that waits for it.

So one that dies or takes too long costs the evaluation that it had, and no other.
"""

from __future__ import annotations

import importlib
import math
import multiprocessing
import os
import pickle
import signal
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import wait
from queue import Empty, LifoQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any

from rahbo.errors import ExecutorError, SettingsError
from rahbo.numerics import is_whole
from rahbo.running.calls import CallResult, Objective, described
from rahbo.running.worker import LOOK_EVERY, serve

# Seconds that idle processes get to exit before they are killed.
EXIT_TIME = 5.0
# The same on all systems: each process imports what it needs, and none is a copy of this one.
SPAWN = multiprocessing.get_context("spawn")


def n_processes(n_jobs: object) -> int:
    """Return the number of processes for ``n_jobs=``; -1 stands for the cores that may be used."""
    if not (is_whole(n_jobs) and (n_jobs == -1 or n_jobs >= 1)):
        raise SettingsError(
            f"n_jobs must be a number of processes >= 1, or -1 for all cores, got {n_jobs!r}."
        )
    if n_jobs != -1:
        return int(n_jobs)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Processes:
    """As many processes as wanted, started when they are needed.

    Args:
        n: How many.
        objective: What they evaluate. Each gets it once.
        timeout: Seconds that an evaluation may take, or None.

    Attributes:
        parallel: The number of processes.
    """

    def __init__(self, n: int, objective: Objective, timeout: float | None) -> None:
        self.parallel = n
        self._objective = _sendable(objective)
        self._timeout = timeout
        # A process that is free; None stands for one to be started, and is the last to be taken.
        self._free: LifoQueue[_Worker | None] = LifoQueue()
        for _ in range(n):
            self._free.put(None)
        self._started: list[_Worker] = []
        self._lock, self._closed = Lock(), False
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="rahbo")

    def start(self) -> None:
        """Start the first process, and check that it can have the objective."""
        worker = self._new()
        problem = worker.greet()
        if problem:
            raise SettingsError(
                f"A worker process cannot evaluate the objective: {problem}. Each worker imports "
                "the module that defines it, and the script that is running: put what the script "
                "does under if __name__ == '__main__':, with functions and imports above."
            )
        self._free.get()
        self._free.put(worker)

    def submit(self, arguments: dict[str, Any], key: tuple[int, int]) -> Future[CallResult]:
        """Evaluate with these keywords. The key is the suggestion and the repeat."""
        return self._threads.submit(self._evaluate, arguments)

    def check(self) -> None:
        """Do nothing: a process that ends is noticed at once."""

    def close(self) -> None:
        """End all processes. Those that are evaluating are killed."""
        # In a thread, so that another Ctrl-C leaves none behind.
        ending = Thread(target=self._end)
        ending.start()
        ending.join()

    def _end(self) -> None:
        with self._lock:
            self._closed = True
        free: list[_Worker | None] = []
        try:
            while True:
                free.append(self._free.get_nowait())
        except Empty:
            # A thread may be about to take one.
            for _ in free:
                self._free.put(None)
        for worker in self._started:
            if worker in free:
                worker.connection.close()
            else:
                worker.process.kill()
        self._threads.shutdown(cancel_futures=True)
        end = monotonic() + EXIT_TIME
        for worker in self._started:
            worker.process.join(max(0.0, end - monotonic()))
            # It may wait for a thread that an evaluation has left behind.
            worker.process.kill()
            worker.process.join()

    def _evaluate(self, arguments: dict[str, Any]) -> CallResult:
        """Evaluate in a free process. There are as many of them as threads that call this."""
        worker = self._free.get()
        try:
            if worker is None or not worker.process.is_alive():
                worker = self._new()
                problem = worker.greet()
                if problem:
                    return CallResult(failure=f"no worker could be started: {problem}")
            return worker.evaluate(arguments, self._timeout)
        finally:
            self._free.put(worker)

    def _new(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise ExecutorError("The run has ended.")
            self._started = [worker for worker in self._started if worker.process.is_alive()]
            worker = _Worker(self._objective)
            self._started.append(worker)
        return worker


class _Worker:
    """One process, and our end of its pipe."""

    def __init__(self, objective: bytes) -> None:
        self.connection, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(theirs, objective))
        self.process.start()
        theirs.close()

    def greet(self) -> str | None:
        """Wait until the process can evaluate. Return why it cannot; None if it can."""
        try:
            problem: str | None = self._hear(None)
        except (EOFError, OSError):
            problem = self._death()
        return problem

    def evaluate(self, arguments: dict[str, Any], timeout: float | None) -> CallResult:
        """Return the outcome of one evaluation; a failure if the process does not survive it."""
        try:
            self.connection.send(arguments)
            outcome: CallResult = self._hear(timeout)
        except TimeoutError:
            self.process.kill()
            self.process.join()
            return CallResult(failure=f"timed out after {timeout:g} s")
        except (EOFError, OSError):
            return CallResult(failure=self._death())
        return outcome

    def _hear(self, timeout: float | None) -> Any:
        """Return what the process says next, even if that was its last word."""
        end = math.inf if timeout is None else monotonic() + timeout
        # If the process has forked, both stay open after its death for as long as its fork lives.
        while not wait(
            [self.connection, self.process.sentinel],
            min(LOOK_EVERY, max(0.0, end - monotonic())),
        ):
            if not self.process.is_alive():
                break
            if monotonic() >= end:
                raise TimeoutError
        if not self.connection.poll():
            raise EOFError
        return self.connection.recv()

    def _death(self) -> str:
        self.process.join()
        code = self.process.exitcode or 0
        how = f"died: {signal.strsignal(-code)}" if code < 0 else f"exited with code {code}"
        return f"its worker process {how}"


def _sendable(objective: Objective) -> bytes:
    """Return the objective as bytes for another process.

    What Python finds by its name is sent as the name, so that each process imports it. For anything
    else cloudpickle sends the code itself: lambdas, and what a notebook defines.
    """
    named, problem = b"", ""
    try:
        named = pickle.dumps(objective)
    except Exception as error:
        problem = described(error)
    # A notebook has no file that another process could import.
    if named and (hasattr(sys.modules["__main__"], "__file__") or b"__main__" not in named):
        return named
    try:
        sent: bytes = importlib.import_module("cloudpickle").dumps(objective)
        return sent
    except ModuleNotFoundError:
        cure = 'Define it with def at the top level of a module, or pip install "rahbo[jobs]"'
    except Exception as error:
        problem = described(error)
        cure = "Open files, connections and locks within it, not before"
    raise SettingsError(
        f"n_jobs= calls the objective in other processes, but {described(objective)} cannot be "
        f"sent there: {problem or 'it is defined in a session'}. {cure}, or pass threads: "
        "executor=ThreadPoolExecutor(4), parallel=4."
    )
