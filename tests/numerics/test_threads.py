import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rahbo.numerics import one_blas_thread


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
