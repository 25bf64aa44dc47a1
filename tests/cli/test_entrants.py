"""Entrants of a race in a table of values."""

import pytest

from rahbo.cli.entrants import commands_in, measured_in, number_of
from rahbo.errors import DataError


@pytest.fixture
def read(tmp_path):
    def written(text):
        path = tmp_path / "values.csv"
        path.write_text(text)
        return measured_in(path)

    return written


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("Seed,a,b\n91,1,2\n17,3,4\n", ("Seed",)),
        ("a,fold,b\n1,first,2\n3,second,4\n", ("fold",)),
        (",a,b\n0,1,2\n1,3,4\n", ("",)),
        ("row,a,b\n1,1,2\n2,3,4\n", ("row",)),
        ("a,b\n1,2\n3,4\n", ()),
        ("a,b\n1,2\n3.0,4\n", ()),
    ],
)
def test_a_column_that_counts_the_rows_is_no_entrant(read, text, left_out):
    found = read(text)
    assert found.values == {"a": [1, 3], "b": [2, 4]}
    assert found.matched
    assert found.left_out == left_out


def test_a_table_of_names_and_values_has_names_only(read):
    found = read("who,loss\na,1\nb,2\na,3\n")
    assert found.values == {"a": [1, 3], "b": [2]}
    assert not found.matched
    with pytest.raises(DataError, match="'oops', which is not a number"):
        read("a,b\n1.5,2\noops,3\n4,5\n")
    with pytest.raises(DataError, match="a row without a name"):
        read("who,loss\na,1\n,2\nb,3\n")
    with pytest.raises(DataError, match="different name for each column"):
        read("a,\n5,2\n7,3\n")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("old,new\n0,91,0,52\n0,92,0,53\n", 2),
        ("name,value\nold,1\nnew,1,90\n", 3),
        ("fold,a,b\n1,2,3\n2,3,4,5\n", 3),
    ],
)
def test_a_row_with_more_cells_than_names_is_refused(read, text, row):
    with pytest.raises(DataError, match=f"row {row}, must have at most .* decimal point"):
        read(text)


def test_empty_cells_at_the_end_of_rows_do_no_harm(read):
    assert read("a,b\n1,2,\n3,4,,\n").values == {"a": [1, 3], "b": [2, 4]}


def test_runs_may_have_names(read):
    for first, last in (("first", "last"), ("1234567", "8f3a2c1"), ("2", "2b")):
        assert read(f"id,a,b\n{first},1,2\n{last},3,4\n").values == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize(
    "text",
    [
        "fold,a,b\n1,1,2\n2,3,4\nmean,2,3\nstd,1,1\n",
        "run,a,b\nfold1,1,2\nfold2,3,4\nmean,2,3\n",
        ",a,b\n0,1,2\n1,3,4\nMean,2,3\n",
        "x,a,b\n0,1,2\n1,3,4\nmean,2,3\n",
    ],
)
def test_a_row_that_sums_up_others_is_seen_below_names_and_counts(read, text):
    with pytest.raises(DataError, match=r"(?i)'mean' among the runs"):
        read(text)


def test_names_have_no_line_breaks(read):
    names = list(read('"a\n(old)",b\n1,2\n3,4\n').values)
    assert names == ["a (old)", "b"]
    assert number_of("a\n(old)", names) == 0
    assert number_of("run  2", ["run 2", "run  2"]) == 1


def test_a_mark_at_the_start_of_a_file_of_commands_is_no_command(tmp_path):
    path = tmp_path / "commands.txt"
    path.write_bytes(b"\xef\xbb\xbf# mine\necho 1\n")
    assert commands_in(path, ()) == ["echo 1"]
