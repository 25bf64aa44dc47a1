"""Events in a table of an SQLite database, which other programs can query."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from rahbo.journal.files import FileName, full_name, open_locked, release
from rahbo.journal.storage import Storage

if TYPE_CHECKING:
    import sqlite3

TABLE = "CREATE TABLE IF NOT EXISTS events (position INTEGER PRIMARY KEY, event TEXT NOT NULL)"


class SQLiteStorage(Storage):
    """Events in the table ``events`` of an SQLite database. A file beside it holds the lock.

    Args:
        path: The file of the database.
    """

    def __init__(self, path: FileName) -> None:
        self._name = full_name(path)
        self._lock: int | None = None

    @property
    def name(self) -> str:
        """The absolute name of the file."""
        return self._name

    def read(self, position: int = 0) -> Sequence[str]:
        """Return the events from a position on."""
        if not os.path.exists(self._name):
            if self._lock is not None:
                return []
            raise FileNotFoundError("there is no such file")
        with self._transaction() as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name='events'").fetchall():
                return []
            rows = "SELECT event FROM events WHERE position >= ? ORDER BY position"
            return [event for (event,) in database.execute(rows, (position,))]

    def append(self, event: str, position: int) -> None:
        """Add an event."""
        with self._transaction() as database:
            database.execute(TABLE)
            ((here,),) = database.execute("SELECT coalesce(max(position) + 1, 0) FROM events")
            if here != position:
                raise self.changed()
            database.execute("INSERT INTO events VALUES (?, ?)", (position, event))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection, whose changes are kept unless an error is raised."""
        import sqlite3

        with closing(sqlite3.connect(self._name)) as database:
            # What is committed survives a loss of power.
            database.execute("PRAGMA synchronous = EXTRA")
            with database:
                yield database

    def lock(self) -> None:
        """Become the only writer."""
        try:
            self._lock = open_locked(f"{self._name}.lock")
        except BlockingIOError as error:
            raise self.in_use() from error

    def close(self) -> None:
        """Give up the lock."""
        if self._lock is not None:
            release(self._lock)
        self._lock = None
