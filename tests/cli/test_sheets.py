"""CSV files as columns of text, and hints for wrong names."""

import pytest

from rahbo.cli import sheets
from rahbo.cli.sheets import read_sheet
from rahbo.errors import DataError, RahboError


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "past.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_marks_and_line_ends(table, delimiter):
    text = "\ufeffx,,note,y\r\n1.5,0,a,2\r\n\r\n 2.5 ,1,b,3\r\n , , ,\r\n2.5,1,b,3\r\n"
    found = read_sheet(table(text.replace(",", delimiter)), "y", ["note"])
    assert found.columns == {"x": ["1.5", "2.5", "2.5"]}
    assert found.measured == ["2", "3", "3"]
    assert found.rows == [2, 4, 6]
    assert found.ignored == ("note",)
    # An unnamed column, such as the index of a data frame, cannot be a parameter.
    assert found.n_unnamed == 1
    assert found.n_copies == 0
    assert not found.has_commas


def test_equal_rows_are_counted(table):
    assert read_sheet(table("x,value\n1,2\n1,2\n1,3\n1,2\n")).n_copies == 2


def test_decimal_commas(table):
    found = read_sheet(table("x;value\n0,5;1,5\n1;2\n"))
    assert (found.columns, found.measured) == ({"x": ["0.5", "1"]}, ["1.5", "2"])
    assert found.has_commas


def test_white_space_in_names_can_be_typed(table):
    path = table('"Temp\n[C]",P\u00a0(bar),value\n1,2,3\n')
    found = read_sheet(path, None, ["P (bar)"], ["Temp [C]"])
    assert (found.columns, found.ignored) == ({"Temp [C]": ["1"]}, ("P (bar)",))
    assert read_sheet(path, None, ["P\u00a0(bar)"]).columns == {"Temp [C]": ["1"]}
    with pytest.raises(DataError, match=r"Did you mean --ignore 'Temp \[C\]'\?"):
        read_sheet(path, None, ["Tmp [C]"])


HEADER = "lr,Depth,note,accuracy\n1,2,3,4\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "no column 'value'. Name the column that was measured with --value, such as --value "
         "accuracy. The file has 'lr', 'Depth', 'note', 'accuracy'."),
        (("acuracy",), "no measured column 'acuracy'. Did you mean --value accuracy?"),
        (("xyz",), "no measured column 'xyz'. Correct the name after --value. The file has 'lr'"),
        (("accuracy", ["nite"]), "no column 'nite' to leave out. Did you mean --ignore note?"),
        (("accuracy", ["xyz"]), "Correct the name after --ignore. The file has 'lr'"),
        (("accuracy", ["lr,note"]), "once for each column: --ignore lr --ignore note."),
        (("accuracy", ["accuracy"]), "is the measured one, so it cannot be left out"),
        (("accuracy", [], ["depth"]), "'depth' to be a parameter. Did you mean -p Depth?"),
        (("accuracy", [], ["xyz"]), "Correct the name after -p. The file has 'lr'"),
        (("accuracy", [], ["accuracy"]), "is the measured one, so it cannot be a parameter"),
        (("accuracy", ["lr"], ["lr"]), "cannot be both left out and a parameter"),
    ],
)  # fmt: skip
def test_a_wrong_name_gets_the_hint_of_its_option(table, options, said):
    with pytest.raises(DataError) as error:
        read_sheet(table(HEADER), *options)
    assert said in str(error.value)


def test_the_hint_for_the_measured_column_prefers_names_of_outcomes(table):
    with pytest.raises(DataError, match="such as --value test_loss"):
        read_sheet(table("lr,test_loss,seconds\n1,2,3\n"))
    with pytest.raises(DataError, match="such as --value brightness"):
        read_sheet(table("lr,brightness\n1,2\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column 'value'. Name .* The file has no columns"),
        ("0.1,3,0.5\n0.2,4,0.7\n", "only numbers in its first row"),
        ("lr|depth|value\n1|2|3\n", "only one column, .* Separate the columns by commas"),
        ("x,x,value\n1,1,2\n", "two columns named 'x'"),
        ("x,value\n1,2\n3\n", "row 3, must have 2 cells like the first row, got 1"),
        ('x,value\n"1,2\n', "must be a CSV"),
        ("x,value\n" + "1" * 200_000 + ",2\n", "must be a CSV"),
        (b"x,value\n\xff,2\n", "must be a CSV file in UTF-8"),
    ],
)
def test_what_is_wrong_is_said(table, text, said):
    with pytest.raises(RahboError, match=said):
        read_sheet(table(text))


def test_what_is_too_large_is_said(table, monkeypatch):
    wide = ",".join(f"c{i}" for i in range(60))
    with pytest.raises(DataError, match="'c49' and 10 more"):
        read_sheet(table(f"{wide}\n"))
    monkeypatch.setattr(sheets, "MAX_ROWS", 10)
    many = "".join(f"{i},{i}\n" for i in range(12))
    with pytest.raises(DataError, match="more than 10 rows"):
        read_sheet(table(f"x,value\n{many}"))


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_sheet(tmp_path)
