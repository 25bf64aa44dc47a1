"""A file that one writer at a time appends to, and that survives a crash of the writer.

The operating system holds the lock and lifts it when the process ends, even in a crash. A fork
would share the lock and keep it after its parent's death, so it closes the file at once.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from rahbo.errors import JournalError, SettingsError

FileName = str | os.PathLike[str]

if sys.platform == "win32":
    import msvcrt

    # Windows locks bytes, and others cannot read them. So lock one that no journal ever reaches.
    def lock(fd: int) -> None:
        """Take the lock of an open file, or raise."""
        os.lseek(fd, 1 << 60, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    _IN_USE: tuple[type[OSError], ...] = (PermissionError,)
else:
    import fcntl

    def lock(fd: int) -> None:
        """Take the lock of an open file, or raise."""
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _IN_USE = (BlockingIOError,)

_held: set[int] = set()


def full_name(path: FileName) -> str:
    """Return the absolute name of a file."""
    try:
        return os.path.abspath(os.fsdecode(path))
    except TypeError:
        raise SettingsError(f"journal must be the name of a file, got {path!r}.") from None


def contents(name: str, first_line: bool = False) -> bytes:
    """Return all that a file holds, or its first line."""
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise JournalError(f"{name} is not a regular file. Name another file.")
        with open(name, "rb") as file:
            return file.readline() if first_line else file.read()
    except (OSError, ValueError) as error:
        raise JournalError(f"{name} cannot be read: {error}.") from error


def open_locked(name: str) -> int:
    """Open a file for writing, and create it if needed. Nobody else may write until `release`."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    is_new = not os.path.exists(name)
    try:
        fd = os.open(name, flags, 0o666)
    except (OSError, ValueError) as error:
        raise JournalError(
            f"{name} cannot be written: {error}. Name a file in a writable folder."
        ) from error
    _held.add(fd)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise JournalError(f"{name} is not a regular file. Name another file.")
        lock(fd)
    except _IN_USE as error:
        release(fd)
        raise JournalError(
            f"{name} is being written by another process, or by another Optimizer in this one. "
            "Wait until it ends, or close() that Optimizer. You can read the journal at any time."
        ) from error
    except OSError as error:
        if is_new:
            discard(fd, name)
        else:
            release(fd)
        raise JournalError(
            f"{name} cannot be locked: {error}. Put it on a file system that supports locks."
        ) from error
    except BaseException:
        release(fd)
        raise
    return fd


def release(fd: int) -> None:
    """Close a file and lift its lock."""
    _held.discard(fd)
    os.close(fd)


def discard(fd: int, name: str) -> None:
    """Close and delete a file that was created in vain, and lift its lock."""
    # Windows deletes no open file. Elsewhere, whoever takes the lock next must not lose the file.
    closed_first = os.name == "nt"
    if closed_first:
        release(fd)
    with contextlib.suppress(OSError):
        os.unlink(name)
    if not closed_first:
        release(fd)


def append(fd: int, data: bytes) -> None:
    """Write all of the data and wait until it is on disk."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.fsync(fd)


def flush_folder(name: str) -> None:
    """Flush the folder entry of a new file to disk, on systems that can flush folders."""
    with contextlib.suppress(OSError):
        fd = os.open(os.path.dirname(name), os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _leave_to_parent() -> None:
    while _held:
        release(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
