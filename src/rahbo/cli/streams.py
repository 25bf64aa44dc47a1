"""Stdout and stderr that may fail: on a full disk, in a closed pipe, on a terminal that is gone."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, TextIO


class CheckedFile:
    """A text file that remembers its first error.

    Args:
        file: The file to write to.

    Attributes:
        error: The first error, or None.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return self._file.write(text)
        except OSError as error:
            self.error = self.error or error
            raise

    def flush(self) -> None:
        """Write what was buffered."""
        try:
            self._file.flush()
        except OSError as error:
            self.error = self.error or error
            raise


class QuietFile(CheckedFile):
    """A text file that raises no errors, and takes no more text after its first error."""

    def write(self, text: str) -> int:
        """Write text, or drop it."""
        # A file that was closed raises a ValueError.
        with suppress(OSError, ValueError):
            if self.error is None:
                super().write(text)
        return len(text)

    def flush(self) -> None:
        """Write what was buffered, or drop it."""
        with suppress(OSError, ValueError):
            if self.error is None:
                super().flush()


def let_go(file: TextIO | None) -> None:
    """Send what a file still holds nowhere if it cannot be written.

    Python flushes stdout and stderr at exit, and would complain there once more.
    """
    if file is None:
        return
    try:
        file.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, file.fileno())
        os.close(nowhere)
    except ValueError:
        # The file is closed.
        pass
