"""How many trials and evaluations there are."""

import numpy as np

from rahbo.trials import Counts, Evaluation, Trial


def trial(number, source, **told):
    return Trial(number, {"x": 0.5}, np.array([0.5]), 3, source).with_more(
        list(map(Evaluation, told.values()))
    )


def test_counts_follow_a_change_without_a_look_at_other_trials():
    trials = [trial(0, "strategy", a=1.0), trial(1, "user", a=2.0, b=3.0)]
    counts = Counts.of(trials)
    opened = Trial(2, {"x": 0.25}, np.array([0.25]), 3, "design")
    half = opened.with_told({1: Evaluation(3.0)}).with_failures([0], "no beam")
    after = counts.after(None, opened).after(opened, half)
    assert after == Counts.of([*trials, half])
    assert after.trials == {"strategy": 1, "user": 1, "design": 1}
    assert (after.made(), after.made("design", "confirm")) == (5, 2)
