"""How many tasks wait in the queue: as many as short evaluations need, none for long ones."""

import pytest

from rahbo.running.pace import SMALL_LOSS, Pace


def pace(turn, evaluation):
    known = Pace()
    known.evaluated(evaluation)
    known.turned(turn)
    return known


def test_nothing_is_known_before_an_evaluation_has_ended():
    known = Pace()
    known.turned(100.0)
    assert (known.ahead(8), known.at_once(8)) == (0, 1)
    known.evaluated(1.0)
    # The turn before that does not count.
    assert (known.ahead(8), known.at_once(8)) == (0, 1)


@pytest.mark.parametrize("workers", [2, 8, 64])
def test_long_evaluations_get_no_task_ahead_and_one_point_at_a_time(workers):
    known = pace(turn=0.15, evaluation=600.0)
    assert (known.ahead(workers), known.at_once(workers)) == (0, 1)
    assert pace(turn=SMALL_LOSS, evaluation=1.0).ahead(workers) == 0
    assert pace(turn=1.01 * SMALL_LOSS, evaluation=1.0).ahead(workers) > 0


@pytest.mark.parametrize(
    ("workers", "turn", "evaluation", "ahead"),
    [(8, 0.01, 0.1, 2), (64, 0.05, 1.0, 7), (8, 0.025, 0.1, 4), (8, 0.2, 0.1, 8), (8, 0.1, 0.0, 8)],
)
def test_short_evaluations_get_twice_as_many_as_end_in_a_turn(workers, turn, evaluation, ahead):
    known = pace(turn, evaluation)
    assert known.ahead(workers) == known.at_once(workers) == ahead


def test_what_has_changed_is_forgotten():
    known = pace(turn=1.0, evaluation=0.1)
    for _ in range(300):
        known.evaluated(10.0)
        known.turned(0.01)
    assert known.ahead(8) == 0
