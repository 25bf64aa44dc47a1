"""No two statements about one run contradict each other. All 500 runs: bench/contradictions.py."""

from dataclasses import replace

import pytest

from contradiction_rules import RULES, contradictions, found_in
from rahbo.analysis import Gain
from run_shapes import SHAPES


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_no_two_statements_contradict_each_other(shape):
    for seed in range(4):
        assert found_in(shape, seed, with_report=seed == 0) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "seed"),
    # Each of them broke a rule before all of them held in all of 500 runs.
    [("repeats", 6), ("all_equal", 10), ("singles", 11), ("mixed", 13), ("few", 10), ("few", 21)],
)
def test_runs_that_once_contradicted_themselves(shape, seed):
    assert found_in(shape, seed, with_report=False) == []


def changed(optimizer, **fields):
    """What is found if a part of the diagnosis is another."""
    told = optimizer.diagnose()
    told = replace(told, **{
        name: replace(getattr(told, name), **values) for name, values in fields.items()
    })  # fmt: skip
    return contradictions(optimizer.recommend(), told, optimizer)


def test_contradictions_are_found(rng):
    optimizer = SHAPES["adam_and_sgd"](rng, 0)
    found, told = optimizer.recommend(), optimizer.diagnose()
    assert contradictions(found, told, optimizer) == []
    names = {rule.__name__ for rule in RULES}

    def broken(recommendation):
        rules = contradictions(recommendation, told, optimizer)
        assert rules
        assert {text.split(":")[0] for text in rules} <= names
        return rules[0].split(":")[0]

    assert broken(replace(found, gain=Gain(0.1, 0.2, 0.9), p_best=0.99)) == "p_best_and_gain"
    lucky = replace(found.luckiest, value=0.0)
    assert broken(replace(found, luckiest=lucky)) == "luck_that_is_not_the_best_value"
    assert broken(replace(found, confirm=3)) == "two_numbers_of_further_measurements"
    assert broken(replace(found, trials=(0,))).startswith("trials_that_gave")
    costly = replace(found.aversion, risk=1.0)
    assert broken(replace(found, aversion=costly)).startswith("the_noise_costs")


def test_verdicts_against_numbers_are_found(rng):
    optimizer = SHAPES["repeats"](rng, 1)
    assert changed(optimizer) == []
    said = changed(optimizer, unevenness={"answer": "no", "p_value": 0.007})
    assert any(text.startswith("not_shown_with_a_small_p_value") for text in said)
    said = changed(optimizer, unevenness={"answer": "yes", "p_value": 0.6})
    assert any(text.startswith("shown_with_a_large_p_value") for text in said)
