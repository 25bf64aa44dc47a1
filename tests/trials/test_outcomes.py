"""What one evaluation told: values, outcomes by name, and records of both."""

import collections
from dataclasses import dataclass

import numpy as np
import pytest

import rahbo
from rahbo.errors import DataError
from rahbo.trials import Evaluation, checked_told, past_trials, record_of, split_record

NAMES = {"loss": rahbo.AtMost(9.0), "time": rahbo.AtMost(9.0)}


@dataclass
class Record:
    value: float
    loss: float


Named = collections.namedtuple("Named", ["value", "loss"])


def test_numbers_alone_have_nothing_beside_them():
    assert checked_told(1.0, None, {}) == [Evaluation(1.0)]
    assert checked_told([1.0, 2], None, NAMES) == [Evaluation(1.0), Evaluation(2.0)]


def test_outcomes_come_by_name_with_as_many_numbers_as_values():
    told = checked_told([1.0, 2.0], {"loss": [3.0, None], "time": [np.nan, 5]}, NAMES)
    assert told == [Evaluation(1.0, None, {"loss": 3.0}), Evaluation(2.0, None, {"time": 5.0})]
    assert checked_told(1.0, {"loss": 3.0}, NAMES) == told[:1]


@pytest.mark.parametrize(
    "record",
    [{"value": 1.0, "loss": 3.0}, Record(1.0, 3.0), Named(1.0, 3.0)],
    ids=["dict", "dataclass", "namedtuple"],
)
def test_a_record_holds_the_objective_and_outcomes(record):
    told = [Evaluation(1.0, None, {"loss": 3.0})]
    assert checked_told(record, None, NAMES) == told
    assert checked_told([record, record], None, NAMES) == 2 * told
    assert record_of(record) == {"value": 1.0, "loss": 3.0}


def test_what_is_not_a_record_is_none():
    for other in (1.0, (1.0, 2.0), "text", Record, None):
        assert record_of(other) is None


@pytest.mark.parametrize(
    ("values", "outcomes", "names", "says"),
    [
        ({"value": 1.0}, None, {}, "needs a number"),
        ({"loss": 1.0}, None, NAMES, "got none"),
        ({"a": 1.0, "b": 2.0, "loss": 1.0}, None, NAMES, "got 'a', 'b'"),
        ([{"value": 1.0}, 2.0], None, NAMES, "numbers or records"),
        ({"value": 1.0}, {"loss": 1.0}, NAMES, "got both"),
        (1.0, {"weight": 1.0}, NAMES, "'weight'"),
        (1.0, {"loss": 1.0}, {}, "none"),
        ([1.0, 2.0], {"loss": 1.0}, NAMES, "as many numbers"),
        (1.0, {"loss": "much"}, NAMES, "'loss'"),
        (1.0, {"loss": np.inf}, NAMES, "finite"),
        (1.0, {"loss": True}, NAMES, "'loss'"),
        (1.0, [3.0], NAMES, "by name"),
    ],
)
def test_what_cannot_be_told_is_refused(values, outcomes, names, says):
    with pytest.raises(DataError, match=says):
        checked_told(values, outcomes, names)


def test_a_missing_outcome_is_left_out_of_a_record():
    assert split_record({"value": 1.0, "loss": None}, NAMES) == (1.0, {})


def test_past_results_may_be_records():
    (trial,) = past_trials([({"x": 0.5}, {"value": 1.0, "loss": 2.0})], lambda p: np.array([0.5]),
                           NAMES)  # fmt: skip
    assert trial.evaluations == {0: Evaluation(1.0, None, {"loss": 2.0})}


def test_a_masked_outcome_is_missing_and_a_masked_value_is_not_a_number():
    masked = np.ma.masked_invalid([np.nan, 2.0])
    told = checked_told([1.0, 2.0], {"loss": masked}, NAMES)
    assert [each.outcomes for each in told] == [{}, {"loss": 2.0}]
    for values in (masked, np.ma.masked, np.ma.array(3.0, mask=True), [1.0, np.ma.masked]):
        with pytest.raises(DataError, match="finite numbers, got nan"):
            checked_told(values)
