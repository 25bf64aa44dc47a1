"""The open connections of a server: their number is bounded, and so is the wait for a request."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Connections:
    """Open connections. Each waits for a request, or is being answered.

    Nobody is turned away when all places are taken: a new client waits in the queue of the system,
    and the connections that have waited for a request for longer than ``hurry`` make room. So
    clients that send nothing, or very little at a time, keep no others out.

    Args:
        most: The most connections at a time.
        patience: Seconds that a connection may wait for a complete request.
        hurry: The same while all places are taken.
    """

    def __init__(self, most: int, patience: float, hurry: float) -> None:
        self._most, self._patience, self._hurry = most, patience, hurry
        # Since when each connection waits for a request; None while it is being answered.
        self._since: dict[socket.socket, float | None] = {}
        self._left = threading.Condition()

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._since)

    def wait_for_room(self, seconds: float) -> bool:
        """Wait until there is room for a connection. Returns whether there is."""
        with self._left:
            return self._left.wait_for(lambda: len(self._since) < self._most, seconds)

    def waits(self, connection: socket.socket) -> None:
        """Note that a connection waits for a request from now on."""
        with self._left:
            self._since[connection] = time.monotonic()

    def answers(self, connection: socket.socket) -> None:
        """Note that the request of a connection is complete."""
        with self._left:
            self._since[connection] = None

    def leave(self, connection: socket.socket) -> None:
        """Forget a connection. Must be called before it is closed."""
        with self._left:
            self._since.pop(connection, None)
            self._left.notify()

    def end_slow(self) -> None:
        """End the connections that have waited too long, which wakes their threads."""
        with self._left:
            is_full = len(self._since) >= self._most
            before = time.monotonic() - (self._hurry if is_full else self._patience)
            for connection, since in self._since.items():
                if since is not None and since < before:
                    # Already closed by the client.
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
