import pytest

from rahbo.errors import DataError
from rahbo.pages.lab.fields import index_in, list_in, number_in, record_in, text_in, whole_in


@pytest.mark.parametrize(
    ("written", "number"),
    [("12.5", 12.5), ("12,5", 12.5), (" -3 ", -3.0), ("−3", -3.0), (".5", 0.5), (",5", 0.5),
     ("+1e-3", 1e-3), ("7.", 7.0), (7, 7.0), (0.1, 0.1)],
)  # fmt: skip
def test_numbers_as_people_type_them(written, number):
    assert number_in(written, "The value") == number


@pytest.mark.parametrize(
    "written",
    ["", " ", "abc", "nan", "inf", "-inf", "1e400", "1e61", "1,234.5", "1.234,5", "1,2,3", "12 mJ",
     "1 000", "0x10", "1_000", "٣", "1e", "--1", None, True, [1], {}, float("nan"), float("inf"),
     "1" * 61, "\0"],
)  # fmt: skip
def test_what_is_no_number_is_refused(written):
    with pytest.raises(DataError, match="The value"):
        number_in(written, "The value")


def test_whole_numbers():
    assert whole_in("3", "The number", least=1) == 3
    for written in ("0", "2.5", "x"):
        with pytest.raises(DataError, match="The number"):
            whole_in(written, "The number", least=1)


def test_texts():
    assert text_in({"a": " b "}, "a", "A") == "b"
    assert text_in({}, "a", "A", needed=False) == ""
    for record in ({}, {"a": 1}, {"a": "x" * 101}, {"a": "\x00"}, {"a": "\u202e"}):
        with pytest.raises(DataError, match="A"):
            text_in(record, "a", "A")


@pytest.mark.parametrize("given", [None, -1, 1.0, True, "1", 2**53])
def test_indices_are_those_of_the_page(given):
    assert index_in({"i": 0}, "i") == 0
    with pytest.raises(DataError):
        index_in({"i": given}, "i")


def test_lists_and_records():
    assert list_in({}, "a") == []
    for found in ("abc", {}, [0] * 3):
        with pytest.raises(DataError):
            list_in({"a": found}, "a", most=2)
    with pytest.raises(DataError):
        record_in([], "It")
