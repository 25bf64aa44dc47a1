"""What a run returns."""

import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import FrozenInstanceError

import pytest

import frames
import rahbo
from extras import needs
from rahbo.errors import MissingLibraryError, SettingsError
from rahbo.policy import RandomSearch
from rahbo.running import Result
from rahbo.trials.times import now, time_in

SPACE = {"x": (0.0, 2.0)}


def test_the_result_is_frozen_and_says_what_was_spent():
    values = iter([1.0, float("nan"), *[1.0] * 7])
    result = rahbo.maximize(
        lambda x: next(values), SPACE, evaluations=9, repeats=3, n_initial=3, seed=7,
        method=rahbo.Method(strategy=RandomSearch()),
    )  # fmt: skip
    assert isinstance(result, Result)
    with pytest.raises(FrozenInstanceError):
        result.optimizer = None
    text = str(result)
    assert text.startswith(str(result.recommendation))
    assert text.endswith("9 evaluations at 3 points, 1 failed; seed 7")


@pytest.fixture(scope="module")
def result():
    """A small run with one failure."""
    values = iter([0.5, float("nan"), *(0.1 * i for i in range(20))])
    return rahbo.maximize(
        lambda x, kind: next(values), {**SPACE, "kind": ["<a>", "b"]}, evaluations=12, repeats=2,
        seed=7, method=rahbo.Method(strategy=RandomSearch()),
    )  # fmt: skip


def test_the_short_names_are_those_of_the_recommendation(result):
    assert result.best is result.recommendation
    assert result.params == result.recommendation.params
    result.params["x"] = -1.0
    assert result.params == result.recommendation.params


def test_questions_are_answered_by_the_optimizer(result):
    opt = result.optimizer
    assert result.frontier(level=0.5) == opt.frontier(level=0.5)
    assert result.predict(result.params) == opt.predict(result.params)
    assert result.predict([result.params], level=0.5) == opt.predict([result.params], level=0.5)
    assert str(result.diagnose()) == str(opt.diagnose())


@pytest.mark.parametrize("library", frames.LIBRARIES)
def test_a_table_of_a_run_is_a_table_of_settings(result, library):
    rows = result.rows()
    table = frames.of(library)({name: [row[name] for row in rows] for name in rows[0]})
    assert result.predict(table) == result.predict(_params(rows))


def _params(rows):
    return [{name: row[name] for name in ("x", "kind")} for row in rows]


def test_the_table_of_a_run(result, tmp_path):
    rows = result.rows()
    assert rows == result.optimizer.rows()
    assert len(rows) == result.n_evaluations == 12
    assert sum(row["value"] is None for row in rows) == 1
    path = result.to_csv(tmp_path / "run.csv")
    assert len(path.read_text("utf-8").splitlines()) == 13


@needs("pandas")
def test_the_frame_of_a_run(result):
    assert result.to_frame().equals(result.optimizer.to_frame())


def test_the_report_is_one_page_without_network(result, tmp_path):
    path = result.report(str(tmp_path / "laser.html"))
    assert path == tmp_path / "laser.html"
    page = path.read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "laser" in page
    assert "12 evaluations" in page
    with pytest.raises(SettingsError, match=r"there is no folder '.*absent'"):
        result.report(tmp_path / "absent" / "laser.html")


@pytest.mark.slow
@needs("matplotlib")
def test_the_picture_is_the_overview(result, tmp_path):
    from rahbo.plots import overview

    drawn, expected = result.plot(tmp_path / "run.png"), overview(result.optimizer)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SettingsError, match="there is no folder"):
        result.plot(tmp_path / "absent" / "run.pdf")
    titles = [[ax.get_xlabel() for ax in figure.axes] for figure in (drawn, expected)]
    assert titles[0] == titles[1]
    assert titles[0]


def test_names_from_other_libraries_get_a_hint(result):
    for name, instead in (("x", "params"), ("best_value", "best.mean"), ("df", r"to_frame\(\)")):
        with pytest.raises(AttributeError, match=f"no '{name}'. Use {instead}"):
            getattr(result, name)
    with pytest.raises(AttributeError, match="A Result has no 'paramz'"):
        _ = result.paramz
    assert copy(result).params == result.params


def test_without_matplotlib_the_error_names_the_extra(result, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("rahbo.plots")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingLibraryError, match=r'pip install "rahbo\[plot\]".*report\(path\)'):
        result.plot()


def test_a_notebook_shows_the_recommendation_and_what_was_spent(result):
    found = result._repr_html_()
    assert found.startswith(result.best._repr_html_())
    assert "from 12 evaluations at 6 points, 1 failed; seed 7" in found
    assert "<a>" not in found


def test_conditions_of_a_run_may_be_the_rows_of_a_frame():
    days = frames.Frame({"day": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "note": [""] * 6})
    space = {**SPACE, "day": rahbo.Context((0.0, 1.0))}
    run = rahbo.maximize(
        lambda x, day: x + day, space, evaluations=6, repeats=1, n_initial=3, context=days, seed=0,
        method=rahbo.Method(strategy=RandomSearch()), confirm=0,
    )  # fmt: skip
    assert [trial.params["day"] for trial in run.trials] == days["day"]
    opt, some = run.optimizer, [{"day": 0.1}, {"day": 0.5}]
    asked = frames.Frame({"day": [0.1, 0.5]})
    assert opt.recommend(conditions=asked) == opt.recommend(conditions=some)


@pytest.mark.parametrize("parallel", [False, True])
def test_each_value_has_the_time_at_which_it_was_told(parallel):
    def measure(x, seed):
        if seed % 3 == 0:
            raise ValueError("no beam")
        return x

    before = now()
    with ThreadPoolExecutor(2) as threads:
        where = {"executor": threads, "parallel": 2} if parallel else {}
        result = rahbo.maximize(measure, {"x": (0.0, 1.0)}, evaluations=12, confirm=0, seed=0,
                                method=rahbo.Method(strategy=RandomSearch()), **where)  # fmt: skip
    after = now()
    rows = result.rows()
    assert {row["failure"] is None for row in rows} == {False, True}
    assert all(before <= time_in(row["time"]) <= after for row in rows)
