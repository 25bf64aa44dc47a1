"""Counts of transactions by hour, as they are shipped."""

from rahbo.problems import timeline


def test_shipped_counts_are_those_of_the_data_set():
    counts = timeline()
    assert len(counts.fraud) == len(counts.other) == 48
    assert sum(counts.fraud) == sum(counts.frauds) == 492
    assert sum(counts.fraud) + sum(counts.other) == 284_807
    assert counts.frauds[1:] == (91, 24, 33, 53, 22)
    assert counts.folds[-1] == 172_792
    assert list(counts.folds) == sorted(counts.folds)
