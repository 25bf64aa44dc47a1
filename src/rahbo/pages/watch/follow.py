"""A journal read as it grows: each look takes what is new, from where the last one stopped.

The file may be away, cut short, moved aside or replaced meanwhile. What was read stays until there
is another run to read.
"""

from __future__ import annotations

import os
import stat
from typing import Any, NamedTuple

from rahbo.errors import JournalError, RahboError
from rahbo.journal import FileName, apply, foreign, full_name, opened, parse, settings_of
from rahbo.settings import Settings
from rahbo.trials import Trial

LARGEST_JOURNAL = 500_000_000
# By so many bytes at its begin and before the place reached, a file is known to be the same one.
MARK = 512


class Arrival(NamedTuple):
    """What came of one evaluation; a value of None is a failure."""

    trial: int
    repeat: int
    value: float | None


class Follower:
    """The run of a journal as far as it was read.

    Args:
        path: The file, which need not be there yet.

    Attributes:
        name: The absolute name of the file.
        epoch: Rises when another run is read than before.
        keywords: Those of `Optimizer`; empty until there is a run.
        settings: What they give, with stand-ins for code; None until there is a run.
        arrivals: What came of each evaluation, in the order of the file.
        unsettled: Ids of trials that still miss repeats.
        problem: Why nothing more can be read at the moment; empty if it can.
        written: When the file was last written, in seconds since 1970; None while it is away.
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
        self.problem = ""
        # Whether a line was refused: what the file holds then is read as a whole again.
        self._damaged = False
        self._found: list[dict[str, Any]] = []
        self._lines, self._offset = 0, 0
        self._head, self._tail = b"", b""

    @property
    def n_trials(self) -> int:
        """How many trials were opened."""
        return len(self._found)

    @property
    def n_values(self) -> int:
        """How many evaluations gave a value."""
        return sum(len(fields["values"]) for fields in self._found)

    @property
    def n_failures(self) -> int:
        """How many gave none."""
        return sum(len(fields["failures"]) for fields in self._found)

    def trial(self, number: int) -> Trial:
        """A trial as it is now."""
        fields = self._found[number]
        own = {"values": dict(fields["values"]), "failures": dict(fields["failures"])}
        return Trial(**{**fields, **own})

    def outstanding(self, number: int) -> int:
        """How many repeats a trial still misses; counted, as a file may ask for a million."""
        fields = self._found[number]
        if fields["cancelled"]:
            return 0
        wanted: int = fields["n_requested"]
        settled = fields["values"].keys() | fields["failures"].keys()
        return wanted - len([repeat for repeat in settled if repeat < wanted])

    def look(self) -> None:
        """Read what is new."""
        try:
            state = os.stat(self.name)
            seen = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
            if not stat.S_ISREG(state.st_mode):
                raise JournalError(f"{self.name} is no regular file. Watch the journal of a run.")
            self.written = state.st_mtime
            if seen != self._seen:
                self._read()
                self._seen = seen
        except FileNotFoundError:
            self._stop(f"There is no file {self.name}. This page goes on when there is one.")
            self.written = None
        except (OSError, ValueError) as error:
            self._stop(f"{self.name} cannot be read: {error}.")
        except RahboError as error:
            self._stop(str(error))
            self._seen, self._damaged = seen, True

    def _stop(self, problem: str) -> None:
        self.problem, self._seen = problem, None

    def _read(self) -> None:
        """Take the lines after those known, or all if the file is another one."""
        with open(self.name, "rb") as file:
            if self._damaged or not self._goes_on(file.read(MARK), file):
                self._begin_again()
            file.seek(self._offset)
            raw = file.read(LARGEST_JOURNAL + 1)
        if len(raw) > LARGEST_JOURNAL:
            raise JournalError(
                f"{self.name} is larger than {LARGEST_JOURNAL} bytes, too large to watch."
            )
        self.problem = ""
        events, size = parse(raw, self.name, self._lines)
        for event in events:
            self._lines += 1
            self._take(event)
        self._offset += size
        self._head = self._head or raw[:MARK][:size]
        self._tail = (self._tail + raw[max(0, size - MARK) : size])[-MARK:]
        if not self._lines:
            self.problem = f"{self.name} holds no run yet. This page goes on when it does."

    def _goes_on(self, head: bytes, file: Any) -> bool:
        """Whether a file begins with all that was read."""
        file.seek(self._offset - len(self._tail))
        same_tail: bool = file.read(len(self._tail)) == self._tail
        return head.startswith(self._head) and same_tail

    def _take(self, event: Any) -> None:
        """Make the change of one line."""
        if self.settings is None:
            self.keywords, self.settings = settings_of(event, self.name)
        try:
            if self._lines == 1:
                records = event["trials"]
                for record in records:
                    self._found.append(opened(record, len(self._found), self.settings.space))
            else:
                records = [event]
                apply(event, self._found, self.settings.space)
        except Exception as error:
            raise foreign(self.name, self._lines, error) from error
        for record in records:
            self._arrive(record)

    def _arrive(self, record: dict[str, Any]) -> None:
        """Note what a change brought, once it was found to be sound."""
        number = record["id"]
        values, failures = record.get("values", {}), record.get("failures", {})
        if record.get("event") == "tell":
            failures = {}
        elif record.get("event") == "failure":
            values = {}
        elif record.get("event") == "cancel":
            values = failures = {}
        self.arrivals += [Arrival(number, int(i), float(v)) for i, v in values.items()]
        self.arrivals += [Arrival(number, int(i), None) for i in failures]
        if self.outstanding(number):
            self.unsettled.add(number)
        else:
            self.unsettled.discard(number)
