"""Which trials are open and who has them, interrupts included."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from rahbo.trials import Counts, Ledger, Trial
from rahbo.trials.trial import params_by_point
from told import evaluations, told


def trial(number, repeats=1, x=0.5, source="strategy", values=()):
    return Trial(number, {"x": x}, np.array([x]), repeats, source, evaluations(values))


def test_open_trials_are_those_with_missing_repeats():
    ledger = Ledger({0: trial(0, values={0: 1.0}), 1: trial(1, repeats=2, values={1: 1.0})})
    assert [t.id for t in ledger.missing()] == [1]
    opened = ledger.record(trial(2))
    assert [t.id for t in ledger.missing()] == [1, 2]
    ledger.record(opened.with_told(evaluations({0: 3.0})))
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


def assert_counted_right(ledger):
    """What the ledger keeps up to date is what its trials say."""
    trials = ledger.trials.values()
    assert ledger.counts == Counts.of(trials)
    assert ledger.params() == params_by_point(trials)


def test_counts_and_parameters_follow_every_change():
    ledger = Ledger({0: trial(0, values={0: 1.0}), 1: trial(1, source="user", values={0: 2.0})})
    assert_counted_right(ledger)
    opened = ledger.open(np.array([0.25]), {"x": 0.25}, 3, "design", None)
    assert opened.id == 2
    assert_counted_right(ledger)
    half = ledger.record(opened.with_told(evaluations({1: 3.0})))
    ledger.record(half.with_failures([0], "no beam"))
    ledger.record(replace(ledger.trials[2], cancelled=True))
    ledger.record(ledger.trials[0].with_more(told(5.0, 6.0)))
    assert_counted_right(ledger)
    counts = ledger.counts
    assert counts.trials == {"strategy": 1, "user": 1, "design": 1}
    assert counts.evaluations == {"strategy": 3, "user": 1, "design": 2}
    assert (counts.made(), counts.made("design", "confirm")) == (6, 2)


def test_what_is_not_noise_follows_every_change():
    ledger = Ledger({i: trial(i, x=i / 9, values={0: 0.1**i, 1: 0.1**i}) for i in range(1, 9)})
    assert ledger.repetition is not None
    ledger.record(ledger.trials[3].with_more(told(5.0)))
    assert ledger.repetition is None


def test_the_first_trial_of_a_point_says_its_parameters():
    ledger = Ledger({0: trial(0)})
    before = ledger.params()
    ledger.record(replace(trial(1), params={"x": 0.5000000000000001}))
    assert ledger.params() == before == {np.array([0.5]).tobytes(): {"x": 0.5}}
    # What was handed out does not change later.
    ledger.record(trial(2, x=0.75))
    assert len(before) == 1


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_change_is_counted_as_it_is(late):
    ledger = Ledger(WrittenThenInterrupted({0: trial(0)}, late))
    assert_counted_right(ledger)
    for change in (trial(1, x=0.25), trial(0, values={0: 1.0})):
        with pytest.raises(KeyboardInterrupt):
            ledger.record(change)
        assert_counted_right(ledger)


def test_changes_are_counted_without_a_look_at_other_trials():
    class Watched(dict):
        looks = 0

        def values(self):
            self.looks += 1
            return super().values()

    trials = Watched({i: trial(i, x=i / 100, values={0: 1.0}) for i in range(100)})
    ledger = Ledger(trials)
    assert (ledger.counts.made(), len(ledger.params())) == (100, 100)
    before = trials.looks
    for i in range(100, 120):
        ledger.record(ledger.record(trial(i, x=i / 100)).with_told(evaluations({0: 1.0})))
        assert (ledger.counts.made(), len(ledger.params())) == (i + 1, i + 1)
    assert trials.looks == before
