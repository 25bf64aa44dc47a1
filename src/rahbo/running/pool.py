"""Where evaluations run: what a run needs of it, and the executor of a user."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from typing import Any, Protocol

from rahbo.errors import ExecutorError, RahboError, SettingsError
from rahbo.numerics import is_whole
from rahbo.running.calls import CallResult, Objective, described
from rahbo.running.worker import attempt_there

# In seconds. On some systems an interrupt is handled only when a wait ends.
LONGEST_WAIT = 1.0

CONTINUE = (
    "The error's .optimizer holds all measurements. Repeat the call with the same journal=, or "
    "with trials=error.optimizer.trials, to continue."
)


class Pool(Protocol):
    """Where evaluations run.

    Attributes:
        parallel: How many may be under way at a time.
    """

    parallel: int

    def start(self) -> None:
        """Check that the workers can have the objective, before anything is evaluated."""

    def submit(self, arguments: dict[str, Any], key: tuple[int, int]) -> Future[CallResult]:
        """Evaluate with these keywords. The key is the suggestion and the repeat."""

    def check(self) -> None:
        """Raise an `ExecutorError` if nothing more can be heard from the workers."""

    def close(self) -> None:
        """End the workers, if they were made for the run."""


class Borrowed:
    """An executor of the user: only ``submit`` and futures are used, and it stays open.

    Args:
        executor: An executor of ``concurrent.futures``, or a client of Dask.
        parallel: How many evaluations may be under way at a time.
        objective: What to evaluate.
    """

    def __init__(self, executor: Any, parallel: int | None, objective: Objective) -> None:
        # A closed client tells nobody that its tasks are gone, so it is asked.
        self._client = executor if hasattr(executor, "get_executor") else None
        if self._client is not None:
            executor = self._client.get_executor(pure=False)
        if not isinstance(executor, Executor):
            raise SettingsError(
                "executor must be an executor of concurrent.futures, or a client of Dask, got "
                f"{described(executor)}. Write n_jobs=4 for processes, or make the executor before "
                "the run: with ThreadPoolExecutor(4) as executor."
            )
        if parallel is None:
            raise SettingsError(
                "executor= needs parallel=, the number of evaluations to keep under way, because "
                "executors do not say how many workers they have. Pass parallel=4 for "
                "ThreadPoolExecutor(4), or parallel=sum(client.nthreads().values()) for Dask."
            )
        if not (is_whole(parallel) and parallel >= 1):
            raise SettingsError(f"parallel must be a whole number >= 1, got {parallel!r}.")
        self.parallel = int(parallel)
        self._executor = executor
        self._objective = objective

    def start(self) -> None:
        """Let a worker have the objective, so that what cannot be sent is refused at once."""
        try:
            future = self._executor.submit(_arrive, self._objective)
            while not wait([future], LONGEST_WAIT).done:
                self.check()
            future.result()
        except RahboError:
            raise
        except Exception as error:
            raise SettingsError(
                f"The executor's workers cannot run {described(self._objective)}: "
                f"{described(error)}. Processes and clusters need rahbo installed, and a function "
                "at the top level of a module that they can import; a script needs "
                "if __name__ == '__main__'. n_jobs= and threads take any function."
            ) from error

    def submit(self, arguments: dict[str, Any], key: tuple[int, int]) -> Future[CallResult]:
        """Evaluate with these keywords. The key is the suggestion and the repeat."""
        submit: Callable[..., Future[CallResult]] = self._executor.submit
        try:
            return submit(attempt_there, self._objective, arguments, key)
        except Exception as error:
            raise ExecutorError(
                f"The executor takes no more tasks: {described(error)}. {CONTINUE}"
            ) from error

    def check(self) -> None:
        """Raise an error if the client of a cluster is closed."""
        if self._client is not None and self._client.status in ("closing", "closed"):
            raise ExecutorError(
                f"The Dask client is {self._client.status}: someone closed it, or it lost its "
                f"scheduler and did not get it back in time. {CONTINUE}"
            )

    def close(self) -> None:
        """Do nothing: the executor is the user's."""


def _arrive(objective: Objective) -> None:
    """Do nothing; a worker that runs this has everything it needs."""
