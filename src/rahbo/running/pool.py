"""An executor that survives the death of its workers.

Executors of ``concurrent.futures`` have little in common: ``submit`` and ``shutdown``. This module
handles what differs between them: how many workers they have, how to make them again, and how to
kill their workers.
"""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from threading import Thread
from time import sleep
from typing import Any, TypeVar

from rahbo.errors import ExecutorError, SettingsError
from rahbo.numerics import is_whole
from rahbo.running.calls import described
from rahbo.running.liveness import Liveness, count_workers, dask_client, is_closed
from rahbo.running.worker import begin

# In seconds. On some systems an interrupt is handled only when a wait ends.
LONGEST_WAIT = 1.0
# Seconds that the workers of a pool made here get to exit before they are killed.
EXIT_TIME = 5.0
# Workers may die for unrelated reasons. A task during which they die this often is to blame.
MAX_CRASHES = 3
# The most processes that a pool can have on Windows.
MOST_ON_WINDOWS = 61

T = TypeVar("T")


def processes(n_jobs: object, function: object) -> Callable[[], Executor]:
    """Return what makes a pool of processes for ``n_jobs=`` of `maximize`.

    Args:
        n_jobs: The number of processes; -1 for the number of cores that this process may use.
        function: What they will run. Raise an error if they cannot have it.
    """
    if not (is_whole(n_jobs) and (n_jobs == -1 or n_jobs >= 1)):
        raise SettingsError(
            f"n_jobs must be a number of processes >= 1, or -1 for all cores, got {n_jobs!r}."
        )
    try:
        pickle.dumps(function)
    except Exception as error:
        raise SettingsError(
            f"n_jobs={n_jobs} calls the objective in other processes, which must be able to import "
            f"it, but {function!r} cannot be sent there: {described(error)}. Define it with def at "
            "the top level of a module, or pass executor= with a "
            "concurrent.futures.ThreadPoolExecutor or loky.get_reusable_executor, which take any "
            "function."
        ) from error
    workers = _n_cores() if n_jobs == -1 else int(n_jobs)
    if os.name == "nt":
        workers = min(workers, MOST_ON_WINDOWS)
    return functools.partial(ProcessPoolExecutor, workers)


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """An executor, or a function that makes one, and how many tasks it gets.

    Args:
        executor: As for `maximize`.
        parallel: Tasks that may run at a time; None for the number of workers.

    Attributes:
        executor: The executor in use, known once `start` is called.
        parallel: Tasks that may run at a time, known once `start` is called.
        workers: Tasks that run at the same time, according to the executor.
    """

    def __init__(
        self, executor: Executor | Callable[[], Executor], parallel: int | None = None
    ) -> None:
        if parallel is not None and not (is_whole(parallel) and parallel >= 1):
            raise SettingsError(f"parallel must be a whole number >= 1, got {parallel!r}.")
        self._wanted = parallel
        self._make: Callable[[], Executor] | None = None
        # Only an executor that was made here is shut down here.
        self._ours = False
        # How often in a row no worker could be started.
        self._refused = 0
        if isinstance(executor, Executor):
            self._take(executor)
        elif callable(executor):
            self._make = executor
        else:
            is_client = hasattr(executor, "get_executor")
            instead = "client.get_executor(pure=False)" if is_client else "ProcessPoolExecutor(4)"
            raise SettingsError(
                "executor must be an executor of concurrent.futures, or a function without "
                f"arguments that makes one, got {executor!r}. Pass {instead}, for example."
            )

    def _take(self, executor: Executor) -> None:
        self.executor = executor
        workers = _n_workers(executor)
        if self._wanted is None and workers is None:
            raise SettingsError(
                f"{executor!r} does not say how many workers it has. Pass parallel=, the number of "
                "tasks to keep under way."
            )
        self._counted = workers is not None
        self.workers = int(workers or self._wanted or 1)
        self.parallel = int(self._wanted or self.workers)

    def _made(self, make: Callable[[], Executor]) -> None:
        executor = make()
        if not isinstance(executor, Executor):
            raise SettingsError(
                "executor= given as a function must return an executor of concurrent.futures, got "
                f"{executor!r}."
            )
        self._ours = True
        self._take(executor)
        _watch_parent(executor)

    def start(self, function: Callable[..., object], *arguments: object) -> None:
        """Make the executor, and check that its workers can run a function with such arguments.

        Args:
            function: Called once to check the workers; its result is ignored.
            *arguments: The arguments of the function.
        """
        if self._make is not None:
            self._made(self._make)
        _watch_parent(self.executor)
        problem = f"The executor's workers cannot run {arguments[0] if arguments else function!r}"
        died: Exception = BrokenExecutor()
        for _ in range(MAX_CRASHES):
            try:
                self._try(function, *arguments)
                return
            except BrokenExecutor as error:
                died = error
                self.renew()
            except CancelledError as error:
                # A cluster cancels its tasks when it starts again.
                died = error
            except ExecutorError:
                raise
            except Exception as error:
                raise SettingsError(
                    f"{problem}: {described(error)}. Processes and clusters need rahbo "
                    "installed, and a function that can be pickled, at the top level of a module "
                    "that the workers can import. loky and Dask also take functions from a "
                    "session or notebook, threads take any function."
                ) from error
        raise SettingsError(
            f"{problem}: they died {MAX_CRASHES} times before they ran anything, "
            f"{described(died)}. They must be able to import the module that defines it (a script "
            "needs if __name__ == '__main__'), and an initializer must not fail."
        ) from died

    def _try(self, function: Callable[..., object], *arguments: object) -> None:
        """Run a function in a worker and wait for its end."""
        future = self.submit(function, *arguments)
        liveness = self.watch()
        while not wait([future], LONGEST_WAIT).done:
            liveness.check()
        future.result()

    def watch(self) -> Liveness:
        """Return what finds out, while nothing is heard from the executor, if it still works."""
        return Liveness(self.executor)

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Submit a function call to the workers and return its future."""
        try:
            future = self.executor.submit(function, *arguments)
        except ConnectionError as error:
            self._refused += 1
            if self.owner is None or self._refused > MAX_CRASHES:
                raise
            # Python's fork server may die with a pool. It starts again a moment later.
            sleep(LONGEST_WAIT)
            raise BrokenExecutor(f"no worker could be started: {error!r}") from error
        self._refused = 0
        return future

    def cancel(self, future: Future[T]) -> bool:
        """Cancel a future if it has not started. Return whether it is cancelled."""
        # A client that is closed would only complain.
        return not is_closed(self.executor) and future.cancel()

    @property
    def is_local(self) -> bool:
        """Whether the workers are known to share this machine's files."""
        threads = isinstance(self.executor, ThreadPoolExecutor)
        return threads or hasattr(self.executor, "_processes")

    @property
    def queues(self) -> bool:
        """Whether tasks beyond ``parallel`` wait in the executor, and do not run at once.

        A cluster may grow, so a limit that the user has set for it holds for the queue as well.
        """
        fixed = self.is_local or self._wanted is None
        return fixed and self._counted and self.workers <= self.parallel

    @property
    def owner(self) -> int | None:
        """The id of this process if the workers are its own processes, and should end with it."""
        return os.getpid() if hasattr(self.executor, "_processes") else None

    @property
    def forks(self) -> bool:
        """Whether the workers are forks of this process, with a copy of all it holds."""
        context = getattr(self.executor, "_mp_context", None)
        return context is not None and context.get_start_method() == "fork"

    @property
    def initializer(self) -> object:
        """What the user gave to prepare each worker; None if nothing does."""
        executor: Any = self.executor
        given = getattr(executor, "_initializer", None)
        return executor._initargs[1] if given is begin else given

    @property
    def is_broken(self) -> bool:
        """Whether the executor knows that its workers died."""
        # loky keeps it among its flags.
        flags = getattr(self.executor, "_flags", None)
        return bool(getattr(self.executor, "_broken", False) or getattr(flags, "broken", False))

    def renew(self) -> None:
        """Replace an executor whose workers died."""
        broken, ours = self.executor, self._ours
        self._made(self._make or (lambda: _made_again(broken)))
        _finish_off(broken, _workers_of(broken))
        if ours:
            broken.shutdown(wait=False)
        if self.executor is broken:
            raise ExecutorError(
                f"The workers of {broken!r} died, and the function executor= returned the same "
                "executor again. It must make a new one each time."
            )

    def kill(self) -> bool:
        """Kill the workers if they are processes on this machine. Return whether they are."""
        if getattr(self.executor, "_processes", None) is None:
            return False
        _finish_off(self.executor, _workers_of(self.executor))
        return True

    def close(self, idle: bool) -> None:
        """Shut down an executor that was made here; the user's own executor stays open.

        Args:
            idle: Whether nothing is under way. If something is, its workers are killed where that
                is possible.
        """
        if not self._ours:
            return
        if not idle:
            self.kill()
        # loky forgets a worker that is about to exit.
        processes = _workers_of(self.executor)
        ending = Thread(target=_shut_down, args=(self.executor, idle), daemon=True)
        ending.start()
        ending.join(EXIT_TIME)
        if ending.is_alive():
            # A worker may wait for a thread that an evaluation has left behind.
            _finish_off(self.executor, processes)
            ending.join(EXIT_TIME)


