"""Which trials are open and who has them, interrupts included."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from rahbo.trials import Ledger, Trial


def trial(number, repeats=1, **other):
    return Trial(number, {"x": 0.5}, np.array([0.5]), repeats, "strategy", **other)


def test_open_trials_are_those_with_missing_repeats():
    ledger = Ledger({0: trial(0, values={0: 1.0}), 1: trial(1, repeats=2, values={1: 1.0})})
    assert [t.id for t in ledger.missing()] == [1]
    opened = ledger.record(trial(2))
    assert [t.id for t in ledger.missing()] == [1, 2]
    ledger.record(opened.with_value(0, 3.0))
    assert [t.id for t in ledger.missing()] == [1]
    ledger.record(replace(trial(1, repeats=2, values={1: 1.0}), cancelled=True))
    assert ledger.missing() == []


def test_every_open_trial_is_handed_out_once():
    ledger = Ledger({0: trial(0), 1: trial(1), 2: trial(2, values={0: 1.0})})
    for number in (0, 1):
        waiting = ledger.waiting()
        assert [s.id for s in ledger.hand_out(iter([waiting]))] == [number]
    assert ledger.waiting() is None


class WrittenThenInterrupted(dict):
    """Trials whose writer is interrupted when the trial is written, or before."""

    def __init__(self, trials, late):
        super().__init__(trials)
        self.late = late

    def __setitem__(self, number, new):
        if self.late:
            super().__setitem__(number, new)
        raise KeyboardInterrupt


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_record_leaves_no_trial_behind(late):
    ledger = Ledger(WrittenThenInterrupted({0: trial(0)}, late))
    with pytest.raises(KeyboardInterrupt):
        ledger.record(trial(1))
    assert [t.id for t in ledger.missing()] == [0, 1][: 1 + late]
    with pytest.raises(KeyboardInterrupt):
        ledger.record(trial(0, values={0: 1.0}))
    assert [t.id for t in ledger.missing()] == ([1] if late else [0])


def test_an_interrupted_call_hands_out_nothing():
    ledger = Ledger({0: trial(0), 1: trial(1)})

    def interrupted():
        yield trial(0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.hand_out(interrupted())
    assert ledger.waiting().id == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_a_lock_of_its_own(copied):
    ledger = Ledger({0: trial(0)})
    other = copied(ledger)
    assert other.lock.here() is not ledger.lock.here()
    assert [t.id for t in other.missing()] == [0]
