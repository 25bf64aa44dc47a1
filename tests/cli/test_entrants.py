"""Entrants of a race in a table of values."""

import pytest

from rahbo.cli.entrants import measured_in
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