def _n_workers(executor: Executor) -> int | None:
    """Return how many tasks run at the same time; None if the executor does not say."""
    client = dask_client(executor)
    if client is not None:
        try:
            return count_workers(client) or None
        except Exception as error:
            raise ExecutorError(
                f"The Dask cluster does not answer: {error!r}. Its status is {client.status!r}. "
                "Start its scheduler, and pass the executor of a client that is connected to it."
            ) from error
    # The first name is used by the standard library and loky, the second by mpi4py.
    for name in ("_max_workers", "num_workers"):
        number = getattr(executor, name, None)
        if is_whole(number) and number >= 1:
            return int(number)
    return None


def _made_again(executor: Executor) -> Executor:
    """Return a new pool of processes with the arguments that the old one stores as attributes."""
    names = [
        name
        for name in inspect.signature(type(executor)).parameters
        if hasattr(executor, f"_{name}")
    ]
    if not hasattr(executor, "_processes") or "max_workers" not in names:
        raise ExecutorError(
            f"The workers of {executor!r} died, and rahbo does not know how to make such an "
            "executor. Pass executor= as a function that makes one."
        )
    arguments = {name: getattr(executor, f"_{name}") for name in names}
    if arguments.get("initializer") is begin:
        _, arguments["initializer"], arguments["initargs"] = arguments["initargs"]
    return type(executor)(**arguments)


