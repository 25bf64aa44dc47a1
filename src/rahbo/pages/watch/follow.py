"""Read a journal while it grows: each look reads on from where the last one stopped.

Meanwhile the file may be missing, damaged, truncated, moved or replaced. What was read is kept
until there is another run to read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

from rahbo.errors import JournalError, RahboError
from rahbo.journal import (
    FileName,
    apply_event,
    events_of,
    foreign,
    full_name,
    opened,
    parse,
    settings_of,
)
from rahbo.settings import Settings
from rahbo.trials import Evaluation, Trial

LARGEST_JOURNAL = 500_000_000
# A file that has grown counts as the same one if this many bytes at its start, and before the place
# reached, are unchanged. If it has changed otherwise, all that was read is compared.
MARK = 512


class Arrival(NamedTuple):
    """The outcome of one evaluation; a value of None means that it failed."""

    trial: int
    repeat: int
    value: float | None


class Follower:
    """The run in a journal, as far as it has been read.

    Args:
        path: The file, which need not exist yet.

    Attributes:
        name: The absolute name of the file.
        epoch: Increases whenever a different run is read.
        keywords: Keywords of `Optimizer`; empty until there is a run.
        settings: The settings made from ``keywords``, with defaults for code; None until there
            is a run.
        arrivals: The outcome of each evaluation, in the order of the file.
        unsettled: Ids of trials that still have missing repeats.
        problem: Why nothing more can be read at the moment; empty if there is no problem.
        written: When the file was last written, in seconds since 1970; None while it is missing.
    """

    def __init__(self, path: FileName) -> None:
        self.name = full_name(path)
        self.epoch = 0
        self.written: float | None = None
        self._seen: tuple[int, ...] | None = None
        self._begin_again()

    def _begin_again(self) -> None:
        self.epoch += 1
        self.keywords: dict[str, Any] = {}
        self.settings: Settings | None = None
        self.arrivals: list[Arrival] = []
        self.unsettled: set[int] = set()
        self._changed: set[int] = set()
        self.problem = ""
        # Whether a line was refused. If so, the next look reads the whole file again.
        self._damaged = False
        self._found: list[Trial] = []
        self._lines, self._offset = 0, 0
        self._head, self._tail, self._digest = b"", b"", hashlib.blake2b()

    @property
    def n_trials(self) -> int:
        """The number of trials opened."""
        return len(self._found)

    @property
    def n_values(self) -> int:
        """The number of evaluations that gave a value."""
        return sum(trial.n_values for trial in self._found)

    @property
    def n_failures(self) -> int:
        """The number of evaluations that failed."""
        return sum(len(trial.failures) for trial in self._found)

    def trial(self, number: int) -> Trial:
        """Return a trial in its current state."""
        return self._found[number]

    def outstanding(self, number: int) -> int:
        """Return how many repeats of a trial are missing.

        They are counted, not listed, because a file may ask for a million.
        """
        return self._found[number].n_missing

    def look(self) -> None:
        """Read what is new."""
        try:
            state = os.stat(self.name)
            seen = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
            if not stat.S_ISREG(state.st_mode):
                raise JournalError(
                    f"{self.name} is not a regular file. Watch the journal of a run."
                )
            self.written = state.st_mtime
            if seen != self._seen:
                self._read(self._has_grown(seen))
                self._seen = seen
        except FileNotFoundError:
            self._stop(f"There is no file {self.name}. This page continues when there is one.")
            self.written = None
        except (OSError, ValueError) as error:
            self._stop(f"{self.name} cannot be read: {error}.")
        except RahboError as error:
            self._stop(str(error))
            self._seen, self._damaged = seen, True

    def _stop(self, problem: str) -> None:
        self.problem, self._seen = problem, None

    def _has_grown(self, seen: tuple[int, ...]) -> bool:
        """Return whether a file is the one of the last look, and longer."""
        last = self._seen
        return last is not None and seen[:2] == last[:2] and seen[2] > last[2]

    def _read(self, has_grown: bool) -> None:
        """Read the new lines, or all lines if the file was damaged or is not the same any more."""
        with open(self.name, "rb") as file:
            if not self._damaged and self._goes_on(file, has_grown):
                self._read_on(file)
                return
            # What was read is kept if the file cannot be read.
            before = dict(vars(self))
            self._begin_again()
            try:
                self._read_on(file)
            except Exception:
                if before["settings"] is not None:
                    vars(self).update(before)
                raise

    def _read_on(self, file: BinaryIO) -> None:
        if os.fstat(file.fileno()).st_size - self._offset > LARGEST_JOURNAL:
            raise JournalError(
                f"{self.name} is larger than {LARGEST_JOURNAL} bytes, which is too large to watch."
            )
        file.seek(self._offset)
        raw = file.read(LARGEST_JOURNAL)
        self.problem = ""
        texts, size = parse(raw, self.name, self._lines)
        events = events_of(texts, self.name, self._lines)
        try:
            for event in events:
                self._lines += 1
                self._take(event)
        finally:
            self._settle()
        self._offset += size
        self._head = self._head or raw[:MARK][:size]
        self._tail = (self._tail + raw[max(0, size - MARK) : size])[-MARK:]
        self._digest.update(raw[:size])
        if not self._lines:
            self.problem = f"{self.name} holds no run yet. This page continues when it does."

    def _goes_on(self, file: BinaryIO, has_grown: bool) -> bool:
        """Return whether a file still begins with what was read before."""
        if has_grown:
            same_head = file.read(len(self._head)) == self._head
            file.seek(self._offset - len(self._tail))
            return same_head and file.read(len(self._tail)) == self._tail
        digest, left = hashlib.blake2b(), self._offset
        while left and (raw := file.read(min(left, 1 << 20))):
            digest.update(raw)
            left -= len(raw)
        return not left and digest.digest() == self._digest.digest()

    def _take(self, event: Any) -> None:
        """Apply the event of one line."""
        if self.settings is None:
            self.keywords, self.settings = settings_of(event, self.name)
        try:
            if self._lines == 1:
                for record in event["trials"]:
                    self._found.append(opened(record, len(self._found), self.settings.space))
                    self._arrive(record["id"], self._found[-1].evaluations)
            else:
                told = apply_event(event, self._found, self.settings.space)
                self._arrive(event["id"], told)
        except Exception as error:
            raise foreign(self.name, self._lines, error) from error

    def _arrive(self, number: int, told: Mapping[int, Evaluation]) -> None:
        self.arrivals += [Arrival(number, i, each.value) for i, each in told.items()]
        self._changed.add(number)

    def _settle(self) -> None:
        """Note which of the changed trials lack repeats: once a look, as counting takes time."""
        for number in self._changed:
            if self.outstanding(number):
                self.unsettled.add(number)
            else:
                self.unsettled.discard(number)
        self._changed = set()
