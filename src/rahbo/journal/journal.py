"""The run as events, each recorded before the caller continues.

The first event, ``run``, holds the format, the version, the settings, and the trials that the run
began with. Then come ``ask`` (a suggestion), ``point`` (one told without being asked for),
``tell``, ``failure`` and ``cancel``. A change of a trial is one event, and a storage records an
event as a whole or not at all.
"""

from __future__ import annotations

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
    MissingClassError,
    decode_settings,
    differences,
    encode_settings,
    same,
)
from rahbo.journal.events import change_of, foreign, opened, trial_record, trials_of
from rahbo.journal.files import FileName, storage_of
from rahbo.journal.storage import Storage
from rahbo.journal.texts import FORMAT, encoded, events_of
from rahbo.risk import MeanVariance
from rahbo.settings import Keywords, Settings
from rahbo.trials import Trial

# What runs without `risk=` maximised until the default had no units.
FORMER_RISK = MeanVariance(1.0)


def read(journal: FileName | Storage) -> tuple[dict[str, Any], tuple[Trial, ...]]:
    """Return the settings and trials of a journal, even while a run is writing to it.

    Settings are the keywords of `Optimizer`: ``Optimizer(**settings, trials=trials)`` reports on
    the run without touching its journal. A setting that is code is replaced by a `Code`; pass the
    real one if the report needs it.

    Args:
        journal: The name of its file, or its storage.
    """
    storage = storage_of(journal)
    events = _events_in(storage)
    if not events:
        raise JournalError(
            f"{storage.name} does not hold a run yet: its first line is not complete. Try again "
            "later."
        )
    keywords, settings = settings_of(events[0], storage.name)
    return keywords, tuple(trials_of(events, settings.space, storage.name))


def settings_to_resume(journal: FileName | Storage, again: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `Optimizer` for a journal's run, with code taken from ``again``."""
    storage = storage_of(journal)
    name = storage.name
    # All events are read later, once they are locked.
    events = _events_in(storage, 1)
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


def _events_in(storage: Storage, most: int | None = None) -> list[Any]:
    """Return the events of a storage, or the first ones."""
    try:
        texts = storage.read()
    except Exception as error:
        if isinstance(error, JournalError):
            raise
        raise JournalError(f"{storage.name} cannot be read: {error}.") from error
    return events_of(texts[:most], storage.name)


class Journal:
    """The record of a run. Each change of a trial is recorded before it is kept in memory.

    One `Journal` at a time holds a storage. It is released when the process ends, even in a crash.
    A fork of the process may read it but not write it.

    Args:
        storage: The storage, or the name of a file. If it holds a run, that run continues.
        settings: The settings of the run; they must match those recorded.
        trials: The trials that a new run begins with. For a run that continues they must be the
            same as then, or empty.
        given: The settings that the user gave. Without a seed, the recorded one counts. Without a
            risk, a run that began with the former default keeps it.

    Attributes:
        settings: The settings, with the recorded seed and risk.
        trials: The trials by id, as the run began or continues.
    """

    def __init__(
        self,
        storage: FileName | Storage,
        settings: Settings,
        trials: Mapping[int, Trial],
        given: Keywords,
    ) -> None:
        self.trials = dict(trials)
        self._is_held, self._owner = False, os.getpid()
        self._storage = storage_of(storage)
        self._name = self._storage.name
        self.settings = settings
        header = encoded(
            {
                "event": "run",
                "format": FORMAT,
                "rahbo": __version__,
                "settings": encode_settings(settings),
                "trials": [trial_record(trial) for trial in trials.values()],
            }
        )
        begun = json.loads(header)
        for number, record in enumerate(begun["trials"]):
            opened(record, number, settings.space)
        self._hold()
        try:
            events = _events_in(self._storage)
            self._length = len(events)
            if events:
                self._go_on(events, begun, given)
            else:
                self._append(header, lambda: None)
        except BaseException:
            self.close()
            raise

    def _go_on(self, events: list[Any], begun: dict[str, Any], given: Keywords) -> None:
        """Continue the recorded run; raise an error if it is a different one."""
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
            keep: Takes the change over in memory. If it is not written in Python, no interrupt
                falls between the two.
        """
        change = change_of(before, after)
        if change is None:
            keep()
        else:
            self._append(encoded(change), keep)

    def _append(self, event: str, keep: Callable[[], object]) -> None:
        self._hold()
        try:
            self._storage.append(event, self._length)
        except JournalError:
            self.close()
            raise
        except Exception as error:
            raise JournalError(
                f"{self._name} cannot be written: {error}. This call recorded nothing. Free some "
                "space, then repeat it."
            ) from error
        except BaseException:
            # An interrupt may have come just after the event was recorded.
            if self._storage.read(self._length):
                self._length += 1
                keep()
            raise
        # No interrupt falls between these: Python checks for one after a call.
        self._length += 1
        keep()

    def _hold(self) -> None:
        """Take the lock of the storage, unless it is held; raise an error in a fork."""
        if self._owner != os.getpid():
            raise JournalError(
                f"{self._name} can only be written by process {self._owner}, and this is a fork of "
                "it. Tell values there."
            )
        if self._is_held:
            return
        try:
            self._storage.lock()
        except Exception as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(f"{self._name} cannot be written: {error}.") from error
        self._is_held = True

    def close(self) -> None:
        """Release the storage for another writer."""
        # A fork does not hold it, and what it shares with the owner is not its own to close.
        if self._is_held and self._owner == os.getpid():
            self._is_held = False
            self._storage.close()

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
    except MissingClassError as error:
        raise JournalError(f"{name} {error}") from error
    except Exception as error:
        raise foreign(name, 1, error) from error
