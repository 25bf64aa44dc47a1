"""Counts of transactions by hour: by hand, and those that are shipped."""

import numpy as np

from rahbo.problems import Timeline, timeline
from rahbo.problems.timeline import count_times


def test_counts_by_hand():
    seconds = np.array([0, 10, 3599, 3600, 7300, 7300, 7400, 7500, 7600, 7700, 18_000])
    y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1], dtype=np.uint8)
    # Eleven rows: five to learn from, then folds of 2, 1, 1, 1 and 1.
    assert count_times(seconds, y) == Timeline(
        bin_seconds=3600,
        fraud=(1, 1, 2, 0, 0, 1),
        other=(2, 0, 4, 0, 0, 0),
        folds=(7300, 7500, 7600, 7700, 18_000, 18_000),
        frauds=(3, 0, 1, 0, 0, 1),
    )


def test_shipped_counts_are_those_of_the_data_set():
    counts = timeline()
    assert len(counts.fraud) == len(counts.other) == 48
    assert sum(counts.fraud) == sum(counts.frauds) == 492
    assert sum(counts.fraud) + sum(counts.other) == 284_807
    assert counts.frauds[1:] == (91, 24, 33, 53, 22)
    assert counts.folds[-1] == 172_792
    assert list(counts.folds) == sorted(counts.folds)
