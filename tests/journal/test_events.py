"""Trials as events and back; what cannot have been written is refused."""

import json
import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from rahbo.errors import DataError, JournalError, SettingsError
from rahbo.journal import foreign, opened
from rahbo.journal.events import MOST_REPEATS, change_of, trial_record, trials_of
from rahbo.space import Space
from rahbo.trials import Evaluation, Trial
from rahbo.trials.times import LATEST
from told import evaluations
from told import told as values

SPACE = Space.of({"x": (0.0, 2.0)})


def trial(told=(), **known):
    return Trial(0, {"x": 1.0}, np.array([0.5]), 3, "strategy", dict(told), -0.25, **known)


def as_json(event):
    return json.loads(json.dumps(event))


def replayed(*changes):
    """What a reader makes of changes, the first from nothing."""
    return trials_of([{"trials": []}, *map(as_json, changes)], SPACE, "run.jsonl")[0]


def fields(t):
    return (t.id, t.params, t.x.tolist(), t.n_requested, t.source, t.own_bound, t.cancelled,
            {i: v.hex() for i, v in t.values.items()}, t.evaluations, times(t))  # fmt: skip


def times(t):
    return {i: each.time for i, each in t.evaluations.items() if each.time is not None}


TIMES = st.none() | st.floats(0.0, LATEST)
VALUES = st.builds(
    Evaluation,
    st.floats(-1e60, 1e60),
    outcomes=st.dictionaries(st.sampled_from(["loss", "time"]), st.floats(-1e60, 1e60)),
    block=st.none() | st.sampled_from(["fold 0", "plate A"]),
    time=TIMES,
)
FAILURES = st.builds(Evaluation, failure=st.text(max_size=5), time=TIMES)


@given(st.dictionaries(st.integers(0, 20), VALUES | FAILURES, max_size=6), st.booleans())
def test_a_whole_trial_comes_back(told, cancelled):
    t = trial(told, cancelled=cancelled)
    assert fields(replayed(change_of(None, t))) == fields(t)
    assert fields(opened(as_json(trial_record(t)), 0, SPACE)) == fields(t)


@given(st.dictionaries(st.integers(0, 20), VALUES, min_size=1, max_size=4))
def test_what_was_told_with_values_comes_back(told):
    assert fields(replayed(change_of(None, trial()), change_of(trial(), trial(told)))) == fields(
        trial(told)
    )


def test_a_value_with_nothing_beside_it_is_written_as_before():
    t = trial().with_more(values(1.0, 2.0))
    assert change_of(trial(), t) == {"event": "tell", "id": 0, "values": {0: 1.0, 1: 2.0}}
    assert "beside" not in trial_record(t)


@pytest.mark.parametrize(
    "beside",
    [
        {"1": {"block": "a"}},
        {"0": {"block": 3}},
        {"0": {"block": ""}},
        {"0": {"outcomes": {"loss": "1"}}},
        {"0": {"outcomes": {"loss": True}}},
        {"0": {"outcomes": {"loss": 1e80}}},
        {"0": {"outcomes": [1.0]}},
        {"0": {"colour": 1}},
        {"0": 1.0},
        [1.0],
    ],
)
def test_what_cannot_have_been_told_beside_a_value_is_refused(beside):
    event = {"event": "tell", "id": 0, "values": {"0": 1.0}, "beside": beside}
    with pytest.raises(JournalError):
        replayed(change_of(None, trial()), event)


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from("vfc"), st.floats(-9, 9)), max_size=9))
def test_every_sequence_of_changes_comes_back(steps):
    current = trial()
    changes = [change_of(None, current)]
    for repeat, kind, number in steps:
        time = float(len(changes)) if number > 0.0 else None
        if kind == "v":
            known = current.values.get(repeat, number)
            after = current.with_told({repeat: Evaluation(known, time=time)})
        elif kind == "f":
            after = current.with_failures([repeat], f"reason {number}", time)
        else:
            after = replace(current, cancelled=True)
        changes.append(change_of(current, after))
        current = after
    assert fields(replayed(*filter(None, changes))) == fields(current)


def test_a_time_is_written_with_what_was_told_then():
    first = trial().with_failures([0], "no beam", 10.0)
    failed = {"event": "failure", "id": 0, "failures": {0: "no beam"}, "times": {0: 10.0}}
    assert change_of(trial(), first) == failed
    second = first.with_told(dict(enumerate(values(1.0, 2.0, time=20.5))))
    told = {"event": "tell", "id": 0, "values": {0: 1.0, 1: 2.0}, "times": {0: 20.5, 1: 20.5}}
    assert change_of(first, second) == told
    # What is added beside a value later does not change when the value was told.
    third = second.with_told({1: Evaluation(2.0, outcomes={"loss": 3.0}, time=30.0)})
    assert "times" not in change_of(second, third)
    opening = change_of(None, trial())
    again = replayed(opening, failed, told, change_of(second, third))
    assert times(again) == {0: 20.5, 1: 20.5}


