"""What runs in a worker: the call of the objective, and a watch on the process it works for.

A pool of processes does not end with the process that made it: after a SIGKILL its workers would
wait for tasks for ever. So each worker checks that this process is still there, and exits if not.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

import numpy as np

from rahbo.running.calls import CallResult, Objective, RemoteError, attempt, described, packed
from rahbo.running.marks import starts
from rahbo.trials import shortened

# Seconds between two looks at the process that a worker works for.
PARENT_CHECK = 1.0

# The process in which the watch runs; a fork of it has this number, but not the thread.
_watching = 0


def arrive(objective: Objective) -> None:
    """Do nothing; a worker that runs this has everything it needs."""


def attempt_there(
    objective: Objective, arguments: dict[str, Any], mark: Path, owner: int | None
) -> CallResult:
    """Call the objective in a worker, and return an outcome that can always be sent back.

    The file ``mark`` is created to show that the task has started, if its folder exists. Each task
    has its own mark, so that no executor takes two repeats for the same computation. A task that
    was taken back is not evaluated, and nobody reads its outcome.

    Args:
        objective: What to call.
        arguments: The keywords of the call.
        mark: The file to create.
        owner: As for `end_with`.
    """
    end_with(owner)
    if not starts(mark):
        return CallResult(failure="taken back")
    began = time.monotonic()
    try:
        outcome = attempt(objective, arguments)
    except SystemExit as error:
        # In a worker this ends only the evaluation.
        outcome = CallResult(failure=described(error), error=error)
    outcome = replace(outcome, seconds=time.monotonic() - began)
    if outcome.error is None:
        return outcome
    lines = "".join(traceback.format_exception(outcome.error))
    # A worker that is killed while it writes a long message leaves the rest of it missing, and the
    # executor would wait for that rest.
    return replace(outcome, error=RemoteError("\n" + shortened(lines), packed(outcome.error)))


def begin(
    owner: int, initializer: Callable[..., object] | None, arguments: tuple[Any, ...]
) -> None:
    """Prepare a worker: the initializer of a pool that was made for a run.

    A forked process would draw the same numbers from NumPy's own generator as all others do.

    Args:
        owner: As for `end_with`.
        initializer: The pool's own initializer, if it has one.
        arguments: The arguments of the initializer.
    """
    end_with(owner)
    np.random.seed()  # noqa: NPY002
    if initializer is not None:
        initializer(*arguments)


def end_with(owner: int | None) -> None:
    """From now on, exit at once when the process ``owner`` is gone.

    Only a process that ``owner`` has started with multiprocessing does so. Threads and the workers
    of a cluster do not.
    """
    global _watching
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid != owner or _watching == os.getpid():
        return
    _watching = os.getpid()
    # PR_SET_PDEATHSIG of Linux will not do: it fires when the thread ends that made the worker.
    Thread(target=_exit_after, args=(parent,), name="rahbo-parent", daemon=True).start()


def _exit_after(parent: BaseProcess) -> NoReturn:
    """Wait until the parent is gone, then exit without any cleaning up."""
    begetter = os.getppid()
    # A fork server makes the workers of another process. Windows never reports another parent.
    is_direct = begetter == parent.pid and os.name == "posix"
    while os.getppid() == begetter and (is_direct or parent.is_alive()):
        time.sleep(PARENT_CHECK)
    os._exit(1)
