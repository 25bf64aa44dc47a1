"""Past results in a table: read with a line that says how, or refused in a sentence."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rahbo
from rahbo.cli.results import MAX_POINTS, results_in
from rahbo.cli.sheets import read_sheet
from rahbo.cli.tables import visible
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


def results(path, value=None, ignore=(), given_=None):
    return results_in(read_sheet(path, value, ignore, given_ or {}), given_)


def test_columns_become_parameters_and_rows_repeats(table):
    found = results(table(GOOD), "value", ["note"])
    assert found.space == {
        "lr": Float(1e-3, 0.1),
        "depth": Int(3, 5),
        "criterion": Categorical(["gini", "entropy", "a, b"]),
    }
    assert found.values == {(0.1, 3, "gini"): [0.5, 0.7], (0.01, 4, "a, b"): [-0.2]}
    assert found.failures == [(1e-3, 5, "entropy"), (0.01, 4, "a, b")]
    assert found.said == (
        "Parameters: lr (0.001 to 0.1), depth (whole, 3 to 5), criterion (3 choices). "
        "Measured: value. Left out: fixed (always '1'), note (--ignore)."
    )


@pytest.mark.parametrize("name", ["x", "time"])
def test_nothing_is_asked_about_the_table_of_a_run(name, tmp_path):
    opt = rahbo.Optimizer({name: (0.0, 1.0), "kind": ["a", "b"]}, repeats=2, seed=0)
    for value in range(6):
        opt.tell(opt.ask(), [1.0 + value, 1.5 * value])
    opt.tell_failure(opt.ask(), "no beam")
    column = "x" if name == "x" else "parameter time"
    found = results(opt.to_csv(tmp_path / "run.csv"))
    assert list(found.space) == [column, "kind"]
    assert "time (written by rahbo)" in found.said


def test_a_parameter_may_be_said(table):
    given_ = {"lr": Float(1e-4, 1.0, log=True), "depth": Categorical(["3", "4", "5"])}
    found = results(table(GOOD), "value", ["note", "criterion", "fixed"], given_)
    assert found.space == given_
    assert (0.1, "3") in found.values
    assert "lr (0.0001 to 1, log scale), depth (3 choices)" in found.said


def test_what_was_left_out_may_be_made_a_parameter(table):
    rows = "".join(f"{i},{i % 3 / 2},{i * i}\n" for i in range(12))
    path = table(f"step,x,value\n{rows}")
    found = results(path)
    assert found.space == {"x": Float(0.0, 1.0)}
    assert "Left out: step (whole numbers, 0 to 11, counts the rows)." in found.said
    assert "If step is a parameter, add -p step." in found.said
    found = results(path, given_={"step": None})
    assert found.space == {"step": Int(0, 11), "x": Float(0.0, 1.0)}
    assert "Left out" not in found.said
    assert found.said.endswith("takes none away. To leave one out, add --ignore x.")


def test_columns_that_are_left_out_for_the_same_reason_are_named_together(table):
    rows = "".join(f"{i},strategy,{i % 3 / 2},0,,{i * i},\n" for i in range(12))
    found = results(table(f"trial,source,x,repeat,block,value,failure\n{rows}"))
    assert found.said == (
        "Parameters: x (0 to 1). Measured: value. "
        "Left out: trial, source, repeat, block, failure (written by rahbo)."
    )


def test_numbers_may_have_a_unit(table):
    text = "temp,value\n20 °C,1.5 ms\n25.5 °C,2 ms\n20 °C,n/a\n"
    found = results(table(text))
    assert found.space == {"temp": Float(20.0, 25.5)}
    assert found.values == {(20.0,): [1.5], (25.5,): [2.0]}
    assert "temp (20 to 25.5 °C)" in found.said
    assert results(table(text), given_={"temp": Float(0.0, 90.0)}).values == found.values
    chosen = Categorical(["20 °C", "25.5 °C"])
    assert results(table(text), given_={"temp": chosen}).space == {"temp": chosen}


def test_the_line_hints_at_a_log_scale_that_covers_the_values(table):
    found = results(table("l r,value\n0.000123,1\n0.5,2\n0.0987,3\n"))
    option = "'l r'=0.00012:0.5:log"
    assert f"'l r' (0.000123 to 0.5; for a log scale add -p {option})" in found.said
    found = results(
        table("l r,value\n0.000123,1\n0.5,2\n"), given_={"l r": Float(0.00012, 0.5, log=True)}
    )
    assert "for a log scale" not in found.said


def test_copies_of_rows_are_told(table):
    rows = "0.5,1.23456\n0.7,2.34567\n"
    assert "copies" not in results(table(f"x,value\n{rows}")).said
    assert "2 rows are copies of other rows" in results(table(f"x,value\n{rows}{rows}")).said
    # Short values may well be equal.
    assert "copies" not in results(table("x,value\n0.5,1\n0.5,1\n0.7,2\n")).said


def test_decimal_commas_are_told(table):
    found = results(table("x;value\n0,5;1,5\n0,75;2\n"))
    assert found.values == {(0.5,): [1.5], (0.75,): [2.0]}
    assert "Decimal commas were read as points." in found.said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,value\n", "no column that varies"),
        ("x,value\n1,2\n1,3\n", "no column that varies"),
        ("value\n1\n2\n", "no column that varies"),
        ("x,value\n1.5,2\n,3\n", "empty in 1 of 2 rows"),
        ("m,C,value\na,1.5,2\n\nb,,3\n", "First empty cells: C in row 4. If some rows have par"),
        ("x,value\n1.5,2\n2.5,oops\n", "'oops' in the column 'value'"),
        ("x,value\n1.5,2 s\n2.5,3 ms\n", "'2 s' in the column 'value'"),
        ("x,value\n1.5,\n2.5,nan\n", "no number in the column 'value'"),
        ("x,value\n1e999,2\n2,3\n", "column 'x': Float bounds"),
    ],
)
def test_what_is_wrong_is_said(table, text, said):
    with pytest.raises(RahboError, match=said):
        results(table(text))


def test_what_is_unclear_is_asked_with_the_options_to_add(table):
    rows = "".join(f"{i % 4 / 4},{i % 3},{0.1 + i % 5},{i}\n" for i in range(12))
    with pytest.raises(DataError, match="not clear which columns") as error:
        results(table(f"x,seed,my loss,value\n{rows}"), given_={"my loss": None})
    assert str(error.value).splitlines()[1:] == [
        "  value      measured",
        "  x          parameter  numbers, 0 to 0.75",
        "  seed       unclear    whole numbers, 0 to 2, named like a repeat or its seed:  "
        "--ignore seed  or  -p seed",
        "  'my loss'  parameter  numbers, 0.1 to 4.1",
        "If none of the unclear columns is a parameter, add: --ignore seed",
    ]
    found = results(
        table(f"x,seed,my loss,value\n{rows}"), ignore=["seed"], given_={"my loss": None}
    )
    assert list(found.space) == ["x", "my loss"]


def test_what_is_too_large_is_said(table):
    wide = ",".join(f"c{i}" for i in range(60))
    rows = "".join(",".join(str((i + j) % 3) for j in range(60)) + f",{i}\n" for i in range(4))
    with pytest.raises(DataError, match="60 parameter columns"):
        results(table(f"{wide},value\n{rows}"))
    labels = "".join(f"run-{i % 60},0.{i % 7},{i}\n" for i in range(90))
    with pytest.raises(DataError, match="60 different texts in 90 rows:  --ignore label\n"):
        results(table(f"label,x,value\n{labels}"))
    with pytest.raises(RahboError, match=r"60 different texts, .* --ignore label"):
        results(table(f"label,x,value\n{labels}"), given_={"label": None})
    many = "".join(f"{i / 7},{i}\n" for i in range(MAX_POINTS + 1))
    with pytest.raises(DataError, match="different points"):
        results(table(f"x,value\n{many}"))


@pytest.mark.parametrize(
    ("given_", "cell", "said"),
    [
        (Float(0.0, 1.0), "a", "'a' in the column 'x', which is not a number"),
        (Int(0, 3), "y", "which is not a number"),
        (Int(0, 3), "4", r"row 3, has '4' .* does not fit Int\(0, 3\) of the option -p x"),
        (Int(0, 3), "0.5", "The column has numbers, 0.5 to 1"),
        (Categorical(["1", "2"]), "3", "does not fit Categorical"),
        (None, "", "row 3, has an empty cell in the column 'x'"),
        (None, "1.0", "Leave a constant out"),
    ],
)
def test_what_is_said_must_fit_the_column(table, given_, cell, said):
    with pytest.raises(RahboError, match=said):
        results(table(f"x,value\n1,1\n{cell},2\n"), given_={"x": given_})


def check_any(path):
    said = ""
    try:
        found = results(path)
    except RahboError as error:
        said = str(error)
    else:
        assert found.space
        assert found.values
        said = found.said
        assert len(said.splitlines()) == 1
    # Nothing in a file can steer a terminal.
    assert visible(said) == said


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
    [
        "1",
        "1.0",
        "-0",
        "1e400",
        "nan",
        "inf",
        "0x1",
        "1_0",
        "",
        "=cmd()",
        "é",
        "1e-320",
        "9" * 30,
        "1 m\x1b[2J",
        "2 \u202e",
        "1\r",
        "7 s",
        "2024-01-02",
        '"3\n"',
        "a\x07",
    ]
)


@FAST
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5))
def test_cells_of_any_kind_are_refused_or_read(rows, table):
    check_any(table("x,y,value\n" + "".join(",".join(row) + "\n" for row in rows)))


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@pytest.mark.slow
@FAST
@given(name=NAMES, rows=st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=12))
def test_a_column_of_any_name_is_refused_or_read(name, rows, table):
    cell = '"' + name.replace('"', '""') + '"'
    check_any(table(f"{cell},value\n" + "".join(",".join(row) + "\n" for row in rows)))
