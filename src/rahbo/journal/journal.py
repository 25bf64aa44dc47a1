"""The run on disk: one JSON line an event, written and flushed before the caller goes on.

The first line, ``run``, has the format, the version, the settings, and the trials a run began
with. Then come ``ask`` (a suggestion), ``point`` (one told without being asked for), ``tell``,
``failure`` and ``cancel``. A change of a trial is one line, and a line counts once its newline is
there: so a change is on disk as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from rahbo import __version__
from rahbo.errors import JournalError
from rahbo.journal.codec import Code, decode_settings, differences, encode_settings, same
from rahbo.journal.events import change_of, foreign, opened, record_of, trials_of
from rahbo.journal.files import (
    FileName,
    append,
    contents,
    flush_folder,
    full_name,
    open_locked,
    release,
)
from rahbo.settings import Keywords, Settings, paper_preset
from rahbo.trials import Trial

__all__ = ["Journal", "read", "settings_to_resume"]

FORMAT = 1
# How every journal begins: by this a file that is none is left alone.
OPENING = b'{"event":"run","format":'


def read(path: FileName) -> tuple[dict[str, Any], tuple[Trial, ...]]:
    """The settings and trials of a journal, which may be growing meanwhile.

    Settings are the keywords of `Optimizer`: ``Optimizer(**settings, trials=trials)`` reports on
    the run without touching its file. A setting that is code is stood for by a `Code`; replace it
    where the report needs it.
    """
    name = full_name(path)
    events, _ = parse(contents(name), name)
    if not events:
        raise JournalError(f"{name} holds no run yet: its first line is not complete.")
    keywords, settings = settings_of(events[0], name)
    return keywords, tuple(trials_of(events, settings.space, name))


def settings_to_resume(path: FileName, again: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of `Optimizer` of a journal's run, with those that are code passed again."""
    name = full_name(path)
    # The whole file is read later, once it is locked.
    events, _ = parse(contents(name, first_line=True), name)
    if not events:
        raise JournalError(
            f"{name} holds no run: its first line is torn or damaged. Restore the file, or begin "
            "the run again."
        )
    keywords = {**settings_of(events[0], name)[0], **again}
    code = [f"{v.name}={v.description}" for v in keywords.values() if isinstance(v, Code)]
    if code:
        raise JournalError(
            f"{name} was begun with {' and '.join(code)}, whose code a journal does not hold. "
            "Pass the same again to resume()."
        )
    return keywords


