"""Which tasks have started: a file for each task, in a folder that this machine's workers share.

Executors do not show it. Those of processes call a task running while it still waits in a queue
between processes, and they cannot cancel it there. So the file of a task is created by whoever
comes first: the worker that starts the task, or the loop that takes it back.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path


class Marks:
    """The folder of the files. Without one, no task is seen to start.

    Args:
        shared: Whether the workers share this machine's files. If not, no folder is created.
    """

    def __init__(self, shared: bool) -> None:
        self._folder = Path(uuid.uuid4().hex)
        if shared:
            # Without a folder the run loses only what the marks show.
            with suppress(OSError):
                self._folder = Path(tempfile.mkdtemp(prefix="rahbo-"))

    def new(self) -> Path:
        """Return the name of a file for one task, which is never used again."""
        return self._folder / uuid.uuid4().hex

    def take_back(self, mark: Path) -> bool:
        """Return whether a task is taken back: its worker will not evaluate it."""
        try:
            mark.touch(exist_ok=False)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def starts(mark: Path) -> bool:
    """Leave the mark of a task in its worker. Return False if the task was taken back."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:
        # There is no folder, or no room in it.
        return True
    return True
