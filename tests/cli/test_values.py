"""The value in an output."""

import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.cli.values import END, UnreadableError, json_reader, last_number, regex_reader
from rahbo.errors import SettingsError


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("0.93", 0.93),
        ("epoch 10: loss -1.5e-3\n", -1.5e-3),
        ("acc=.5", 0.5),
        ("score: 1.", 1.0),
        ("The score is 0.9.", 0.9),
        ("0.25, took 3.2s on resnet50 with v1.2.3", 0.25),
        ("(0.1,0.7)", 0.7),
        ("95%", 95.0),
        ("+2E+3", 2000.0),
        ("\x1b[32m0.75\x1b[0m", 0.75),
        ("1 2\r\n3 \n\n", 3.0),
    ],
)
def test_the_last_number(output, value):
    assert last_number(output) == value


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-Infinity"])
def test_what_is_not_finite_does_not_uncover_an_earlier_number(word):
    assert not math.isfinite(last_number(f"epoch 10 loss {word}"))


@pytest.mark.parametrize("output", ["", "no number", "v2", "infinite nanny", "1.2.3", "5s"])
def test_no_number(output):
    with pytest.raises(UnreadableError, match="no number"):
        last_number(output)


def test_a_regular_expression_gives_its_last_match():
    output = "loss 3\nloss 2.5 (best 1)\nloss 0.5 (best 0.4)\ndone in 7"
    assert regex_reader(r"loss (\S+)")(output) == 0.5
    assert regex_reader(r"best ([\d.]+)")(output) == 0.4
    assert regex_reader(r"^done in (\d+)$")(output) == 7.0
    assert regex_reader(r"\d+\.\d+")(output) == 0.4
    assert regex_reader(r"loss (nan)|done in (?:7)")("loss nan") != 0.0


@pytest.mark.parametrize(
    ("pattern", "said"), [("x(.)", "matches"), ("(a)|b", "None"), ("(b)", "not a number")]
)
def test_a_regular_expression_that_gives_no_number(pattern, said):
    with pytest.raises(UnreadableError, match=said):
        regex_reader(pattern)("a b")


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[", "(?P<x>a)(?P<x>b)", "*"])
def test_what_is_no_regular_expression(pattern):
    with pytest.raises(SettingsError, match="--value-regex"):
        regex_reader(pattern)


@pytest.mark.parametrize(
    "output",
    [
        '{"test": {"loss": 0.5, "all": [1, 2]}}',
        '{\n "test": {\n "loss": 0.5, "all": [1, 2]}}\n',
        'log\n{"test": 1}\n{"test": {"loss": 0.5, "all": [1, 2]}}\nbye {\n3\n',
    ],
)
def test_a_key_of_json(output):
    assert json_reader("test.loss")(output) == 0.5
    assert json_reader("test.all.1")(output) == 2


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("", "is a JSON object"),
        ("[" * END, "is a JSON object"),
        ('{"a": ', "is a JSON object"),
        ('{"b": 1}', "has no key 'a'"),
        ("[1, 2]", "has no key 'a'"),
        ('{"a": "1"}', "not a number"),
        ('{"a": true}', "not a number"),
        ('{"a": null}', "not a number"),
        ('{"a": {}}', "not a number"),
    ],
)
def test_json_without_the_number(output, said):
    with pytest.raises(UnreadableError, match=said):
        json_reader("a")(output)


def test_a_key_that_no_json_can_have():
    with pytest.raises(SettingsError, match="--value-json"):
        json_reader("a..b")
    with pytest.raises(UnreadableError, match="has no"):
        json_reader("9" * 5000)("[1]")


@given(st.text())
def test_any_output_is_read_or_not(output):
    for read in (last_number, regex_reader(r"(\d+)"), json_reader("a.0")):
        with suppress(UnreadableError):
            assert isinstance(read(output), int | float)


@pytest.mark.parametrize("unit", ["1", "1.", "1e", "-", "nan", "0 ", "[", "{", "\x1b[", "1\n", "é"])
def test_no_output_of_the_longest_size_takes_long(unit):
    output = (unit * END)[:END]
    started = time.process_time()
    for read in (last_number, json_reader("a")):
        with suppress(UnreadableError):
            read(output)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("output", ["loss 1,234.5", "1,234,567", "acc 0,93", "\N{MINUS SIGN}0.5"])
def test_a_part_of_a_number_is_not_taken_for_it(output):
    with pytest.raises(UnreadableError, match="may be part"):
        last_number(output)
