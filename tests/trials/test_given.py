"""The trials with which a run begins."""

from dataclasses import replace

import pytest

import frames
import rahbo
from rahbo import Candidates, Context, Float, Int, Time
from rahbo.errors import DataError
from rahbo.space import Space
from rahbo.trials import Evaluation, checked_trials, listed_trials

SPACE = {"x": (0.0, 1.0), "kind": ["a", "b", "c"]}


def told(space=SPACE, **settings):
    opt = rahbo.Optimizer(space, seed=0, **settings)
    for i in range(4):
        suggestion = opt.ask()
        opt.tell(suggestion, [float(i)] * suggestion.repeats)
    return opt


def test_none_stands_for_no_trials():
    assert listed_trials(None) == listed_trials(()) == []
    assert rahbo.Optimizer(SPACE, trials=None, seed=0).trials == ()


@pytest.mark.parametrize(
    "space",
    [
        SPACE,
        {"x": Float(1e-4, 0.1, log=True), "n": Int(1, 1000, log=True), "time": Time(20.0)},
        {"x": (0.0, 1.0), "T": Context(0.0, 1.0), "line": Context(["a", "b"])},
        Candidates([{"x": 0.1 * i, "kind": "ab"[i % 2]} for i in range(9)]),
    ],
    ids=["kinds", "time", "context", "list"],
)
def test_the_trials_of_a_run_fit_its_space(space):
    known = Space.of(space)
    opt = rahbo.Optimizer(space, seed=0)
    given = {"T": 1.7, "line": "b"} if "T" in known.names else None
    for i in range(12):
        suggestion = opt.ask(context=given)
        opt.tell(suggestion, [float(i)] * suggestion.repeats)
    again = rahbo.Optimizer(space, seed=0, trials=opt.trials)
    assert again.ask(context=given).params == opt.ask(context=given).params


def test_parameters_told_with_more_digits_than_a_point_keeps_fit():
    opt = rahbo.Optimizer({"x": (0.0, 1e9)}, data=[({"x": 123456789.123456789}, 1.0)], seed=0)
    assert checked_trials(opt.trials, opt.settings.space)[0].params == opt.trials[0].params


def test_corrected_values_are_accepted_and_corrected_parameters_are_not():
    opt = told()
    first = opt.trials[0]
    corrected = {**first.evaluations, 0: Evaluation(12.9)}
    right = [replace(first, evaluations=corrected), *opt.trials[1:]]
    assert rahbo.Optimizer(SPACE, trials=right, seed=0).trials[0].values[0] == 12.9
    wrong = [replace(first, params={"x": 0.123, "kind": "a"}), *opt.trials[1:]]
    with pytest.raises(DataError, match=r"the x of trial 0 is not the point of its parameters"):
        rahbo.Optimizer(SPACE, trials=wrong, seed=0)


@pytest.mark.parametrize(
    "other",
    [
        {"x": (0.0, 10.0), "kind": ["a", "b", "c"]},
        {"x": (0.0, 1.0), "kind": ["c", "b", "a"]},
        {"x": (0.0, 1.0), "kind": ["a", "b", "c", "d"]},
        {"x": (0.0, 1e-9), "kind": ["a", "b", "c"]},
    ],
)
def test_trials_of_another_space_are_refused_with_what_to_pass(other):
    trials = told().trials
    with pytest.raises(DataError, match="must come from the same space, but") as raised:
        rahbo.Optimizer(other, trials=trials, seed=0)
    if other["x"] == (0.0, 1e-9):
        assert "outside" in str(raised.value)
        assert str(raised.value).endswith("Results within the space can be passed as data=.")
        return
    way = str(raised.value).partition("Pass the results as data=")[2].partition(", or with")[0]
    moved = rahbo.Optimizer(other, data=eval(way, {"trials": trials}), seed=0)
    assert [(t.params, dict(t.values)) for t in moved.trials] == [
        (t.params, dict(t.values)) for t in trials
    ]


def test_rows_of_a_run_keep_blocks_and_failures_in_another_space():
    opt = told()
    opt.tell({"x": 0.5, "kind": "a"}, [1.0, 2.0], block=["p", "q"])
    opt.tell_failure({"x": 0.75, "kind": "b"}, "no beam")
    rows = opt.rows()
    table = frames.Frame({name: [row[name] for row in rows] for name in rows[0]})
    moved = rahbo.Optimizer({**SPACE, "x": (0.0, 10.0)}, data=table, seed=0)
    assert [(row["block"], row["failure"]) for row in moved.rows()] == [
        (row["block"], row["failure"]) for row in rows
    ]


def test_rows_may_be_dropped_from_a_list():
    rows = [{"x": 0.1 * i} for i in range(9)]
    opt = told(Candidates(rows), n_initial=4)
    tried = opt.trials[0].params
    if tried in (rows[0], rows[-1]):
        tried = opt.trials[1].params
    left = Candidates([row for row in rows if row != tried])
    again = rahbo.Optimizer(left, trials=opt.trials, seed=0)
    assert again.n_evaluations == opt.n_evaluations
    assert again.recommend().params != tried
    assert again.ask().params in left.rows
    other = Candidates([{"x": 5.0 + i} for i in range(9)])
    with pytest.raises(DataError, match="none of its parameters is among the candidates"):
        rahbo.Optimizer(other, trials=opt.trials, seed=0)


def test_an_error_names_the_trial():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, data=[({"x": 0.1}, 1.0), ({"x": 0.6}, 2.0)], seed=0)
    with pytest.raises(DataError, match=r"in trial 1, x=0.6 is outside Float\(0.0, 0.5\)"):
        rahbo.Optimizer({"x": (0.0, 0.5)}, trials=opt.trials)
    with pytest.raises(DataError, match=r"trial 0 has the names \['x'\] and the space \['z'\]"):
        rahbo.Optimizer({"z": (0.0, 1.0)}, trials=opt.trials)
