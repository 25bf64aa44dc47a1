"""Texts of settings."""

import math

from rahbo.analysis import short
from rahbo.analysis.wording import settings_told_apart, told_apart


def test_a_number_that_was_written_is_shown_in_full():
    assert [short(v) for v in (1550.109, 10000040.99, 0.1, 100.0, 3, "a", None, True)] == [
        "1550.109", "10000040.99", "0.1", "100", "3", "a", "None", "True",
    ]  # fmt: skip
    others = (2 / 3, 1550.1234567891234, 1e7 + 1 / 3, -1e7 - 2 / 3, 0.123456789)
    assert [short(v) for v in others] == [
        "0.666667", "1550.12", "10000000", "-10000001", "0.123457",
    ]  # fmt: skip
    assert [short(v) for v in (1e7, 1e300 / 3, 1e-300 / 3, math.inf)] == [
        "1e+07", "3.33333e+299", "3.33333e-301", "inf",
    ]  # fmt: skip


def test_different_numbers_have_different_texts():
    values = [1e7 + 40.1234567, 1e7 + 40.1934567, 1e7 + 40.1234567]
    assert told_apart(values) == ["10000040.1", "10000040.2", "10000040.1"]
    assert told_apart([0.1, 0.1 + 2e-17, 1 / 3]) == ["0.1", "0.1", "0.333333"]
    assert told_apart(["a", None, 2.0]) == ["a", "None", "2"]
    assert told_apart([]) == []


def test_each_parameter_is_told_apart_by_itself():
    settings = [{"x": 1550.1234567, "y": 1 / 3}, {"x": 1550.1238567, "y": 2 / 3}]
    assert settings_told_apart(settings) == [
        {"x": "1550.123", "y": "0.333333"}, {"x": "1550.124", "y": "0.666667"},
    ]  # fmt: skip
    assert settings_told_apart([]) == []
