"""The value in an output."""

import math
import re
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rahbo.cli import values
from rahbo.cli.matcher import last_match
from rahbo.cli.processes import END, Processes
from rahbo.cli.values import UnreadableError, json_reader, last_number, regex_reader
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
        ("12,0.5", 0.5),
        ("1000,0.93", 0.93),
        ("(0.1,1e-05)", 1e-05),
        ("(1000,-3)", -3.0),
        ("(10,.5)", 0.5),
        ("95%", 95.0),
        ("+2E+3", 2000.0),
        ("\x1b[32m0.75\x1b[0m", 0.75),
        ("1 2\r\n3 \n\n", 3.0),
    ],
)
def test_the_last_number(output, value):
    assert last_number(output) == value


@pytest.mark.parametrize(
    "output",
    ["234,5", "1234,5", "1.234,56", "1'234.5", "1\u2019234", "1\u202f234", "1234,5e3", "0,9;1234,5",
     "\u22120.5", "\u20130.5", "0.5,7"],
)  # fmt: skip
def test_the_end_of_a_longer_number_is_not_the_value(output):
    with pytest.raises(UnreadableError, match="may be part of a longer one"):
        last_number(f"score {output}")


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-Infinity"])
def test_what_is_not_finite_does_not_uncover_an_earlier_number(word):
    assert not math.isfinite(last_number(f"epoch 10 loss {word}"))
    assert not math.isfinite(last_number(f"10,{word}"))


@pytest.mark.parametrize("output", ["", "no number", "v2", "infinite nanny", "1.2.3", "5s"])
def test_no_number(output):
    with pytest.raises(UnreadableError, match="no number"):
        last_number(output)


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


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("x(.)", "nothing in the output matches"),
        ("(a)|b", "None"),
        ("(b)", "not a number"),
        ("1+", "not a number"),
        ("no" * 5000, "nothing in the output matches"),
        ("\0", "nothing in the output matches"),
    ],
)
def test_a_regular_expression_that_gives_no_number(pattern, said, processes):
    with pytest.raises(UnreadableError, match=said) as error:
        regex_reader(pattern, processes)("1" * 2000 + " a b")
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


# What a number is, in plain quantifiers. It takes quadratic time.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)(?!\.?\w)"
)
COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
PART = re.compile(r"[0-9.]*[0-9][,']\Z")
BETWEEN_TWO = re.compile(r"(?<![0-9.])[0-9]*\.[0-9]+,\Z")
PIECES = ["0", "1", "12", "1234", ".", "..", "e", "E", "e-", "e+", "-", "+", ",", "x", "_", "m"]
PIECES += ["nan", "NaN", "inf", "inity", " ", "\n", "\x1b[", "'", "0.5", ","]
# Letters, digits and a minus of other scripts; the first is folded to an i.
PIECES += [
    "\N{LATIN SMALL LETTER DOTLESS I}nf",
    "é",
    "\N{MINUS SIGN}",
    "\N{ARABIC-INDIC DIGIT THREE}",
]


def plainly(output):
    text = COLOURS.sub("", output)
    found = list(NUMBER.finditer(text))
    if not found:
        return "no number"
    before = text[: found[-1].start()][-40:]
    last = found[-1][0]
    separate = (
        last[0] not in "0123456789"
        or (any(sign in last for sign in ".eE") and BETWEEN_TWO.search(before))
        or (before.endswith(",") and "." in last and not re.match("[0-9]{3}(?![0-9])", last))
    )
    is_part = before.endswith("\u2212") or (PART.search(before) and not separate)
    return "may be part" if is_part else repr(float(last))


def as_text(output):
    try:
        return repr(last_number(output))
    except UnreadableError as error:
        return next(said for said in ("no number", "may be part") if said in str(error))


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join))
@settings(max_examples=2000)
def test_the_last_number_is_the_one_of_a_plain_search(output):
    assert as_text(output) == plainly(output)


UNITS = [
    "1",
    "1.",
    "1e",
    "-",
    "nan",
    "0 ",
    "[",
    "{",
    "\x1b[",
    "1\n",
    "é",
    "1,",
    "\x1b[0",
    '"',
    "{\n",
]
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


@pytest.mark.parametrize("output", ["loss 1,234.5", "1,234,567", "acc 0,93", "\N{MINUS SIGN}0.5"])
def test_a_part_of_a_number_is_not_taken_for_it(output):
    with pytest.raises(UnreadableError, match="may be part"):
        last_number(output)
