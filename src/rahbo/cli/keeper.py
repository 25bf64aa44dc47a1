"""Become a program whose session ends with rahbo: `python keeper.py SOCKET PROGRAM ARGUMENT...`.

`rahbo tune` starts this file as the leader of a new session. It forks a keeper and then becomes the
program. The keeper waits until the other end of the socket is closed, and kills the session. Only
`rahbo tune` holds that end, so even `kill -9` closes it. The keeper is there before the program,
and while it lives, nobody else's group or session can have the same number.

This file loads nothing but the standard library and has a single thread, so it may fork.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

# Set for a program to the number of its session, so that what leaves the session is found as well.
MARK = "RAHBO_SESSION"
# How often the keeper kills what is left, and how many seconds it waits each time. A process that
# waits for a dead disk, or belongs to another user, may stay.
ATTEMPTS, PAUSE = 500, 0.01


def members(session: int) -> list[int]:
    """Return the processes of a session and those that left it; none where there is no /proc."""
    with suppress(FileNotFoundError):
        return [int(n) for n in os.listdir("/proc") if n.isdecimal() and _belongs(n, session)]
    return []


def _belongs(pid: str, session: int) -> bool:
    mark = f"{MARK}={session}".encode()
    # A process may have ended meanwhile, or be somebody else's.
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
        # The name of a process stands in parentheses and may contain any character.
        state, _, _, its_session = stat.read().rpartition(b")")[2].split()[:4]
        if int(its_session) == session:
            return state != b"Z"
        with open(f"/proc/{pid}/environ", "rb") as environment:
            return mark in environment.read().split(b"\0")
    return False


def keep(control: int, session: int) -> None:
    """Wait until nobody holds the other end, then kill the session, this process last."""
    os.closerange(0, control)
    with suppress(OSError):
        os.read(control, 1)
    for _ in range(ATTEMPTS):
        left = [pid for pid in members(session) if pid != os.getpid()]
        if not left:
            break
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)
    os.killpg(session, signal.SIGKILL)


def main() -> None:
    """Become the program that the arguments say, or write to the socket why that is impossible."""
    control, session, program = int(sys.argv[1]), os.getpid(), sys.argv[2:]
    os.set_inheritable(control, False)
    try:
        # The process between the two ends at once, so the program has no child that it did not
        # start. The program may send signals to its group, and the keeper receives none of them.
        between = os.fork()
        if between == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            if os.fork() == 0:
                keep(control, session)
        elif os.waitpid(between, 0)[1] == 0:
            # Python ignores these two.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            os.environ[MARK] = str(session)
            os.execvp(program[0], program)
    except OSError as error:
        os.write(control, f"{error.errno} {error.strerror}".encode())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
