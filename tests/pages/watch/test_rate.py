import pytest

from rahbo.pages.watch.rate import MOST_LOOKS, Seen, noted, rate_of, time_left


def seen_at(*pairs):
    found = []
    for pair in pairs:
        found = noted(found, Seen(*pair))
    return found


def test_the_rate_is_that_of_what_was_seen_to_come():
    found = seen_at((100.0, 5), (101.0, 5), (104.0, 7), (110.0, 9))
    assert found == [Seen(100.0, 5), Seen(104.0, 7), Seen(110.0, 9)]
    assert rate_of(found, now=111.0) == pytest.approx(0.4)
    assert time_left(rate_of(found, now=111.0), 9, 29) == pytest.approx(50.0)


@pytest.mark.parametrize("found", [[], [Seen(100.0, 5)], [Seen(100.0, 5), Seen(100.0, 9)]])
def test_one_look_says_nothing_of_the_rate(found):
    assert rate_of(found, now=101.0) is None
    assert time_left(None, 5, 10) is None


def test_a_run_that_stands_still_has_no_rate():
    found = seen_at((100.0, 0), (110.0, 10))
    assert rate_of(found, now=120.0) == pytest.approx(1.0)
    assert rate_of(found, now=200.0) is None


@pytest.mark.parametrize(("n", "budget"), [(5, None), (10, 10), (12, 10)])
def test_without_a_budget_and_after_it_no_time_is_left(n, budget):
    assert time_left(1.0, n, budget) is None


def test_another_run_begins_anew_and_old_looks_are_forgotten():
    assert seen_at((100.0, 9), (110.0, 12), (120.0, 3)) == [Seen(120.0, 3)]
    assert len(seen_at(*((float(i), i) for i in range(500)))) == MOST_LOOKS
