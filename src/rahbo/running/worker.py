"""What runs in a worker: the call of the objective and, in processes of our own, their loop."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from rahbo.running.calls import CallResult, Objective, RemoteError, attempt, described, packed
from rahbo.running.generators import noting_draws
from rahbo.trials import shortened

# Seconds between two looks at a process that is not heard from.
LOOK_EVERY = 1.0


def attempt_there(
    objective: Objective, arguments: dict[str, Any], key: tuple[int, int] | None = None
) -> CallResult:
    """Call the objective in a worker, and return an outcome that can always be sent back.

    Args:
        objective: What to call.
        arguments: The keywords of the call.
        key: The suggestion and the repeat. It is not used here; with it, no executor takes two
            repeats for the same computation.
    """
    began = time.monotonic()
    try:
        if "seed" in arguments:
            outcome = attempt(objective, arguments)
        else:
            outcome, drawn = noting_draws(lambda: attempt(objective, arguments))
            outcome = replace(outcome, drawn=drawn)
    except SystemExit as error:
        # In a worker this ends only the evaluation.
        outcome = CallResult(failure=described(error), error=error)
    outcome = replace(outcome, seconds=time.monotonic() - began)
    if outcome.error is None:
        return outcome
    lines = "".join(traceback.format_exception(outcome.error))
    return replace(outcome, error=RemoteError("\n" + shortened(lines), packed(outcome.error)))


def serve(connection: Connection, objective: bytes) -> None:
    """Evaluate what comes through a pipe until it is closed: all that a process of ours does.

    It first sends None, or why it cannot have the objective.

    Args:
        connection: Gives keywords for a call, takes the outcome.
        objective: What to call, pickled.
    """
    Thread(target=_end_with_parent, name="rahbo-parent", daemon=True).start()
    # Ctrl-C reaches this process too, but what to do is up to its parent. Programs that the
    # objective starts are interrupted as ever, which they would not be with SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    # The other end is closed when the run ends.
    with suppress(EOFError, OSError):
        try:
            function = pickle.loads(objective)
        except Exception as error:
            connection.send(described(error))
            return
        connection.send(None)
        while True:
            connection.send(attempt_there(function, connection.recv()))


def _end_with_parent() -> None:
    """Wait until the parent process is gone, then exit without any cleaning up."""
    parent = multiprocessing.parent_process()
    # A fork of the parent may keep open what tells that it is gone. Windows has no forks.
    while parent and parent.is_alive() and (os.name == "nt" or os.getppid() == parent.pid):
        parent.join(LOOK_EVERY)
    os._exit(1)
