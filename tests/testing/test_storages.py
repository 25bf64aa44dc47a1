"""The check of storages finds those that break a promise."""

import pytest

from rahbo.journal import Storage
from rahbo.testing import check_storage


class Whole(Storage):
    """Events in a list, as it should be."""

    def __init__(self):
        self.events, self.is_locked = [], False

    def read(self, position=0):
        return self.events[position:]

    def append(self, event, position):
        if position != len(self.events):
            raise self.changed()
        self.events.append(event)

    def lock(self):
        if self.is_locked:
            raise self.in_use()
        self.is_locked = True

    def close(self):
        self.is_locked = False


class Reversed(Whole):
    def read(self, position=0):
        return super().read(position)[::-1]


class FromTheStart(Whole):
    def read(self, position=0):
        return super().read()


class Careless(Whole):
    def append(self, event, position):
        super().append(event, len(self.read()))


class Trimming(Whole):
    def append(self, event, position):
        super().append(event[:100_000], position)


class Unlocked(Whole):
    def lock(self):
        pass


class Locked(Whole):
    def close(self):
        pass


class InTwoSteps(Whole):
    """Records the end of an event after its beginning."""

    def append(self, event, position):
        super().append(event[:-1], position)
        self.events[-1] = event


class Jammed(Whole):
    """Does not work any more after an interrupt."""

    is_busy = False

    def append(self, event, position):
        if self.is_busy:
            raise self.changed()
        self.is_busy = True
        super().append(event, position)
        self.is_busy = False


class Delayed(Whole):
    """Shows an event when the next one is recorded."""

    def read(self, position=0):
        return self.events[position:-1] if len(self.events) > 3 else self.events[position:]


def test_a_storage_in_30_lines_keeps_all_promises():
    storage = Whole()
    check_storage(lambda: storage)


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Reversed, "must return each event"),
        (FromTheStart, "nothing must follow"),
        (Careless, "must refuse"),
        (Trimming, "read at once"),
        (Unlocked, "while another holds it"),
        (Locked, "close.. must give up the lock"),
        (InTwoSteps, "whole or nothing"),
        (Jammed, "must not raise.*changed"),
        (Delayed, "must refuse|must read"),
    ],
)
def test_a_broken_promise_is_found(kind, promise):
    storage = kind()
    with pytest.raises(AssertionError, match=promise):
        check_storage(lambda: storage)
