"""Runs on executors: what is told, when, and what happens when workers die, hang or fail."""

import itertools
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from random import Random

import pytest

import objectives
import rahbo
from extras import imported
from objectives import noisy
from rahbo.errors import ExecutorError, ObjectiveError, SettingsError
from rahbo.numerics import evaluation_seed
from rahbo.policy import RandomSearch
from rahbo.running.pool import MAX_CRASHES, Pool
from rahbo.running.run import MAX_FAILURES
from rahbo.trials import LARGEST_VALUE

if "forkserver" not in multiprocessing.get_all_start_methods():
    pytest.skip("needs the start method forkserver", allow_module_level=True)

SPACE = {"x": (0.0, 2.0)}
SMALL = {"n_initial": 3, "repeats": 3, "seed": 7}
# Where points are of no concern, choosing them costs nothing.
QUICK = SMALL | {"strategy": RandomSearch()}

# A fork of this process, which has threads, may deadlock; the server forks itself, with rahbo
# already imported.
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["rahbo", "objectives"])


def processes(n=2, **options):
    return ProcessPoolExecutor(n, mp_context=FORKSERVER, **options)


def test_forked_workers_draw_different_numbers_from_numpy():
    settings = {"evaluations": 16, "n_initial": 4, "repeats": 4, "seed": 0}
    with processes(2) as executor:
        result = rahbo.maximize(objectives.from_numpy, SPACE, executor=executor, **settings)
    noise = [value - t.params["x"] for t in result.trials for value in t.values.values()]
    assert len({round(drawn, 9) for drawn in noise}) == 16


def test_a_generator_that_every_fork_copies_is_warned_of(monkeypatch):
    few = {"evaluations": 6, "seed": 0, "executor": lambda: ThreadPoolExecutor(2)}
    rahbo.maximize(objectives.from_its_module, SPACE, **few)
    # Threads stand for forks, which are not safe in this process.
    monkeypatch.setattr(Pool, "forks", True)
    with pytest.warns(UserWarning, match="random generator 'GENERATOR'.*argument seed") as caught:
        rahbo.maximize(objectives.from_its_module, SPACE, **few)
    assert [warning.filename for warning in caught] == [__file__]
    rahbo.maximize(noisy, SPACE, **few)
    rahbo.maximize(lambda x, seed: objectives.from_its_module(x), SPACE, **few)
    # One worker draws all numbers in turn, and an initializer may make the generator anew.
    again = partial(ThreadPoolExecutor, 2, initializer=objectives.make_generator_anew)
    for make in (again, partial(ThreadPoolExecutor, 1)):
        rahbo.maximize(objectives.from_its_module, SPACE, **{**few, "executor": make})


