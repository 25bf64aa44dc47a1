"""What a storage of a journal must do."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from rahbo.errors import JournalError
from rahbo.journal import Storage, read
from rahbo.optimizer import Optimizer
from rahbo.trials import Trial

REFUSED = "being written by another"


class _Full(Storage):
    """Another storage, which may be full."""

    def __init__(self, inner: Storage) -> None:
        self._inner, self.is_full = inner, False

    def read(self, position: int = 0) -> Sequence[str]:
        return self._inner.read(position)

    def append(self, event: str, position: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._inner.append(event, position)

    def lock(self) -> None:
        self._inner.lock()

    def close(self) -> None:
        self._inner.close()


def check_storage(make: Callable[[], Storage]) -> None:
    """Check that a storage keeps what `rahbo.journal.Storage` promises.

    Two things are not checked: that events survive a crash, and that the lock counts in other
    processes and ends with its own.

    Args:
        make: Returns a storage, always of the same place, which is empty at first. It may be the
            same object each time.

    >>> from rahbo.journal import MemoryStorage
    >>> storage = MemoryStorage()
    >>> check_storage(lambda: storage)
    """
    try:
        _check_run(make)
        storage = make()
        storage.lock()
        try:
            _check_events(storage, make)
            _check_one_writer(storage, make)
            _check_interrupts(storage)
        finally:
            with suppress(Exception):
                storage.close()
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"A storage must not raise {error!r} here.") from error


def _check_run(make: Callable[[], Storage]) -> None:
    """Check that a run can be kept, continued and read."""
    full = _Full(make())
    run = Optimizer({"x": (0.0, 1.0)}, seed=0, journal=full)
    try:
        run.tell(run.ask(), 1.5)
        kinds = [json.loads(event)["event"] for event in make().read()]
        _require(kinds == ["run", "ask", "tell"], f"read() must return each event, got {kinds}")
        full.is_full = True
        error = _error_of(lambda: run.tell({"x": 0.5}, 2.5))
        _require(error is not None, "a run must be told that the storage is full")
        full.is_full = False
        run.tell({"x": 0.5}, 2.5)
        known = _told(run.trials)
        _require(
            _told(read(make())[1]) == known, "another storage of this place must read the same run"
        )
    finally:
        run.close()
    free = make()
    error = _error_of(free.lock)
    _require(error is None, f"close() must give up the lock, but then lock() says {error}")
    free.close()
    again = Optimizer.resume(free)
    try:
        _require(_told(again.trials) == known, "a run must continue where it stopped")
    finally:
        again.close()


def _told(trials: Sequence[Trial]) -> list[Any]:
    return [(trial.id, trial.params, trial.values, trial.missing) for trial in trials]


def _check_events(storage: Storage, make: Callable[[], Storage]) -> None:
    """Check that events come back in their order, as they were, from any position."""
    known, reader = list(storage.read()), make()
    for text in ("", 'quotes " and \\ and\nlines', "é\ud800", "%s ' ; --", "x" * 1_000_000):
        event, position = json.dumps({"event": text}), len(known)
        _require(list(reader.read(position)) == [], "nothing must follow the last event")
        for wrong in (position - 1, position + 1):
            error = _error_of(partial(storage.append, event, wrong))
            _require(error is not None, f"append() must refuse {wrong} after {position} events")
        storage.append(event, position)
        known.append(event)
        _require(list(reader.read(position)) == [event], "an appended event must be read at once")
    for position in range(len(known) + 1):
        for one in (storage, reader, make()):
            _require(
                list(one.read(position)) == known[position:],
                f"read({position}) must return the events from there on, in their order",
            )


def _check_one_writer(storage: Storage, make: Callable[[], Storage]) -> None:
    """Check that a second writer is refused until the first one closes the storage."""
    known = list(storage.read())
    for other in (storage, make()):
        error = _error_of(other.lock)
        _require(
            error is not None and REFUSED in str(error),
            f"lock() must raise in_use() while another holds it, got {error!r}",
        )
    storage.close()
    _require(list(storage.read()) == known, "a closed storage must still be read")
    for writer in (storage, make()):
        writer.lock()
        known.append(json.dumps({"event": len(known)}))
        writer.append(known[-1], len(known) - 1)
        writer.close()
    storage.lock()
    _require(list(storage.read()) == known, "a storage must read what others wrote")


def _check_interrupts(storage: Storage) -> None:
    """Check that an event is recorded as a whole or not at all, whatever line is interrupted."""
    line, is_interrupted = 0, True
    while is_interrupted:
        line += 1
        known = list(storage.read())
        event = json.dumps({"event": "interrupted", "line": line})
        is_interrupted = _is_interrupted(storage, event, len(known), line)
        found = list(storage.read())
        _require(
            found in (known, [*known, event]),
            f"append() must be whole or nothing, but not if line {line} of it is interrupted",
        )
        after = json.dumps({"event": "after", "line": line})
        storage.append(after, len(found))
        _require(
            list(storage.read()) == [*found, after],
            f"append() must work again after line {line} of it was interrupted",
        )


def _is_interrupted(storage: Storage, event: str, position: int, line: int) -> bool:
    """Append an event with an interrupt at one of the lines; return whether there are so many.

    Only the lines in the module of the storage count, not those of libraries, and each once: a
    ``with`` is met again at its end, where no interrupt can fall.
    """
    met: set[int] = set()

    def watch(frame: FrameType, what: str, argument: object) -> Any:
        if frame.f_globals.get("__name__") != type(storage).__module__:
            return None
        if what == "line" and frame.f_lineno not in met:
            met.add(frame.f_lineno)
            if len(met) == line:
                raise KeyboardInterrupt
        return watch

    traced = sys.gettrace()
    sys.settrace(watch)
    try:
        storage.append(event, position)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(traced)
    return False


def _error_of(call: Callable[[], object]) -> JournalError | None:
    try:
        call()
    except JournalError as error:
        return error
    return None


def _require(holds: bool, promise: str) -> None:
    if not holds:
        raise AssertionError(f"A storage is not as it must be: {promise}.")
