"""What one evaluation told, and the evaluations of a trial, which grow and never change."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.errors import DataError
from rahbo.trials import Evaluation, Evaluations, Trial, checked_name
from rahbo.trials.paged import PAGE
from told import evaluations, told

FIVE = Evaluation(5.0, outcomes={"loss": 2.0}, block="fold 1", time=7.0)


def trial(**known):
    return Trial(0, {"x": 1.0}, np.array([0.5]), 3, "strategy", **known)


# -- one evaluation ------------------------------------------------------------------------------


def test_it_has_a_value_or_a_reason_why_not():
    for wrong in ({}, {"value": 1.0, "failure": "no beam"}):
        with pytest.raises(DataError, match="needs a value, or else the reason"):
            Evaluation(**wrong)


@pytest.mark.parametrize(
    "again",
    [
        FIVE,
        Evaluation(5.0),
        Evaluation(5.0, block="fold 1", time=9.0),
        Evaluation(failure="too late"),
    ],
)
def test_telling_the_same_again_changes_nothing(again):
    assert FIVE.then(again) is FIVE
    once = trial().with_told({1: FIVE})
    assert once.with_told({1: again}) is once


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Evaluation(6.0), r"the value was told as 5\.0 and now as 6\.0"),
        (Evaluation(5.0, outcomes={"loss": 3.0}), r"'loss' was told as 2\.0 and now as 3\.0"),
        (Evaluation(5.0, block="fold 2"), "the block was told as 'fold 1' and now as 'fold 2'"),
    ],
)
def test_telling_something_else_is_an_error(other, said):
    with pytest.raises(DataError, match=f"Repeat 1 of suggestion 0 .* but {said}.* another repeat"):
        trial().with_told({1: FIVE}).with_told({1: other})


def test_what_is_known_only_later_is_added_and_the_time_stays():
    bare = Evaluation(5.0, time=7.0)
    found = bare.then(Evaluation(5.0, outcomes={"loss": 2.0}, time=8.0))
    found = found.then(Evaluation(5.0, block="fold 1", time=9.0))
    assert (found, found.time) == (FIVE, 7.0)
    assert found.then(Evaluation(5.0, outcomes={"heat": 1.0})).outcomes == {
        "loss": 2.0,
        "heat": 1.0,
    }


def test_a_value_replaces_a_failure_and_so_does_another_reason():
    lost = Evaluation(failure="no beam", time=1.0)
    assert lost.then(Evaluation(failure="no beam", time=2.0)) is lost
    for after in (Evaluation(failure="no water", time=2.0), Evaluation(5.0, time=2.0)):
        assert lost.then(after) is after


@pytest.mark.parametrize("name", ["", 3, None, "a" * 201, "two\nlines"])
def test_a_name_is_a_short_printable_text(name):
    with pytest.raises(DataError, match="A block must be a text"):
        checked_name("A block", name)
    assert checked_name("A block", "plate 7") == "plate 7"


# -- the evaluations of a trial ------------------------------------------------------------------


REPEATS = st.integers(0, 6) | st.integers(PAGE - 2, PAGE + 2) | st.integers(0, 3 * PAGE)
TOLD = st.floats(-9, 9).map(Evaluation) | st.builds(Evaluation, failure=st.text(max_size=1))


@given(st.lists(st.tuples(st.integers(0, 5), st.dictionaries(REPEATS, TOLD))))
def test_whatever_is_told_where_the_states_are_those_of_dicts(steps):
    states = [(Evaluations(), {})]
    for place, more in steps:
        known, plain = states[place % len(states)]
        states.append((known.with_told(more), {**plain, **more}))
        later, plainly = states[-1]
        assert later.since(known) == sorted(k for k in plainly if plain.get(k) != plainly[k])
    for known, plain in states:
        assert list(known.items()) == sorted(plain.items())
        assert list(known) == sorted(plain)
        assert list(known.values()) == [plain[i] for i in sorted(plain)]
        assert (len(known), known.end) == (len(plain), max(plain, default=-1) + 1)
        assert known.n_values == sum(each.value is not None for each in plain.values())
        assert [i for i in range(3 * PAGE + 1) if i in known] == sorted(plain)


def test_each_repeat_that_is_told_costs_one_page():
    """Repeats told one by one must not cost a time that is quadratic in their number."""
    known = Evaluations().with_told(dict(enumerate(told(*range(20 * PAGE)))))
    later = known.with_told({3: Evaluation(9.0)})
    assert sum(page is not known.pages[n] for n, page in later.pages.items()) == 1


def test_they_look_and_travel_like_a_dict():
    known = Evaluations().with_told(evaluations({2: 0.5}, {0: "no beam"}))
    assert known == evaluations({2: 0.5}, {0: "no beam"}) != {}
    assert repr(known) == repr(dict(known))
    for other in (pickle.loads(pickle.dumps(known)), copy.deepcopy(known), copy.copy(known)):
        assert other == known
        assert other.with_told({1: Evaluation(1.0)}).n_values == 2
    with pytest.raises(KeyError):
        known[1]


# -- views ---------------------------------------------------------------------------------------


def test_values_and_failures_of_a_trial_are_read_like_dicts():
    t = trial(evaluations=evaluations({3: 1.5, 1: 2.5}, {0: "no beam"}))
    assert (t.values, t.failures) == ({1: 2.5, 3: 1.5}, {0: "no beam"})
    assert (repr(t.values), repr(t.failures)) == ("{1: 2.5, 3: 1.5}", "{0: 'no beam'}")
    assert (len(t.values), len(t.failures), bool(trial().values)) == (2, 1, False)
    assert (t.values.get(0), 0 in t.values, 1 in t.values, 7 in t.values) == (
        None,
        False,
        True,
        False,
    )
    with pytest.raises(KeyError):
        t.values[0]
    assert pickle.loads(pickle.dumps(t.values)) == copy.deepcopy(t.values) == t.values