@pytest.fixture(scope="module")
def client():
    distributed = imported("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def loky():
    return imported("loky")


def kill_a_worker_at(calls, pids=None):
    """A callback that kills a worker after so many suggestions, and the list of the dead."""
    count, killed, others = 0, [], [] if pids else children()

    def callback(optimizer):
        nonlocal count
        count += 1
        if count in calls:
            alive = (pids or children)()
            killed.append(next(pid for pid in alive if pid not in killed + others))
            os.kill(killed[-1], signal.SIGKILL)

    return callback, killed


def children():
    return [process.pid for process in multiprocessing.active_children()]


def recorded(result):
    return [(t.params, dict(t.values), dict(t.failures), t.source) for t in result.trials]


def assert_each_told_once(result, evaluations, repeats, seed):
    """Every value is that of its own parameters and seed, and nothing else was told."""
    values = {(t.id, i): t.values[i] for t in result.trials for i in t.values}
    expected = {
        (t.id, i): noisy(**t.params, seed=evaluation_seed(seed, t.id, i))
        for t in result.trials
        for i in range(repeats)
    }
    assert values == expected
    assert len(values) == result.n_evaluations == evaluations
    assert result.optimizer.open == ()
    assert result.recommendation.params in [t.params for t in result.trials]


# -- told once -------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_killed_twice_lose_nothing_and_count_nothing_twice():
    callback, killed = kill_a_worker_at((10, 25))
    with processes() as executor:
        result = rahbo.maximize(
            objectives.slow, SPACE, evaluations=200, repeats=5, seed=1, strategy=RandomSearch(),
            executor=executor, callback=callback,
        )  # fmt: skip
    assert len(set(killed)) == 2
    assert len(result.trials) == 40
    assert_each_told_once(result, 200, repeats=5, seed=1)
    assert abs(result.recommendation.params["x"] - 0.6) < 0.2


def test_dask_workers_killed_twice_lose_nothing_and_count_nothing_twice(client):
    callback, killed = kill_a_worker_at((10, 25), lambda: list(client.run(os.getpid).values()))
    result = rahbo.maximize(
        objectives.slow, SPACE, evaluations=200, repeats=5, seed=1, strategy=RandomSearch(),
        executor=client.get_executor(pure=False), callback=callback,
    )  # fmt: skip
    assert len(set(killed)) == 2
    assert len(result.trials) == 40
    assert_each_told_once(result, 200, repeats=5, seed=1)


def test_equal_tasks_are_different_measurements(client):
    # Dask takes calls with equal arguments for the same unless told otherwise.
    result = rahbo.maximize(
        lambda x: float(time.perf_counter_ns() % 10**9), SPACE, evaluations=6, **QUICK,
        executor=client.get_executor(),
    )  # fmt: skip
    values = [value for trial in result.trials for value in trial.values.values()]
    assert len(set(values)) == len(values) == 6


def test_loky_with_a_worker_killed(loky):
    executor = loky.get_reusable_executor(max_workers=1)
    pids = lambda: list(executor._processes)  # noqa: E731
    callback, killed = kill_a_worker_at((3,), pids)
    result = rahbo.maximize(
        lambda x, seed: objectives.slow(x, seed), SPACE, evaluations=30, **QUICK,
        executor=executor, callback=callback,
    )  # fmt: skip
    assert len(killed) == 1
    assert_each_told_once(result, 30, repeats=3, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [None, 1, 3, 8])
def test_threads(parallel):
    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(
            objectives.slow, SPACE, evaluations=30, executor=executor, parallel=parallel, **SMALL
        )
        assert executor.submit(abs, -1).result() == 1
    assert_each_told_once(result, 30, repeats=3, seed=7)
    assert result.stopped_by == "budget"


def test_one_task_at_a_time_is_the_run_in_turn():
    alone = rahbo.maximize(noisy, SPACE, rounds=4, **SMALL)
    with ThreadPoolExecutor(1) as executor:
        result = rahbo.maximize(noisy, SPACE, rounds=4, executor=executor, **SMALL)
    assert recorded(result) == recorded(alone)
    assert result.recommendation == alone.recommendation


def test_minimising_works_alike():
    with ThreadPoolExecutor(2) as executor:
        result = rahbo.minimize(
            lambda x, seed: -noisy(x, seed), SPACE, evaluations=9, executor=executor, **QUICK
        )
    assert result.optimizer.settings.direction == "minimize"
    assert result.n_evaluations == 9


# -- when points are asked for ---------------------------------------------------------------


def test_a_slow_evaluation_holds_up_no_other():
    calls, enough = [], threading.Event()

    def objective(x):
        calls.append(x)
        if len(calls) == 1:
            assert enough.wait(30.0)
        elif len(calls) == 12:
            enough.set()
        return x

    result = rahbo.maximize(
        objective, SPACE, evaluations=15, executor=partial(ThreadPoolExecutor, 2), **QUICK
    )
    # The first suggestion was still open when the fifth was asked for.
    assert len(calls) == result.n_evaluations == 15
    assert all(len(trial.values) == 3 for trial in result.trials)


def test_as_many_tasks_as_asked_for_are_under_way():
    lock, running, most = threading.Lock(), 0, 0

    def objective(x):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return x

    with ThreadPoolExecutor(8) as executor:
        rahbo.maximize(objective, SPACE, evaluations=24, executor=executor, parallel=4, **QUICK)
    assert most == 4


# -- tasks ahead -----------------------------------------------------------------------------


@pytest.fixture
def ahead(monkeypatch):
    """Let four tasks wait in the queue, and ask for up to three evaluations at once."""
    monkeypatch.setattr("rahbo.running.pace.Pace.ahead", lambda self, workers: 4)
    monkeypatch.setattr("rahbo.running.pace.Pace.at_once", lambda self, workers: 3)
    return 4


class Counting(ThreadPoolExecutor):
    """Threads that know how many tasks they were given, and which future was cancelled first.

    With ``pause=n``, the n-th submission returns only when the first evaluation is done.
    """

    def __init__(self, workers, wanted=1, pause=None):
        super().__init__(workers)
        self.number, self.wanted, self.pause, self.first = 0, wanted, pause, None
        self.enough, self.cancelled = threading.Event(), threading.Event()

    def submit(self, *arguments):
        future = super().submit(*arguments)
        cancel = future.cancel
        future.cancel = lambda: cancel() and (self.cancelled.set() or True)
        self.number += 1
        if self.number == 2:
            # The one before checks the workers.
            self.first = future
        if self.number == self.pause:
            self.first.result(60.0)
        if self.number == self.wanted:
            self.enough.set()
        return future


def test_tasks_wait_in_the_queue_while_all_workers_are_busy(ahead):
    lock, running, most = threading.Lock(), 0, 0

    def objective(x, seed):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        # Without tasks ahead, this would wait in vain. One more submission checks the workers.
        assert executor.enough.wait(60.0)
        with lock:
            running -= 1
        return noisy(x, seed)

    with Counting(2, wanted=1 + 2 + ahead) as executor:
        result = rahbo.maximize(objective, SPACE, evaluations=20, executor=executor, **QUICK)
    assert not any(trial.failures for trial in result.trials)
    assert most <= 2


def test_a_limit_below_the_number_of_workers_holds_with_tasks_ahead(ahead):
    test_as_many_tasks_as_asked_for_are_under_way()


def test_one_task_at_a_time_knows_all_values_before_it(ahead):
    test_one_task_at_a_time_is_the_run_in_turn()


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 3, rahbo.Adaptive(setup=3.0)])
@pytest.mark.parametrize("evaluations", [1, 2, 10, 23])
def test_tasks_ahead_meet_evaluations_exactly(evaluations, repeats, ahead):
    calls = []

    def objective(x, seed):
        calls.append(seed)
        return noisy(x, seed)

    with ThreadPoolExecutor(3) as executor:
        result = rahbo.maximize(
            objective, SPACE, evaluations=evaluations, executor=executor,
            **(QUICK | {"repeats": repeats}),
        )  # fmt: skip
    assert len(calls) == len(set(calls)) == result.n_evaluations == evaluations
    assert result.optimizer.open == ()


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 2])
def test_tasks_ahead_meet_rounds_exactly(repeats, ahead):
    with ThreadPoolExecutor(3) as executor:
        result = rahbo.maximize(
            noisy, SPACE, rounds=7, confirm=4, executor=executor, **(QUICK | {"repeats": repeats})
        )
    sources = [t.source for t in result.trials]
    assert (sources.count("design"), sources.count("strategy")) == (3, 7)
    assert sum(len(t.values) for t in result.trials if t.source == "confirm") == 4
    assert sum(len(t.values) for t in result.trials) == 10 * repeats + 4
    assert result.optimizer.open == ()


def test_tasks_ahead_confirm_with_what_is_reserved(ahead):
    with ThreadPoolExecutor(3) as executor:
        result = rahbo.maximize(
            noisy, SPACE, evaluations=60, executor=executor, n_initial=4, seed=7,
            strategy=RandomSearch(),
        )  # fmt: skip
    again = [t for t in result.trials if t.source == "confirm"]
    assert sum(len(t.values) for t in again) == 6
    assert result.trials[-len(again) :] == tuple(again)
    assert result.n_evaluations == 60


