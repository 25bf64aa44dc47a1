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
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol

from rahbo.cli.keeper import GRACE, LENGTH

# What is kept of stdout and stderr, in bytes.
END, REASON = 65_536, 1000
# Seconds to wait for the rest of the output after a program has ended. On Linux nobody is left who
# could keep its pipes open. Elsewhere a child with a session of its own may.
PATIENCE = 5.0
CHUNK = 65_536
KEEPER = str(Path(__file__).with_name("keeper.py"))
# Python without the user's settings and packages starts in a few milliseconds.
PYTHON = (sys.executable, "-I", "-S")


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

    def __init__(self, pipe: IO[bytes], length: int) -> None:
        self.n_bytes = 0
        self._end, self._length = b"", length
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := pipe.read(CHUNK):
                self.n_bytes += len(chunk)
                self._end = (self._end + chunk)[-self._length :]

    def end(self) -> bytes:
        """Wait until the pipe is closed by all its writers, and return the last bytes."""
        self._thread.join(PATIENCE)
        return self._end


class _Process(Protocol):
    """A running program."""

    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self, timeout: float | None) -> int | None:
        """Return the exit code, or None if the program runs for longer than the time-out."""

    def kill(self) -> None:
        """Kill the program; `wait` then returns soon."""

    def close(self) -> None:
        """Let go of the program."""


class _Guarded:
    """A program that a guard of the keeper runs."""

    def __init__(self, control: socket.socket, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.stdout, self.stderr = stdout, stderr
        self._control = control
        self._begins = b""

    def wait(self, timeout: float | None) -> int | None:
        # Time counts from the start of the program.
        self._begins = self._begins or self._control.recv(1)
        self._control.settimeout(timeout)
        said = b""
        try:
            while not said.endswith(b"\n") and (chunk := self._control.recv(CHUNK)):
                said += chunk
        except TimeoutError:
            return None
        if self._begins != b"+" or not said:
            number, _, why = said.decode().strip().partition(" ")
            error = OSError(why or "the process that watches it was killed")
            error.errno = int(number) if number else None
            raise error
        return int(said)

    def kill(self) -> None:
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        # If the guard has not answered, this tells it to kill the program.
        self._control.close()


class _Plain:
    """A program on a platform without guards, where only the program itself can be killed."""

    def __init__(self, arguments: list[str], stdin: int) -> None:
        self._process = subprocess.Popen(
            arguments, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.stdout, self.stderr = self._process.stdout, self._process.stderr

    def wait(self, timeout: float | None) -> int | None:
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)


class Processes:
    """Programs that run now, from any number of threads. Nothing of them outlives this process.

    A program that ends, is late or is killed takes all processes it started with it. `keeper` says
    how. As a context manager, it kills what still runs at the end.
    """

    def __init__(self) -> None:
        self._running: set[_Process] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._keeper: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    @property
    def stopped(self) -> bool:
        """Whether `kill` was called."""
        return self._stopped

    def run(
        self, arguments: list[str], timeout: float | None = None, given: bytes | None = None
    ) -> Ended:
        """Run a program to its end.

        Args:
            arguments: The program and its arguments.
            timeout: Seconds after which the program is killed; None for no limit.
            given: What the program may read from stdin; None for nothing.

        Raises:
            OSError: The program cannot be run.
            StoppedError: `kill` was called.
        """
        process = self._start(arguments, given)
        try:
            out, err = Tail(process.stdout, END), Tail(process.stderr, REASON)
            code = process.wait(timeout)
            late = code is None
            if late:
                process.kill()
                code = process.wait(2 * GRACE)
        finally:
            with self._lock:
                self._running.discard(process)
            process.close()
        if code is None:
            code = -int(getattr(signal, "SIGKILL", signal.SIGTERM))
        return Ended(code, late, out.end(), err.end(), out.n_bytes)

    def kill(self) -> None:
        """Kill all programs that run, and let no other start."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.kill()

    def close(self) -> None:
        """Kill all programs and wait until nothing of them is left."""
        self.kill()
        with self._lock:
            keeper, requests = self._keeper, self._requests
            self._keeper = self._requests = None
        if keeper is None or requests is None:
            return
        requests.close()
        try:
            # The keeper ends when its guards have ended.
            keeper.wait(4 * GRACE)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()

    # -- starting ----------------------------------------------------------------------------

    def _start(self, arguments: list[str], given: bytes | None) -> _Process:
        if any("\0" in argument for argument in arguments):
            raise OSError("an argument contains a null character")
        with ExitStack() as here:
            stdin = os.open(os.devnull, os.O_RDONLY) if given is None else _fed(given)
            here.callback(os.close, stdin)
            process: _Process
            if not hasattr(os, "fork"):
                process = _Plain(arguments, stdin)
            else:
                process = self._guarded(arguments, stdin)
        with self._lock:
            if not self._stopped:
                self._running.add(process)
                return process
        process.kill()
        process.close()
        process.stdout.close()
        process.stderr.close()
        raise StoppedError

    def _guarded(self, arguments: list[str], stdin: int) -> _Guarded:
        payload = b"\0".join(os.fsencode(argument) for argument in arguments)
        with ExitStack() as theirs, ExitStack() as ours:
            control, their_control = socket.socketpair()
            ours.enter_context(control)
            theirs.enter_context(their_control)
            files, outputs = [their_control.fileno(), stdin], []
            for _ in ("stdout", "stderr"):
                reading, writing = os.pipe()
                outputs.append(ours.enter_context(open(reading, "rb", buffering=0)))
                theirs.callback(os.close, writing)
                files.append(writing)
            self._request(files)
            theirs.close()
            with suppress(BrokenPipeError):
                # If the guard could not be forked, `wait` reads why.
                control.sendall(LENGTH.pack(len(payload)) + payload)
            ours.pop_all()
        return _Guarded(control, *outputs)

    def _request(self, files: list[int]) -> None:
        """Send file descriptors to the keeper; start one if there is none or it was killed."""
        with self._lock:
            for again in (True, False):
                if self._stopped:
                    raise StoppedError
                if self._requests is None:
                    self._start_keeper()
                assert self._requests is not None
                try:
                    socket.send_fds(self._requests, [b"."], files)
                    return
                except OSError:
                    self._requests.close()
                    self._requests = None
                    if not again:
                        raise

    def _start_keeper(self) -> None:
        if self._keeper is not None:
            self._keeper.poll()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._keeper = subprocess.Popen(
                    [*PYTHON, KEEPER, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
            except BaseException:
                ours.close()
                raise
        self._requests = ours


def _fed(given: bytes) -> int:
    """Return the reading end of a pipe that a thread writes to."""
    reading, writing = os.pipe()

    def feed() -> None:
        with suppress(OSError), open(writing, "wb", buffering=0) as pipe:
            rest = memoryview(given)
            while rest:
                rest = rest[pipe.write(rest) :]

    threading.Thread(target=feed, daemon=True).start()
    return reading
