"""The value in an output."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.cli import values
from rahbo.cli.matcher import last_match
from rahbo.cli.printed import UnreadableError, last_number
from rahbo.cli.processes import END, Processes
from rahbo.cli.values import json_reader, regex_reader
from rahbo.errors import SettingsError


@pytest.fixture
def processes():
    with Processes() as made:
        yield made


def test_a_regular_expression_gives_its_last_match(processes):
    output = "loss 3\nloss 2.5 (best 1)\nloss 0.5 (best 0.4)\ndone in 7"
    assert last_match(r"loss (\S+)", output) == ["0.5"]
    assert last_match(r"best ([\d.]+)", output) == ["0.4"]
    assert last_match(r"^done in (\d+)$", output) == ["7"]
    assert last_match(r"\d+\.\d+", output) == ["0.4"]
    assert last_match(r"loss (\d)|done", output) == [None]
    assert last_match("none", output) == []
    assert regex_reader(r"loss (\S+)", processes)(f"\x1b[1m{output}\x1b[m é\udcff") == 0.5
    assert regex_reader(r"loss (nan)|done in (?:7)", processes)("loss nan") != 0.0
    assert regex_reader(r"loss (\S+)", processes)("loss 0.15D-02") == 0.0015


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("x(.)", "nothing in the output matches"),
        ("(a)|b", "None"),
        ("(b)", "not a number"),
        ("1+", "not a number"),
        ("no" * 5000, "nothing in the output matches"),
        ("\0", "nothing in the output matches"),
        ("a (1_0)", "'1_0', which is not a number"),
        ("b (.)", "which is not a number"),
    ],
)
def test_a_regular_expression_that_gives_no_number(pattern, said, processes):
    with pytest.raises(UnreadableError, match=said) as error:
        regex_reader(pattern, processes)("a 1_0, b \u0663 " + "1" * 2000 + " a b")
    assert len(str(error.value)) < 1000


@pytest.mark.slow
def test_a_regular_expression_that_takes_for_ever_is_given_up(processes, monkeypatch):
    monkeypatch.setattr(values, "MATCH_SECONDS", 0.4)
    with pytest.raises(UnreadableError, match=r"took longer than 0.4 s to match: simplify it"):
        regex_reader("(a+)+$", processes)("a" * 60 + "b")
    monkeypatch.setattr(values, "MATCH_SECONDS", 60.0)
    assert regex_reader("(?:a+)+ (1)", processes)("aaa 1") == 1.0


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[", "(?P<x>a)(?P<x>b)", "*"])
def test_what_is_no_regular_expression(pattern):
    with pytest.raises(SettingsError, match="--value-regex"):
        regex_reader(pattern, Processes())


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
    for read in (last_number, json_reader("a.0")):
        with suppress(UnreadableError):
            assert isinstance(read(output), int | float)
    assert len(last_match(r"(\d+)", output)) <= 1


UNITS = ["1", "1.", "1e", "-", "nan", "0 ", "[", "{", "\x1b[", "1\n", "é", "1,", "\x1b[0", '"']
UNITS += ["{\n", "1_", "1d", "0x1", "1.234.", "None ", "\x1b]", "cuda:", "± ", "1-", "1:"]
UNITS += ["[]\n", '{"a":', "1e-", "\x1b[ ", "\u2212", ".", "1..", '"\\', "\n"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("end", ["", "x", "1x", ".x", "e", "\x1b["])
def test_no_output_of_the_longest_size_takes_long(unit, end):
    output = (unit * END)[: END - len(end)] + end
    started = time.process_time()
    for read in (last_number, json_reader("a")):
        with suppress(UnreadableError):
            read(output)
    # A quadratic search takes minutes.
    assert time.process_time() - started < 10.0