def test_a_short_list_is_exhausted_by_tasks_ahead(ahead):
    test_a_list_without_revisits_may_end_early()


def test_an_interrupt_leaves_tasks_ahead_open_for_later(ahead):
    test_an_interrupted_run_reports_and_is_brought_to_its_end()


def test_tasks_ahead_do_not_time_out_in_the_queue(ahead):
    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(
            lambda x: time.sleep(0.05) or x, SPACE, evaluations=12, executor=executor,
            timeout=60.0, **QUICK,
        )  # fmt: skip
    assert sum(len(t.values) for t in result.trials) == 12


class Now(rahbo.running.Stop):
    """Enough is known as soon as the design is complete."""

    def is_met(self, optimizer):
        return True


# One value at each of three points, and no confirmation.
DESIGN = QUICK | {"repeats": 1}
DESIGN_SEEDS = tuple(evaluation_seed(7, i, 0) for i in range(3))


def assert_stopped(result, calls):
    """What was evaluated was told, and what was asked for ahead was cancelled."""
    told = [evaluation_seed(7, t.id, i) for t in result.trials for i in t.values]
    assert sorted(calls) == sorted(told)
    assert result.n_evaluations == len(told)
    assert any(t.cancelled and not t.values for t in result.trials)
    assert (result.stopped_by, result.optimizer.open) == ("stop", ())


def test_a_stop_cancels_tasks_that_no_thread_has_started(ahead):
    calls = []

    def objective(x, seed):
        calls.append(seed)
        # The design is complete once three tasks were asked for ahead, one of which never starts.
        if seed != DESIGN_SEEDS[0]:
            assert (executor.enough if seed in DESIGN_SEEDS else executor.cancelled).wait(60.0)
        return noisy(x, seed)

    # While nothing is known, more points of the design would be asked for ahead.
    with Counting(2, wanted=6, pause=4) as executor:
        result = rahbo.maximize(
            objective, SPACE, evaluations=90, stop=Now(), executor=executor, **DESIGN
        )
    assert_stopped(result, calls)


@pytest.mark.slow
def test_a_stop_loses_no_evaluation_that_a_process_has_started(ahead, tmp_path):
    objective = partial(objectives.leaves_a_file, folder=str(tmp_path))
    with processes() as executor:
        result = rahbo.maximize(
            objective, SPACE, evaluations=90, stop=Now(), executor=executor, **DESIGN
        )
    calls = [int(path.name[5:]) for path in tmp_path.glob("call-*")]
    told = [evaluation_seed(7, t.id, i) for t in result.trials for i in t.values]
    assert sorted(calls) == sorted(told)
    assert (result.stopped_by, result.optimizer.open) == ("stop", ())


@pytest.mark.slow
def test_tasks_in_the_queue_are_not_blamed_for_a_crash(ahead, tmp_path):
    seeds = tuple(evaluation_seed(7, i, 0) for i in range(6))
    objective = partial(objectives.scene, folder=str(tmp_path), seeds=seeds)
    result = rahbo.maximize(
        objective, SPACE, evaluations=6, executor=partial(processes, 2), **DESIGN
    )
    assert "lost with its worker 3 times" in result.trials[0].failures[0]
    # The last four need each other, so they would have failed alone.
    assert [dict(t.failures) for t in result.trials[1:]] == [{}] * 5


def test_dask_gets_tasks_ahead(client, ahead):
    result = rahbo.maximize(
        noisy, SPACE, evaluations=24, executor=client.get_executor(pure=False), **QUICK
    )
    assert_each_told_once(result, 24, repeats=3, seed=7)


def test_a_stop_on_dask_waits_for_tasks_ahead(client, ahead, tmp_path):
    # Dask does not show what has started, so nothing is cancelled.
    result = rahbo.maximize(
        partial(objectives.leaves_a_file, folder=str(tmp_path)), SPACE, evaluations=90,
        stop=Now(), executor=client.get_executor(pure=False), **DESIGN,
    )  # fmt: skip
    calls = sorted(int(path.name[5:]) for path in tmp_path.glob("call-*"))
    assert calls == sorted(evaluation_seed(7, t.id, i) for t in result.trials for i in t.values)
    assert (result.stopped_by, result.optimizer.open) == ("stop", ())


def test_a_cluster_with_a_timeout_gets_no_task_ahead(ahead):
    # It does not show which tasks run, so that one in the queue could time out.
    lock, running, most = threading.Lock(), 0, 0

    class Remote(Aloof):
        num_workers = 2

        def submit(self, function, *arguments):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            future = super().submit(function, *arguments)
            future.add_done_callback(done)
            return future

    def done(future):
        nonlocal running
        with lock:
            running -= 1

    for timeout, expected in ((60.0, 2), (None, 6)):
        executor, most = Remote(), 0
        with executor.threads:
            rahbo.maximize(
                objectives.slow, SPACE, evaluations=12, executor=executor, timeout=timeout, **QUICK
            )
        assert most <= expected
    assert most > 2


# -- budgets and ends ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("evaluations", [1, 2, 9, 10])
def test_evaluations_are_met_exactly(evaluations):
    calls, seen = [], []

    def objective(x):
        calls.append(x)
        return x

    with ThreadPoolExecutor(4) as executor:
        result = rahbo.maximize(
            objective, SPACE, evaluations=evaluations, executor=executor, **QUICK,
            callback=lambda optimizer: seen.append(optimizer.n_evaluations),
        )  # fmt: skip
    assert len(calls) == result.n_evaluations == evaluations
    assert result.optimizer.open == ()
    assert len(seen) == len(result.trials) == -(-evaluations // 3)
    assert seen[-1] == evaluations


def test_rounds_are_suggestions_after_the_initial_design():
    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(noisy, SPACE, rounds=4, executor=executor, **SMALL)
    assert [t.source for t in result.trials] == ["design"] * 3 + ["strategy"] * 4
    assert all(len(t.values) == 3 for t in result.trials)


def test_a_stop_waits_for_what_is_under_way_and_drops_the_rest():
    calls = []

    def objective(x, seed):
        calls.append(x)
        return noisy(x, seed)

    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(
            objective, SPACE, evaluations=300, stop=rahbo.Gap(1.0), executor=executor, **SMALL
        )
    assert result.stopped_by == "stop"
    assert result.optimizer.open == ()
    assert 9 <= len(calls) == result.n_evaluations < 300
    assert [t.source for t in result.trials].count("design") == 3
    assert all(len(t.values) == 3 for t in result.trials if t.source == "design")


def test_a_list_without_revisits_may_end_early():
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 0.5}, {"x": 1.0}], revisit=False)
    with ThreadPoolExecutor(4) as executor:
        result = rahbo.maximize(noisy, rows, rounds=50, repeats=2, seed=0, executor=executor)
    assert sorted(t.params["x"] for t in result.trials) == [0.0, 0.5, 1.0]
    assert (result.stopped_by, result.n_evaluations) == ("exhausted", 6)


