"""Run programs one by one or at the same time, and end them with everything they started.

Output is read from pipes while a program runs, and only its end is kept, in memory. So a program
never waits for a reader, needs no room on disk, and may print as much as it likes.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import IO

# What is kept of stdout and stderr, in bytes.
END, REASON = 65_536, 1000
# Seconds to wait for the end of a killed program, which a dead disk may hold up, and for the rest
# of its output, which a process in a session of its own may keep open.
PATIENCE = 5.0
CHUNK = 65_536
# The exit code of a killed program.
KILLED = -9
KEEPER = str(Path(__file__).with_name("keeper.py"))
# Python without the user's settings and packages starts in a few milliseconds.
PYTHON = (sys.executable, "-I", "-S")
# Elsewhere only the program itself can be killed.
HAS_SESSIONS = hasattr(os, "fork")


class StoppedError(Exception):
    """Raised when a program may not start because `Processes.kill` was called."""


@dataclass(frozen=True)
class Ended:
    """What came of a program.

    Attributes:
        code: Its exit code, negative if a signal killed it.
        late: Whether it was killed because its time was over.
        out: The last `END` bytes of its stdout.
        err: The last `REASON` bytes of its stderr.
        n_out: How many bytes it wrote to stdout.
    """

    code: int
    late: bool
    out: bytes
    err: bytes
    n_out: int


class Tail:
    """The end of what comes through a pipe, read by a thread of its own."""

    def __init__(self, pipe: IO[bytes] | None, length: int) -> None:
        assert pipe is not None
        self.n_bytes = 0
        self._end, self._length = b"", length
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), CHUNK):
                self.n_bytes += len(chunk)
                self._end = (self._end + chunk)[-self._length :]

    def end(self) -> bytes:
        """Wait until the pipe is closed by all its writers, and return the last bytes."""
        self._thread.join(PATIENCE)
        return self._end


class Processes:
    """Programs that run now, from any number of threads. Nothing of them outlives this process.

    A program that ends, is late or is killed takes its session with it, see `keeper`. As a context
    manager, this kills what still runs at the end.
    """

    def __init__(self) -> None:
        self._running: dict[socket.socket, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._stopped = False
        # Standard files that are closed would be replaced by sockets, which programs cannot take.
        while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(file)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.kill()

    def run(
        self, arguments: list[str], timeout: float | None = None, given: bytes | None = None
    ) -> Ended:
        """Run a program to its end.

        Args:
            arguments: The program and its arguments.
            timeout: Seconds after which the program is killed; None for no limit.
            given: What the program reads from stdin before anything else; None for nothing.

        Raises:
            OSError: The program cannot be run.
            StoppedError: `kill` was called.
        """
        if any("\0" in argument for argument in arguments):
            raise OSError("an argument contains a null character")
        control, theirs = socket.socketpair()
        with control:
            with theirs, self._lock:
                if self._stopped:
                    raise StoppedError
                program = _started(arguments, theirs.fileno(), given is not None)
                self._running[control] = program
            late = False
            try:
                out, err = Tail(program.stdout, END), Tail(program.stderr, REASON)
                if program.stdin is not None:
                    with suppress(BrokenPipeError), program.stdin:
                        program.stdin.write(given or b"")
                program.wait(timeout)
            except subprocess.TimeoutExpired:
                late = True
            finally:
                with self._lock:
                    del self._running[control]
                problem = _end(program, control)
        if problem:
            number, _, why = problem.partition(" ")
            raise OSError(int(number), why, arguments[0])
        code = KILLED if program.returncode is None else program.returncode
        return Ended(code, late, out.end(), err.end(), out.n_bytes)

    def kill(self) -> None:
        """Kill all programs that run, and let no other start."""
        with self._lock:
            self._stopped = True
            for control, program in self._running.items():
                _kill(program, control)


def _started(arguments: list[str], control: int, reads: bool) -> subprocess.Popen[bytes]:
    keeper = [*PYTHON, KEEPER, str(control)] if HAS_SESSIONS else []
    return subprocess.Popen(
        [*keeper, *arguments], start_new_session=HAS_SESSIONS,
        pass_fds=[control] if HAS_SESSIONS else [],
        stdin=subprocess.PIPE if reads else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def _kill(program: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Kill a program, and let its keeper kill what it started."""
    with suppress(OSError):
        control.shutdown(socket.SHUT_WR)
    with suppress(PermissionError):
        program.kill()


def _end(program: subprocess.Popen[bytes], control: socket.socket) -> str:
    """Kill what is left of a program. Return why it could not be run, or nothing."""
    _kill(program, control)
    problem = b""
    if HAS_SESSIONS:
        # The answer ends when the keeper does. If something killed it, the group may be left.
        control.settimeout(PATIENCE)
        with suppress(TimeoutError):
            while said := control.recv(CHUNK):
                problem += said
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        program.wait(PATIENCE)
    if HAS_SESSIONS and program.returncode is not None:
        _reap(program.pid)
    return problem.decode()


def _reap(group: int) -> None:
    """Wait for what an ended program left, if we are its parent now as process 1 of a container."""
    with suppress(ChildProcessError):
        for _ in range(100):
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                sleep(0.01)
