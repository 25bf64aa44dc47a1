"""Events as texts."""

import math

import pytest

from rahbo.errors import JournalError
from rahbo.journal import events_of
from rahbo.journal.texts import encoded


def test_an_event_is_one_line_of_ascii_and_comes_back():
    event = {"event": "tell", "name": 'é\ud800\n"', "value": 0.1, "of": [None, True, 2**70]}
    text = encoded(event)
    assert text.isascii()
    assert "\n" not in text
    assert events_of([text], "run", before=1) == [event]


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_other_than_plain_values_are_refused(value):
    with pytest.raises(JournalError, match="only plain values"):
        encoded({"value": value})


@pytest.mark.parametrize(
    ("texts", "before", "message"),
    [
        (['{"format":2}', "{"], 0, "run, line 2, is damaged.*delete everything"),
        (["[" * 100_000], 0, "run, line 1, is damaged.*start a new run"),
        (['{"a":NaN}'], 6, "run, line 7, is damaged: NaN is not valid JSON"),
        (['{"format":3,"rahbo":"9.9"}'], 0, "format 3, written by rahbo '9.9'.*Update rahbo"),
    ],
)
def test_damage_is_named_with_its_line(texts, before, message):
    with pytest.raises(JournalError, match=message):
        events_of(texts, "run", before)