class Journal(dict[int, Trial]):
    """The trials of a run by id, on disk too: what is set is written first, or else not set.

    One `Journal` at a time holds a file; when its process ends, however it ends, the file is
    free. A fork of the process may read it but not write.

    Args:
        path: The file. If it holds a run, that run goes on.
        settings: Of the run; they must be those of the file.
        trials: What a new run begins with. A run that goes on must have begun with the same, or
            none are given.
        seed: As the user gave it; None takes that of the file.

    Attributes:
        settings: Those given, with the seed of the file.
    """

    def __init__(
        self, path: FileName, settings: Settings, trials: Mapping[int, Trial], seed: int | None
    ) -> None:
        super().__init__(trials)
        self._fd: int | None = None
        self._name, self._owner = full_name(path), os.getpid()
        self.settings = settings
        line = _line(
            {
                "event": "run",
                "format": FORMAT,
                "rahbo": __version__,
                "settings": encode_settings(settings),
                "trials": [record_of(trial) for trial in trials.values()],
            }
        )
        given = json.loads(line)
        for number, record in enumerate(given["trials"]):
            opened(record, number, settings.space)
        self._fd = open_locked(self._name)
        try:
            events, self._size = parse(contents(self._name), self._name)
            if events:
                self._go_on(events, given, seed)
            os.ftruncate(self._fd, self._size)
            if not events:
                self._append(line)
                flush_folder(self._name)
        except BaseException:
            self.close()
            raise

    def _go_on(self, events: list[Any], given: dict[str, Any], seed: int | None) -> None:
        """Take over the run of the file, if it is this one."""
        header = events[0]
        kept = settings_of(header, self._name)[1].seed
        if seed is None:
            given["settings"]["seed"] = kept
        unlike = differences(header["settings"], given["settings"])
        if given["trials"] and not same(header["trials"], given["trials"]):
            unlike.append("the past results in data= or trials= are others")
        if unlike:
            raise JournalError(
                f"{self._name} is the journal of another run: {'; '.join(unlike)}. Pass the same "
                "settings, or another journal."
            )
        self.settings = replace(self.settings, seed=kept)
        self.clear()
        self.update((t.id, t) for t in trials_of(events, self.settings.space, self._name))

    def __setitem__(self, number: int, trial: Trial) -> None:
        change = change_of(self.get(number), trial)
        keep = functools.partial(super().__setitem__, number, trial)
        if change is None:
            keep()
        else:
            self._append(_line(change), keep)

    def _append(self, line: bytes, keep: Callable[[], None] = lambda: None) -> None:
        fd, size = self._writable(), self._size + len(line)
        try:
            append(fd, line)
        except BaseException as error:
            # If this fails too, the size of the file tells, and nothing more is written.
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self._size)
            if isinstance(error, OSError):
                raise JournalError(
                    f"{self._name} cannot be written: {error}. Nothing of this call was recorded; "
                    "make room, then repeat it."
                ) from error
            raise
        # No interrupt falls between these: Python looks for one after a call has been made.
        self._size = size
        keep()

    def _writable(self) -> int:
        """The file, taken again if it was let go; an error if it is not as it was left."""
        if self._owner != os.getpid():
            raise JournalError(
                f"{self._name} is written by process {self._owner}, of which this one is a fork. "
                "Tell values there."
            )
        if self._fd is None:
            self._fd = open_locked(self._name)
        state = os.fstat(self._fd)
        if state.st_size == self._size and state.st_nlink:
            return self._fd
        self.close()
        raise JournalError(
            f"{self._name} was changed or deleted by another program since this run wrote it. "
            "Go on with what it holds by Optimizer.resume()."
        )

    def close(self) -> None:
        """Let go of the file; another writer may take it."""
        fd, self._fd = self._fd, None
        # A fork has closed it already, and its number may be that of another file by now.
        if fd is not None and self._owner == os.getpid():
            release(fd)

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, here or in another process, has the trials and leaves the file alone.
        return dict, (dict(self),)


# -- lines -------------------------------------------------------------------------------------


def _line(event: dict[str, Any]) -> bytes:
    try:
        return json.dumps(event, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise JournalError(f"A journal holds plain values only: {error}.") from error


def _not_json(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no JSON")


_JSON = json.JSONDecoder(parse_constant=_not_json)


def parse(raw: bytes, name: str, before: int = 0) -> tuple[list[Any], int]:
    """The events of a journal, or of what follows ``before`` lines of it, and the bytes they fill.

    A torn last line is left out.
    """
    if not before and raw[: len(OPENING)] != OPENING[: len(raw)]:
        raise JournalError(f"{name} is no journal of rahbo. Choose another file.")
    *lines, rest = raw.split(b"\n")
    events, end = [], len(raw) - len(rest)
    for number, line in enumerate(lines, before + 1):
        try:
            events.append(_JSON.decode(line.decode()))
        except (ValueError, RecursionError) as error:
            # All but the last line were flushed as a whole: no crash leaves them like this.
            if isinstance(error, RecursionError) or number < before + len(lines) or rest:
                raise JournalError(
                    f"{name}, line {number}, is damaged: {error}. Restore the file from a copy, "
                    "or cut it before that line."
                ) from error
            end -= len(line) + 1
    return events, end


def settings_of(header: Any, name: str) -> tuple[dict[str, Any], Settings]:
    """The keywords in the first line, and the settings they give with stand-ins for code."""
    if not isinstance(header, dict) or header.get("event") != "run":
        raise JournalError(f"{name} is no journal of rahbo. Choose another file.")
    if header.get("format") != FORMAT:
        raise JournalError(
            f"{name} has format {header.get('format')!r}, written by rahbo "
            f"{header.get('rahbo')!r}; this is rahbo {__version__}, which reads format {FORMAT}. "
            "Update rahbo."
        )
    stand_ins = {**paper_preset(), "valid": None}
    try:
        keywords = decode_settings(header["settings"])
        known = {k: stand_ins[k] if isinstance(v, Code) else v for k, v in keywords.items()}
        if missing := Keywords.__annotations__.keys() - known.keys():
            raise JournalError(f"settings lack {', '.join(sorted(missing))}")
        return keywords, Settings.of(known.pop("space"), known)
    except Exception as error:
        raise foreign(name, 1, error) from error
