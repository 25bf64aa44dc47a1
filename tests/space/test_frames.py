"""Data frames as rows, of pandas, of polars and of anything that looks like one."""

import math

import numpy as np
import pytest

import frames
import rahbo
from extras import imported, needs
from rahbo import Candidates, Categorical, Context, Float, Int
from rahbo.errors import DataError, SpaceError
from rahbo.space import Space, columns_in, is_frame, is_missing, listed_cells, rows_in

SPACE = Space.of(
    {
        "x": (0.0, 9.0),
        "depth": Int(1, 8),
        "size": Categorical([16, 32]),
        "line": Context(["a", "b"]),
    }
)
ROW = {"x": 1.5, "depth": 3, "size": 32, "line": "a"}


@pytest.fixture(params=frames.LIBRARIES)
def frame(request):
    return frames.of(request.param)


def test_rows_are_plain_values(frame):
    found = frame({"a": [1, 2], "b": [0.5, 1.5], "c": ["u", "v"], "d": [True, False]})
    rows = rows_in(found)
    assert rows == [
        {"a": 1, "b": 0.5, "c": "u", "d": True},
        {"a": 2, "b": 1.5, "c": "v", "d": False},
    ]
    assert [type(cell) for cell in rows[0].values()] == [int, float, str, bool]
    assert rows_in(found, ["c"]) == [{"c": "u"}, {"c": "v"}]


def test_what_is_not_a_frame(rng):
    others = [{"columns": [1]}, [1], "columns", None, rng.random((2, 2)), SPACE, Float(0, 1)]
    assert not any(map(is_frame, others))


def test_missing_cells_are_none(frame):
    assert rows_in(frame({"a": [1.0, None], "b": ["u", None]}))[1] == {"a": None, "b": None}
    assert rows_in(frame({"a": [math.nan, 1.0]}))[0] == {"a": None}


def test_a_missing_column_is_named(frame):
    with pytest.raises(DataError, match=r"\['y'\] are missing.*reset_index"):
        rows_in(frame({"x": [1.0]}), ["x", "y"])


def test_ints_and_choices_are_those_of_the_space_and_other_columns_are_ignored(frame):
    whole = {"x": [1.5, 2.0], "depth": [3.0, 4.0], "size": [32.0, 16.0], "line": ["a", "a"]}
    first, second = SPACE.rows_in(frame({**whole, "note": ["good", "bad"]}))
    assert first == ROW
    assert [type(cell) for cell in first.values()] == [float, int, int, str]
    assert second["x"] == 2.0
    assert SPACE.conditions_in(frame(whole)) == [{"line": "a"}] * 2
    odd = SPACE.rows_in(frame({**whole, "depth": [3.5, math.nan], "size": [7, 7]}))
    assert [row["depth"] for row in odd] == [3.5, None]
    for row, said in zip(odd, ("whole number", "must be a number"), strict=True):
        with pytest.raises(SpaceError, match=said):
            SPACE.encode({**row, "size": 16})


def test_candidates_are_the_rows_of_a_frame(frame):
    found = Candidates(frame({"t": [40.0, 60.0], "kind": ["A", "B"], "n": [1, 2]}))
    assert list(found.rows) == [{"t": 40.0, "kind": "A", "n": 1}, {"t": 60.0, "kind": "B", "n": 2}]
    assert found == Candidates(found.rows)
    with pytest.raises(SpaceError, match="row 1 of the column 'kind'"):
        Candidates(frame({"t": [40.0, 60.0], "kind": ["A", None]}))
    with pytest.raises(SpaceError, match="at least one row"):
        Candidates(frame({"t": []}))


@needs("pandas")
def test_marks_of_missing_cells_in_pandas():
    pd = imported("pandas")
    assert all(map(is_missing, [pd.NA, pd.NaT, math.nan, None, np.float64("nan")]))
    assert all(map(is_missing, [np.ma.masked, np.ma.array(3.0, mask=True)]))
    assert not any(map(is_missing, [0, "", False, pd.Timestamp("2026-01-01"), np.ones(2)]))
    assert listed_cells(pd.Series([1, None], dtype="Int64")) == [1, None]
    assert listed_cells(pd.Series([pd.Timestamp("2026-01-01"), None]))[1] is None


@needs("pandas")
def test_odd_frames_of_pandas():
    pd = imported("pandas")
    table = pd.DataFrame({"x": [1.5, 2.5], "kind": ["a", "b"]}, index=[7, 7])
    table["kind"] = table["kind"].astype("category")
    assert rows_in(table) == [{"x": 1.5, "kind": "a"}, {"x": 2.5, "kind": "b"}]
    assert rows_in(table.astype({"x": np.float32})) == rows_in(table)
    with pytest.raises(DataError, match="two columns named 'x'"):
        columns_in(pd.DataFrame([[1, 2]], columns=["x", "x"]))
    with pytest.raises(DataError, match="reset_index"):
        rows_in(table.set_index("x"), ["x"])
    with pytest.raises(SpaceError, match="non-empty string, got 0"):
        Candidates(pd.DataFrame([[1.0], [2.0]]))
    objects = pd.DataFrame({"x": np.array([np.int64(1), np.float64(2.5)], dtype=object)})
    assert [type(row["x"]) for row in rows_in(objects)] == [int, float]


@needs("polars")
def test_odd_frames_of_polars():
    pl = imported("polars")
    table = pl.DataFrame({"kind": ["a", "b"]}, schema={"kind": pl.Categorical})
    assert rows_in(table) == [{"kind": "a"}, {"kind": "b"}]
    with pytest.raises(DataError, match=r"frame.collect\(\)"):
        is_frame(table.lazy())


def test_a_choice_that_is_missing_is_none(frame):
    space = Space.of({"kind": Categorical([None, "a"])})
    assert space.rows_in(frame({"kind": ["a", None]})) == [{"kind": "a"}, {"kind": None}]


def test_settings_to_try_first_are_the_rows_of_a_frame(frame):
    table = frame({"x": [0.1, 0.2], "k": [1.0, 2.0], "note": ["a", "b"]})
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "k": rahbo.Int(1, 5)}, try_first=table, seed=0)
    assert [opt.ask().params for _ in range(2)] == [{"x": 0.1, "k": 1}, {"x": 0.2, "k": 2}]
