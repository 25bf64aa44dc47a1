"""An executor that survives the death of its workers.

Executors of ``concurrent.futures`` have little in common: ``submit`` and ``shutdown``. This module
handles what differs between them: how many workers they have, how to make them again, and how to
kill their workers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import TypeVar

from rahbo.errors import ExecutorError, SettingsError
from rahbo.numerics import is_whole

# Workers may die for unrelated reasons. A task during which they die this often is to blame.
MAX_CRASHES = 3

T = TypeVar("T")


class Pool:
    """An executor, or a function that makes one, and how many tasks it gets.

    Args:
        executor: As for `maximize`.
        parallel: Tasks under way at a time; None for the number of workers.

    Attributes:
        executor: The executor in use, known once `start` is called.
        parallel: Tasks under way at a time, known once `start` is called.
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

    def start(self, function: Callable[..., object], *arguments: object) -> None:
        """Make the executor, and check that its workers can run a function with such arguments.

        Args:
            function: Called once to check the workers; its result is ignored.
            *arguments: The arguments of the function.
        """
        if self._make is not None:
            self._made(self._make)
        problem = f"The executor's workers cannot run {arguments[0] if arguments else function!r}"
        for _ in range(MAX_CRASHES):
            try:
                self.submit(function, *arguments).result()
                return
            except BrokenExecutor as error:
                died = error
                self.renew()
            except Exception as error:
                raise SettingsError(
                    f"{problem}: {error!r}. Processes and clusters need rahbo installed, and a "
                    "function that can be pickled, at the top level of a module that the workers "
                    "can import. loky and Dask also take functions from a session or notebook, "
                    "threads take any function."
                ) from error
        raise SettingsError(
            f"{problem}: they died {MAX_CRASHES} times before they ran anything, {died!r}. They "
            "must be able to import the module that defines it (a script needs "
            "if __name__ == '__main__'), and an initializer must not fail."
        ) from died

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Submit a function call to the workers and return its future."""
        return self.executor.submit(function, *arguments)

    @property
    def is_local(self) -> bool:
        """Whether the workers are known to share this machine's files."""
        threads = isinstance(self.executor, ThreadPoolExecutor)
        return threads or hasattr(self.executor, "_processes")

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
        if ours:
            broken.shutdown(wait=False)
        if self.executor is broken:
            raise ExecutorError(
                f"The workers of {broken!r} died, and the function executor= returned the same "
                "executor again. It must make a new one each time."
            )

    def kill(self) -> bool:
        """Kill the workers if they are processes on this machine. Return whether they are."""
        processes = getattr(self.executor, "_processes", None)
        if processes is None:
            return False
        if "kill_workers" in inspect.signature(self.executor.shutdown).parameters:
            # loky's processes cannot be killed one by one.
            self.executor.shutdown(wait=False, kill_workers=True)  # type: ignore[call-arg]
        else:
            for process in list(processes.values()):
                process.kill()
        return True

    def close(self, idle: bool) -> None:
        """Shut down an executor that was made here; the user's own executor stays open.

        Args:
            idle: Whether nothing is under way. If something is, its workers are killed where that
                is possible.
        """
        if self._ours:
            if not idle:
                self.kill()
            self.executor.shutdown(wait=idle)


def _n_workers(executor: Executor) -> int | None:
    """Return how many tasks run at the same time; None if the executor does not say."""
    of_dask = getattr(getattr(executor, "_client", None), "nthreads", None)
    if of_dask is not None:
        return sum(of_dask().values()) or None
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
    return type(executor)(**{name: getattr(executor, f"_{name}") for name in names})
