"""Texts as numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.numerics import plain_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", 0.5),
        (" -1.\n", -1.0),
        ("+.5", 0.5),
        ("-0", -0.0),
        ("2E+3", 2000.0),
        ("0.15D-02", 0.0015),
        ("1.5d+03", 1500.0),
        ("1.5q+103", 1.5e103),
        ("1e999", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_a_number(text, number):
    assert plain_number(text) == number
    assert math.copysign(1.0, plain_number(text)) == math.copysign(1.0, number)


def test_not_a_number_is_a_number_here():
    assert math.isnan(plain_number("NaN"))


@pytest.mark.parametrize(
    "text",
    ["", " ", "1_0", "\u0661\u0662", "\uff11", "0x1p-3", "1.5-103", "1D3", "1D", "1e", "1e-", ".",
     "-", "1,5", "1,234.5", "\u22120.5", "1.#IND", "0.5s", "5 %", "1.2.3", "12:30", "2026-11-19",
     "1 2", "True", "infin", "1+2j"],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="not a plain number"):
        plain_number(text)


@given(st.floats())
def test_what_python_writes_is_read_back(number):
    for text in (repr(number), str(number), f"{number:.17e}"):
        found = plain_number(text)
        assert found == number or (math.isnan(found) and math.isnan(number))


@given(st.text(alphabet="0123456789.eEdDqQ+-_ naif", max_size=12))
def test_whatever_is_read_python_reads_the_same(text):
    try:
        found = plain_number(text)
    except ValueError:
        return
    usual = float(text.lower().replace("d", "e").replace("q", "e"))
    assert found == usual or (math.isnan(found) and math.isnan(usual))