def test_an_interrupted_run_reports_and_is_brought_to_its_end():
    def interrupt(optimizer):
        if optimizer.n_evaluations >= 6:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as executor:
        part = rahbo.maximize(
            noisy, SPACE, evaluations=20, executor=executor, callback=interrupt, **QUICK
        )
        assert part.stopped_by == "interrupt"
        assert 6 <= part.n_evaluations < 20
        result = rahbo.maximize(
            noisy, SPACE, evaluations=20, executor=executor, trials=part.trials, **QUICK
        )
    assert (result.stopped_by, result.n_evaluations) == ("budget", 20)
    for before, after in zip(part.trials, result.trials, strict=False):
        assert before.values.items() <= after.values.items()
    for trial in result.trials:
        for i, value in trial.values.items():
            assert value == noisy(**trial.params, seed=evaluation_seed(7, trial.id, i))


def test_what_an_earlier_run_left_open_is_evaluated_before_a_stop():
    earlier = rahbo.Optimizer(SPACE, **SMALL)
    for _ in range(3):
        earlier.tell(earlier.ask(), [0.0, 0.1, 0.2])
    earlier.ask()
    with ThreadPoolExecutor(1) as executor:
        result = rahbo.maximize(
            noisy, SPACE, evaluations=60, stop=rahbo.Gap(1e9), executor=executor, **SMALL,
            trials=earlier.trials,
        )  # fmt: skip
    assert (result.stopped_by, result.n_evaluations) == ("stop", 12)


def test_values_that_came_in_before_an_error_are_kept():
    number, release, begun = itertools.count(1), threading.Event(), threading.Barrier(3)

    def objective(x):
        i = next(number)
        if i <= 3:
            begun.wait(30.0)
        if i > 1:
            release.wait(30.0)
        return "no number" if i == 2 else float(i)

    def let_the_others_finish(optimizer):
        release.set()
        time.sleep(0.2)

    with ThreadPoolExecutor(3) as executor, pytest.raises(ObjectiveError, match="number") as caught:
        rahbo.maximize(
            objective, SPACE, evaluations=90, executor=executor, callback=let_the_others_finish,
            n_initial=3, repeats=1, seed=7,
        )  # fmt: skip
    told = [value for trial in caught.value.optimizer.trials for value in trial.values.values()]
    assert {1.0, 3.0} <= set(told)


# -- failures of the objective ---------------------------------------------------------------


@pytest.mark.slow
def test_whatever_an_objective_raises_is_recorded_and_harms_no_worker():
    with processes() as executor:
        result = rahbo.maximize(
            objectives.moody, SPACE, evaluations=30, executor=executor, **(QUICK | {"repeats": 1})
        )
        assert executor.submit(abs, -1).result() == 1
    reasons = {
        "StubbornError('code 7')": (0.0, 0.4),
        "SystemExit('no licence')": (0.4, 0.8),
        "returned nan": (0.8, 1.2),
    }
    seen = set()
    for trial in result.trials:
        for reason in trial.failures.values():
            seen.add(reason)
            lower, upper = reasons[reason]
            assert lower <= trial.params["x"] < upper
    assert seen == set(reasons)
    assert result.n_evaluations == 30


def test_failures_in_a_row_end_the_run_with_the_traceback_of_the_worker():
    def broken(x):
        raise ValueError("no beam")

    with ThreadPoolExecutor(2) as executor, pytest.raises(ObjectiveError, match="beam") as caught:
        rahbo.maximize(broken, SPACE, evaluations=100, executor=executor, **QUICK)
    assert "in broken" in str(caught.value.__cause__.__cause__)
    assert MAX_FAILURES <= caught.value.optimizer.n_evaluations < 40


def test_no_number_is_an_error_at_once():
    with processes(1) as executor, pytest.raises(ObjectiveError, match=r"one number, got \{'x'"):
        rahbo.maximize(objectives.wordy, SPACE, evaluations=9, executor=executor, **QUICK)


def test_a_value_too_large_is_a_failure():
    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(
            lambda x: 2 * LARGEST_VALUE if x < 1.0 else x, SPACE, evaluations=12, executor=executor,
            **QUICK,
        )  # fmt: skip
    assert {bool(t.failures) for t in result.trials} == {False, True}


# -- workers that die ------------------------------------------------------------------------


@pytest.mark.slow
def test_what_kills_its_worker_again_and_again_fails_and_nothing_else_does():
    with processes() as executor:
        result = rahbo.maximize(
            objectives.deadly, SPACE, evaluations=14, executor=executor, parallel=3,
            **(QUICK | {"repeats": 1}),
        )  # fmt: skip
    failed = [t for t in result.trials if t.failures]
    assert failed
    assert all(t.params["x"] > 1.5 for t in failed)
    assert all("lost with its worker 3 times" in t.failures[0] for t in failed)
    assert all(t.values for t in result.trials if t.params["x"] <= 1.5)
    assert result.n_evaluations == 14


