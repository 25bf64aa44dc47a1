"""A program as an objective: each evaluation runs it in a process of its own."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any

from rahbo.cli.template import Template
from rahbo.cli.values import END, Reader, UnreadableError

# A failure keeps this many characters of its reason, and the last this many bytes of stderr.
REASON = 1000


class FailedError(Exception):
    """Raised when an evaluation gave no value; its text is what is recorded."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Done:
    """One finished evaluation.

    Attributes:
        params: The parameters that were evaluated.
        value: The value, or None if the evaluation failed.
        failure: Why the evaluation failed; empty if it gave a value.
    """

    params: dict[str, Any]
    value: float | None
    failure: str = ""


class Program:
    """Runs a command with parameters filled in, and reads the value that it prints.

    Output goes to files, not pipes. A program that prints a lot never blocks on a full pipe, and
    one that leaves child processes with its output open does not keep us waiting.

    Args:
        template: The command.
        read: Finds the value in the output.
        timeout: Seconds after which a process and all its children are killed; None for no limit.
        tell: Called after each evaluation, in the thread that made it.
    """

    def __init__(
        self,
        template: Template,
        read: Reader,
        timeout: float | None = None,
        tell: Callable[[Done], object] = lambda done: None,
    ) -> None:
        self._template = template
        self._read = read
        self._timeout = timeout
        self._tell = tell
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._seconds = self._evaluations = 0.0

    def __call__(self, /, *, seed: int, **params: Any) -> float:
        """Run the program once and return its value."""
        started = monotonic()
        try:
            value = self._evaluate(self._template.filled({**params, "seed": seed}))
        except FailedError as error:
            if not self._stopped:
                self._tell(Done(params, None, str(error)))
            raise
        finally:
            with self._lock:
                self._seconds += monotonic() - started
                self._evaluations += 1
        self._tell(Done(params, value))
        return value

    @property
    def mean_seconds(self) -> float:
        """The mean time of an evaluation; infinite before the first."""
        with self._lock:
            return self._seconds / self._evaluations if self._evaluations else math.inf

    def _evaluate(self, arguments: list[str]) -> float:
        with TemporaryFile() as out, TemporaryFile() as err:
            code, late = self._run(arguments, out, err)
            if late:
                raise _failed(f"timed out after {self._timeout:g} s", err)
            if code < 0:
                raise _failed(f"killed by signal {_signal_name(-code)}", err)
            if code > 0:
                raise _failed(f"exit code {code}", err)
            try:
                return self._read(_end(out))
            except UnreadableError as error:
                limit = f" (its last {END} bytes)" if _size(out) > END else ""
                raise _failed(f"{str(error)[:REASON]}{limit}", err) from error

    def _run(self, arguments: list[str], out: IO[bytes], err: IO[bytes]) -> tuple[int, bool]:
        """Return the exit code of a process, and whether it ran out of time."""
        late = threading.Event()
        try:
            process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise FailedError(f"cannot be run: {error}") from error
        with self._lock:
            self._running.add(process)
            if self._stopped:
                _kill(process)

        def end() -> None:
            late.set()
            _kill(process)

        # wait(timeout) polls the process at intervals, so it would notice the end late.
        timer = None if self._timeout is None else threading.Timer(self._timeout, end)
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            return process.wait(), late.is_set()
        finally:
            if timer is not None:
                timer.cancel()
            with self._lock:
                self._running.discard(process)

    def kill(self) -> None:
        """Kill all running processes, and any that start later."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)


class Workers(ThreadPoolExecutor):
    """Threads that wait for processes. Shutdown without waiting kills the processes."""

    def __init__(self, program: Program, jobs: int) -> None:
        super().__init__(jobs, thread_name_prefix="rahbo")
        self._program = program

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads."""
        if not wait:
            self._program.kill()
        super().shutdown(wait, cancel_futures=cancel_futures)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children, which share its process group."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _size(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


def _end(file: IO[bytes], length: int = END) -> str:
    """Return the last bytes of a file as text."""
    file.seek(max(0, _size(file) - length))
    return file.read(length).decode(errors="replace")


def _failed(why: str, err: IO[bytes]) -> FailedError:
    said = _end(err, REASON).strip()
    return FailedError(f"{why}: {said}" if said else why)


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return str(number)
