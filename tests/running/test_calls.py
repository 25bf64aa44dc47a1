"""One call of an objective: numbers, failures, and what is neither."""

from fractions import Fraction

import numpy as np
import pytest

import rahbo
from rahbo.running.calls import CallResult, attempt, with_outcomes
from rahbo.trials.trial import LONGEST_REASON


@pytest.mark.parametrize("returned", [2, 2.0, np.float32(2), np.array(2.0), Fraction(2)])
def test_numbers_of_all_kinds_are_values(returned):
    assert attempt(lambda x: returned, {"x": 1.0}) == CallResult(2.0)


@pytest.mark.parametrize("returned", [None, "2", [2.0], np.ones(1), True, np.True_, 2j])
def test_what_is_no_number_is_named(returned):
    assert attempt(lambda: returned, {}) == CallResult(no_number=repr(returned))


@pytest.mark.parametrize("returned", [float("nan"), -float("inf"), 1e61, 10**400])
def test_numbers_that_are_no_measurements_are_failures(returned):
    outcome = attempt(lambda: returned, {})
    assert outcome.value is None
    assert outcome.failure.startswith("returned ")


def test_an_exception_is_a_failure_and_an_interrupt_is_not():
    error = ValueError("no beam")

    def raising(what):
        raise what

    assert attempt(raising, {"what": error}) == CallResult(failure=repr(error), error=error)
    with pytest.raises(KeyboardInterrupt):
        attempt(raising, {"what": KeyboardInterrupt()})


class UnprintableError(Exception):
    def __repr__(self):
        raise ValueError("no text for this")

    __str__ = __repr__


class Odd(float):
    """A number that cannot become a float."""

    def __float__(self):
        raise OverflowError("too odd")


def test_an_exception_that_cannot_be_printed_is_a_failure():
    def objective(x):
        raise UnprintableError

    outcome = attempt(objective, {"x": 1.0})
    assert outcome.failure == "<UnprintableError, whose repr() raises ValueError>"
    result = rahbo.maximize(
        lambda x: x if x < 0.5 else objective(x), {"x": (0.0, 1.0)}, evaluations=12, seed=0
    )
    assert any(trial.failures for trial in result.trials)


def test_what_cannot_become_a_number_or_be_printed_is_told_as_it_is():
    assert attempt(lambda: Odd(1.0), {}).failure == "OverflowError('too odd')"
    assert "whose repr() raises" in attempt(lambda: [UnprintableError()], {}).no_number
    assert "whose repr() raises" in attempt(UnprintableError, {}).no_number


def test_long_reasons_are_shortened_to_their_beginning_and_end():
    def objective():
        raise RuntimeError("begin " + "x" * 10**6 + " end")

    reason = attempt(objective, {}).failure
    assert len(reason) == LONGEST_REASON
    assert reason.startswith("RuntimeError('begin ")
    assert reason.endswith(" end')")
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, repeats=1)
    opt.tell_failure(opt.ask(), "y" * 10**7)
    assert len(opt.trials[0].failures[0]) == LONGEST_REASON


@pytest.mark.parametrize("masked", [np.ma.masked, np.ma.array(5.0, mask=True)])
def test_a_masked_number_is_no_number(masked):
    assert attempt(lambda: masked, {}) == CallResult(failure="returned nan")
    limits = {"loss": rahbo.AtMost(1.0)}
    lost = with_outcomes(attempt(lambda: {"v": masked, "loss": 1.0}, {}), limits)
    assert (lost.value, lost.failure) == (None, "returned nan")
    told = with_outcomes(attempt(lambda: {"v": 2.0, "loss": masked}, {}), limits)
    assert (told.value, told.outcomes) == (2.0, {})


def test_a_duration_is_no_number():
    for seconds in (np.timedelta64(5, "s"), np.array(5, dtype="timedelta64[ns]")):
        assert "timedelta64(5" in attempt(lambda s=seconds: s, {}).no_number
        record = attempt(lambda s=seconds: {"v": 1.0, "loss": s}, {}).record
        assert "timedelta64(5" in record["loss"]
