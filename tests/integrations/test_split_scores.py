"""Split scores read from a table, and their moments."""

import numpy as np
import pytest

from rahbo.errors import DataError, SettingsError
from rahbo.integrations.split_scores import (
    metric_of,
    moments,
    shrunk_variances,
    split_scores,
    usable,
)


def test_split_scores_are_in_the_order_of_the_splits() -> None:
    table = {f"split{i}_test_score": np.array([i, -i]) for i in reversed(range(12))}
    table |= {"mean_test_score": np.zeros(2), "split0_train_score": np.zeros(2)}
    assert split_scores(table, "score").tolist() == [list(range(12)), [-i for i in range(12)]]
    with pytest.raises(DataError, match="no split scores for 'recall'"):
        split_scores(table, "recall")


def test_the_metric_is_the_only_one_or_the_one_named() -> None:
    assert metric_of({"mean_test_score": 0}, refit=True) == "score"
    assert metric_of({"mean_test_score": 0}, refit="recall") == "score"
    several = {"mean_test_recall": 0, "mean_test_precision": 0}
    assert metric_of(several, refit="recall") == "recall"
    with pytest.raises(SettingsError, match="refit= must name the one to search by, got True"):
        metric_of(several, refit=True)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([1.0, 2.0], True), ([1.0, np.nan], False), ([1.0, -np.inf], False), ([1.0, 1e70], False)],
)
def test_scores_that_no_model_can_take_are_not_usable(scores, expected) -> None:
    assert usable(np.array(scores)) is expected


def test_moments_are_the_sample_mean_and_variance() -> None:
    scores = np.array([[1.0, 3.0], [2.0, 2.0]])
    mean, s2 = moments(scores)
    assert mean.tolist() == [2.0, 2.0]
    assert s2.tolist() == [2.0, 0.0]
    assert moments(scores[:, :1])[1].tolist() == [0.0, 0.0]


def test_variances_that_differ_by_chance_become_one(rng) -> None:
    # Some samples vary a little more than chance on average does; most do not.
    pooled = [np.unique(shrunk_variances(4.0 * rng.chisquare(4, 200) / 4, 4)) for _ in range(20)]
    single = [float(v[0]) for v in pooled if len(v) == 1]
    assert len(single) >= 5
    assert np.allclose(single, 4.0, rtol=0.3)


def test_variances_that_truly_differ_stay_apart(rng) -> None:
    truth = np.exp(3.0 * rng.standard_normal(200))
    s2 = truth * rng.chisquare(4, 200) / 4
    shrunk = shrunk_variances(s2, 4)
    order = np.argsort(s2)
    assert np.all(np.diff(shrunk[order]) > 0)
    assert np.corrcoef(np.log(shrunk), np.log(truth))[0, 1] > 0.9


def test_shrinking_comes_closer_to_the_truth(rng) -> None:
    truth = np.exp(0.5 * rng.standard_normal(300))
    s2 = truth * rng.chisquare(4, 300) / 4
    raw, shrunk = (np.mean(np.log(v / truth) ** 2) for v in (s2, shrunk_variances(s2, 4)))
    assert shrunk < 0.5 * raw


def test_too_little_to_shrink_by_is_left_as_it_is() -> None:
    for s2, dof in (([0.0, 0.0, 0.0], 4), ([0.0, 2.0], 4), ([1.0, 2.0], 0)):
        assert shrunk_variances(np.array(s2), dof).tolist() == s2
    assert np.all(np.isfinite(shrunk_variances(np.array([0.0, 1.0, 2.0, 50.0]), 4)))
