"""The run on disk: one JSON line per event, written and flushed before the caller continues.

The first line, ``run``, holds the format, the version, the settings, and the trials that the run
began with. Then come ``ask`` (a suggestion), ``point`` (one told without being asked for),
``tell``, ``failure`` and ``cancel``. A change of a trial is one line, and a line counts once its
newline is written, so a change is recorded as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rahbo import __version__
from rahbo.errors import JournalError
from rahbo.journal.codec import (
    IF_USED,
    OF_METHOD,
    Code,
    decode_settings,
    differences,
    encode_settings,
    same,
)
from rahbo.journal.events import change_of, foreign, opened, trial_record, trials_of
from rahbo.journal.files import (
    FileName,
    append,
    contents,
    discard,
    flush_folder,
    full_name,
    open_locked,
    release,
)
from rahbo.journal.lines import FORMAT, OPENING, encoded_line, parse
from rahbo.risk import MeanVariance
from rahbo.settings import Keywords, Settings
from rahbo.trials import Trial

__all__ = ["Journal", "is_journal", "read", "settings_to_resume"]

# What runs without `risk=` maximised until the default had no units.
FORMER_RISK = MeanVariance(1.0)


def is_journal(path: FileName) -> bool:
    """Return whether a file begins like a journal; it may be damaged further on."""
    try:
        # Opening a named pipe would wait for a writer.
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(OPENING)) == OPENING
    except OSError:
        return False


def read(path: FileName) -> tuple[dict[str, Any], tuple[Trial, ...]]:
    """Return the settings and trials of a journal, even while a run is writing to it.

    Settings are the keywords of `Optimizer`: ``Optimizer(**settings, trials=trials)`` reports on
    the run without touching its file. A setting that is code is replaced by a `Code`; pass the
    real one if the report needs it.
    """
    name = full_name(path)
    events, _ = parse(contents(name), name)
    if not events:
        raise JournalError(
            f"{name} does not hold a run yet: its first line is not complete. Try again later."
        )
    keywords, settings = settings_of(events[0], name)
    return keywords, tuple(trials_of(events, settings.space, name))


def settings_to_resume(path: FileName, again: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `Optimizer` for a journal's run, with code taken from ``again``."""
    name = full_name(path)
    # The whole file is read later, once it is locked.
    events, _ = parse(contents(name, first_line=True), name)
    if not events:
        raise JournalError(
            f"{name} does not hold a run: its first line is torn or damaged. Restore the file, or "
            "start the run again."
        )
    keywords = {**settings_of(events[0], name)[0], **again}
    code = [f"{v.name}={v.description}" for v in keywords.values() if isinstance(v, Code)]
    if code:
        raise JournalError(
            f"{name} was started with {' and '.join(code)}, whose code a journal does not hold. "
            "Pass the same again to resume()."
        )
    return keywords


