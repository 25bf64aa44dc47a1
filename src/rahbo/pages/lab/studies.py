"""The studies in a folder: which there are, those that are open, and new ones."""

from __future__ import annotations

import threading
from pathlib import Path

from rahbo.errors import RahboError, SettingsError
from rahbo.journal import is_journal, read
from rahbo.pages.lab.spec import Spec, checked_study_name
from rahbo.pages.lab.state import Json
from rahbo.pages.lab.study import Study, is_free
from rahbo.pages.watch import Live
from rahbo.pages.words import cut

JOURNAL = ".jsonl"
# The most studies listed.
MOST_LISTED = 200


class Studies:
    """The studies that a lab page serves.

    Args:
        folder: The folder that holds them.
        only: The one journal in it that is served, and no new ones; None for all.
    """

    def __init__(self, folder: Path, only: Path | None = None) -> None:
        self.folder, self.only = folder, only
        self._lock = threading.RLock()
        self._open: dict[str, Study] = {}
        self._live: dict[str, Live] = {}
        # Closed by hand. Pages that are still open must not open them again by themselves.
        self._closed: set[str] = set()
        self._counts: dict[tuple[Path, int], int | str] = {}

    def paths(self) -> dict[str, Path]:
        """Return the journals by name."""
        if self.only is not None:
            return {self.only.stem: self.only}
        found = sorted(self.folder.glob(f"*{JOURNAL}"))
        return {path.stem: path for path in found if is_journal(path)}

    def listed(self) -> list[Json]:
        """Return the name and the size of each study."""
        return [
            {"name": name, "evaluations": self._count(path), "open": name in self._open}
            for name, path in list(self.paths().items())[:MOST_LISTED]
        ]

    def _count(self, path: Path) -> int | str:
        """Return the number of evaluations in a journal, or why it cannot be read."""
        key = path, path.stat().st_mtime_ns
        if key not in self._counts:
            try:
                self._counts[key] = sum(trial.n_made for trial in read(path)[1])
            except RahboError as error:
                self._counts[key] = cut(str(error))
        return self._counts[key]

    def begin(self, spec: Spec) -> str:
        """Begin a study in a journal of its own, and return its name."""
        with self._lock:
            path = self.folder / f"{checked_study_name(spec.name)}{JOURNAL}"
            if self.only is not None:
                raise SettingsError("This page serves one study. Start rahbo lab with a folder.")
            if not is_free(path):
                raise SettingsError(
                    f"There is already a study {spec.name!r} here. Choose another name."
                )
            if spec.name in self._open:
                # Its journal was deleted.
                self._open.pop(spec.name).close()
            self._open[spec.name] = Study.begin(path, spec)
            self._closed.discard(spec.name)
            return spec.name

    def adopt(self, study: Study) -> None:
        """Serve a study that is already open."""
        self._open[study.path.stem] = study

    def study(self, name: str) -> Study | None:
        """Return a study, opened if necessary; None if it was closed by hand.

        Raises:
            KeyError: There is no such study.
            JournalError: Its journal cannot be opened, such as because another process writes it.
        """
        with self._lock:
            if name in self._closed:
                return None
            if name not in self._open:
                self._open[name] = Study.resume(self.paths()[name])
            return self._open[name]

    def live(self, name: str) -> Live:
        """Return what the live page shows of a study."""
        with self._lock:
            if name not in self._live:
                self._live[name] = Live(self.paths()[name])
                self._live[name].start()
            return self._live[name]

    def open(self, name: str) -> None:
        """Open a study again that was closed by hand."""
        with self._lock:
            self._closed.discard(name)
            self.study(name)

    def close(self, name: str) -> None:
        """Release the journal of a study, so that a program can continue it."""
        with self._lock:
            if name not in self.paths():
                raise KeyError(name)
            if name in self._open:
                self._open.pop(name).close()
            self._closed.add(name)

    def close_all(self) -> None:
        """Release all journals."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
