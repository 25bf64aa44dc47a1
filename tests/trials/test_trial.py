"""Trials: order and portions do not matter, telling again changes nothing, failures."""

import itertools
import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from rahbo.errors import DataError
from rahbo.trials import (
    LARGEST_VALUE,
    Evaluation,
    Suggestion,
    Trial,
    checked_repeat,
    checked_values,
    observations_of,
    own_bounds,
    tallies_of,
    tried_once,
)
from told import evaluations
from told import told as some

VALUES = st.floats(-1e6, 1e6, allow_nan=False)


def trial(n_requested=3, identity=0, x=(0.5,), values=(), failures=(), **known):
    x, made = np.array(x, dtype=float), evaluations(values, failures)
    return Trial(identity, {"a": 1.0}, x, n_requested, "design", made, **known)


@st.composite
def told(draw, max_size=8):
    """Values of one trial, and an order in which to tell them."""
    values = draw(st.lists(VALUES, min_size=1, max_size=max_size))
    return values, draw(st.permutations(range(len(values))))


@st.composite
def portions(draw):
    """Values of one trial, cut into portions."""
    values = draw(st.lists(VALUES, min_size=1, max_size=8))
    cuts = sorted(draw(st.sets(st.integers(1, len(values)))) | {0, len(values)})
    return values, [values[a:b] for a, b in itertools.pairwise(cuts)]


# -- order and portions --------------------------------------------------------------------------


@given(portions())
def test_any_portions_give_the_same_trial(case):
    values, pieces = case
    t = trial()
    for piece in pieces:
        t = t.with_more(some(*piece))
    assert t.values == dict(enumerate(values))


@given(told(), st.data())
def test_indexed_values_first_and_the_rest_in_portions_give_the_same_trial(case, data):
    values, order = case
    indexed = order[: data.draw(st.integers(0, len(order)))]
    t = trial()
    for i in indexed:
        t = t.with_told({i: Evaluation(values[i])})
    for i in sorted(set(order) - set(indexed)):
        t = t.with_more(some(values[i]))
    assert t.values == dict(enumerate(values))


@given(told(), st.data())
def test_values_without_an_index_never_overwrite_what_is_settled(case, data):
    values, _ = case
    settled = data.draw(st.sets(st.integers(0, 9), max_size=6))
    failed = data.draw(st.sets(st.sampled_from(sorted(settled)))) if settled else set()
    before = trial(
        values=dict.fromkeys(settled - failed, -1.0), failures=dict.fromkeys(failed, "trip")
    )
    after = before.with_more(some(*values))
    assert after.failures == before.failures
    assert {i: after.values[i] for i in before.values} == before.values
    fresh = sorted(after.values.keys() - before.values.keys())
    assert [after.values[i] for i in fresh] == values
    # The fresh indices are the lowest that were free.
    assert set(range(fresh[-1])) <= after.values.keys() | after.failures.keys()


@given(st.lists(st.tuples(st.integers(0, 2), told(4)), min_size=1, max_size=6), st.randoms())
def test_observations_do_not_depend_on_any_order_of_arrival(history, random):
    trials = []
    for identity, (place, (values, order)) in enumerate(history):
        t = trial(identity=identity, x=(place / 2, 0.25))
        for i in order:
            t = t.with_told({i: Evaluation(values[i])})
        trials.append(t)
    random.shuffle(trials)
    data = observations_of(trials, sign=-1.0)
    assert data.values.tolist() == [-v for _, (values, _) in history for v in values]
    assert data.X[data.rounds].tolist() == [[place / 2, 0.25] for place, _ in history]
    for i, x in enumerate(data.X):
        here = [-v for place, (values, _) in history if place / 2 == x[0] for v in values]
        assert data.repeats(i).tolist() == here
        assert data.count[i] == len(here)


# -- telling again -------------------------------------------------------------------------------