class Journal:
    """The file of a run. Each change of a trial is written before it is kept in memory.

    One `Journal` at a time holds a file. The file is released when the process ends, even in a
    crash. A fork of the process may read the file but not write it.

    Args:
        path: The file. If it holds a run, that run continues.
        settings: The settings of the run; they must match those in the file.
        trials: The trials that a new run begins with. For a run that continues they must be the
            same as then, or empty.
        given: The settings that the user gave. Without a seed, that in the file counts. Without a
            risk, a run that began with the former default keeps it.

    Attributes:
        settings: The settings, with the seed and the risk of the file.
        trials: The trials by id, as the run began or continues.
    """

    def __init__(
        self, path: FileName, settings: Settings, trials: Mapping[int, Trial], given: Keywords
    ) -> None:
        self.trials = dict(trials)
        self._fd: int | None = None
        self._name, self._owner = full_name(path), os.getpid()
        self.settings = settings
        line = encoded_line(
            {
                "event": "run",
                "format": FORMAT,
                "rahbo": __version__,
                "settings": encode_settings(settings),
                "trials": [trial_record(trial) for trial in trials.values()],
            },
            number=1,
        )
        begun = json.loads(line)
        for number, record in enumerate(begun["trials"]):
            opened(record, number, settings.space)
        is_new = not os.path.exists(self._name)
        self._fd, self._lines = open_locked(self._name), 0
        try:
            events, self._size = parse(contents(self._name), self._name)
            self._lines = len(events)
            if events:
                self._go_on(events, begun, given)
            os.ftruncate(self._fd, self._size)
            if not events:
                self._append(line)
                flush_folder(self._name)
        except BaseException:
            if is_new and not self._lines and self._fd is not None:
                # An empty file would take the name and hold no run.
                discard(self._fd, self._name)
                self._fd = None
            self.close()
            raise

    def _go_on(self, events: list[Any], begun: dict[str, Any], given: Keywords) -> None:
        """Continue the run in the file; raise an error if it is a different one."""
        header = events[0]
        there, here = settings_of(header, self._name)[1], self.settings
        if given.get("seed") is None:
            here = replace(here, seed=there.seed)
        if "risk" not in given and there.risk == FORMER_RISK:
            here = replace(here, risk=there.risk)
        unlike = differences(header["settings"], json.loads(json.dumps(encode_settings(here))))
        if begun["trials"] and not same(*map(_untimed, (header["trials"], begun["trials"]))):
            unlike.append("the past results in data= or trials= are different")
        if unlike:
            raise JournalError(
                f"{self._name} is the journal of another run: {'; '.join(unlike)}. Pass the same "
                "settings, or another journal."
            )
        self.settings = here
        listed = trials_of(events, self.settings.space, self._name)
        self.trials = {trial.id: trial for trial in listed}

    def write(self, before: Trial | None, after: Trial, keep: Callable[[], object]) -> None:
        """Write what changed in a trial, then keep it.

        Args:
            before: The trial before; None if it is new.
            after: The trial now.
            keep: Takes the change over in memory. No interrupt falls between the line and this, if
                it is not written in Python.
        """
        change = change_of(before, after)
        if change is None:
            keep()
        else:
            self._append(encoded_line(change, self._lines + 1), keep)

    def _append(self, line: bytes, keep: Callable[[], object] = lambda: None) -> None:
        fd, size, lines = self._writable(), self._size + len(line), self._lines + 1
        try:
            append(fd, line)
        except BaseException as error:
            # If this fails too, the wrong size of the file stops any further writing.
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self._size)
            if isinstance(error, OSError):
                raise JournalError(
                    f"{self._name} cannot be written: {error}. This call recorded nothing. Free "
                    "some space, then repeat it."
                ) from error
            raise
        # No interrupt falls between these: Python checks for one after a call.
        self._size, self._lines = size, lines
        keep()

    def _writable(self) -> int:
        """Return the file, reopened if it was released; raise an error if it has changed."""
        if self._owner != os.getpid():
            raise JournalError(
                f"{self._name} can only be written by process {self._owner}, and this is a fork of "
                "it. Tell values there."
            )
        if self._fd is None:
            self._fd = open_locked(self._name)
        state = os.fstat(self._fd)
        if state.st_size == self._size and state.st_nlink:
            return self._fd
        self.close()
        raise JournalError(
            f"{self._name} was changed or deleted by another program since this run wrote it. "
            "Continue from its contents with Optimizer.resume()."
        )

    def close(self) -> None:
        """Release the file for another writer."""
        fd, self._fd = self._fd, None
        # A fork has already closed the file, and its descriptor may now belong to another one.
        if fd is not None and self._owner == os.getpid():
            release(fd)

    def __del__(self) -> None:
        self.close()


def _untimed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records of trials without times and the order of arrival, which tell no runs apart."""
    told = ("values", "beside", "failures")
    return [
        {k: dict(sorted(v.items())) if k in told else v for k, v in record.items() if k != "times"}
        for record in records
    ]


# -- the first line ----------------------------------------------------------------------------


def settings_of(header: Any, name: str) -> tuple[dict[str, Any], Settings]:
    """Return the keywords in the first line, and their settings with defaults for code."""
    if not isinstance(header, dict) or header.get("event") != "run":
        raise JournalError(f"{name} is not a rahbo journal. Choose another file.")
    needed = {*Keywords.__annotations__, *OF_METHOD} - {*IF_USED, "method"}
    try:
        if missing := needed - header["settings"].keys():
            raise JournalError(f"the settings {', '.join(sorted(missing))} are missing")
        keywords = decode_settings(header["settings"])
        known = {name: v for name, v in keywords.items() if not isinstance(v, Code)}
        return keywords, Settings.of(known.pop("space"), known)
    except Exception as error:
        raise foreign(name, 1, error) from error
