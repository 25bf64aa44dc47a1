"""Whether an executor that reports nothing still works.

Silence alone proves nothing, because an evaluation may take days. So the executor is asked: a Dask
cluster for the number of its workers, a pool of processes for workers that died.
"""

from __future__ import annotations

import math
from concurrent.futures import BrokenExecutor, Executor, Future
from threading import Thread
from time import monotonic
from typing import Any

from rahbo.errors import ExecutorError

# All in seconds. A scheduler is asked this often, and must answer within the second time.
PROBE_EVERY = 2.0
LONGEST_SILENCE = 60.0
# A cluster may be without workers for a while, for example when they are replaced.
LONGEST_WITHOUT_WORKERS = 600.0
# Executors usually notice a dead worker at once.
LONGEST_UNNOTICED = 10.0
# What one check may add to a duration, so that a pause of this process does not count as silence.
LONGEST_STEP = 2.0

CONTINUE = (
    "The error's .optimizer holds all measurements. To continue, pass a new client's executor and "
    "repeat the call with the same journal= or with trials=error.optimizer.trials."
)


class Liveness:
    """Looks after an executor while nothing is heard from it; a new one for each wait.

    Args:
        executor: The executor of the run.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._client = dask_client(executor)
        self._probe: Future[int] | None = None
        self._asked_at = self._heard_at = -math.inf
        self._workers = 1
        self._checked_at = monotonic()
        self._silent = self._without_workers = self._unnoticed = 0.0

    @property
    def heard_at(self) -> float:
        """When the executor was last known to work. Pools on this machine always do."""
        return math.inf if self._client is None else self._heard_at

    def check(self, urgent: bool = False) -> None:
        """Raise an error if the executor cannot finish its tasks any more.

        Args:
            urgent: Whether to ask a cluster now, even if it was asked a moment ago.

        Raises:
            ExecutorError: A cluster is gone.
            BrokenExecutor: Workers of a pool died, and the pool has not noticed.
        """
        now = monotonic()
        step, self._checked_at = min(now - self._checked_at, LONGEST_STEP), now
        if self._client is None:
            self._check_processes(step)
        else:
            self._check_cluster(self._client, step, urgent)

    # -- Dask --------------------------------------------------------------------------------

    def _check_cluster(self, client: Any, step: float, urgent: bool) -> None:
        if is_closed(self._executor):
            raise ExecutorError(
                f"The Dask client is {client.status}: someone closed it, or it lost the connection "
                f"to its scheduler and did not get it back in time. {CONTINUE}"
            )
        self._silent += step
        self._ask(urgent)
        self._without_workers = 0.0 if self._workers else self._without_workers + step
        # Until its own time-out the client tries to reconnect.
        patience = max(LONGEST_SILENCE, getattr(client, "_timeout", 0.0))
        if self._silent > patience:
            raise ExecutorError(
                f"The Dask scheduler has not answered for {self._silent:.0f} s. Is it running, and "
                f"does the network work? {CONTINUE}"
            )
        if self._without_workers > LONGEST_WITHOUT_WORKERS:
            raise ExecutorError(
                f"The Dask cluster has had no workers for {self._without_workers:.0f} s. Start "
                f"some; client.wait_for_workers(1) waits for them. {CONTINUE}"
            )

    def _ask(self, urgent: bool) -> None:
        """Take the answer of the cluster, and ask it again if it is time."""
        if self._probe is not None and self._probe.done():
            if self._probe.exception() is None:
                self._workers = self._probe.result()
                self._silent, self._heard_at = 0.0, self._asked_at
            self._probe = None
        since = monotonic() - self._asked_at
        if self._probe is None and since >= (PROBE_EVERY / 20 if urgent else PROBE_EVERY):
            self._asked_at = monotonic()
            self._probe = _in_background(self._client)

    # -- processes ---------------------------------------------------------------------------

    def _check_processes(self, step: float) -> None:
        # The executor may change its table of processes meanwhile, or drop it.
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        died = any(process is not None and process.exitcode is not None for process in processes)
        manager = getattr(self._executor, "_executor_manager_thread", None)
        gone = manager is not None and manager.ident is not None and not manager.is_alive()
        self._unnoticed = self._unnoticed + step if died or gone else 0.0
        if self._unnoticed > LONGEST_UNNOTICED:
            raise BrokenExecutor("a worker died, and the executor did not notice")


def dask_client(executor: Executor) -> Any:
    """Return the client of a Dask executor; None for other executors."""
    client = getattr(executor, "_client", None)
    return client if hasattr(client, "nthreads") and hasattr(client, "status") else None


def is_closed(executor: Executor) -> bool:
    """Return whether the client of a Dask executor is closed."""
    return getattr(dask_client(executor), "status", None) in ("closing", "closed")


def count_workers(client: Any) -> int:
    """Return how many tasks a Dask cluster runs at the same time.

    If the cluster does not answer, the client's exception is raised.
    """
    return sum(client.nthreads(callback_timeout=LONGEST_SILENCE).values())


def _in_background(client: Any) -> Future[int]:
    """Count the workers in a thread of its own, since a call to a dead scheduler may not return."""
    answer: Future[int] = Future()

    def ask() -> None:
        try:
            answer.set_result(count_workers(client))
        except Exception as error:
            answer.set_exception(error)

    Thread(target=ask, name="rahbo-cluster", daemon=True).start()
    return answer