def test_a_pool_is_made_again_with_its_initializer():
    callback, killed = kill_a_worker_at((1, 2))
    with processes(1, initializer=objectives.prepare, initargs=("bench 3",)) as executor:
        result = rahbo.maximize(
            objectives.prepared, SPACE, evaluations=9, executor=executor, callback=callback, **QUICK
        )
    assert len(set(killed)) == 2
    assert_each_told_once(result, 9, repeats=3, seed=7)


def test_a_function_makes_pools_and_all_of_them_are_shut_down():
    pools = []

    def make():
        pools.append(processes(1))
        return pools[-1]

    callback, killed = kill_a_worker_at((1,))
    result = rahbo.maximize(noisy, SPACE, evaluations=9, executor=make, callback=callback, **QUICK)
    assert len(killed) == 1
    assert len(pools) == 2
    assert_each_told_once(result, 9, repeats=3, seed=7)
    for pool in pools:
        with pytest.raises(RuntimeError, match=r"shutdown|terminated"):
            pool.submit(abs, -1)


class Aloof(Executor):
    """An executor of its own kind, which can be told to take no more tasks."""

    def __init__(self):
        self.threads = ThreadPoolExecutor(2)
        # How many submitted tasks to cancel, and the arguments of those that were.
        self.to_cancel, self.cancelled = 0, []
        self.closed = False

    def submit(self, function, *arguments):
        if self.closed:
            raise RuntimeError("the cluster is gone")
        if self.to_cancel == 0:
            return self.threads.submit(function, *arguments)
        # No thread gets to see it, so that none can be faster than the cancellation.
        self.to_cancel -= 1
        self.cancelled.append(arguments[1])
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_an_executor_that_takes_no_more_tasks_loses_no_values():
    executor = Aloof()

    def close(optimizer):
        executor.closed = True

    with executor.threads, pytest.raises(ExecutorError, match="cluster is gone") as caught:
        rahbo.maximize(
            noisy, SPACE, evaluations=30, executor=executor, parallel=2, callback=close, **QUICK
        )
    assert caught.value.optimizer.n_evaluations >= 3
    assert caught.value.optimizer.recommend().params


def run_with_cancelled(n):
    """A run in which the next ``n`` tasks after nine evaluations are cancelled, and these tasks."""
    executor = Aloof()
    with executor.threads:
        result = rahbo.maximize(
            objectives.slow, SPACE, evaluations=30, executor=executor, parallel=4,
            callback=once(lambda: setattr(executor, "to_cancel", n)), **QUICK,
        )  # fmt: skip
    return result, executor.cancelled


def test_a_task_that_someone_cancels_is_submitted_again():
    # They may all be the same task, which fails if it is cancelled once more.
    result, cancelled = run_with_cancelled(MAX_CRASHES - 1)
    assert len(cancelled) == MAX_CRASHES - 1
    assert_each_told_once(result, 30, repeats=3, seed=7)


def test_a_task_that_someone_cancels_each_time_has_failed():
    result, cancelled = run_with_cancelled(4 * MAX_CRASHES)
    times = Counter(arguments["seed"] for arguments in cancelled)
    failed = {
        evaluation_seed(7, t.id, i): why for t in result.trials for i, why in t.failures.items()
    }
    assert failed.keys() == {seed for seed, n in times.items() if n == MAX_CRASHES}
    assert all("CancelledError" in why for why in failed.values())
    assert (times.total(), result.n_evaluations) == (4 * MAX_CRASHES, 30)


# -- confirmation ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [1, 3, 8])
def test_the_leading_points_are_measured_again_several_at_a_time(parallel):
    settings = {"n_initial": 4, "seed": 7, "strategy": RandomSearch()}
    with ThreadPoolExecutor(parallel) as executor:
        result = rahbo.maximize(
            noisy, SPACE, evaluations=60, executor=executor, parallel=parallel, **settings
        )
    assert result.n_evaluations == 60
    again = [t for t in result.trials if t.source == "confirm"]
    assert sum(len(t.values) for t in again) == 6
    assert result.trials[-len(again) :] == tuple(again)
    assert result.optimizer.open == ()
    if parallel == 1:
        in_turn = rahbo.maximize(noisy, SPACE, evaluations=60, **settings)
        assert recorded(result) == recorded(in_turn)


@pytest.mark.slow
def test_rounds_and_stops_are_confirmed_in_parallel_too():
    settings = {"n_initial": 4, "seed": 7, "strategy": RandomSearch()}
    with ThreadPoolExecutor(3) as executor:
        rounds = rahbo.maximize(
            noisy, SPACE, rounds=8, confirm=7, executor=executor, parallel=3, **settings
        )
        stopped = rahbo.maximize(
            noisy, SPACE, evaluations=80, stop=rahbo.Gap(1e6), executor=executor, parallel=3,
            **settings,
        )  # fmt: skip
    assert [t.source for t in rounds.trials].count("strategy") == 8
    assert sum(len(t.values) for t in rounds.trials if t.source == "confirm") == 7
    assert rounds.optimizer.open == stopped.optimizer.open == ()
    assert stopped.stopped_by == "stop"
    assert stopped.recommendation.n_evaluations >= 5


@pytest.mark.slow
def test_a_killed_parallel_run_is_brought_to_its_end_within_its_budget(tmp_path):
    path, calls = tmp_path / "run.jsonl", []
    settings = {"n_initial": 4, "seed": 7, "strategy": RandomSearch(), "journal": path}

    def dies(x, seed):
        calls.append(seed)
        if len(calls) == 37:
            raise KeyboardInterrupt
        return noisy(x, seed)

    for objective in (dies, noisy):
        with ThreadPoolExecutor(3) as executor:
            result = rahbo.maximize(
                objective, SPACE, evaluations=40, executor=executor, parallel=3, **settings
            )
    assert result.n_evaluations == 40
    assert result.optimizer.open == ()
    assert {t.source for t in result.trials[-3:]} == {"confirm"}


# -- objectives that cannot be sent ----------------------------------------------------------