def _watch_parent(executor: Any) -> None:
    """Let the workers of a pool end with this process, if none of them has started yet."""
    fresh = hasattr(executor, "_initializer") and getattr(executor, "_processes", None) == {}
    if fresh and executor._initializer is not begin:
        executor._initargs = (os.getpid(), executor._initializer, executor._initargs)
        executor._initializer = begin


def _workers_of(executor: Executor) -> list[Any]:
    """Return the worker processes of an executor on this machine; none for other executors."""
    return list((getattr(executor, "_processes", None) or {}).values())


def _finish_off(executor: Any, processes: list[Any]) -> None:
    """Kill the workers of a pool of processes, and let the thread that manages it know.

    Otherwise Python might never exit. It waits for that thread, which may wait for a worker that
    was started while the pool broke, or for the rest of a message that a dead worker was sending.
    """
    messages = getattr(getattr(executor, "_result_queue", None), "_writer", None)
    manager = getattr(executor, "_executor_manager_thread", None)
    if "kill_workers" in inspect.signature(executor.shutdown).parameters:
        # loky also kills what its workers have started.
        executor.shutdown(wait=False, kill_workers=True)
        if manager is not None:
            manager.join(EXIT_TIME)
    for process in processes:
        if process is not None and process.exitcode is None:
            # A process of loky has no method for it, and Windows no such signal.
            with suppress(OSError):
                os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    if messages is not None:
        with suppress(OSError):
            # The thread cannot read this, so that it gives up; then the end of file. If it is gone
            # and the pipe is full, nobody makes room.
            os.set_blocking(messages.fileno(), False)
            messages.send_bytes(b"broken")
        with suppress(OSError):
            messages.close()


def _shut_down(executor: Executor, wait: bool) -> None:
    """Shut down an executor; the run is over, so it does not matter how that ends."""
    with suppress(Exception):
        executor.shutdown(wait=wait)
