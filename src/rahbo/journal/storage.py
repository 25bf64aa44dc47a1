"""Where a journal keeps its events: what a storage must promise, and one in memory.

An event is a text, one line of JSON. A storage does not look into it. Events are numbered from 0,
and the first one holds the settings of the run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from rahbo.errors import JournalError


class Storage(ABC):
    """A list of events that only grows, with one writer at a time.

    Any of the methods may raise an exception. If it is not a `JournalError`, it is shown as the
    reason why the storage cannot be read or written. `rahbo.testing.check_storage` checks what is
    promised here, as far as one process can.
    """

    @property
    def name(self) -> str:
        """What errors call this storage."""
        return type(self).__name__

    @abstractmethod
    def read(self, position: int = 0) -> Sequence[str]:
        """Return the events from a position on, in their order and exactly as they were appended.

        Anyone may read at any time, also while another process writes. An event that was not
        appended whole is left out. Nothing is changed.
        """

    @abstractmethod
    def append(self, event: str, position: int) -> None:
        """Add an event, which is safe when this returns: it survives a crash of the machine.

        It is recorded as a whole or not at all. If this raises an `Exception`, it is not recorded.
        After an interrupt, such as a `KeyboardInterrupt`, `read` says whether it is. Only the
        holder of the lock calls this.

        Args:
            event: The event.
            position: Its number. If another number of events is here, raise `changed`.
        """

    @abstractmethod
    def lock(self) -> None:
        """Become the only writer, or raise `in_use` at once if there is one.

        The writer may be in another process or in this one, and may even use this object. A lock
        ends with the process that holds it, even in a crash.
        """

    @abstractmethod
    def close(self) -> None:
        """Give up the lock, which is held. `read` still works, and `lock` takes it again."""

    def in_use(self) -> JournalError:
        """Return the error for a second writer."""
        return JournalError(
            f"{self.name} is being written by another process, or by another Optimizer in this "
            "one. Wait until it ends, or close() that Optimizer. You can read the journal at any "
            "time."
        )

    def changed(self) -> JournalError:
        """Return the error for a storage that holds other events than its writer recorded."""
        return JournalError(
            f"{self.name} was changed or deleted by another program since this run wrote it. "
            "Continue from its contents with Optimizer.resume()."
        )


class MemoryStorage(Storage):
    """Events in the memory of this process.

    >>> from rahbo import Optimizer
    >>> storage = MemoryStorage()
    >>> opt = Optimizer({"x": (0.0, 1.0)}, seed=0, journal=storage)
    >>> opt.tell({"x": 0.5}, 1.0)
    >>> opt.close()
    >>> Optimizer.resume(storage).n_evaluations
    1
    """

    def __init__(self) -> None:
        self._events: list[str] = []
        self._is_locked = False

    def read(self, position: int = 0) -> Sequence[str]:
        """Return the events from a position on."""
        return self._events[position:]

    def append(self, event: str, position: int) -> None:
        """Add an event."""
        if position != len(self._events):
            raise self.changed()
        self._events.append(event)

    def lock(self) -> None:
        """Become the only writer."""
        if self._is_locked:
            raise self.in_use()
        self._is_locked = True

    def close(self) -> None:
        """Give up the lock."""
        self._is_locked = False