@given(told())
def test_telling_a_repeat_again_changes_nothing(case):
    values, order = case
    once = trial(n_requested=5)
    for i in order:
        once = once.with_told({i: Evaluation(values[i])})
    twice = once
    for i in reversed(order):
        twice = twice.with_told({i: Evaluation(values[i])})
    assert (twice.values, twice.failures, twice.missing) == (
        once.values,
        once.failures,
        once.missing,
    )


def test_another_value_for_a_repeat_is_an_error_and_loses_nothing():
    t = trial(identity=7).with_told({1: Evaluation(2.5)})
    with pytest.raises(DataError, match=r"Repeat 1 of suggestion 7 .* 2\.5 and now as 3"):
        t.with_told({1: Evaluation(3.0)})
    assert t.values == {1: 2.5}


def test_a_trial_is_never_changed_in_place():
    t = trial()
    t.with_more(some(1.0))
    t.with_told({0: Evaluation(1.0)})
    t.with_failures([0], "trip")
    assert (t.values, t.failures, t.missing) == ({}, {}, (0, 1, 2))


# -- failures ------------------------------------------------------------------------------------


@given(st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)), st.integers(1, 6))
def test_each_repeat_is_a_value_a_failure_or_missing(valued, failed, n_requested):
    t = trial(n_requested).with_failures(failed, "trip")
    for i in valued:
        t = t.with_told({i: Evaluation(float(i))})
    t = t.with_failures(failed, "trip")
    assert t.values == {i: float(i) for i in valued}
    assert t.failures == dict.fromkeys(failed - valued, "trip")
    assert t.missing == tuple(sorted(set(range(n_requested)) - valued - failed))


def test_outcomes_are_counted_by_point():
    trials = [
        trial(2, identity=0, x=(0.2,)).with_more(some(1.0, 2.0)),
        trial(2, identity=1, x=(0.1,)).with_failures([0, 1], "trip"),
        trial(2, identity=2, x=(0.3,)),
        trial(3, identity=3, x=(0.2,)).with_more(some(1.0)).with_failures([1], "trip"),
    ]
    X, values, failures = tallies_of(trials)
    assert X.tolist() == [[0.2], [0.1]]
    assert (values.tolist(), failures.tolist()) == ([3, 0], [1, 2])


def test_nothing_told_has_no_outcomes():
    X, values, failures = tallies_of([trial(2)])
    assert len(X) == len(values) == len(failures) == 0


def test_the_last_reason_of_a_failure_is_kept():
    t = trial().with_failures([0, 1], "trip").with_failures([1], "timeout")
    assert t.failures == {0: "trip", 1: "timeout"}


def test_values_told_after_a_failure_go_to_other_repeats():
    t = trial(3).with_failures([0], "trip").with_more(some(1.0, 2.0))
    assert t.values == {1: 1.0, 2: 2.0}
    assert t.missing == ()


def test_a_cancelled_trial_misses_nothing_and_still_takes_values():
    t = trial(3, cancelled=True)
    assert t.missing == ()
    assert t.with_more(some(4.0)).values == {0: 4.0}


def test_a_suggestion_is_what_is_still_wanted():
    t = trial(4, identity=3).with_told({2: Evaluation(1.0)}).with_failures([0], "trip")
    assert t.suggestion == Suggestion(3, {"a": 1.0}, (1, 3))
    assert t.suggestion.repeats == 2
    t.suggestion.params["a"] = 99.0
    assert t.params == {"a": 1.0}


# -- checks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (2, [2.0]),
        (np.float32(1.5), [1.5]),
        (np.array(1.5), [1.5]),
        (np.array([1, 2]), [1.0, 2.0]),
        ((i / 2 for i in range(3)), [0.0, 0.5, 1.0]),
        ([np.array(3.0), 4], [3.0, 4.0]),
        (Fraction(1, 4), [0.25]),
        (-LARGEST_VALUE, [-LARGEST_VALUE]),
    ],
)
def test_whatever_is_a_number_is_taken_as_a_plain_float(values, expected):
    checked = checked_values(values)
    assert checked == expected
    assert all(type(value) is float for value in checked)


