"""Events in a file, one line each, that survive a crash of the writer at any moment.

The operating system holds the lock and lifts it when the process ends, even in a crash. A fork
would share the lock and keep it after its parent's death, so it closes the file at once.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence

from rahbo.errors import JournalError, SettingsError
from rahbo.journal.lines import OPENING, line_of, parse
from rahbo.journal.storage import Storage

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


class FileStorage(Storage):
    """Events as the lines of a file. Each has a checksum, so that damage is noticed.

    Args:
        path: The name of the file.
    """

    def __init__(self, path: FileName) -> None:
        self._name = full_name(path)
        self._fd: int | None = None
        self._is_new = False
        # How many lines were seen, their size, and that of the file, whose end may be torn.
        self._lines = self._size = self._end = 0

    @property
    def name(self) -> str:
        """The absolute name of the file."""
        return self._name

    def read(self, position: int = 0) -> Sequence[str]:
        """Return the events from a position on."""
        before, begin = (self._lines, self._size) if position == self._lines else (0, 0)
        raw = contents(self._name, begin)
        events, size = parse(raw, self._name, before)
        self._lines, self._size = before + len(events), begin + size
        self._end = begin + len(raw)
        return events[position - before :]

    def append(self, event: str, position: int) -> None:
        """Add an event, in place of a torn line."""
        fd = self._unchanged(position)
        line = line_of(event, position + 1)
        size = self._size + len(line)
        try:
            if self._end != self._size:
                os.ftruncate(fd, self._size)
            append(fd, line)
            if not position:
                flush_folder(self._name)
        except BaseException:
            # If this fails too, the wrong size of the file stops any further writing.
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self._size)
                self._end = self._size
            raise
        # No interrupt falls between these and the return: Python checks for one after a call.
        self._lines, self._size, self._end = position + 1, size, size

    def _unchanged(self, position: int) -> int:
        """Return the file if it is as this storage left it."""
        if position != self._lines:
            self.read(self._lines)
        if self._fd is not None and position == self._lines:
            state = os.fstat(self._fd)
            if state.st_size == self._end and state.st_nlink:
                return self._fd
        raise self.changed()

    def lock(self) -> None:
        """Become the only writer. The file is created if there is none."""
        is_new = not os.path.exists(self._name)
        try:
            self._fd = open_locked(self._name)
        except BlockingIOError as error:
            raise self.in_use() from error
        self._is_new = is_new

    def close(self) -> None:
        """Release the file. One that was created in vain is deleted."""
        fd, self._fd = self._fd, None
        if fd is None:
            return
        if self._is_new and not self._lines:
            discard(fd, self._name)
        else:
            release(fd)


def storage_of(journal: FileName | Storage) -> Storage:
    """Return a storage, or that of a file."""
    return journal if isinstance(journal, Storage) else FileStorage(journal)


def is_journal(path: FileName) -> bool:
    """Return whether a file begins like a journal; it may be damaged further on."""
    try:
        # Opening a named pipe would wait for a writer.
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(OPENING)) == OPENING
    except OSError:
        return False


def full_name(path: FileName) -> str:
    """Return the absolute name of a file."""
    try:
        return os.path.abspath(os.fsdecode(path))
    except TypeError:
        raise SettingsError(
            f"journal must be the name of a file or a Storage, got {path!r}."
        ) from None


def contents(name: str, begin: int = 0) -> bytes:
    """Return all that a file holds from a place on."""
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise JournalError(f"{name} is not a regular file. Name another file.")
        with open(name, "rb") as file:
            file.seek(begin)
            return file.read()
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
        raise BlockingIOError(f"{name} is in use") from error
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
