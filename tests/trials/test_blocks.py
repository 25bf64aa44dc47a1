"""Blocks of values: names, past results, and the blocks of each point."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest

from rahbo.errors import DataError
from rahbo.trials import (
    Evaluation,
    Trial,
    block_name,
    blocks_by_point,
    checked_blocks,
    observations_of,
    past_trials,
)
from told import told

X = np.array([0.25])


def trial(**fields) -> Trial:
    return Trial(0, {"x": 0.25}, X, 2, "strategy", **fields)


HALF = datetime(2026, 3, 1, 8, 30, 0, 500_000)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        *((number, "3") for number in (3, np.int64(3), "3")),
        (np.str_("plate"), "plate"),
        *((day, "2026-03-01") for day in (
            date(2026, 3, 1), datetime(2026, 3, 1), np.array("2026-03-01", dtype="datetime64[D]"),
            *(np.datetime64("2026-03", unit) for unit in ("M", "D", "h", "s", "ms", "us", "ns")))),
        *((time, "2026-03-01T08:30:00") for time in (
            datetime(2026, 3, 1, 8, 30),
            *(np.datetime64("2026-03-01T08:30", unit) for unit in ("m", "s", "ms", "us", "ns")))),
        *((half, "2026-03-01T08:30:00.5") for half in (HALF, np.datetime64(HALF))),
        (HALF.replace(tzinfo=timezone(timedelta(hours=1))), "2026-03-01T08:30:00.5+01:00"),
    ],
)  # fmt: skip
def test_numbers_days_and_times_are_names_whatever_their_type(given, name):
    assert block_name(given) == name
    assert type(block_name(given)) is str


@pytest.mark.parametrize(
    "name",
    [
        *("", "x" * 201, "a\nb", 1.5, True, b"a", ["a"], 10**400),
        *(np.timedelta64(5, "s"), np.datetime64("NaT")),
    ],
)
def test_other_names_are_refused(name):
    with pytest.raises(DataError, match="Name it by a text" if name == 1.5 else None):
        block_name(name)


def test_a_time_of_pandas_is_a_name_unless_it_is_missing():
    pandas = pytest.importorskip("pandas")
    for text, name in (
        ("2026-03-01", "2026-03-01"),
        ("2026-03-01 08:30", "2026-03-01T08:30:00"),
        ("2026-03-01T08:30:00.5", "2026-03-01T08:30:00.5"),
        ("2026-03-01T00:00+00:00", "2026-03-01T00:00:00+00:00"),
    ):
        assert block_name(pandas.Timestamp(text)) == name
    with pytest.raises(DataError):
        block_name(pandas.NaT)


def test_an_array_without_dimensions_is_one_name():
    assert checked_blocks(np.array("a"), 2) == ["a"] * 2
    assert checked_blocks(np.array(3), 2) == ["3"] * 2
    assert checked_blocks(date(2026, 3, 1), 2) == ["2026-03-01"] * 2


def test_one_block_for_all_values_or_one_for_each():
    assert checked_blocks(None, 2) == [None, None]
    assert checked_blocks("a", 2) == ["a"] * 2
    assert checked_blocks(["a", None], 2) == ["a", None]
    assert checked_blocks(np.arange(2), 2) == ["0", "1"]


@pytest.mark.parametrize(
    ("block", "says"),
    [
        *((block, None) for block in (["a"], ["a", "b", "c"], [], {"a": 1}, b"ab")),
        ([1.5, "a"], "Name it by a text"),
        ({"a", "b"}, "Pass a list"),
    ],
)
def test_wrong_lengths_and_kinds_are_refused(block, says):
    with pytest.raises(DataError, match=says):
        checked_blocks(block, 2)


def test_only_blocks_of_a_given_set_are_accepted():
    assert checked_blocks(1, 1, ("0", "1")) == ["1"]
    with pytest.raises(DataError, match="one of blocks="):
        checked_blocks(2, 1, ("0", "1"))


def test_past_results_may_name_blocks():
    first, second = past_trials(
        [({"x": 0.25}, [1.0, 2.0], ["a", "b"]), ({"x": 0.25}, 3.0)], lambda params: X
    )
    assert [told.block for told in first.evaluations.values()] == ["a", "b"]
    assert second.evaluations == {0: Evaluation(3.0)}
    data = observations_of([first, second], -1.0)
    assert data.blocks == ("a", "b")
    assert data.block.tolist() == [0, 1, -1]
    assert data.values.tolist() == [-1.0, -2.0, -3.0]


def test_a_value_has_the_block_it_was_asked_for():
    first = trial(blocks=("a", "b")).with_more(told(1.0))
    assert first.evaluations == {0: Evaluation(1.0, block="a")}
    assert first.suggestion.blocks == ("b",)
    for second in (Evaluation(2.0), Evaluation(2.0, block="b")):
        assert first.with_told({1: second}).evaluations[1] == Evaluation(2.0, block="b")
    with pytest.raises(DataError, match="asked for in block 'b'"):
        first.with_told({1: Evaluation(2.0, block="a")})
    # Telling the same again changes nothing.
    assert first.with_told({0: Evaluation(1.0)}) is first


def test_blocks_of_a_point_are_told_or_under_way_but_not_failed():
    tried = trial(blocks=("a", "b")).with_failures([0], "no beam")
    assert blocks_by_point([tried]) == {X.tobytes(): ["b"]}
    assert blocks_by_point([tried.with_more(told(1.0))]) == {X.tobytes(): ["b"]}


def test_effects_are_subtracted_and_can_be_added_again(rng):
    from rahbo.trials import Observations, Removed

    named = ["a", "b", "a", None, "b"]
    values = rng.normal(size=5)
    data = Observations.from_rounds([X, X + 0.5], [values[:3], values[3:]], 1.0, named)
    removed = Removed(np.array([1.0, -2.0]), np.array([0.5, 0.25]), np.zeros(2))
    less = data.less(removed)
    np.testing.assert_allclose(less.values, values - [1.0, -2.0, 1.0, 0.0, -2.0])
    np.testing.assert_allclose(less.mean, [less.values[:3].mean(), less.values[3:].mean()])
    squares = less.values[:3].var(ddof=0) * 3
    np.testing.assert_allclose(less.sample_var[0], squares / (2 - 0.5))
    np.testing.assert_allclose(less.told_values, values)
    # Subtracting other effects begins with the values as told.
    np.testing.assert_allclose(less.less(Removed(np.zeros(2), *np.zeros((2, 2)))).values, values)
