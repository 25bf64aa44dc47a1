from pathlib import Path

import pytest

import rahbo
from rahbo.errors import DataError, SpaceError
from rahbo.pages.lab.notes import Notes
from rahbo.pages.lab.state import free_repeat, inputs_of, params_in, setting_text, state_of

SPACE = {"x": (1.0, 2.0), "n": rahbo.Int(1, 9), "gas": ["argon", "helium"]}


def test_what_is_open_and_told(tmp_path):
    run = rahbo.Optimizer(
        SPACE, seed=0, repeats=3, direction="minimize", constraints={"heat": rahbo.AtMost(5.0)}
    )
    notes = Notes(tmp_path / "run.jsonl")
    s = run.ask()
    run.tell(s, 1.5, repeat=1, outcomes={"heat": 4.0})
    run.tell_failure(s, "trip", repeat=0)
    notes.add(0, 1, "odd")
    notes.add(0, None, "all")
    state = state_of(run, notes)
    assert state["minimised"]
    assert state["outcomes"] == [{"name": "heat", "limit": "at most 5 with probability 0.95"}]
    (trial,) = state["open"]
    assert state["told"] == [trial]
    assert (trial["missing"], trial["free"], trial["asked"]) == ([2], 3, 3)
    assert trial["made"] == [
        {"repeat": 0, "value": None, "reason": "trip", "outcomes": [None], "block": "",
         "notes": []},
        {"repeat": 1, "value": 1.5, "reason": "", "outcomes": [4.0], "block": "",
         "notes": ["odd"]},
    ]  # fmt: skip
    assert trial["notes"] == ["all"]
    assert state["range"] is None
    run.tell(s, [2.0, 3.0])
    assert state_of(run, notes)["range"] == [1.5, 3.0]
    assert state_of(run, notes)["known"] == []


def test_blocks_that_values_were_told_with(tmp_path):
    run = rahbo.Optimizer(SPACE, seed=0, repeats=2)
    notes = Notes(tmp_path / "run.jsonl")
    assert state_of(run, notes)["told_blocks"] == []
    run.tell(run.ask(), [1.0, 2.0], block=["monday", "tuesday"])
    run.tell(run.ask(), [1.0, 2.0], block=["monday", None])
    state = state_of(run, notes)
    assert (state["blocks"], state["told_blocks"]) == ([], ["monday", "tuesday"])
    assert [one["block"] for one in state["told"][0]["made"]] == ["monday", ""]


def test_the_index_of_one_more_value():
    run = rahbo.Optimizer(SPACE, seed=0, repeats=2)
    run.tell(run.ask(), 1.0, repeat=0)
    assert free_repeat(run.trials[0]) == 2
    run.cancel(0)
    assert free_repeat(run.trials[0]) == 1


def test_digits_that_can_be_set():
    assert setting_text(2.0, rahbo.Float(1.0, 3.0)) == "2"
    assert setting_text(1e9 + 1 / 3, rahbo.Float(1e9, 1e9 + 1)) == "1000000000.33333"
    assert setting_text(1e-5 / 3, rahbo.Float(1e-6, 1.0, log=True)) == "3.33333e-06"
    assert setting_text("x" * 1000, None).endswith("...")


def test_different_settings_are_shown_differently():
    narrow = rahbo.Float(1e7, 1e7 + 100.0, log=True)
    assert setting_text(1e7 + 40.25, narrow) == "10000040.25"
    assert setting_text(1e16, rahbo.Float(1e16, 1e16 + 2.0, log=True)) == "10000000000000000"
    assert setting_text(1234567, rahbo.Int(1, 10**9)) == "1234567"
    wavelengths = [1550.108, 1550.109, 1550.11]
    kind = rahbo.Categorical(wavelengths)
    assert [setting_text(v, kind) for v in wavelengths] == ["1550.108", "1550.109", "1550.11"]
    rows = [{"wavelength": v, "n": 1.0} for v in wavelengths]
    for space in (rahbo.Candidates(rows), {"wavelength": kind, "n": rahbo.Categorical([1.0, 2.0])}):
        run = rahbo.Optimizer(space, seed=0)
        run.ask()
        state = state_of(run, Notes(Path("nowhere.jsonl")))
        # The form of one's own setting finds what is shown among its choices.
        choices = {one["name"]: one["choices"] for one in state["inputs"]}
        assert all(text in choices[name] for name, text in state["open"][0]["params"])


def test_a_setting_as_typed():
    run = rahbo.Optimizer(SPACE, seed=0)
    form = {"x": "1,25", "n": "3", "gas": 1}
    assert params_in(form, run) == {"x": 1.25, "n": 3, "gas": "helium"}
    assert [one["kind"] for one in inputs_of(run)] == ["number", "number", "choice"]
    for change in ({"x": "?"}, {"n": "2.5"}, {"gas": 2}, {"gas": "argon"}, {"gas": None}):
        with pytest.raises((DataError, SpaceError)):
            params_in({**form, **change}, run)
    for change, said in (({"x": "2,5"}, "x must be from 1 to 2, got 2.5."),
                         ({"n": "0"}, "n must be from 1 to 9, got 0.")):  # fmt: skip
        with pytest.raises(SpaceError, match=said):
            params_in({**form, **change}, run)


def test_a_setting_of_a_list():
    rows = [{"a": 1.0, "b": "u"}, {"a": 2.0, "b": "v"}, {"a": 2.0, "b": "u"}]
    run = rahbo.Optimizer(rahbo.Candidates(rows), seed=0)
    assert [one["choices"] for one in inputs_of(run)] == [["1.0", "2.0"], ["u", "v"]]
    assert params_in({"a": 1, "b": 0}, run) == {"a": 2.0, "b": "u"}
    assert state_of(run, Notes(Path("nowhere.jsonl")))["open"] == []
