"""What people write beside a journal: the name and unit of the outcome, and notes.

A journal holds what a run depends on and has no place for these. They are lines of JSON in a file
beside it: ``laser.jsonl.notes`` belongs to ``laser.jsonl``. No study of a folder has a journal of
such a name. Nothing depends on that file, so a line in it that cannot be read is ignored.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from rahbo.errors import JournalError
from rahbo.pages.lab.spec import VALUE

ENDING = ".notes"
# Bytes. Nobody writes more by hand.
LARGEST_FILE = 20_000_000


@dataclass(frozen=True)
class Note:
    """A note on a suggestion.

    Attributes:
        suggestion: The number of the suggestion.
        repeat: The repeat that it is about; None if it is about all of them.
        text: The note.
        time: When it was written, in UTC.
    """

    suggestion: int
    repeat: int | None
    text: str
    time: str = ""


def set_aside(journal: Path) -> None:
    """Rename the notes of a study that is gone, so that a new one of its name has none."""
    path = journal.with_name(journal.name + ENDING)
    if not path.is_file():
        return
    names = (path.with_name(f"{path.name}.old{n or ''}") for n in count())
    try:
        path.rename(next(name for name in names if not name.exists()))
    except OSError as error:
        raise JournalError(
            f"{path} belongs to an earlier study and cannot be renamed: {error.strerror}. Move "
            "it away, then try again."
        ) from error


class Notes:
    """The notes of a study.

    Args:
        journal: The journal of the study.

    Attributes:
        path: The file that new notes are written to.
        outcome: The name of what is measured.
        unit: Its unit; may be empty.
        notes: All notes, oldest first.
    """

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(journal.name + ENDING)
        self.outcome, self.unit = VALUE, ""
        self.notes: list[Note] = []
        # Whether the last line lacks its end, because a writer was killed.
        self._torn = False
        self._read()

    def name(self, outcome: str, unit: str) -> None:
        """Name what is measured, and its unit."""
        if (outcome, unit) != (self.outcome, self.unit):
            self._append(
                {"outcome": outcome, "unit": unit},
                "The name of the outcome",
                "Make this file writable or move it away, then try again.",
            )
            self.outcome, self.unit = outcome, unit

    def add(self, suggestion: int, repeat: int | None, text: str) -> None:
        """Keep a note. The same note twice in a row is kept once."""
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        note = Note(suggestion, repeat, text, now)
        if self.notes and (*vars(self.notes[-1]).values(),)[:3] == (suggestion, repeat, text):
            return
        self._append(
            {"note": text, "suggestion": suggestion, "repeat": repeat, "time": now},
            "The note",
            "Values that were recorded are in the journal.",
        )
        self.notes.append(note)

    def discard(self) -> None:
        """Delete the notes of a study that could not be begun."""
        with suppress(OSError):
            self.path.unlink()

    def _read(self) -> None:
        try:
            with self.path.open("rb") as file:
                raw = file.read(LARGEST_FILE)
        except OSError:
            return
        self._torn = bool(raw) and not raw.endswith(b"\n")
        for line in raw.splitlines():
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, KeyError, RecursionError):
                continue

    def _take(self, record: dict[str, Any]) -> None:
        if "note" in record:
            repeat = record["repeat"]
            about = int(record["suggestion"]), None if repeat is None else int(repeat)
            self.notes.append(Note(*about, str(record["note"]), str(record.get("time", ""))))
        else:
            self.outcome, self.unit = str(record["outcome"]), str(record["unit"])

    def _append(self, record: dict[str, Any], what: str, advice: str) -> None:
        line = ("\n" if self._torn else "") + json.dumps(record) + "\n"
        try:
            with self.path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise JournalError(
                f"{what} cannot be written to {self.path}: {error.strerror}. {advice}"
            ) from error
        self._torn = False