def test_what_cannot_be_pickled_is_refused_before_anything_runs():
    with processes(1) as executor, pytest.raises(SettingsError, match="pickle") as caught:
        rahbo.maximize(lambda x: x, SPACE, evaluations=9, executor=executor, **QUICK)
    assert caught.value.__cause__ is not None


def test_workers_that_cannot_start_are_an_error_and_no_endless_loop():
    with (
        ThreadPoolExecutor(1, initializer=objectives.refuse) as executor,
        pytest.raises(ExecutorError, match="as a function"),
    ):
        rahbo.maximize(noisy, SPACE, evaluations=9, executor=executor, **QUICK)
    make = partial(ThreadPoolExecutor, 1, initializer=objectives.refuse)
    with pytest.raises(SettingsError, match="died 3 times before"):
        rahbo.maximize(noisy, SPACE, evaluations=9, executor=make, **QUICK)


# -- time-outs -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_process_that_hangs_is_killed_and_the_rest_goes_on():
    began = time.monotonic()
    with processes() as executor:
        result = rahbo.maximize(
            objectives.hanging, SPACE, evaluations=10, executor=executor, parallel=3, timeout=0.5,
            **(QUICK | {"repeats": 1}),
        )  # fmt: skip
    assert time.monotonic() - began < 30.0
    failed = [t for t in result.trials if t.failures]
    assert failed
    assert all(t.params["x"] > 1.0 for t in failed)
    assert {t.failures[0] for t in failed} == {"timed out after 0.5 s"}
    assert all(t.values for t in result.trials if t.params["x"] <= 1.0)


def test_a_loky_worker_that_hangs_is_killed(loky):
    result = rahbo.maximize(
        objectives.hanging, SPACE, evaluations=3, timeout=0.5,
        executor=partial(loky.ProcessPoolExecutor, 1), **(QUICK | {"repeats": 1}),
    )  # fmt: skip
    assert [bool(t.failures) for t in result.trials] == [t.params["x"] > 1 for t in result.trials]
    assert {bool(t.failures) for t in result.trials} == {False, True}


@pytest.mark.slow
def test_a_thread_past_its_time_keeps_its_worker_until_it_returns():
    def objective(x):
        time.sleep(1.6 if x > 1.0 else 0.0)
        return x

    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(
            objective, SPACE, evaluations=9, executor=executor, timeout=0.8, **QUICK
        )
    for trial in result.trials:
        late = trial.params["x"] > 1.0
        assert sorted(trial.failures if late else trial.values) == [0, 1, 2]
        assert not late or set(trial.failures.values()) == {"timed out after 0.8 s"}


