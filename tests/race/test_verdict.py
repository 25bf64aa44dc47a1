"""The verdict of a race in numbers and in words."""

import math

import numpy as np
import pytest

from rahbo.race import Course, Rule, verdict_of


def judged(means, rule=None, evaluations=300, sign=1.0, seed=0, std=1.0):
    rng = np.random.default_rng(seed)
    course = Course(len(means), rule or Rule(0.05), evaluations, sign)
    while course.ended is None:
        ((entrant, number),) = course.wanted(1)
        course.offer(entrant, number, float(rng.normal(means[entrant], std)))
    return verdict_of(course, ["a", "b", "c"][: len(means)], sign)


def test_a_winner_and_its_lead():
    found = judged([0.0, 3.0, 1.0])
    assert (found.decision, found.best, found.second) == ("winner", "b", "c")
    low, high = found.lead_interval
    assert 0.0 <= low < found.lead < high
    assert low < 2.0 < high
    assert found.more_runs is None
    a, b, c = found.standings
    assert b.behind is None
    assert a.behind > c.behind > 0.0
    assert a.noise_std == pytest.approx(1.0, abs=0.8)
    assert str(found).startswith("Winner: b\nIt is better than c by ")
    assert sum(each.runs for each in found.standings) == found.runs


def test_minimising_turns_the_means_back():
    found = judged([3.0, 0.0], sign=-1.0)
    assert found.best == "b"
    assert found.standings[1].mean < 1.5
    assert found.lead > 0.0


def test_an_open_question_says_how_many_runs_it_needs():
    found = judged([0.0, 0.3], evaluations=60, seed=3)
    assert found.decision == "undecided"
    assert found.more_runs > 20
    assert "more runs" in str(found)
    # With so many runs and the same lead it would be decided.
    assert judged([0.0, 0.0], evaluations=20, std=1e-12).decision in ("undecided", "winner")


def test_what_does_not_matter_and_what_to_keep():
    assert judged([0.0, 0.0], Rule(0.05, 2.0)).decision == "indifferent"
    kept = judged([0.0, 3.0], Rule(0.05, 0.0, incumbent=0))
    assert (kept.decision, kept.best, kept.second, kept.incumbent) == ("keep", "b", "a", "a")
    left = judged([3.0, 0.0], Rule(0.05, 0.0, incumbent=0))
    assert (left.decision, left.best) == ("discard", "a")
    assert "no challenger is better than a" in str(left)
    assert judged([0.0, 0.0, 0.0], Rule(0.05, 2.0, incumbent=2)).decision == "discard"


def test_a_challenger_that_never_runs_is_discarded():
    course = Course(2, Rule(0.05, incumbent=0), 100)
    while course.ended is None:
        ((entrant, number),) = course.wanted(1)
        course.offer(entrant, number, "killed" if entrant else 1.0)
    found = verdict_of(course, ["a", "b"], 1.0)
    assert found.decision == "discard"
    assert found.best is None
    assert found.standings[1].last_failure == "killed"
    assert math.isnan(found.standings[1].mean)
    assert "too few runs" in str(found)