@pytest.mark.parametrize(
    ("values", "culprit"),
    [
        (b"12", "sequence of numbers"),
        ([1.0, None], "None"),
        ([np.True_], "True"),
        (1 + 2j, "1\\+2j"),
        (np.ones((2, 2)), "needs numbers"),
        (np.array("a"), "'a'"),
        (np.array([math.nan]), "nan"),
        ([], "no values"),
        (2 * LARGEST_VALUE, "up to 1e\\+60"),
        pytest.param(10**400, "up to 1e\\+60", id="an integer too large for a float"),
    ],
)
def test_whatever_is_not_is_named(values, culprit):
    with pytest.raises(DataError, match=culprit):
        checked_values(values)


def test_repeat_indices_are_plain_whole_numbers():
    assert checked_repeat(np.int64(3)) == 3
    assert type(checked_repeat(np.int64(3))) is int
    for bad in (-1, 1.0, "1", None, True):
        with pytest.raises(DataError, match="whole number >= 0"):
            checked_repeat(bad)


# -- bounds of a point's own round ---------------------------------------------------------------


def test_a_cancelled_revisit_has_its_bound_but_an_open_or_failed_one_has_none():
    told = [
        trial(identity=0, x=(0.1,), values={0: 1.0}),
        trial(identity=1, x=(0.2,), values={0: 2.0}, own_bound=-3.0),
        trial(identity=2, x=(0.3,), values={0: 2.0}, own_bound=-5.0),
    ]
    data = observations_of(told, 1.0)
    np.testing.assert_array_equal(own_bounds(told, data), [np.nan, -3.0, -5.0])
    further = [
        trial(identity=3, x=(0.1,), own_bound=-7.0, cancelled=True),
        trial(identity=4, x=(0.2,), own_bound=-4.0, cancelled=True),
        trial(identity=5, x=(0.3,), own_bound=9.0),
        trial(identity=6, x=(0.3,), own_bound=9.0, failures={0: "", 1: "", 2: ""}),
        trial(identity=7, x=(0.4,), own_bound=9.0, cancelled=True),
    ]
    np.testing.assert_array_equal(own_bounds([*told, *further], data), [-7.0, -3.0, -5.0])


def test_tried_once_knows_what_came_of_a_trial():
    trials = [
        trial(1, 0, [0.1], values={0: 1.0}),
        trial(1, 1, [0.2], values={0: 1.0}),
        trial(1, 2, [0.2], values={0: 2.0}),
        trial(1, 3, [0.3]),
        trial(1, 4, [0.4], values={0: 1.0}),
        trial(1, 5, [0.4], failures={0: "no"}),
        trial(1, 6, [0.5], values={0: 1.0}),
        trial(1, 7, [0.5], cancelled=True),
        trial(1, 8, [0.6], failures={0: "no"}),
    ]
    once = [x for x in np.arange(1, 8) / 10 if tried_once(np.array([x]), trials)]
    assert once == [0.1]


@given(st.integers(0, 9), st.sets(st.integers(0, 12)), st.sets(st.integers(0, 12)), st.booleans())
def test_missing_repeats_are_counted_as_they_are_listed(n, told, failed, cancelled):
    known = trial(n, values=dict.fromkeys(told, 1.0), failures=dict.fromkeys(failed, ""),
                  cancelled=cancelled)  # fmt: skip
    assert known.n_missing == len(known.missing)


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_durations_are_not_numbers(unit):
    seconds = np.array([1, 2], dtype=f"timedelta64[{unit}]")
    for values in (seconds, seconds[0], np.array(seconds[0])):
        with pytest.raises(DataError, match=r"needs numbers, got .*timedelta64\(1,"):
            checked_values(values)
