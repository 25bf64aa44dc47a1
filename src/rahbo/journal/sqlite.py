"""Events in a table of an SQLite database, which other programs can query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rahbo.errors import JournalError
from rahbo.journal.files import FileName, full_name
from rahbo.journal.storage import Storage

if TYPE_CHECKING:
    import sqlite3

TABLE = "CREATE TABLE IF NOT EXISTS events (position INTEGER PRIMARY KEY, event TEXT NOT NULL)"


class SQLiteStorage(Storage):
    """Events in the table ``events`` of an SQLite database.

    The lock is a transaction that stays open from one event to the next, so the database is for
    this journal alone.

    Args:
        path: The file of the database.
    """

    def __init__(self, path: FileName) -> None:
        self._name = full_name(path)
        self._writer: sqlite3.Connection | None = None

    @property
    def name(self) -> str:
        """The absolute name of the file."""
        return self._name

    def read(self, position: int = 0) -> Sequence[str]:
        """Return the events from a position on."""
        if not os.path.exists(self._name):
            raise FileNotFoundError("there is no such file")
        reader = self._connect()
        try:
            if not reader.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchall():
                return []
            rows = "SELECT event FROM events WHERE position >= ? ORDER BY position"
            return [event for (event,) in reader.execute(rows, (position,))]
        finally:
            reader.close()

    def append(self, event: str, position: int) -> None:
        """Add an event."""
        if self._writer is None or not os.path.exists(self._name):
            raise self.changed()
        try:
            self._begin(self._writer)
            ((here,),) = self._writer.execute("SELECT coalesce(max(position) + 1, 0) FROM events")
            if here != position:
                raise self.changed()
            self._writer.execute("INSERT INTO events VALUES (?, ?)", (position, event))
            self._writer.execute("COMMIT")
        except BaseException:
            self._writer.rollback()
            raise
        # If another writer was faster, the next event is refused.
        with suppress(JournalError):
            self._begin(self._writer)

    def lock(self) -> None:
        """Become the only writer."""
        if self._writer is not None:
            raise self.in_use()
        writer = self._connect()
        try:
            self._begin(writer)
        except BaseException:
            writer.close()
            raise
        self._writer = writer

    def close(self) -> None:
        """Give up the lock."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _connect(self) -> sqlite3.Connection:
        import sqlite3

        # Threads share an optimizer, which lets one of them in at a time.
        found = sqlite3.connect(self._name, isolation_level=None, check_same_thread=False)
        found.execute("PRAGMA synchronous = EXTRA")
        return found

    def _begin(self, writer: sqlite3.Connection) -> None:
        """Take the lock of the database, unless it is held."""
        if writer.in_transaction:
            return
        import sqlite3

        try:
            writer.execute("PRAGMA busy_timeout = 0")
            writer.execute("BEGIN IMMEDIATE")
            # A commit waits until those who read have finished.
            writer.execute("PRAGMA busy_timeout = 5000")
            writer.execute(TABLE)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise self.in_use() from error
            raise