@pytest.mark.slow
def test_waiting_for_a_worker_takes_no_time_from_the_evaluation(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ThreadPoolExecutor(1) as executor:
        result = rahbo.maximize(
            lambda x: time.sleep(0.2) or x, SPACE, evaluations=9, executor=executor, parallel=9,
            timeout=1.2, **QUICK,
        )  # fmt: skip
    assert sum(len(t.values) for t in result.trials) == 9
    # Nothing is left of what shows that tasks have started.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_threads_that_never_return_end_the_run_with_what_was_measured():
    number, release = itertools.count(1), threading.Event()

    def objective(x):
        if next(number) > 4:
            release.wait(30.0)
        return x

    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(ExecutorError, match="processes") as caught:
            rahbo.maximize(
                objective, SPACE, evaluations=60, executor=executor, parallel=3, timeout=0.1,
                **QUICK,
            )  # fmt: skip
        release.set()
    optimizer = caught.value.optimizer
    assert sum(len(t.values) for t in optimizer.trials) == 4
    assert sum(len(t.failures) for t in optimizer.trials) == 2
    assert optimizer.recommend().params


def test_dask_tasks_past_their_time_fail(client):
    def objective(x):
        time.sleep(2.5 if x > 1.0 else 0.0)
        return x

    result = rahbo.maximize(
        objective, SPACE, evaluations=4, timeout=1.0, executor=client.get_executor(pure=False),
        **(QUICK | {"repeats": 1}),
    )  # fmt: skip
    for trial in result.trials:
        assert bool(trial.failures) == (trial.params["x"] > 1.0)


# -- clusters that are gone ------------------------------------------------------------------


class Cluster:
    """A Dask scheduler with workers, each a program of its own that can be killed."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.programs = []
        self.start()

    def run(self, name, *options):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", "--no-dashboard", *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.programs.append(subprocess.Popen(command, env=environment, **quiet))
        return self.programs[-1]

    def start(self):
        self.scheduler = self.run("scheduler", "--host", "127.0.0.1", "--port", str(self.port))
        self.workers = [self.run("worker", self.address, "--no-nanny", "--nthreads", "1")]

    def kill(self, *programs):
        for program in programs:
            program.kill()
            program.wait()


@pytest.fixture
def cluster():
    imported("distributed")
    cluster = Cluster()
    yield cluster
    cluster.kill(*cluster.programs)


@contextmanager
def connected(cluster):
    """A client that gives up after some seconds, with a worker that is ready."""
    client = imported("distributed").Client(cluster.address, timeout=60)
    client.wait_for_workers(1, timeout=120)
    client._timeout = 4.0
    try:
        yield client
    finally:
        # There may be nobody who answers.
        client.close(timeout=1)


def once(action):
    """A callback that does something after the third suggestion, and never again."""
    done = []

    def callback(optimizer):
        if optimizer.n_evaluations >= 9 and not done:
            done.append(optimizer.n_evaluations)
            action()

    return callback


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["killed", "frozen", "no workers", "closed"])
def test_a_cluster_that_is_gone_ends_the_run_and_a_new_one_continues_it(
    cluster, trouble, tmp_path, monkeypatch
):
    monkeypatch.setattr("rahbo.running.liveness.LONGEST_SILENCE", 4.0)
    monkeypatch.setattr("rahbo.running.liveness.LONGEST_WITHOUT_WORKERS", 4.0)
    arguments = {
        "space": SPACE, "evaluations": 30, "parallel": 2, "journal": tmp_path / "run.jsonl", **QUICK
    }  # fmt: skip
    with connected(cluster) as client:
        action = {
            "killed": lambda: cluster.kill(cluster.scheduler),
            "frozen": lambda: cluster.scheduler.send_signal(signal.SIGSTOP),
            "no workers": lambda: cluster.kill(*cluster.workers),
            "closed": client.close,
        }[trouble]
        said = {"killed": "closed|answered", "frozen": "answered", "closed": "closed|no more tasks"}
        with pytest.raises(ExecutorError, match=said.get(trouble, "no workers")) as caught:
            rahbo.maximize(
                objectives.slow, **arguments, executor=client.get_executor(pure=False),
                callback=once(action),
            )  # fmt: skip
    before = caught.value.optimizer
    assert before.n_evaluations >= 9
    assert not any(trial.failures for trial in before.trials)
    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(objectives.slow, **arguments, executor=executor)
    for old, new in zip(before.trials, result.trials, strict=False):
        assert old.values.items() <= new.values.items()
    assert_each_told_once(result, 30, repeats=3, seed=7)


@pytest.mark.slow
def test_a_scheduler_that_starts_again_gets_the_tasks_again(cluster):
    def restart():
        cluster.kill(*cluster.programs)
        cluster.start()

    with connected(cluster) as client:
        client._timeout = 120.0
        result = rahbo.maximize(
            objectives.slow, SPACE, evaluations=30, **QUICK, callback=once(restart), parallel=2,
            executor=client.get_executor(pure=False),
        )  # fmt: skip
    assert_each_told_once(result, 30, repeats=3, seed=7)


@pytest.mark.slow
def test_no_evaluation_is_blamed_for_a_scheduler_that_pauses(cluster):
    def pause():
        cluster.scheduler.send_signal(signal.SIGSTOP)
        timer = threading.Timer(8.0, cluster.scheduler.send_signal, (signal.SIGCONT,))
        timer.start()

    with connected(cluster) as client:
        result = rahbo.maximize(
            objectives.slow, SPACE, evaluations=15, **QUICK, callback=once(pause), timeout=5.0,
            executor=client.get_executor(pure=False),
        )  # fmt: skip
    assert_each_told_once(result, 15, repeats=3, seed=7)


# -- pools that do not notice ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "method"), [(objectives.tearing, "forkserver"), (objectives.parental, "spawn")]
)
def test_a_pool_that_does_not_notice_a_death_is_replaced(objective, method, monkeypatch):
    monkeypatch.setattr("rahbo.running.liveness.LONGEST_UNNOTICED", 1.0)
    managers = set(threading.enumerate())
    context = multiprocessing.get_context(method)
    result = rahbo.maximize(
        objective, SPACE, evaluations=8, **(QUICK | {"repeats": 1}),
        executor=partial(ProcessPoolExecutor, 2, mp_context=context),
    )  # fmt: skip
    assert {bool(t.failures) for t in result.trials} == {False, True}
    assert [bool(t.failures) for t in result.trials] == [t.params["x"] > 1.5 for t in result.trials]
    # Python waits for these threads at its end.
    for thread in set(threading.enumerate()) - managers:
        thread.join(60.0)
        assert not thread.is_alive()


@pytest.mark.slow
def test_workers_killed_at_any_time_hang_nothing():
    chance, kills, pools = Random(3), 0, []
    over, before = threading.Event(), set(threading.enumerate())

    def make():
        pools.append(processes(3))
        return pools[-1]

    def kill():
        nonlocal kills
        while not over.wait(chance.expovariate(10.0)):
            table = pools[-1]._processes if pools else None
            for process in list((table or {}).values())[:1]:
                kills += process.exitcode is None
                process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(3):
            # Whether it gets through is a matter of luck; that it ends is not.
            with suppress(ExecutorError, SettingsError):
                rahbo.maximize(objectives.slow, SPACE, evaluations=60, executor=make, **QUICK)
    finally:
        over.set()
        killer.join()
    assert kills
    for thread in set(threading.enumerate()) - before:
        if type(thread).__name__ == "_ExecutorManagerThread":
            thread.join(60.0)
            assert not thread.is_alive()


@pytest.mark.parametrize("cancel", [False, True])
def test_a_pool_that_is_shut_down_meanwhile_ends_the_run(cancel):
    executor = processes()
    with pytest.raises(ExecutorError, match="takes no more tasks") as caught:
        rahbo.maximize(
            objectives.slow, SPACE, evaluations=90, executor=executor, parallel=6, **QUICK,
            callback=once(partial(executor.shutdown, wait=False, cancel_futures=cancel)),
        )  # fmt: skip
    assert caught.value.optimizer.n_evaluations >= 9
    assert not any(trial.failures for trial in caught.value.optimizer.trials)


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parallel": 2}, "need an executor"),
        ({"timeout": 2.0}, "need an executor"),
        ({"executor": 4}, "ProcessPoolExecutor"),
        ({"executor": ThreadPoolExecutor, "parallel": 0}, "parallel must"),
        ({"executor": ThreadPoolExecutor, "parallel": 1.5}, "parallel must"),
        ({"executor": ThreadPoolExecutor, "timeout": 0.0}, "timeout must"),
        ({"executor": ThreadPoolExecutor, "timeout": "1 s"}, "timeout must"),
        ({"executor": list}, "must return an executor"),
        ({"executor": Aloof}, "Pass parallel="),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        rahbo.maximize(noisy, SPACE, evaluations=9, **QUICK, **options)


def test_a_dask_client_is_no_executor_but_has_one(client):
    with pytest.raises(SettingsError, match="get_executor"):
        rahbo.maximize(noisy, SPACE, evaluations=9, executor=client, **QUICK)


# -- interrupts ------------------------------------------------------------------------------

PROGRAM = """
import multiprocessing, sys, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import objectives, rahbo

def objective(x, seed):
    time.sleep(0.05)
    return objectives.noisy(x, seed)

def tell(optimizer):
    print("told", optimizer.n_evaluations, flush=True)

if __name__ == "__main__":
    multiprocessing.set_forkserver_preload(["rahbo"])
    if {twice}:
        report = rahbo.Optimizer.recommend
        def recommend(self):
            print("reporting", flush=True)
            time.sleep(30.0)
            return report(self)
        rahbo.Optimizer.recommend = recommend
    {make}
    result = rahbo.maximize(
        objective, {{"x": (0.0, 2.0)}}, evaluations=10_000, repeats=2, n_initial=3, seed=0,
        executor=executor, callback=tell,
    )
    print(result, flush=True)
    print("open", len(result.optimizer.open), flush=True)
"""

THREADS = "executor = ThreadPoolExecutor(2)"
SERVER = 'ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver"))'


def start(tmp_path, make, twice=False):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM).format(make=make, twice=twice))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, start_new_session=True,
    )  # fmt: skip
    read_until(program, "told 6")
    return program


def read_until(program, beginning):
    for line in program.stdout:
        if line.startswith(beginning):
            return
    pytest.fail(program.stderr.read())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "send"),
    [
        (THREADS, os.kill),
        # As from a keyboard: the workers get it too.
        (f"executor = {SERVER}", os.killpg),
        (f"executor = lambda: {SERVER}", os.kill),
    ],
    ids=["threads", "processes", "function"],
)
def test_an_interrupt_ends_the_run_with_a_recommendation(tmp_path, make, send):
    with start(tmp_path, make) as program:
        send(program.pid, signal.SIGINT)
        out, err = program.communicate(timeout=60.0)
    assert program.returncode == 0, err
    assert "ended by interrupt" in out
    assert "x=" in out


@pytest.mark.slow
def test_a_second_interrupt_ends_the_program(tmp_path):
    with start(tmp_path, THREADS, twice=True) as program:
        os.kill(program.pid, signal.SIGINT)
        read_until(program, "reporting")
        os.kill(program.pid, signal.SIGINT)
        _, err = program.communicate(timeout=30.0)
    assert program.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err


def test_a_run_with_as_many_workers_as_evaluations_confirms():
    def objective(x, seed):
        return x + 0.3 * Random(seed).gauss(0.0, 1.0)

    with ThreadPoolExecutor(40) as executor:
        result = rahbo.maximize(
            objective, {"x": (0.0, 1.0)}, evaluations=40, confirm=10, executor=executor, seed=0
        )
    asked = [t for t in result.optimizer.trials if t.source == "confirm"]
    assert sum(len(t.values) for t in asked) == 10


class UnprintableError(Exception):
    def __repr__(self):
        raise ValueError("no text for this")


class Unreliable(ThreadPoolExecutor):
    """Loses some of its tasks with an exception that cannot be printed."""

    def submit(self, function, *arguments, **keywords):
        future = super().submit(function, *arguments, **keywords)
        if len(arguments) < 2 or future.result().value < 1.0:
            return future
        lost = Future()
        lost.set_exception(UnprintableError())
        return lost


def test_an_exception_of_the_executor_that_cannot_be_printed_is_a_failure():
    with Unreliable(1) as pool:
        result = rahbo.maximize(lambda x: x, SPACE, evaluations=8, seed=0, executor=pool)
    reasons = {why for trial in result.trials for why in trial.failures.values()}
    assert reasons == {"<UnprintableError, whose repr() raises ValueError>"}


# -- short runs, n_jobs and callbacks ------------------------------------------------------------


@pytest.mark.slow
def test_the_objectives_own_exception_comes_from_its_worker():
    with processes(1) as pool, pytest.raises(ObjectiveError, match=r"All 3 .*no beam") as caught:
        rahbo.maximize(objectives.broken, SPACE, evaluations=3, executor=pool, **QUICK)
    cause = caught.value.__cause__
    assert type(cause) is ValueError
    assert "objectives.py" in str(cause.__cause__)


@pytest.mark.slow
def test_an_exception_that_cannot_be_sent_leaves_its_traceback():
    with processes(1) as pool, pytest.raises(ObjectiveError, match="Stubborn") as caught:
        rahbo.maximize(objectives.moody, {"x": (0.0, 0.3)}, evaluations=3, executor=pool, **QUICK)
    assert "StubbornError" in str(caught.value.__cause__)


@pytest.mark.slow
def test_time_outs_each_time_are_the_error_of_a_short_run():
    with pytest.raises(ObjectiveError, match=r"All 2 .*timed out after 0.2 s"):
        rahbo.maximize(
            objectives.asleep, SPACE, evaluations=2, executor=processes, parallel=2, timeout=0.2,
            **QUICK,
        )  # fmt: skip


@pytest.mark.slow
def test_n_jobs_is_a_pool_of_processes(monkeypatch):
    made = []

    def make(n):
        made.append(n)
        return processes(n)

    monkeypatch.setattr("rahbo.running.pool.ProcessPoolExecutor", make)
    result = rahbo.maximize(objectives.noisy, SPACE, evaluations=6, n_jobs=2, **QUICK)
    assert made == [2]
    told = {(t.params["x"], i): v for t in result.trials for i, v in t.values.items()}
    for trial in result.trials:
        for i in trial.values:
            seed = evaluation_seed(7, trial.id, i)
            assert told[trial.params["x"], i] == noisy(trial.params["x"], seed)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    rahbo.maximize(objectives.noisy, SPACE, evaluations=3, n_jobs=-1, **QUICK)
    assert made[1] == 3


def test_a_callback_ends_a_run_on_an_executor():
    started = []

    def objective(x):
        started.append(x)
        return x

    with ThreadPoolExecutor(2) as pool:
        result = rahbo.maximize(
            objective, SPACE, evaluations=200, executor=pool,
            callback=lambda opt: opt.n_evaluations >= 12, **QUICK,
        )  # fmt: skip
    assert result.stopped_by == "callback"
    assert len(started) == result.n_evaluations < 40
    assert result.optimizer.open == ()
