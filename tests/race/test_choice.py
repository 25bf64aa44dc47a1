"""Who runs next, and when a race is decided."""

import numpy as np
import pytest

from race_tallies import tally_of
from rahbo.race import Rule, lead_of, next_entrant, runner_up, state_of


def tally(means, n=20, std=1.0):
    """Two races with the same values: the means less and plus a standard deviation."""
    return tally_of(*([m - std, m + std] * (n // 2) for m in means), races=2)


def test_the_leader_is_called_when_it_beats_all_others():
    rule = Rule(0.05)
    assert state_of(tally([0.0, 5.0, 1.0]), rule).decided(rule).all()
    assert not state_of(tally([0.0, 5.0, 4.9]), rule).decided(rule).any()


def test_a_lead_that_does_not_matter_ends_a_race():
    close, small = Rule(0.05, indifferent=2.0), Rule(0.05, indifferent=0.01)
    now = tally([0.0, 0.1])
    assert state_of(now, close).decided(close).all()
    assert not state_of(now, small).decided(small).any()


def test_a_challenger_must_beat_the_incumbent_only():
    rule = Rule(0.05, incumbent=0)
    both = state_of(tally([0.0, 5.0, 4.9]), rule)
    assert both.decided(rule).all()
    assert both.better[0].tolist() == [False, True, True]
    assert state_of(tally([5.0, 0.0, 0.0]), rule).decided(rule).all()
    assert not state_of(tally([0.0, 0.1, -5.0]), rule).decided(rule).any()
    assert rule.level_of_pair(3) == pytest.approx(0.025)


def test_the_next_run_is_of_the_two_that_are_hardest_to_tell_apart():
    now = tally([0.0, 5.0, 4.9])
    state = state_of(now, Rule(0.05))
    assert set(next_entrant(now, state)) <= {1, 2}
    more = tally([0.0, 5.0, 4.9])
    more.add(np.arange(2), np.full(2, 2), np.full(2, 4.9))
    assert next_entrant(more, state_of(more, Rule(0.05))).tolist() == [1, 1]


def test_the_second_is_picked_by_one_half_and_measured_by_the_other():
    now = tally_of([10.0] * 4, [3.0, 0.0, 3.0, 0.0], [1.0, 2.0, 1.0, 2.0])
    lead, picked = lead_of(now, np.array([0]))
    # Even values pick the second entrant, whose odd ones are 0; odd values pick the third.
    assert picked[:, 0].tolist() == [1, 2]
    assert lead[0] == pytest.approx(10.0 - (0.0 + 1.0) / 2)
    assert runner_up(now, np.array([0])).tolist() == [1]
