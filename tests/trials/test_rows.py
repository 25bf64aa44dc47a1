"""Trials as a table, and a table as trials."""

import csv
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

import frames
import rahbo
from extras import imported, needs
from rahbo.errors import DataError, MissingLibraryError, SettingsError, SpaceError
from rahbo.trials import Evaluation

SPACE = {"x": (0.0, 2.0), "depth": rahbo.Int(1, 8), "kind": ["a", "b"]}
POINT, OTHER = {"x": 0.1, "depth": 3, "kind": "a"}, {"x": 1.5, "depth": 8, "kind": "b"}
NOON = "2026-11-16T12:00:00.000Z"
LIMITS = {"loss": rahbo.AtMost(5.0)}


@pytest.fixture(params=frames.LIBRARIES)
def frame(request):
    return frames.of(request.param)


def told():
    opt = rahbo.Optimizer(SPACE, constraints=LIMITS, repeats=2, seed=0)
    opt.tell(POINT, [1.0, 1 / 3], outcomes={"loss": [2.0, None]}, block=["p", None])
    asked = opt.ask()
    opt.tell(asked, 2.5, repeat=1, outcomes={"loss": 4.0})
    opt.tell_failure(asked, 'beam, "trip"\n\ud800', repeat=0)
    opt.ask()  # of which nothing is known
    return opt, asked


def times(trial):
    return {i: each.time for i, each in trial.evaluations.items() if each.time is not None}


