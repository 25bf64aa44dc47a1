"""A pool: how many workers it has, how it is made again, killed and shut down."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest

import objectives
from extras import imported
from processes_left import wait_for
from rahbo.errors import ExecutorError, SettingsError
from rahbo.running import Pool

if "forkserver" not in multiprocessing.get_all_start_methods():
    pytest.skip("needs the start method forkserver", allow_module_level=True)

FORKSERVER = multiprocessing.get_context("forkserver")


class Plain(Executor):
    """An executor that says nothing of itself."""


class Counted(Plain):
    num_workers = 5


def is_open(executor):
    try:
        return executor.submit(abs, -1).result() == 1
    except RuntimeError:
        return False


@pytest.mark.parametrize(
    ("executor", "parallel", "expected"),
    [
        (ThreadPoolExecutor(3), None, (3, 3)),
        (ThreadPoolExecutor(3), 7, (3, 7)),
        (ProcessPoolExecutor(2), None, (2, 2)),
        (Counted(), None, (5, 5)),
        (Plain(), 4, (4, 4)),
    ],
)
def test_as_many_tasks_as_workers_unless_said_otherwise(executor, parallel, expected):
    pool = Pool(executor, parallel)
    assert (pool.workers, pool.parallel) == expected


@pytest.mark.parametrize(
    ("executor", "parallel", "queues"),
    [
        (ThreadPoolExecutor(3), None, True),
        (ThreadPoolExecutor(3), 3, True),
        (ThreadPoolExecutor(3), 7, True),
        (ThreadPoolExecutor(3), 2, False),
        (ProcessPoolExecutor(2), 2, True),
        # A cluster may get more workers than it has now.
        (Counted(), None, True),
        (Counted(), 5, False),
        (Plain(), 4, False),
    ],
)
def test_tasks_wait_only_where_no_more_than_wanted_run(executor, parallel, queues):
    assert Pool(executor, parallel).queues is queues


@pytest.mark.parametrize(
    ("executor", "forks"),
    [
        (ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")), True),
        (ProcessPoolExecutor(1, mp_context=FORKSERVER), False),
        (ThreadPoolExecutor(1), False),
    ],
)
def test_a_fork_has_a_copy_of_everything(executor, forks):
    assert Pool(executor).forks is forks


def test_an_unknown_number_of_workers_has_to_be_said():
    with pytest.raises(SettingsError, match="Pass parallel="):
        Pool(Plain())


def test_what_was_given_stays_open_and_what_was_made_is_shut_down():
    with ThreadPoolExecutor(1) as given:
        pool = Pool(given)
        pool.start(abs, -1)
        pool.close(idle=True)
        assert is_open(given)
    made = ThreadPoolExecutor(1)
    pool = Pool(lambda: made)
    pool.start(abs, -1)
    pool.close(idle=True)
    assert not is_open(made)


def test_nothing_is_made_before_the_start():
    def make():
        raise AssertionError("made")

    pool = Pool(make)
    pool.close(idle=True)
    with pytest.raises(AssertionError, match="made"):
        pool.start(abs, -1)


def test_a_killed_pool_is_made_again_as_it_was():
    options = {"initializer": objectives.prepare, "initargs": ("bench 3",)}
    with ProcessPoolExecutor(1, mp_context=FORKSERVER, max_tasks_per_child=50, **options) as given:
        pool = Pool(given)
        pool.start(abs, -1)
        hanging = pool.submit(time.sleep, 60.0)
        assert pool.is_local
        assert pool.kill()
        assert isinstance(hanging.exception(timeout=30.0), BrokenExecutor)
        pool.renew()
        made = pool.executor
        assert made is not given
        for name in ("max_workers", "mp_context", "max_tasks_per_child"):
            assert getattr(made, f"_{name}") == getattr(given, f"_{name}")
        # Even the pool that replaces the new one has the initializer.
        assert pool.kill()
        pool.renew()
        made = pool.executor
        assert pool.submit(objectives.prepared, 1.0, 0).result() == objectives.noisy(1.0, 0)
        pool.close(idle=True)
        assert not is_open(made)


def test_a_reusable_pool_of_loky_is_made_again():
    loky = imported("loky")
    given = loky.get_reusable_executor(max_workers=1, env={"BENCH": "3"})
    pool = Pool(given)
    assert pool.kill()
    pool.renew()
    made = pool.executor
    assert (made._max_workers, made._env) == (1, {"BENCH": "3"})
    pool.close(idle=True)


class Peculiar(ProcessPoolExecutor):
    """Nobody knows what it was made with."""

    def __init__(self, *arguments):
        super().__init__(1)


@pytest.mark.parametrize("executor", [ThreadPoolExecutor(1), Peculiar(7), Counted()])
def test_what_cannot_be_made_again_should_be_a_function(executor):
    with pytest.raises(ExecutorError, match="Pass executor= as a function"):
        Pool(executor).renew()


def test_a_function_must_make_a_new_one_each_time():
    with ThreadPoolExecutor(1) as same:
        pool = Pool(lambda: same)
        pool.start(abs, -1)
        with pytest.raises(ExecutorError, match="a new one each time"):
            pool.renew()


def test_threads_cannot_be_killed():
    with ThreadPoolExecutor(1) as given:
        assert not Pool(given).kill()
        assert is_open(given)


def test_a_start_shows_what_workers_cannot_run():
    with ThreadPoolExecutor(1) as given, pytest.raises(SettingsError, match="cannot run 'x'"):
        Pool(given).start(abs, "x")
    given.shutdown()
    with pytest.raises(SettingsError, match="shutdown"):
        Pool(given).start(abs, -1)


# -- pools that do not end by themselves -----------------------------------------------------


def managers():
    """The threads that manage pools; Python waits for them when it exits."""
    return [t for t in threading.enumerate() if type(t).__name__ == "_ExecutorManagerThread"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["processes", "loky"])
def test_a_thread_that_is_left_in_a_worker_holds_nobody_up(kind, monkeypatch):
    monkeypatch.setattr("rahbo.running.pool.EXIT_TIME", 0.5)
    make = partial(ProcessPoolExecutor, 1, mp_context=FORKSERVER)
    pool = Pool(make if kind == "processes" else partial(imported("loky").ProcessPoolExecutor, 1))
    before = len(managers())
    pool.start(abs, -1)
    pool.submit(objectives.lingering, 1.0, 0).result()
    (process,) = pool.executor._processes.values()
    began = time.monotonic()
    pool.close(idle=True)
    # The thread sleeps for 100 s.
    assert time.monotonic() - began < 50.0
    wait_for(lambda: process.exitcode is not None)
    wait_for(lambda: len(managers()) == before)


def test_a_worker_that_started_while_its_pool_broke_is_killed():
    with ProcessPoolExecutor(2, mp_context=FORKSERVER) as given:
        pool = Pool(given)
        pool.start(abs, -1)
        (first,) = given._processes.values()
        os.kill(first.pid, signal.SIGKILL)
        wait_for(lambda: pool.is_broken)
        # As if the thread that submits were a moment slower than the one that manages the pool.
        given._idle_worker_semaphore = threading.Semaphore(0)
        late = FORKSERVER.Process(target=time.sleep, args=(100.0,))
        late.start()
        given._processes[late.pid] = late
        pool.renew()
        wait_for(lambda: late.exitcode is not None)
        pool.close(idle=True)


@pytest.mark.parametrize("times", [1, 9])
def test_a_fork_server_that_is_gone_for_a_moment(times, monkeypatch):
    monkeypatch.setattr("rahbo.running.pool.LONGEST_WAIT", 0.01)
    refused = []

    class Refusing(ProcessPoolExecutor):
        def submit(self, *arguments):
            if len(refused) < times:
                refused.append(1)
                raise ConnectionRefusedError
            return super().submit(*arguments)

    pool = Pool(lambda: Refusing(1, mp_context=FORKSERVER))
    if times == 1:
        pool.start(abs, -1)
    else:
        with pytest.raises(SettingsError, match="ConnectionRefused"):
            pool.start(abs, -1)
    pool.close(idle=True)
