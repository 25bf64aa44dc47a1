"""Start programs, and end them together with everything they started: `python keeper.py SOCKET`.

`rahbo tune` starts one keeper. For each program the keeper forks a guard. The guard starts the
program, waits for it and kills what it left behind. If the guard's socket closes first, the guard
kills the program as well. The socket also closes when `rahbo tune` dies, for whatever reason.

On Linux a guard adopts every process below it whose parent ended (a "subreaper"), so it finds the
children that have a session of their own. Elsewhere it finds the process group of the program.

This file runs as a script that loads nothing but the standard library, and has a single thread: so
a fork is fast and safe.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

# The file descriptors of a request: the socket of the program, its stdin, stdout and stderr.
N_FILES = 4
LENGTH = struct.Struct("!Q")
# Seconds that killed processes get to end. A process that waits for a dead disk may take longer.
GRACE = 5.0
LOOK_AGAIN = 0.05
PR_SET_CHILD_SUBREAPER = 36
# `rahbo tune` decides what these mean. Its socket tells the guards.
NOT_FOR_US = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")


def adopter() -> Callable[[], bool]:
    """Return a function that makes this process adopt orphans below it, and says if it could."""
    if sys.platform != "linux" or not os.path.exists("/proc/self/stat"):
        return lambda: False
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda: False
    return lambda: prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def woken_by_children() -> int:
    """Return a file descriptor that can be read when a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    # A handler, unlike SIG_IGN, is not inherited by the program.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def wait_for(*files: int, seconds: float | None = None) -> list[int]:
    """Return the file descriptors that can be read now, after at most so many seconds."""
    return select.select(files, [], [], seconds)[0]


def drain(woken: int) -> None:
    """Empty the pipe of `woken_by_children`."""
    with suppress(BlockingIOError):
        while os.read(woken, 4096):
            pass


def reaped() -> tuple[dict[int, int], bool]:
    """Return the exit codes of the children that have ended, and whether there are others."""
    codes: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return codes, False
        if pid == 0:
            return codes, True
        codes[pid] = os.waitstatus_to_exitcode(status)


def descendants(root: int) -> list[int]:
    """Return the processes below one, from the list of all processes."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat", "rb") as f:
                # The name of a process stands in parentheses and may contain any character.
                parent = int(f.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def kill(pids: list[int]) -> None:
    """Kill processes."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_all_below(woken: int) -> dict[int, int]:
    """Kill all descendants and return the exit codes of those that ended.

    If a killed process has children, they become ours. So nothing is left when we have no children.
    """
    codes: dict[int, int] = {}
    end = time.monotonic() + GRACE
    while True:
        ended, more = reaped()
        codes |= ended
        if not more or time.monotonic() > end:
            return codes
        kill(descendants(os.getpid()))
        wait_for(woken, seconds=LOOK_AGAIN)
        drain(woken)


def received(control: socket.socket) -> list[str]:
    """Return the arguments of the program to start."""
    data = b""
    while len(data) < LENGTH.size or len(data) < LENGTH.size + LENGTH.unpack_from(data)[0]:
        chunk = control.recv(1 << 20)
        if not chunk:
            raise EOFError
        data += chunk
    return [os.fsdecode(part) for part in data[LENGTH.size :].split(b"\0")]


def guard(control: socket.socket, files: list[int], adopts: bool) -> str:
    """Run a program to its end, or until our socket closes. Return its exit code.

    Return ``!``, the error number and the reason if it cannot be run. Otherwise send ``+`` when it
    has started.
    """
    woken = woken_by_children()
    arguments = received(control)
    try:
        program = subprocess.Popen(
            arguments, stdin=files[0], stdout=files[1], stderr=files[2], start_new_session=True
        )
    except (OSError, ValueError) as error:
        return _problem(error)
    with suppress(OSError):
        # If `rahbo tune` has just ended, the loop below sees it and the program is killed.
        control.sendall(b"+")
    for file in files:
        os.close(file)
    codes: dict[int, int] = {}
    while program.pid not in codes:
        if control.fileno() in wait_for(control.fileno(), woken):
            break
        drain(woken)
        codes |= reaped()[0]
    if not adopts:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)
    codes |= kill_all_below(woken) if adopts else _wait_for(program, codes)
    return str(codes.get(program.pid, -signal.SIGKILL))


def _problem(error: Exception) -> str:
    return f"!{getattr(error, 'errno', None) or 0} {error}"


def _wait_for(program: subprocess.Popen[bytes], codes: dict[int, int]) -> dict[int, int]:
    if program.pid in codes:
        return {}
    with suppress(subprocess.TimeoutExpired):
        return {program.pid: program.wait(GRACE)}
    return {}


class Keeper:
    """Forks a guard for each request.

    Args:
        requests: A request is one byte with `N_FILES` file descriptors.
    """

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._guards: set[int] = set()
        self._adopt = adopter()
        self._adopts = self._adopt()
        self._woken = woken_by_children()

    def serve(self) -> None:
        """Work until the socket closes, then wait for the guards, which also see it."""
        while True:
            ready = wait_for(self._requests.fileno(), self._woken)
            if self._woken in ready:
                self._look_after_guards()
            if self._requests.fileno() in ready:
                with suppress(ConnectionError):
                    byte, files, _, _ = socket.recv_fds(self._requests, 1, N_FILES)
                    if byte and len(files) == N_FILES:
                        self._fork(files)
                        continue
                break
        # A guard needs this long if it cannot kill a process.
        end = time.monotonic() + 2 * GRACE
        while self._guards and time.monotonic() < end:
            wait_for(self._woken, seconds=LOOK_AGAIN)
            self._look_after_guards()
        if self._adopts:
            # What a guard could not end, or did not live to end.
            kill_all_below(self._woken)

    def _look_after_guards(self) -> None:
        """Forget the guards that have ended, and kill what a killed guard left."""
        drain(self._woken)
        codes, more = reaped()
        self._guards -= codes.keys()
        if more and self._adopts and any(codes.values()):
            mine = descendants(os.getpid())
            kept = {pid for root in self._guards for pid in (root, *descendants(root))}
            kill([pid for pid in mine if pid not in kept])

    def _fork(self, files: list[int]) -> None:
        with socket.socket(fileno=files[0]) as control:
            try:
                pid = os.fork()
            except OSError as error:
                with suppress(OSError):
                    control.sendall(f"{_problem(error)}\n".encode())
                pid = -1
            if pid == 0:
                self._be_guard(control, files[1:])
        for file in files[1:]:
            os.close(file)
        if pid > 0:
            self._guards.add(pid)

    def _be_guard(self, control: socket.socket, files: list[int]) -> None:
        code = 1
        try:
            self._requests.close()
            said = guard(control, files, self._adopt())
            control.sendall(f"{said}\n".encode(errors="backslashreplace"))
            code = 0
        except (OSError, EOFError):
            # `rahbo tune` has ended, so nobody wants to know.
            code = 0
        finally:
            os._exit(code)


def main() -> None:
    """Serve the socket whose number is our argument."""
    for name in NOT_FOR_US:
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    Keeper(socket.socket(fileno=int(sys.argv[1]))).serve()


if __name__ == "__main__":
    main()
