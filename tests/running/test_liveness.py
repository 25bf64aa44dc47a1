"""An executor that reports nothing: a long evaluation, or an executor that is gone?"""

import multiprocessing
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from rahbo.errors import ExecutorError
from rahbo.running import liveness as module
from rahbo.running.liveness import Liveness


class Client:
    """What is asked of a Dask client."""

    def __init__(self, status="running", workers=2):
        self.status = status
        self.workers = workers
        self.asked = 0

    def nthreads(self, callback_timeout):
        self.asked += 1
        if isinstance(self.workers, threading.Event):
            self.workers.wait(60.0)
        if isinstance(self.workers, Exception):
            raise self.workers
        return {"tcp://127.0.0.1:1": self.workers} if self.workers else {}


class Of(Executor):
    """An executor with the attributes that others have."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@pytest.fixture
def clock(monkeypatch):
    """A time that passes only when told to, a hundred times faster than the constants."""

    class Clock:
        now = 1000.0

    monkeypatch.setattr(module, "monotonic", lambda: Clock.now)
    return Clock


def check_for(liveness, clock, seconds, step=1.0):
    """Check once a second, and give the threads that ask a moment to answer."""
    end = clock.now + seconds
    while clock.now < end:
        clock.now += step
        liveness.check()
        deadline = time.monotonic() + 10.0
        while any(t.name == "rahbo-cluster" for t in threading.enumerate()):
            if time.monotonic() > deadline:
                break
            time.sleep(0.001)


def test_a_cluster_that_answers_may_be_busy_for_days(clock):
    client = Client()
    check_for(Liveness(Of(_client=client)), clock, 2_000.0, step=2.0)
    assert 900 <= client.asked <= 1_000


@pytest.mark.parametrize("status", ["closing", "closed"])
def test_a_closed_client_is_gone_at_once(status):
    with pytest.raises(ExecutorError, match=r"client is clos.*\.optimizer holds.*journal="):
        Liveness(Of(_client=Client(status))).check()


@pytest.mark.parametrize("status", ["running", "connecting"])
def test_a_scheduler_that_cannot_be_reached_is_gone_after_the_stated_time(clock, status):
    liveness = Liveness(Of(_client=Client(status, OSError("refused"))))
    check_for(liveness, clock, module.LONGEST_SILENCE)
    with pytest.raises(ExecutorError, match="has not answered for 61 s"):
        check_for(liveness, clock, 1.0)


def test_a_scheduler_that_hangs_is_gone_after_the_stated_time(clock):
    thaw = threading.Event()
    liveness = Liveness(Of(_client=Client(workers=thaw)))
    for _ in range(int(module.LONGEST_SILENCE)):
        clock.now += 1.0
        liveness.check()
    clock.now += 1.0
    with pytest.raises(ExecutorError, match="has not answered"):
        liveness.check()
    thaw.set()


def test_a_client_with_a_longer_time_out_may_reconnect_that_long(clock):
    client = Client("connecting", OSError("refused"))
    client._timeout = 200.0
    liveness = Liveness(Of(_client=client))
    check_for(liveness, clock, 200.0)
    with pytest.raises(ExecutorError, match="has not answered for 201 s"):
        check_for(liveness, clock, 1.0)


def test_a_scheduler_that_comes_back_is_forgiven(clock):
    client = Client("connecting", OSError("refused"))
    liveness = Liveness(Of(_client=client))
    check_for(liveness, clock, 50.0)
    client.status, client.workers = "running", 2
    check_for(liveness, clock, 10.0)
    client.workers = OSError("refused")
    check_for(liveness, clock, 50.0)


def test_a_cluster_without_workers_is_given_up_after_the_stated_time(clock):
    client = Client(workers=0)
    liveness = Liveness(Of(_client=client))
    check_for(liveness, clock, module.LONGEST_WITHOUT_WORKERS - 10.0)
    client.workers = 1
    check_for(liveness, clock, 10.0)
    client.workers = 0
    check_for(liveness, clock, module.LONGEST_WITHOUT_WORKERS - 10.0)
    with pytest.raises(ExecutorError, match="no workers for 60"):
        check_for(liveness, clock, 20.0)


def test_a_pause_of_this_process_is_no_silence(clock):
    client = Client(workers=OSError("refused"))
    liveness = Liveness(Of(_client=client))
    check_for(liveness, clock, 20_000.0, step=1_000.0)


def test_tasks_are_late_only_as_far_as_a_cluster_was_heard(clock):
    client = Client()
    liveness = Liveness(Of(_client=client))
    assert liveness.heard_at < clock.now
    check_for(liveness, clock, 1.0)
    liveness.check(urgent=True)
    assert liveness.heard_at == clock.now
    with ThreadPoolExecutor(1) as threads:
        assert Liveness(threads).heard_at == float("inf")


class Process:
    def __init__(self, exitcode=None):
        self.exitcode = exitcode


def test_a_dead_worker_that_its_pool_does_not_notice(clock):
    processes = {1: Process(), 2: Process(-9)}
    liveness = Liveness(Of(_processes=processes))
    check_for(liveness, clock, module.LONGEST_UNNOTICED)
    with pytest.raises(BrokenExecutor, match="did not notice"):
        check_for(liveness, clock, 1.0)
    liveness = Liveness(Of(_processes=processes))
    check_for(liveness, clock, module.LONGEST_UNNOTICED)
    del processes[2]
    check_for(liveness, clock, 100.0)


def test_a_pool_whose_managing_thread_is_gone(clock):
    manager = threading.Thread(target=int)
    executor = Of(_processes={1: Process()}, _executor_manager_thread=manager)
    check_for(Liveness(executor), clock, 100.0)
    manager.start()
    manager.join()
    with pytest.raises(BrokenExecutor):
        check_for(Liveness(executor), clock, 20.0)


@pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="needs forkserver"
)
def test_healthy_pools_may_be_silent(clock):
    context = multiprocessing.get_context("forkserver")
    with ThreadPoolExecutor(1) as threads, ProcessPoolExecutor(1, mp_context=context) as processes:
        for executor in (threads, processes, Of(), Of(_processes=None)):
            check_for(Liveness(executor), clock, 500.0)
            if executor is processes:
                executor.submit(abs, -1).result()
                check_for(Liveness(executor), clock, 500.0)
