"""Ctrl-C is raised in the objective, and waits for it elsewhere."""

import os
import signal
import threading

import pytest

import rahbo
from rahbo.running.interrupts import Interrupts


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_within_a_call_it_is_raised_at_once():
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupts.call(press)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_elsewhere_it_waits_for_the_next_call():
    calls = []
    with Interrupts() as interrupts:
        press()
        calls.append("went on")
        with pytest.raises(KeyboardInterrupt):
            interrupts.call(calls.append, "not called")
    assert calls == ["went on"]


def test_the_second_one_is_raised_anywhere():
    with Interrupts():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_a_program_that_handles_it_itself_keeps_its_handler():
    seen = []
    former = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with Interrupts() as interrupts:
            interrupts.call(press)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGINT, former)


def test_other_threads_leave_it_alone():
    found = []

    def work():
        with Interrupts() as interrupts:
            found.append((signal.getsignal(signal.SIGINT), interrupts.call(int, "3")))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(signal.default_int_handler, 3)]


@pytest.mark.parametrize("where", ["objective", "callback", "stop"])
def test_a_run_ends_with_every_value_it_measured(where, tmp_path):
    measured = []

    def objective(x):
        if where == "objective" and len(measured) == 12:
            press()
        measured.append(x)
        return x

    def callback(opt):
        if where == "callback" and len(measured) == 12:
            press()

    def stop(state):
        if where == "stop" and len(measured) >= 12:
            press()
        return False

    journal = tmp_path / "run.jsonl"
    result = rahbo.maximize(
        objective, {"x": (0.0, 1.0)}, evaluations=25, seed=0, journal=journal, callback=callback,
        stop=stop,
    )  # fmt: skip
    assert result.stopped_by == "interrupt"
    assert len(measured) == result.n_evaluations == 12
    assert rahbo.Optimizer.resume(journal).n_evaluations == 12


def test_ctrl_c_after_the_last_evaluation_ends_the_run():
    class Pressing(rahbo.running.Display):
        def told(self, state):
            if state.counts.made() == 12:
                press()

    result = rahbo.maximize(
        lambda x: x, {"x": (0.0, 1.0)}, evaluations=12, seed=0, verbose=Pressing()
    )
    assert (result.stopped_by, result.n_evaluations) == ("interrupt", 12)
