"""What runs in workers: outcomes that can be sent, and no worker that outlives its run."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import objectives
from extras import imported
from processes_left import is_alive, wait_for
from rahbo.running import worker
from rahbo.running.worker import attempt_there, begin, end_with
from rahbo.trials.trial import LONGEST_REASON

if not hasattr(signal, "SIGKILL"):
    pytest.skip("needs SIGKILL", allow_module_level=True)


def test_an_outcome_can_be_sent_and_is_short(tmp_path):
    def fail(x):
        raise objectives.StubbornError("y" * 10**6, threading.Lock())

    outcome = attempt_there(fail, {"x": 1.0}, tmp_path / "mark", None)
    assert (tmp_path / "mark").exists()
    assert len(pickle.dumps(outcome)) < 16_384
    assert "StubbornError" in str(outcome.error)
    assert outcome.failure.startswith("StubbornError('code yyy")
    assert len(outcome.failure) <= LONGEST_REASON
    outcome = attempt_there(lambda x: "z" * 10**6, {"x": 1.0}, tmp_path / "other", None)
    assert len(outcome.no_number) <= LONGEST_REASON
    outcome = attempt_there(lambda x: x, {"x": 1.0}, Path("no folder", "mark"), None)
    assert outcome.value == 1.0


def test_a_task_that_was_taken_back_is_not_evaluated(tmp_path):
    calls = []
    (tmp_path / "mark").touch()
    outcome = attempt_there(calls.append, {"x": 1.0}, tmp_path / "mark", None)
    assert (calls, outcome.value, outcome.seconds) == ([], None, None)


def test_the_time_of_an_evaluation_comes_with_its_outcome(tmp_path):
    outcome = attempt_there(lambda x: time.sleep(x) or x, {"x": 0.02}, tmp_path / "mark", None)
    assert outcome.seconds >= 0.02


def test_workers_do_not_share_the_numbers_of_numpy():
    before = np.random.get_state()  # noqa: NPY002
    try:
        drawn = set()
        for _ in range(2):
            np.random.set_state(before)  # noqa: NPY002
            begin(os.getppid(), None, ())
            drawn.add(np.random.normal())  # noqa: NPY002
        assert len(drawn) == 2
        # The user's own initializer has the last word.
        begin(os.getppid(), np.random.seed, (3,))
        assert np.random.normal() == np.random.RandomState(3).normal()  # noqa: NPY002
    finally:
        np.random.set_state(before)  # noqa: NPY002


def test_only_children_end_with_their_parent():
    for owner in (None, os.getpid(), os.getppid(), 1):
        end_with(owner)
    assert "rahbo-parent" not in {thread.name for thread in threading.enumerate()}


PROGRAM = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
import rahbo

def objective(x):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep({seconds})
    return x

if __name__ == "__main__":
    context = multiprocessing.get_context
    rahbo.maximize(objective, {{"x": (0.0, 1.0)}}, evaluations=1000, seed=0, executor={executor})
"""
POOLS = {
    "fork": 'ProcessPoolExecutor(3, mp_context=context("fork"))',
    "forkserver": 'ProcessPoolExecutor(3, mp_context=context("forkserver"))',
    "spawn": 'ProcessPoolExecutor(3, mp_context=context("spawn"))',
    "function": 'lambda: ProcessPoolExecutor(3, mp_context=context("fork"))',
    "loky": '__import__("loky").ProcessPoolExecutor(3)',
}


@pytest.mark.slow
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("seconds", [0.05, 300.0], ids=["waiting", "busy"])
def test_no_worker_outlives_a_killed_run(tmp_path, pool, seconds):
    if pool == "loky":
        imported("loky")
    program, pids = tmp_path / "program.py", tmp_path / "pids"
    program.write_text(textwrap.dedent(PROGRAM).format(seconds=seconds, executor=POOLS[pool]))
    pids.mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, str(program), str(pids)], env=environment) as parent:
        wait_for(lambda: len(list(pids.iterdir())) == 3 or parent.poll() is not None)
        assert parent.poll() is None
        workers = [int(path.name) for path in pids.iterdir()]
        parent.kill()
    wait_for(lambda: not any(is_alive(pid) for pid in workers), 20 * worker.PARENT_CHECK)


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["fork", "function"])
def test_workers_that_have_not_had_a_task_end_too(tmp_path, pool):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(PROGRAM)
        .format(seconds=300.0, executor=POOLS[pool])
        .replace("executor=", "parallel=1, executor=")
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(program), str(tmp_path)]
    with subprocess.Popen(command, env=environment) as parent:
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        if not children.exists():
            parent.kill()
            pytest.skip("the children of a process cannot be listed here")
        wait_for(lambda: any(path.name.isdigit() for path in tmp_path.iterdir()))
        workers = [int(pid) for pid in children.read_text().split()]
        assert len(workers) == 3
        parent.kill()
    wait_for(lambda: not any(is_alive(pid) for pid in workers), 20 * worker.PARENT_CHECK)