def test_a_value_told_within_the_millisecond_of_its_failure_keeps_its_time():
    lost = trial().with_failures([0], "no beam", 10.0)
    told = lost.with_told({0: Evaluation(1.0, time=10.0)})
    changes = change_of(None, trial()), change_of(trial(), lost), change_of(lost, told)
    assert times(replayed(*changes)) == {0: 10.0}


def test_the_time_of_a_failure_is_not_that_of_the_value_in_its_place():
    failed = {"event": "failure", "id": 0, "failures": {"0": "no beam"}, "times": {"0": 10.0}}
    told = {"event": "tell", "id": 0, "values": {"0": 1.0}}
    assert times(replayed(change_of(None, trial()), failed)) == {0: 10.0}
    assert times(replayed(change_of(None, trial()), failed, told)) == {}
    again = {"event": "failure", "id": 0, "failures": {"0": "no water"}}
    assert times(replayed(change_of(None, trial()), failed, again)) == {}


@pytest.mark.parametrize(
    ("times", "problem"),
    [
        ({"1": 10.0}, "repeat 1 must have a value or a failure at the time 10.0"),
        ({"-1": 10.0}, "repeat -1 must have"),
        ({"0": "2026-11-16"}, "a time must be seconds since 1970.* got '2026-11-16'"),
        ({"0": True}, "a time must be"),
        ({"0": None}, "a time must be"),
        ({"0": [10.0]}, "a time must be"),
        ({"0": -1.0}, "a time must be.* got -1.0"),
        ({"0": math.nan}, "a time must be.* got nan"),
        ({"0": math.inf}, "a time must be"),
        ({"0": 1e13}, "a time must be"),
        ({"0": 10**400}, "a time must be"),
        ([10.0], "line 3, was not written by rahbo"),
        (10.0, "line 3, was not written by rahbo"),
        (None, "line 3, was not written by rahbo"),
    ],
)
@pytest.mark.parametrize("told", [{"values": {"0": 1.0}}, {"failures": {"0": "no beam"}}])
def test_what_cannot_be_a_time_is_refused(times, problem, told):
    kind = "tell" if "values" in told else "failure"
    event = {"event": kind, "id": 0, **told, "times": times}
    with pytest.raises(JournalError, match=problem):
        replayed(change_of(None, trial()), event)
    with pytest.raises((DataError, TypeError, AttributeError)):
        opened({**as_json(trial_record(trial())), **told, "times": times}, 0, SPACE)


def test_no_change_is_no_event():
    one = evaluations({0: 1.0})
    assert change_of(trial(one), trial(one)) is None
    zero = trial(evaluations({0: 0.0}))
    again = zero.with_told({0: Evaluation(-0.0)})
    assert change_of(zero, again) is None
    assert math.copysign(1.0, again.values[0]) == 1.0


def test_an_infinite_bound_comes_back():
    t = replace(trial(), own_bound=-np.inf)
    assert replayed(change_of(None, t)).own_bound == -np.inf


def test_points_told_without_being_asked_for_say_so():
    assert change_of(None, trial())["event"] == "ask"
    assert change_of(None, replace(trial(), source="user"))["event"] == "point"


def test_more_repeats_than_can_be_read_are_not_written():
    with pytest.raises(SettingsError, match="Ask for fewer"):
        trial_record(replace(trial(), n_requested=MOST_REPEATS + 1))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": 1}, "id must be 0"),
        ({"id": False}, "id must be 0"),
        ({"repeats": 10**18}, "repeats must be"),
        ({"repeats": 1.0}, "repeats must be"),
        ({"source": "elsewhere"}, "source must be"),
        ({"own_bound": "high"}, "own_bound must be"),
        ({"x": [0.25]}, "x must be the point of"),
        ({"x": [0.5, 0.5]}, "x must be the point of"),
        ({"values": {"0": "1.0"}}, "a value must be a number"),
        ({"values": {"0": [1.0, 2.0]}}, "a value must be a number"),
        ({"values": {"0": True}}, "a value must be a number"),
        ({"values": {"+1": 1.0}}, "a repeat must be"),
        ({"values": {"0": 1e61}}, "up to 1e"),
        ({"failures": {"0": 5}}, "must have a value or a failure reason"),
        ({"values": {"0": 1.0}, "failures": {"0": "no"}}, "must have a value or a failure reason"),
    ],
)
def test_records_that_are_wrong_are_refused(change, problem):
    with pytest.raises(DataError, match=problem):
        opened({**as_json(trial_record(trial())), **change}, 0, SPACE)


def test_a_repeat_has_one_value():
    opening = change_of(None, trial(evaluations({0: 1.0})))
    again = {"event": "tell", "id": 0, "values": {"0": 1.0}}
    assert replayed(opening, again).values == {0: 1.0}
    with pytest.raises(
        JournalError, match=r"line 3.*Repeat 0 .* the value was told as 1.0 and now as 2.0"
    ):
        replayed(opening, {**again, "values": {"0": 2.0}})


def test_errors_name_the_file_and_the_line():
    text = str(foreign("run.jsonl", 7, KeyError("x")))
    assert text.startswith("run.jsonl, line 7, was not written by rahbo: KeyError('x'). ")
