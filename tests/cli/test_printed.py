"""The last number that a program printed."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rahbo.cli.printed import UnreadableError, as_shown, last_number


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
        # Fortran.
        ("0.15D-02", 0.0015),
        ("1.5D+03", 1500.0),
        (" F = -2.5q-001\n", -0.25),
        # What torch, TensorFlow and NumPy print.
        ('tensor(0.5, device="cuda:0")', 0.5),
        ("tensor([-0.5], device='cuda:0', grad_fn=<MseLossBackward0>)", -0.5),
        ("<tf.Tensor: shape=(), dtype=float32, numpy=0.5>", 0.5),
        ("np.float64(0.5)", 0.5),
        ("0.5 on cuda:0", 0.5),
        # What is shown, not what is sent to the terminal.
        ("0.5\x1b]0;epoch 3\x07", 0.5),
        ("0.5\x1b]2;7\x1b\\\n", 0.5),
        ("0.5\x1b]0;3", 0.5),
        ("0.5\x1b(0\x1b7\x1b[m", 0.5),
        ("\x1b[1m0.\x1b[0m5", 0.5),
        ("epoch 3\x1b[10C0.5\x1b[K", 0.5),
        ("10%\r50%\r100%\r0.5", 0.5),
        # Words, and signs around the number.
        ("loss: 0.5 (best 0.4)", 0.4),
        ("~0.5", 0.5),
        ("99.5%", 99.5),
        ("**-0.5**", -0.5),
        ("acc@1:76.3, f1(0.25)", 0.25),
        ("3-fold: 0.5", 0.5),
        ("at 12:30:05 epoch 3/10 -> 0.5", 0.5),
        ("2026-11-19 12:30:05,123 INFO 0.5", 0.5),
        ("from 10.0.0.1: 0.5, saved to run/2024_11_19", 0.5),
        ("0.5 ***", 0.5),
        ("- 0.5", 0.5),
        ("-0", 0.0),
    ],
)
def test_the_last_number(output, value):
    assert last_number(output) == value


@pytest.mark.parametrize(
    "output",
    ["234,5", "1234,5", "1.234,56", "1'234.5", "1\u2019234", "1\u202f234", "1234,5e3", "0,9;1234,5",
     "\u22120.5", "\u20130.5", "0.5,7", "1,234.5", "1,234,567", "0,93"],
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


@pytest.mark.parametrize(
    "output",
    [
        # Exponents that are not read.
        "0.15D02", "1D3", "1.5-103", "1.5+103", "0x1p-3", "0x1.8p3", "1e", "1.5e-", "1.5×10³",
        "1.5 x 10^-3", "1.5*10**-3", "2×10⁻³",
        # Marks, digits and other texts that stand for a number.
        "1.#IND", "-1.#QNAN0", "1_0", "1_000.5", "1.234.567", "1.234,5", "0,5s", "1+2j", "(0.5-2j)",
        "\N{ARABIC-INDIC DIGIT THREE}", "\N{FULLWIDTH DIGIT ONE}.5", "∞", "None", "N/A",
        # Dates, times, fractions, ranges, errors and signs.
        "2026-11-19", "19/11/2026", "2026-11-19T12:30", "12:30:05", "12:30:05Z", "00:01<00:02",
        "3/10", "0.5-0.7", "0.5 ± 0.1", "0.5 +/- 0.1", "0.5+-0.1", "0.512(3)", "loss = - 0.5",
        "---0.5", "5%-10%", "10.0.0.1:8080",
        # Names.
        "resnet-50", "10-fold", "runs/3",
    ],
)  # fmt: skip
def test_what_may_be_something_else_is_refused_with_its_line(output):
    with pytest.raises(UnreadableError) as error:
        last_number(f"epoch 12\nloss {output}\n")
    assert f"loss {output}" in str(error.value).replace("\\\\", "\\")
    assert "--value-regex" in str(error.value)
    # On a line of its own below, a plain number is the value.
    assert last_number(f"epoch 12\nloss {output}\nvalue 0.25\n") == 0.25


def test_a_long_line_is_shortened():
    with pytest.raises(UnreadableError) as error:
        last_number("word " * 10_000 + "2026-11-19" + " word" * 10_000)
    assert "2026-11-19" in str(error.value)
    assert len(str(error.value)) < 500


def test_text_is_kept():
    assert as_shown("a [0m b\tc") == "a [0m b\tc"


# What a number is, in plain quantifiers. It takes quadratic time.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+|[dDqQ][-+][0-9]+)?"
    r"|[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)(?!\.?\w)"
)
PIECES = ["0", "1", "12", "1234", ".", "..", "e", "E", "e-", "e+", "-", "+", ",", "x", "_", "m"]
PIECES += ["nan", "NaN", "inf", "inity", " ", "\n", "'", "0.5", ",", "D", "d-", ":", "/", "(", "p"]
# Letters, digits and signs of other scripts; the first is folded to an i.
PIECES += ["\N{LATIN SMALL LETTER DOTLESS I}nf", "é", "±", "\N{MINUS SIGN}"]
PIECES += ["\N{ARABIC-INDIC DIGIT THREE}"]


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join))
@settings(max_examples=2000)
def test_what_is_read_is_the_last_number_of_a_plain_search(output):
    found = list(NUMBER.finditer(output))
    try:
        read = last_number(output)
    except UnreadableError as error:
        said = str(error)
        assert found or "no number" in said or "is not read" in said
        return
    last = found[-1]
    assert repr(read) == repr(float(last[0].lower().replace("d", "e")))
    # No digit stands after the value, except in words that begin with a letter or have a unit.
    for word in re.findall(r"[^\s,;()'/:+-]*[0-9][^\s,;()'/:+-]*", output[last.end() :]):
        assert re.search(r"[^\W\d_]", word) or ".." in word or word.count(".") > 1 or "_" in word


@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join), st.floats(-1e6, 1e6))
def test_a_number_on_a_line_of_its_own_is_always_read(output, number):
    assert last_number(f"{output}\n{number}\n") == number
