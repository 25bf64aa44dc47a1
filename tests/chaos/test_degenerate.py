"""A few of the degenerate data sets; `python tests/chaos/degenerate.py` checks many more."""

import pytest

from chaos.degenerate import check, make

# Sets that once failed, and then the first ones. Each takes about a second at most.
ONCE = (3, 16, 38, 57, 94, 139, 143, 198, 236, 278, 1089, 2820, 2828)
FIRST = 16


@pytest.mark.slow
@pytest.mark.parametrize("number", sorted({*ONCE, *range(FIRST)}))
def test_a_degenerate_set_gets_a_proposal_a_recommendation_and_a_report(number):
    check(make(number))


def test_a_number_always_makes_the_same_set():
    first, again = make(7), make(7)
    assert str(first) == str(again)
    assert (first.data, first.failures, first.pending) == (
        again.data,
        again.failures,
        again.pending,
    )
