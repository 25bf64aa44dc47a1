"""Times as numbers and as text."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.trials import times
from rahbo.trials.times import LATEST, is_time, now, time_in, time_text


def test_now_is_the_time_of_this_machine_to_the_millisecond():
    before = datetime.now(UTC).timestamp()
    found = now()
    after = datetime.now(UTC).timestamp()
    assert before - 0.001 <= found <= after + 0.001
    assert found == round(found, 3)


@pytest.mark.parametrize(("clock", "found"), [(-5.0, 0.0), (1e15, LATEST)])
def test_a_clock_that_is_badly_wrong_gives_a_time_that_can_be_written(monkeypatch, clock, found):
    monkeypatch.setattr(times, "time", lambda: clock)
    assert now() == found
    assert time_in(time_text(now())) == found


@given(st.integers(0, int(LATEST) * 1000))
def test_a_time_comes_back_from_its_text(thousandths):
    seconds = round(thousandths / 1000, 3)
    text = time_text(seconds)
    assert time_in(text) == seconds
    assert len(text) == len("2025-11-16T23:14:07.123Z")
    assert text.endswith("Z")
    # Computed in another way.
    assert datetime.fromisoformat(text) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        seconds=thousandths // 1000, milliseconds=thousandths % 1000
    )


def test_only_dates_with_a_zone_are_times():
    assert time_text(None) is None
    there = datetime(2026, 11, 17, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert time_in(there) == time_in(" 2026-11-17T01:00:00+02:00 ") == 1794870000.0
    naive = datetime(2026, 11, 17)
    for cell in (naive, "2026-11-17T01:00:00", "morning", "", 3.5, 1794870000, None, True, [1]):
        assert time_in(cell) is None, cell
    assert time_in("1969-12-31T23:59:59Z") is None
    assert time_in("0001-01-01T00:00:00+14:00") is None


def test_what_is_a_time():
    assert all(map(is_time, (0, 0.0, 1.7e9, LATEST)))
    wrong = (-1.0, -0.001, LATEST + 1, math.nan, math.inf, 10**400, True, "1", None, [1.0])
    assert not any(map(is_time, wrong))
