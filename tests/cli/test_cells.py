"""Cells of a table: numbers, units and dates."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rahbo.cli.cells import bare, is_time, quoted, typed_name, with_points
from rahbo.errors import DataError

MOMENT = datetime(2024, 3, 21, 7, 5, 9, 120_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S.%f",
        "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y",
        "%m/%d/%Y %I:%M %p", "%m/%d/%Y, %I:%M:%S %p", "%d %b %Y", "%d-%b-%Y", "%B %d, %Y",
        "%b %d %Y %H:%M", "%a, %d %b %Y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y", "%Y%m%d",
        "%Y%m%d-%H%M%S", "%Y%m%dT%H%M%S", "%H:%M:%S", "%H:%M:%S.%f",
    ],
)  # fmt: skip
def test_dates_and_times_are_seen(form):
    assert is_time(MOMENT.strftime(form))


@pytest.mark.parametrize(
    "text",
    [str(timedelta(seconds=3.5)), str(timedelta(days=2, hours=1)), "0 days 00:00:30.000493"],
)
def test_durations_are_seen(text):
    assert is_time(text)


@pytest.mark.parametrize(
    "text",
    ["", "1", "0.5", "1.5", "1e-3", "2024", "1:20", "10:20", "3-4-5-6", "1/2", "3x3", "march",
     "may", "12345678", "20241399", "relu", "1.2.3.4", "v1.2.3", "1710000000", "60/30/10",
     "64-32-16", "40/40/20", "13/13/24", "0/1/24"],
)  # fmt: skip
def test_other_texts_are_not_times(text):
    assert not is_time(text)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-2.5e3", ".5", "7."], (["1", "-2.5e3", ".5", "7."], "")),
        (["5%", "10 %"], (["5", "10"], "%")),
        (["20 °C", "-3.5°C"], (["20", "-3.5"], "°C")),
        (["1 m/s", "2 m/s"], (["1", "2"], "m/s")),
        (["10 ms", "1 s"], None),
        (["10 ms", "1"], None),
        (["3x3", "5x5"], None),
        (["1,5", "2"], None),
        (["0x1"], None),
        (["1_0"], None),
        (["0.15D-02 s", "1.5D+03 s"], (["0.15D-02", "1.5D+03"], "s")),
        (["1D3"], None),
        (["1.5-103"], None),
        (["ms"], None),
    ],
)
def test_numbers_may_share_a_unit(texts, expected):
    assert bare(texts) == expected


@pytest.mark.parametrize(
    "text", ["1" * 100_000 + "x1", "1." * 50_000, "a" * 100_000, "1e" * 50_000]
)
def test_long_cells_are_refused_without_going_back_at_each_character(text):
    # A search that tries every way to split the digits would not end within minutes.
    assert bare([text]) is None
    assert not is_time(text)
    assert with_points({"x": [text]}, ";", Path("past.csv")) == {"x": [text]}


def test_decimal_commas_become_points_where_commas_do_not_separate():
    columns = {"x": ["0,5", "1,25", "3"], "kind": ["a,b", "c", "d"], "y": ["1", "nan", ""]}
    expected = {**columns, "x": ["0.5", "1.25", "3"]}
    for delimiter in ";\t":
        assert with_points(columns, delimiter, Path("past.csv")) == expected
    assert with_points(columns, ",", Path("past.csv")) == columns


def test_decimal_commas_may_have_a_unit():
    path = Path("past.csv")
    assert with_points({"T": ["20,5 °C", "21 °C", ""]}, ";", path) == {
        "T": ["20.5 °C", "21 °C", ""]
    }
    # A full stop in a unit is no decimal point.
    assert with_points({"t": ["1,5 min.", "2 min."]}, ";", path) == {"t": ["1.5 min.", "2 min."]}
    mixed = {"t": ["1,5 min", "2 h"], "x": ["0.5", "1"]}
    assert with_points(mixed, ";", path) == mixed


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"x": ["1,234", "2"]}, "could be 1.234 or 1234"),
        ({"x": ["0,5"], "y": ["0.5"]}, "'0,5' in the column 'x' and '0.5' in the column 'y'"),
        ({"x": ["1,234", "0.5"]}, "without marks for thousands"),
    ],
)
def test_commas_that_may_mean_two_things_are_refused(columns, said):
    with pytest.raises(DataError, match=said):
        with_points(columns, ";", Path("past.csv"))


def test_short_and_long_parts_behind_commas_are_decimals():
    found = with_points({"x": ["1,234", "0,250"]}, ";", Path("past.csv"))
    assert found == {"x": ["1.234", "0.250"]}


def test_names_are_quoted_where_a_shell_needs_it():
    names = ("lr", "max.depth-2", "x y", "µ (°)", "a\nb", "", "a\\b", "it's")
    assert [quoted(name) for name in names] == [
        "lr", "max.depth-2", "'x y'", "'µ (°)'", "'a\\nb'", "''", "'a\\b'", """'it'"'"'s'""",
    ]  # fmt: skip


def test_names_are_in_one_line():
    assert typed_name(" P\u00a0(bar)\r\nat  start ") == "P (bar) at start"
