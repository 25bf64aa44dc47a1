"""What a run returns."""

from dataclasses import FrozenInstanceError

import pytest

import rahbo
from rahbo.policy import RandomSearch
from rahbo.running import Result

SPACE = {"x": (0.0, 2.0)}


def test_the_result_is_frozen_and_says_what_was_spent():
    values = iter([1.0, float("nan"), *[1.0] * 7])
    result = rahbo.maximize(
        lambda x: next(values), SPACE, evaluations=9, repeats=3, n_initial=3, seed=7,
        strategy=RandomSearch(),
    )  # fmt: skip
    assert isinstance(result, Result)
    with pytest.raises(FrozenInstanceError):
        result.optimizer = None
    text = str(result)
    assert text.startswith(str(result.recommendation))
    assert text.endswith("9 evaluations at 3 points, 1 failed; seed 7")