def columns_of(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_one_row_for_each_value_and_failure(still_clock):
    opt, asked = told()
    rows = opt.rows()
    assert list(rows[0]) == [
        "trial", "source", "x", "depth", "kind", "repeat", "block", "value", "loss", "failure",
        "time",
    ]  # fmt: skip
    first, second, lost, last = rows
    assert first == {"trial": 0, "source": "user", **POINT, "repeat": 0, "block": "p",
                     "value": 1.0, "loss": 2.0, "failure": None, "time": NOON}  # fmt: skip
    assert (second["value"], second["loss"], second["block"]) == (1 / 3, None, None)
    assert (lost["trial"], lost["source"], lost["repeat"], lost["value"]) == (1, "design", 0, None)
    assert lost["failure"].startswith("beam")
    assert last == {"trial": 1, "source": "design", **asked.params, "repeat": 1, "block": None,
                    "value": 2.5, "loss": 4.0, "failure": None, "time": NOON}  # fmt: skip


def test_a_name_that_two_columns_have():
    opt = rahbo.Optimizer(
        {"value": (0.0, 1.0), "x": (0.0, 1.0)}, constraints={"trial": rahbo.AtMost(1.0)}, seed=0
    )
    opt.tell({"value": 0.25, "x": 0.5}, 7.0, outcomes={"trial": 0.8})
    (row,) = opt.rows()
    assert (row["parameter value"], row["x"], row["value"]) == (0.25, 0.5, 7.0)
    assert (row["outcome trial"], row["trial"]) == (0.8, 0)
    again = rahbo.Optimizer(
        opt.settings.space,
        constraints=opt.settings.constraints,
        seed=0,
        data=frames.Frame(columns_of(opt.rows())),
    )
    assert again.rows() == opt.rows()


def test_a_csv_file_has_every_digit_and_any_text(tmp_path):
    opt, _ = told()
    path = opt.to_csv(tmp_path / "run.csv")
    assert path == tmp_path / "run.csv"
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert float(found[1]["value"]) == 1 / 3
    assert (found[1]["block"], found[1]["failure"], found[2]["value"]) == ("", "", "")
    assert found[2]["failure"] == 'beam, "trip"\n\\ud800'
    empty = rahbo.Optimizer(SPACE).to_csv(str(tmp_path / "empty.csv"))
    assert empty.read_text("utf-8") == "trial,source,x,depth,kind,repeat,block,value,failure,time\n"
    with pytest.raises(SettingsError, match=r"there is no folder '.*no such folder'"):
        opt.to_csv(tmp_path / "no such folder" / "run.csv")


@needs("pandas")
def test_a_frame_of_pandas_has_the_same_rows():
    pd = imported("pandas")
    opt, _ = told()
    found = opt.to_frame()
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == list(opt.rows()[0])
    assert found["value"].tolist()[:2] == [1.0, 1 / 3]
    assert found["value"].isna().tolist() == [False, False, True, False]
    assert list(rahbo.Optimizer(SPACE).to_frame().columns)[:2] == ["trial", "source"]


def test_without_pandas_the_error_names_what_to_do_instead(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibraryError, match=r"pip install pandas.*to_csv\(path\)"):
        told()[0].to_frame()


def test_a_run_as_a_frame_is_past_results(frame):
    opt, asked = told()
    rows = [{**row, "failure": row["failure"] and "beam trip"} for row in opt.rows()]
    again = rahbo.Optimizer(SPACE, constraints=LIMITS, data=frame(columns_of(rows)), seed=0)
    assert [t.params for t in again.trials] == [POINT, asked.params]
    assert [dict(t.values) for t in again.trials] == [{0: 1.0, 1: 1 / 3}, {1: 2.5}]
    assert again.trials[0].evaluations[0] == Evaluation(1.0, None, {"loss": 2.0}, "p")
    assert dict(again.trials[1].failures) == {0: "beam trip"}
    assert again.n_evaluations == 4


def test_rows_with_equal_parameters_are_repeats(frame, tmp_path):
    table = {"x": [0.5, 1.0, 0.5], "depth": [3.0, 4.0, 3.0], "kind": ["a", "b", "a"],
             "value": [1.0, None, 2.0], "block": [1.0, 2.0, None], "note": [""] * 3}  # fmt: skip
    opt = rahbo.Optimizer(SPACE, data=frame(table), seed=0, journal=tmp_path / "run.jsonl")
    first, second = opt.trials
    assert dict(first.values) == {0: 1.0, 1: 2.0}
    assert (first.params["depth"], type(first.params["depth"])) == (3, int)
    assert [each.block for each in first.evaluations.values()] == ["1", None]
    assert dict(second.failures) == {0: "no value"}
    opt.close()
    assert rahbo.Optimizer.resume(tmp_path / "run.jsonl").rows() == opt.rows()


def test_wrong_tables_say_what_is_wrong_and_where(frame):
    table = {"x": [0.5, 1.0], "depth": [3, 4], "kind": ["a", "b"], "value": [1.0, 2.0]}
    for change, error, said in [
        ({"x": [0.5, 3.0]}, SpaceError, "Row 1 of data=, counted from 0: x=3.0 is outside"),
        ({"x": [0.5, None]}, SpaceError, "Row 1 of data=.* x=None must be a number"),
        ({"kind": ["a", "c"]}, SpaceError, "Row 1 of data=.*'c' is not a choice"),
        ({"value": ["1.0", "2.0"]}, DataError, "Row 0 of data=.*numbers, got '1.0'"),
        ({"value": [float("inf"), 1.0]}, DataError, "Row 0 of data=.*finite"),
    ]:
        with pytest.raises(error, match=said):
            rahbo.Optimizer(SPACE, data=frame({**table, **change}))
    renamed = {**table, "yield": table["value"]}
    del renamed["value"]
    with pytest.raises(DataError, match=r"column 'value'.*'yield'.*Rename"):
        rahbo.Optimizer(SPACE, data=frame(renamed))
    with pytest.raises(DataError, match=r"\['depth'\] are missing"):
        rahbo.Optimizer(SPACE, data=frame({n: c for n, c in table.items() if n != "depth"}))


def test_values_outcomes_and_blocks_may_be_columns(frame):
    opt = rahbo.Optimizer(SPACE, constraints=LIMITS, seed=0)
    table = frame({"y": [1.0, 2.0], "loss": [3.0, None], "plate": [1.0, None]})
    opt.tell(POINT, table["y"], outcomes={"loss": table["loss"]}, block=table["plate"])
    opt.tell(OTHER, frame({"y": [1.0, 2.0], "loss": [3.0, None]}))
    first, second = opt.trials
    assert dict(first.values) == dict(second.values) == {0: 1.0, 1: 2.0}
    for trial in (first, second):
        assert [each.outcomes for each in trial.evaluations.values()] == [{"loss": 3.0}, {}]
    assert [each.block for each in first.evaluations.values()] == ["1", None]
    plain = rahbo.Optimizer(SPACE, seed=0)
    plain.tell(POINT, frame({"y": [1.0, 2.0]}))
    assert dict(plain.trials[0].values) == {0: 1.0, 1: 2.0}
    with pytest.raises(DataError, match="a frame with one column, got"):
        plain.tell(POINT, frame({"y": [1.0], "z": [2.0]}))


@needs("pandas")
@pytest.mark.parametrize("is_list", [False, True])
def test_text_that_was_read_as_something_else_is_explained(tmp_path, is_list):
    read = imported("pandas").read_csv
    file = tmp_path / "run.csv"
    for first, second in (("01", "02"), ("NA", "EU"), ("true", "false"), ("1", "2")):
        kinds = [first, second]
        listed = rahbo.Candidates([{"kind": kind} for kind in kinds])
        space = listed if is_list else {"kind": kinds}
        file.write_text(f"kind,value\n{first},1.5\n{second},2.5\n{first},\n")
        with pytest.raises(SpaceError, match=f"The choice '{first}' is a text") as raised:
            rahbo.Optimizer(space, data=read(file))
        way = str(raised.value).partition("read the file with ")[2].removesuffix(".")
        run = rahbo.Optimizer(space, data=eval(f"read(file, {way})"))
        assert [t.params["kind"] for t in run.trials] == kinds
        assert run.trials[0].n_made == 2
    with pytest.raises(SpaceError) as raised:
        rahbo.Optimizer({"kind": ["a", "b"]}, data=read(file))
    assert "is a text" not in str(raised.value)


@needs("pandas")
@pytest.mark.parametrize("kinds", [["none", "NA"], ["", "a"]])
def test_the_advice_reads_every_column_of_a_table(tmp_path, kinds):
    read = imported("pandas").read_csv
    space = {"x": (0.0, 1.0), "kind": kinds}
    opt = rahbo.Optimizer(space, constraints=LIMITS, seed=0)
    opt.tell({"x": 0.5, "kind": kinds[0]}, [1.0, 2.0], outcomes={"loss": [2.0, None]})
    opt.tell({"x": 0.5, "kind": kinds[1]}, 3.0, block=7)
    opt.tell_failure({"x": 0.25, "kind": kinds[0]}, "no beam")
    file = opt.to_csv(tmp_path / "run.csv")
    with pytest.raises(SpaceError, match="is a text that was perhaps read as") as raised:
        rahbo.Optimizer(space, constraints=LIMITS, data=read(file))
    way = str(raised.value).partition("read the file with ")[2].removesuffix(".")
    table = eval(f"read(file, {way})")
    again = rahbo.Optimizer(space, constraints=LIMITS, data=table, seed=0)
    facts = ("x", "kind", "block", "value", "loss", "failure", "time")
    assert [[row[name] for name in facts] for row in again.rows()] == [
        [row[name] for name in facts] for row in opt.rows()
    ]


def test_an_empty_text_is_a_missing_cell(frame):
    cells = {"x": [0.5], "depth": [3], "kind": ["a"], "value": [1.0]}
    empty = {name: [""] for name in ("block", "failure", "time", "loss")}
    opt = rahbo.Optimizer(SPACE, constraints=LIMITS, data=frame({**cells, **empty}), seed=0)
    (row,) = opt.rows()
    assert {row[name] for name in empty} == {None}


def test_a_cell_may_list_repeats(frame):
    cells = {"x": [0.5, 1.0], "depth": [3, 4], "kind": ["a", "b"]}
    opt = rahbo.Optimizer(SPACE, data=frame({**cells, "value": [[1.0, 2.0], [3.0]]}), seed=0)
    assert [dict(t.values) for t in opt.trials] == [{0: 1.0, 1: 2.0}, {0: 3.0}]
    for bad in ([], [1.0, None], [1.0, float("nan")]):
        with pytest.raises(DataError, match="Row 1 of data="):
            rahbo.Optimizer(SPACE, data=frame({**cells, "value": [[1.0], bad]}))


def test_arrays_and_tuples_may_be_cells_with_what_was_told_beside_them():
    cells = {"x": [0.5, 0.5], "depth": [3, 3], "kind": ["a", "a"], "block": ["p", None]}
    values = [np.array([1.0, 2.0]), (3.0, 4.0)]
    table = frames.Frame({**cells, "value": values, "loss": [[5.0, None], [None, 6.0]]})
    opt = rahbo.Optimizer(SPACE, constraints=LIMITS, data=table, seed=0)
    assert [(row["value"], row["block"], row["loss"]) for row in opt.rows()] == [
        (1.0, "p", 5.0), (2.0, "p", None), (3.0, None, None), (4.0, None, 6.0),
    ]  # fmt: skip


@pytest.mark.parametrize("cell", [Decimal("0.25"), date(2026, 1, 2), float("inf"), np.ones(2)])
def test_the_error_of_a_row_is_the_one_that_is_shown(cell):
    for kinds, name in ((["1", "b"], "x"), (["1", "b"], "kind")):
        cells = {"x": 0.5, "depth": 3, "kind": "b", name: cell}
        table = frames.Frame({n: [c] for n, c in cells.items()} | {"value": [1.0]})
        with pytest.raises(SpaceError, match=rf"Row 0 of data=, .*: {name}=.*") as raised:
            rahbo.Optimizer({**SPACE, "kind": kinds}, data=table)
        assert "A choice must be" not in str(raised.value)


# -- times -------------------------------------------------------------------------------------


def test_times_come_back_from_a_frame_and_a_journal(frame, tmp_path, still_clock):
    opt, _ = told()
    rows = [{**row, "failure": row["failure"] and "beam trip"} for row in opt.rows()]
    rows[1]["time"] = None
    path = tmp_path / "run.jsonl"
    given = {"constraints": LIMITS, "data": frame(columns_of(rows)), "seed": 0}
    again = rahbo.Optimizer(SPACE, **given, journal=path)
    assert [times(t) for t in again.trials] == [
        {0: still_clock},
        dict.fromkeys((0, 1), still_clock),
    ]
    assert [row["time"] for row in again.rows()] == [NOON, None, NOON, NOON]
    again.tell(OTHER, 3.0)
    again.close()
    resumed = rahbo.Optimizer.resume(path)
    assert resumed.rows() == again.rows()
    resumed.close()
    # The same results without their times are the same results.
    rows = [{**row, "time": None} for row in rows]
    given["data"] = frame(columns_of(rows))
    same = rahbo.Optimizer(SPACE, **given, journal=path)
    assert same.rows() == again.rows()
    same.close()


@needs("pandas")
@pytest.mark.usefixtures("still_clock")
def test_times_are_dates_in_a_frame_of_pandas(tmp_path):
    pd = imported("pandas")
    opt, _ = told()
    found = opt.to_frame()["time"]
    assert str(found.dtype.tz) == "UTC"
    assert (found == pd.Timestamp("2026-11-16 12:00", tz="UTC")).all()
    past = rahbo.Optimizer(SPACE, data=[(POINT, [1.0])])
    assert past.to_frame()["time"].isna().all()
    for run in (past, rahbo.Optimizer(SPACE)):
        assert str(run.to_frame()["time"].dtype.tz) == "UTC"
    read = [opt.to_frame(), pd.read_csv(opt.to_csv(tmp_path / "run.csv"), parse_dates=["time"])]
    for table in read:
        again = rahbo.Optimizer(SPACE, constraints=LIMITS, data=table)
        assert [row["time"] for row in again.rows()] == [NOON] * 4


def test_a_foreign_column_of_the_same_name_does_no_harm(frame):
    table = {"x": [0.5, 1.0], "depth": [3, 4], "kind": ["a", "b"], "value": [1.0, 2.0]}
    for cells in (
        [3.5, 1.7e9],
        ["morning", "noon"],
        ["2026-11-16", "2026-11-16T12:00:00"],
        [None] * 2,
    ):
        opt = rahbo.Optimizer(SPACE, data=frame({**table, "time": cells}), seed=0)
        assert [times(t) for t in opt.trials] == [{}, {}]


@pytest.mark.usefixtures("still_clock")
def test_a_parameter_may_be_called_time(frame):
    space = {"x": (0.0, 1.0), "time": (0.0, 10.0)}
    opt = rahbo.Optimizer(space, seed=0)
    opt.tell({"x": 0.5, "time": 2.5}, 1.0)
    (row,) = opt.rows()
    assert (row["parameter time"], row["time"]) == (2.5, NOON)
    again = rahbo.Optimizer(space, data=frame(columns_of([row])), seed=0)
    assert again.rows() == [row]
    # A table that was made by hand, or before there were times.
    older = {"x": [0.5], "time": [2.5], "value": [1.0]}
    past = rahbo.Optimizer(space, data=frame(older), seed=0)
    assert past.rows() == [{**row, "time": None}]
    with pytest.raises(DataError, match=r"\['time'\] are missing"):
        rahbo.Optimizer(space, data=frame({"x": [0.5], "value": [1.0]}))


@pytest.mark.usefixtures("still_clock")
def test_an_outcome_may_be_called_time(frame):
    given = {"space": {"x": (0.0, 1.0)}, "constraints": {"time": rahbo.AtMost(9.0)}, "seed": 0}
    opt = rahbo.Optimizer(**given)
    opt.tell({"x": 0.5}, 1.0, outcomes={"time": 8.0})
    (row,) = opt.rows()
    assert (row["outcome time"], row["time"]) == (8.0, NOON)
    assert rahbo.Optimizer(**given, data=frame(columns_of([row]))).rows() == [row]
    older = {"x": [0.5], "time": [8.0], "value": [1.0]}
    assert rahbo.Optimizer(**given, data=frame(older)).rows() == [{**row, "time": None}]
    # A table of a run without that outcome has times in the column.
    other = {"x": [0.5], "time": [NOON], "value": [1.0]}
    past = rahbo.Optimizer(**given, data=frame(other)).rows()
    assert past == [{**row, "outcome time": None}]


def timed(trial, seconds):
    told = {i: replace(each, time=seconds) for i, each in trial.evaluations.items()}
    return replace(trial, evaluations=told)


@pytest.mark.slow
def test_nothing_depends_on_times():
    same = {"space": {"x": (0.0, 1.0)}, "n_initial": 3, "seed": 0}
    opt = rahbo.Optimizer(**same)
    for value in (1.0, 0.3, 0.8, 0.9):
        opt.tell(opt.ask(), value)
    for seconds in (None, 0.0, 9e9):
        trials = [timed(t, seconds) for t in opt.trials]
        other = rahbo.Optimizer(**same, trials=trials)
        assert other.recommend() == opt.recommend()
        assert other.ask(2) == rahbo.Optimizer(**same, trials=opt.trials).ask(2)
