import pytest
from threadpoolctl import threadpool_info

from rahbo.threads import one_blas_thread


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


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
