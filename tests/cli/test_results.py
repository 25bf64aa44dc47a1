"""CSV files of past results: read, or refused in a sentence."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rahbo.cli import results
from rahbo.cli.results import read_results
from rahbo.errors import DataError, RahboError
from rahbo.space import Categorical, Float, Int

GOOD = """lr,depth,criterion,note,fixed,value
0.1,3,gini,a,1,0.5
0.1,3,gini,b,1,0.7
1e-3,5,entropy,c,1.0,
0.01,4,"a, b",d,1,-2e-1
0.01,4,"a, b",e,1,nan
"""


@pytest.fixture
def table(tmp_path):
    def write(text, **keywords):
        path = tmp_path / "past.csv"
        path.write_bytes(text.encode(**keywords) if isinstance(text, str) else text)
        return path

    return write


def test_columns_become_parameters_and_rows_repeats(table):
    found = read_results(table(GOOD), "value", ["note"])
    assert found.space == {
        "lr": Float(1e-3, 0.1),
        "depth": Int(3, 5),
        "criterion": Categorical(["gini", "entropy", "a, b"]),
    }
    assert found.values == {(0.1, 3, "gini"): [0.5, 0.7], (0.01, 4, "a, b"): [-0.2]}
    assert found.failures == [(1e-3, 5, "entropy"), (0.01, 4, "a, b")]
    assert found.constant == ["fixed"]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_marks_and_line_ends(table, delimiter):
    text = "\ufeffx,,y\r\n1.5,0,2\r\n\r\n2.5,1,3\r\n".replace(",", delimiter)
    found = read_results(table(text), "y")
    # An unnamed column, such as a pandas index, is not a parameter.
    assert found.space == {"x": Float(1.5, 2.5)}
    assert found.values == {(1.5,): [2.0], (2.5,): [3.0]}


def test_a_parameter_may_be_said(table):
    given_ = {"lr": Float(1e-4, 1.0, log=True), "depth": Categorical(["3", "4", "5"])}
    found = read_results(table(GOOD), "value", ["note", "criterion", "fixed"], given_)
    assert found.space == given_
    assert (0.1, "3") in found.values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column 'value'. It has none"),
        ("x,y\n1,2\n", "no column 'value'. It has 'x', 'y'"),
        ("x,x,value\n1,1,2\n", "two columns named 'x'"),
        ("x,value\n", "no column that varies"),
        ("x,value\n1,2\n1,3\n", "no column that varies"),
        ("value\n1\n2\n", "no column that varies"),
        ("x,value\n1,2\n3\n", "row 3, must have 2 cells like the first row, got 1"),
        ("x,value\n1,2\n,3\n", "row 3, has an empty cell in the column 'x'"),
        ("x,value\n1,2\n2,oops\n", "'oops' in the column 'value'"),
        ("x,value\n1,\n2,nan\n", "no number in the column 'value'"),
        ('x,value\n"1,2\n', "must be a CSV"),
        ("x,value\n" + "1" * 200_000 + ",2\n", "must be a CSV"),
        ("x,value\n1e999,2\n2,3\n", "column 'x': Float bounds"),
        (b"x,value\n\xff,2\n", "must be a CSV file in UTF-8"),
    ],
)
def test_what_is_wrong_is_said(table, text, said):
    with pytest.raises(RahboError, match=said):
        read_results(table(text), "value")


def test_what_is_too_large_is_said(table, monkeypatch):
    wide = ",".join(f"c{i}" for i in range(60))
    with pytest.raises(DataError, match="60 parameter columns"):
        read_results(table(f"{wide},value\n"), "value")
    labels = "".join(f"run-{i},{i}\n" for i in range(60))
    with pytest.raises(DataError, match=r"60 different texts .* --ignore 'label'"):
        read_results(table(f"label,value\n{labels}"), "value")
    many = "".join(f"{i},{i}\n" for i in range(results.MAX_POINTS + 1))
    with pytest.raises(DataError, match="different points"):
        read_results(table(f"x,value\n{many}"), "value")
    monkeypatch.setattr(results, "MAX_ROWS", 10)
    with pytest.raises(DataError, match="more than 10 rows"):
        read_results(table(f"x,value\n{many}"), "value")


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_results(tmp_path, "value")


@pytest.mark.parametrize(("given_", "cell"), [(Float(0.0, 1.0), "a"), (Int(0, 3), "x")])
def test_a_said_number_must_be_one(table, given_, cell):
    with pytest.raises(DataError, match="which is not a number"):
        read_results(table(f"x,value\n{cell},1\n1,2\n"), "value", given={"x": given_})


def check_any(path):
    with suppress(RahboError):
        found = read_results(path, "value")
        assert found.space
        assert found.values


FAST = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FAST
@given(raw=st.binary(max_size=100))
def test_garbage_is_refused_or_read(raw, table):
    check_any(table(b"x,value\n" + raw))
    check_any(table(raw))


@FAST
@given(st.data())
def test_a_damaged_file_is_refused_or_read(table, data):
    raw = GOOD.encode()
    at = data.draw(st.integers(0, len(raw)))
    cut = data.draw(st.integers(at, len(raw)))
    put = data.draw(st.binary(max_size=5))
    check_any(table(raw[:at] + put + raw[cut:]))


CELLS = st.sampled_from(
    ["1", "1.0", "-0", "1e400", "nan", "inf", "0x1", "1_0", "", "=cmd()", "é", "1e-320", "9" * 30]
)


@FAST
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5))
def test_cells_of_any_kind_are_refused_or_read(rows, table):
    check_any(table("x,y,value\n" + "".join(",".join(row) + "\n" for row in rows)))
