"""Processes of our own: what their death costs, what they can evaluate, and when they end."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from functools import partial
from queue import Empty, LifoQueue

import pytest

import objectives
import rahbo
from extras import needs
from objectives import noisy
from parallel_runs import assert_each_told_once, recorded
from processes_left import is_alive, wait_for, wait_for_end_of
from rahbo.errors import ExecutorError, ObjectiveError, SettingsError
from rahbo.numerics import evaluation_seed
from rahbo.policy import RandomSearch
from rahbo.running import processes
from rahbo.running.processes import Processes, n_processes

if not hasattr(signal, "SIGKILL"):
    pytest.skip("needs SIGKILL", allow_module_level=True)

SPACE = {"x": (0.0, 2.0)}
QUICK = {"n_initial": 3, "repeats": 3, "seed": 7, "method": rahbo.Method(strategy=RandomSearch())}
ONCE = QUICK | {"repeats": 1}


@pytest.fixture(scope="module")
def two():
    """Two processes, for tests after which they can go on."""
    with closing(Processes(2, objectives.on_demand, None)) as pool:
        pool.start()
        yield pool


def outcomes(pool, *arguments):
    """The outcomes of evaluations that are submitted together."""
    futures = [pool.submit(each, (0, i)) for i, each in enumerate(arguments)]
    return [future.result(60.0) for future in futures]


# -- a run -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_in_processes():
    result = rahbo.maximize(noisy, SPACE, evaluations=30, n_jobs=2, **QUICK)
    assert_each_told_once(result, 30)


def test_one_process_makes_the_run_in_turn():
    alone = rahbo.maximize(noisy, SPACE, evaluations=20, n_initial=4, seed=7)
    result = rahbo.maximize(
        noisy, SPACE, evaluations=20, n_initial=4, seed=7, n_jobs=1, timeout=600.0
    )
    assert recorded(result) == recorded(alone)


@pytest.mark.slow
def test_each_death_and_each_time_out_costs_one_evaluation_and_no_other():
    result = rahbo.maximize(
        objectives.deadly_or_endless, SPACE, evaluations=16, n_jobs=3, timeout=1.0, **ONCE
    )
    assert len(result.trials) == 16
    seen = set()
    for trial in result.trials:
        x, reason = trial.params["x"], trial.failures.get(0)
        seen.add(reason)
        if x > 1.5:
            assert reason == f"its worker process died: {signal.strsignal(signal.SIGKILL)}"
        elif x > 1.0:
            assert reason == "timed out after 1 s"
        else:
            assert trial.values[0] == noisy(x, evaluation_seed(7, trial.id, 0))
    assert len(seen) == 3


@pytest.mark.slow
def test_whatever_an_objective_raises_is_recorded_and_harms_no_worker():
    result = rahbo.maximize(objectives.moody, SPACE, evaluations=30, n_jobs=2, **ONCE)
    reasons = {
        "StubbornError('code 7')": (0.0, 0.4),
        "SystemExit('no licence')": (0.4, 0.8),
        "returned nan": (0.8, 1.2),
    }
    seen = [(reason, t.params["x"]) for t in result.trials for reason in t.failures.values()]
    assert {reason for reason, _ in seen} == set(reasons)
    assert all(reasons[reason][0] <= x < reasons[reason][1] for reason, x in seen)
    with pytest.raises(ObjectiveError, match="Stubborn") as caught:
        rahbo.maximize(objectives.moody, {"x": (0.0, 0.3)}, evaluations=3, n_jobs=2, **QUICK)
    # It cannot be sent, so its traceback stands for it.
    assert "StubbornError" in str(caught.value.__cause__)


def active():
    return processes.SPAWN.active_children()


# -- deaths ----------------------------------------------------------------------------------


def test_a_process_that_dies_is_replaced(two):
    ends = outcomes(two, {"do": "exit"}, {"do": "wait"}, {"do": "abort"}, {"do": "wait"})
    assert [end.failure for end in ends] == [
        "its worker process exited with code 3",
        "",
        f"its worker process died: {signal.strsignal(signal.SIGABRT)}",
        "",
    ]
    # One process may take them all while the other starts.
    assert not any(outcome.failure for outcome in outcomes(two, *[{"do": "pid"}] * 4))


def test_a_process_that_dies_while_it_is_idle_costs_nothing(two):
    pid = int(outcomes(two, {"do": "pid"})[0].value)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: all(process.pid != pid for process in active()))
    assert not any(outcome.failure for outcome in outcomes(two, *[{"do": "pid"}] * 3))


def test_a_process_whose_child_lives_on_is_seen_to_die(two, tmp_path):
    # The child has the pipe open, and that by which the death of a process is noticed.
    (outcome,) = outcomes(two, {"do": "fork and die", "path": tmp_path / "child"})
    assert outcome.failure.startswith("its worker process died")
    os.kill(int(tmp_path.joinpath("child").read_text()), signal.SIGKILL)


def test_an_interrupt_is_for_the_parent_alone(two):
    pid = int(outcomes(two, {"do": "pid"})[0].value)
    os.kill(pid, signal.SIGINT)
    assert pid in {outcome.value for outcome in outcomes(two, *[{"do": "pid"}] * 2)}


def test_arguments_that_cannot_be_sent_cost_their_evaluation(two):
    future = two.submit({"do": threading.Lock()}, (0, 0))
    assert isinstance(future.exception(60.0), TypeError)
    assert outcomes(two, {"do": "pid"})[0].value


@pytest.mark.slow
def test_a_thread_that_an_evaluation_leaves_behind_holds_nobody_up(monkeypatch):
    monkeypatch.setattr(processes, "EXIT_TIME", 0.5)
    began, before = time.monotonic(), active()
    with closing(Processes(1, objectives.lingering, None)) as pool:
        pool.start()
        assert outcomes(pool, {"x": 1.0, "seed": 0})[0].value == noisy(1.0, 0)
    # The thread sleeps for 100 s.
    assert time.monotonic() - began < 50.0
    assert set(active()) <= set(before)


def test_an_evaluation_that_is_about_to_take_a_process_ends_with_the_pool(monkeypatch):
    reached, drained = threading.Event(), threading.Event()

    class Late(LifoQueue):
        def get(self, block=True, timeout=None):
            if block:
                reached.set()
                assert drained.wait(30.0)
                timeout = 30.0
            try:
                return super().get(block, timeout)
            except Empty:
                drained.set()
                raise

    monkeypatch.setattr(processes, "LifoQueue", Late)
    pool = Processes(1, noisy, None)
    future = pool.submit({"x": 1.0, "seed": 0}, (0, 0))
    assert reached.wait(30.0)
    pool.close()
    with pytest.raises(ExecutorError, match="has ended"):
        future.result()


# -- what can be sent ------------------------------------------------------------------------


@needs("cloudpickle")
@pytest.mark.slow
def test_any_function_can_be_evaluated():
    shift = 0.5

    def local(x):
        return x + shift

    def tell(optimizer):
        # It holds a lock, and stays here.
        assert optimizer.n_evaluations

    for objective in (lambda x: local(x), partial(local)):
        result = rahbo.maximize(objective, SPACE, evaluations=1, n_jobs=2, callback=tell, **ONCE)
        assert result.trials[0].values == {0: result.trials[0].params["x"] + shift}


class Refusing:
    """It can be sent, but it arrives nowhere."""

    def __call__(self, x):
        return x

    def __reduce__(self):
        return objectives.refuse, ()


@pytest.mark.parametrize("cloudpickle", [pytest.param(True, marks=needs("cloudpickle")), False])
def test_what_cannot_be_sent_is_refused(cloudpickle, monkeypatch, tmp_path):
    if not cloudpickle:
        monkeypatch.setitem(sys.modules, "cloudpickle", None)
    lock, journal = threading.Lock(), tmp_path / "run.jsonl"
    with pytest.raises(SettingsError, match="cannot be sent") as caught:
        rahbo.maximize(lambda x: lock and x, SPACE, evaluations=9, n_jobs=2, journal=journal)
    assert not journal.exists()
    advice = "Open files, connections and locks within it" if cloudpickle else r"rahbo[jobs]"
    assert advice in str(caught.value)


def test_what_workers_cannot_have_is_refused():
    before = active()
    with pytest.raises(SettingsError, match=r"RuntimeError\('no licence'\)"):
        rahbo.maximize(Refusing(), SPACE, evaluations=9, n_jobs=2, **ONCE)
    assert set(active()) <= set(before)


def test_minus_one_is_as_many_as_there_are_cores(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    assert (n_processes(-1), n_processes(7)) == (3, 7)


# -- programs --------------------------------------------------------------------------------

PROGRAM = """
import os, random, sys, time
import rahbo

