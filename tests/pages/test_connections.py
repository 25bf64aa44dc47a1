import socket
import threading

import pytest

from rahbo.pages.connections import Connections

LONG = 3600.0


@pytest.fixture
def pair():
    """The two ends of a connection."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(30)
    with ours, theirs:
        yield ours, theirs


def is_open(theirs):
    """Whether an end is open, as seen by the other one."""
    theirs.settimeout(0.0)
    try:
        return theirs.recv(1) != b""
    except BlockingIOError:
        return True


def test_who_waits_too_long_is_ended_and_who_is_answered_is_not(pair):
    ours, theirs = pair
    patient, strict = Connections(2, LONG, 0.0), Connections(2, 0.0, 0.0)
    patient.waits(ours)
    patient.end_slow()
    assert is_open(theirs)
    strict.waits(ours)
    strict.answers(ours)
    strict.end_slow()
    assert is_open(theirs)
    strict.waits(ours)
    strict.end_slow()
    assert not is_open(theirs)
    # Again, and after the connection is closed: there is nothing left to end.
    ours.close()
    strict.end_slow()


def test_when_all_places_are_taken_patience_is_shorter(pair):
    ours, theirs = pair
    places = Connections(1, LONG, 0.0)
    assert places.wait_for_room(0.0)
    places.waits(ours)
    assert not places.wait_for_room(0.0)
    places.end_slow()
    assert not is_open(theirs)
    assert len(places) == 1


def test_a_place_that_is_left_is_free_at_once(pair):
    places = Connections(1, LONG, LONG)
    places.waits(pair[0])
    thread = threading.Timer(0.05, places.leave, [pair[0]])
    thread.start()
    assert places.wait_for_room(30.0)
    thread.join()
    places.leave(pair[0])
    assert len(places) == 0
