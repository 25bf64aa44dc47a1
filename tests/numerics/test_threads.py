import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from rahbo.numerics import SharedLock, one_blas_thread, shared_by_threads


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads():
    """BLAS on two threads, also where the environment allows one, so that a limit shows."""
    with threadpool_limits(limits=2, user_api="blas"):
        assert set(blas_threads()) == {2}
        yield


def test_every_thread_gets_the_limit_one_after_the_other():
    seen = []

    def work():
        with one_blas_thread():
            seen.append(set(blas_threads()))

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    work()
    assert seen == [{1}] * 3
    assert set(blas_threads()) == {2}


def test_the_limit_holds_inside_and_is_taken_back_even_after_an_error():
    before = blas_threads()
    assert before

    def fail():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()
    assert blas_threads() == before


def test_overlapping_contexts_of_several_threads_give_the_limit_back():
    before = blas_threads()
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with one_blas_thread():
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second():
        first_in.wait(10)
        with one_blas_thread():
            second_in.set()
            first_out.wait(10)
            seen.append(set(blas_threads()))

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [{1}]
    assert blas_threads() == before


def test_an_interrupt_on_the_way_in_or_out_does_not_keep_the_limit(monkeypatch):
    before = blas_threads()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    limiter = type(ThreadpoolController().limit(limits=None))
    for where, name in ((ThreadpoolController, "limit"), (limiter, "restore_original_limits")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):  # noqa: PT012
            patch.setattr(where, name, interrupted)
            with one_blas_thread():
                pass
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


# -- objects that threads share --------------------------------------------------------------------


@shared_by_threads("free")
class Counting:
    """Counts how many threads are inside at a time."""

    def __init__(self):
        self._lock = SharedLock()
        self.inside = self.most = 0

    def method(self):
        """Enter."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.001)
        self.inside -= 1
        return self.most

    @property
    def value(self):
        """Also entering."""
        return self.method()

    def free(self):
        return self._lock.here()


def test_public_methods_and_properties_are_called_by_one_thread_at_a_time():
    counting = Counting()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            pool.submit(counting.method)
            pool.submit(lambda: counting.value)
    assert counting.most == 1
    assert Counting.method.__doc__ == "Enter."
    assert Counting.value.__doc__ == "Also entering."


def test_methods_that_take_the_lock_themselves_are_left_alone():
    counting = Counting()
    with counting.free(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(counting.free).result(timeout=60) is counting.free()


FORK = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import rahbo

opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
held = threading.Event()

# Keeps whoever reads it inside of the optimizer.
class Slow(dict):
    def __getitem__(self, name):
        held.set()
        threading.Event().wait()

def hold():
    opt.tell(Slow(x=0.5), 1.0)

threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if not child:
    opt.tell({"x": 0.5}, 1.0)
    opt.recommend()
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_does_not_wait_for_a_thread_that_it_does_not_have():
    assert subprocess.run([sys.executable, "-c", FORK], timeout=120).returncode == 7
