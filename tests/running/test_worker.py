"""What runs in workers: outcomes that can always be sent."""

import pickle
import threading

import objectives
from rahbo.running.worker import attempt_there
from rahbo.trials.trial import LONGEST_REASON


def test_an_outcome_can_be_sent_and_is_short():
    def fail(x):
        raise objectives.StubbornError("y" * 10**6, threading.Lock())

    outcome = attempt_there(fail, {"x": 1.0})
    assert len(pickle.dumps(outcome)) < 16_384
    assert "StubbornError" in str(outcome.error)
    assert outcome.failure.startswith("StubbornError('code yyy")
    assert len(outcome.failure) <= LONGEST_REASON
    outcome = attempt_there(lambda x: "z" * 10**6, {"x": 1.0})
    assert len(outcome.no_number) <= LONGEST_REASON
    assert outcome.seconds >= 0.0


def test_generators_are_looked_at_unless_a_seed_is_given(monkeypatch):
    # Only the first calls of a process are looked at.
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert attempt_there(objectives.from_its_module, {"x": 1.0}).drawn
    assert not attempt_there(
        lambda x, seed: objectives.from_its_module(x), {"x": 1.0, "seed": 1}
    ).drawn
