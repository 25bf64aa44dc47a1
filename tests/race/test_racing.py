"""Races between functions, and verdicts on values measured already."""

from random import Random

import numpy as np
import pytest

from rahbo.errors import DataError, ObjectiveError, SettingsError
from rahbo.race import judge, race


def test_functions_race_and_a_race_repeats():
    def shifted(by):
        return lambda seed: by + Random(f"{seed} {by}").gauss(0, 1)

    entrants = {"low": shifted(0), "high": shifted(3)}
    first = race(entrants, direction="minimize", seed=4)
    assert first.best == "low"
    assert race(entrants, direction="minimize", seed=4) == first
    assert race(entrants, direction="maximize", seed=4).best == "high"


def test_functions_that_take_a_seed_are_compared_seed_by_seed():
    def shared(by):
        return lambda seed: by + 5 * Random(seed).gauss(0, 1) + Random(f"{seed}{by}").gauss(0, 0.2)

    entrants = {"a": shared(0.0), "b": shared(0.5)}
    found = race(entrants, direction="maximize", evaluations=100)
    assert (found.decision, found.best) == ("winner", "b")
    assert found.runs < 60


def test_failures_are_said():
    def breaks():
        raise RuntimeError("beam trip")

    with pytest.raises(ObjectiveError, match="beam trip"):
        race({"a": breaks, "b": lambda: 1.0}, direction="maximize")
    with pytest.raises(ObjectiveError, match="returned 'no number'"):
        race({"a": lambda: "no number", "b": lambda: 1.0}, direction="maximize")


def test_measured_values_are_judged():
    found = judge(
        {"a": [1.0, None, *[0.9, 1.1] * 6], "b": [9, 8] * 6, "c": [None] * 4},
        direction="maximize",
    )
    assert (found.decision, found.best) == ("winner", "b")
    assert found.standings[0].failures == 1
    assert found.standings[2].behind is None
    shifted = judge({"a": list(range(20)), "b": [i + 0.5 + 0.01 * (i % 2) for i in range(20)]},
                    direction="maximize", matched=True)  # fmt: skip
    assert (shifted.decision, shifted.best) == ("winner", "b")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"direction": "up"}, "direction must be"),
        ({"probability": 1.0}, "probability must be"),
        ({"indifferent": -1.0}, "indifferent must be"),
        ({"incumbent": "z"}, "incumbent must be one of"),
        ({"evaluations": 9}, "at least 10"),
    ],
)
def test_wrong_settings_are_refused(options, said):
    entrants = {"a": lambda: 1.0, "b": lambda: 2.0}
    with pytest.raises(SettingsError, match=said):
        race(entrants, **{"direction": "maximize", **options})


def test_wrong_values_and_too_few_entrants_are_refused():
    with pytest.raises(SettingsError, match="two or more"):
        race({"a": lambda: 1.0}, direction="maximize")
    with pytest.raises(DataError, match="finite"):
        judge({"a": [1.0, float("inf")], "b": [1.0]}, direction="maximize")


def test_an_entrant_with_too_few_values_is_neither_beaten_nor_left_out_in_silence():
    main, better = [1.0, 1.1] * 10, [5.0, 5.1] * 10
    short = judge({"main": main, "new": [9.0] * 4}, direction="maximize", incumbent="main")
    assert short.decision == "undecided"
    assert "fewer than 5 values" in str(short)
    found = judge({"main": better, "bad": main, "new": [9.0] * 4}, direction="maximize")
    assert (found.decision, found.best, found.more_runs) == ("undecided", "main", None)
    assert found.standings[2].not_compared == "fewer than 5 values"
    assert "Not compared: new (fewer than 5 values)." in str(found).split("\n\n")[0]
    challenged = {"main": main, "bad": [0.0, 0.1] * 10, "new": [9.0]}
    assert judge(challenged, direction="maximize", incumbent="main").decision == "undecided"
    challenged["bad"] = better
    assert judge(challenged, direction="maximize", incumbent="main").decision == "keep"
    fails = {"main": main, "bad": [0.0, 0.1] * 10, "new": [None] * 3}
    assert judge(fails, direction="maximize", incumbent="main").decision == "discard"


def test_a_challenger_that_fails_after_it_gave_values_is_not_discarded():
    calls = iter([5.0, 5.1])

    def breaks():
        return next(calls, "disk full")

    found = race({"a": lambda: 1.0, "b": breaks}, direction="maximize", incumbent="a")
    assert (found.decision, found.standings[1].runs) == ("undecided", 2)
    calls = iter([5.0, 5.1])
    with pytest.raises(ObjectiveError, match=r"'b' failed 3 times, after 2 values: .*disk full"):
        race({"a": lambda: 1.0, "b": breaks}, direction="maximize")


def test_values_have_the_limit_of_measurements_and_a_missing_one_may_be_of_numpy():
    for large in (1e200, -(10**70), np.float64(1e61)):
        with pytest.raises(DataError, match="up to 1e"):
            judge({"a": [large, 1.0] * 9, "b": [1.0] * 9}, direction="maximize")
    found = judge({"a": [np.float32("nan"), 1.0], "b": [np.float64("nan")]}, direction="maximize")
    assert [each.failures for each in found.standings] == [1, 1]
    found = judge({"a": [1e60, 9e59] * 9, "b": [-1e60, -9e59] * 9}, direction="maximize")
    assert (found.decision, found.best) == ("winner", "a")
    low, high = found.lead_interval
    assert low < found.lead < high < np.inf