def objective(x):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep({seconds})
    return x + random.random()

def tell(optimizer):
    if {forks} and optimizer.n_evaluations < 6 and os.fork() == 0:
        # It has open what the workers watch.
        time.sleep(600.0)
    print("told", optimizer.n_evaluations, flush=True)

def main():
    result = rahbo.maximize(
        objective, {{"x": (0.0, 1.0)}}, evaluations=10_000, repeats=2, seed=0, n_jobs=2,
        callback=tell,
    )
    print(result, flush=True)

{start}
"""
GUARDED = 'if __name__ == "__main__": main()'


def started(folder, seconds=0.02, start=GUARDED, forks=False):
    """A program that runs two processes, which leave files with their ids as names."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(PROGRAM).format(seconds=seconds, start=start, forks=forks))
    (folder / "pids").mkdir()
    return subprocess.Popen(
        [sys.executable, path, folder / "pids"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip


def read_until(program, beginning):
    for line in program.stdout:
        if line.startswith(beginning):
            return
    pytest.fail(program.stderr.read())


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "forks"), [(0.02, True), (300.0, False)])
def test_no_worker_outlives_a_killed_run(tmp_path, seconds, forks):
    with started(tmp_path, seconds, forks=forks) as program:
        wait_for(lambda: len(list((tmp_path / "pids").iterdir())) == 2)
        if forks:
            read_until(program, "told 6")
        workers = [int(path.name) for path in (tmp_path / "pids").iterdir()]
        assert all(is_alive(pid) for pid in workers)
        program.kill()
        wait_for_end_of(workers)
        if forks:
            os.killpg(program.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["alone", "keyboard"])
def test_an_interrupt_ends_the_run_with_a_recommendation(tmp_path, send):
    with started(tmp_path) as program:
        read_until(program, "told 6")
        send(program.pid, signal.SIGINT)
        out, err = program.communicate(timeout=60.0)
    assert (program.returncode, err) == (0, "")
    assert "ended by interrupt" in out


@pytest.mark.slow
def test_a_script_without_its_guard_is_told_what_to_do(tmp_path):
    with started(tmp_path, start="main()") as program:
        out, err = program.communicate(timeout=60.0)
    assert (program.returncode, out) == (1, "")
    assert "put what the script does under if __name__ == '__main__':" in err.splitlines()[-1]


@needs("cloudpickle")
@pytest.mark.slow
def test_functions_of_a_session_are_sent_as_code():
    source = textwrap.dedent(PROGRAM).format(seconds=0, start="print(main.__module__)", forks=False)
    source += "import pickle; from rahbo.running.processes import Processes\n"
    source += "pool = Processes(1, tell, None); pool.start(); pool.close(); print('sent')"
    # A session has no file.
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["__main__", "sent"], done.stderr
