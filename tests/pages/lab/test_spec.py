import pytest

import rahbo
from rahbo.errors import RahboError, SettingsError
from rahbo.pages.lab.spec import checked_study_name, spec_in

REAL = {"name": "power", "kind": "real", "low": "1,5", "high": "10", "log": True}
FORM = {
    "name": "laser 1",
    "outcome": "yield",
    "unit": "mJ",
    "direction": "maximize",
    "risk": {"kind": "kappa", "number": "1"},
    "repeats": "adaptive",
    "setup": "2",
    "parameters": [
        REAL,
        {"name": "n", "kind": "whole", "low": "1", "high": "9"},
        {"name": "gas", "kind": "choice", "choices": "argon; helium,\nneon,"},
    ],
    "limits": [{"name": "heat", "side": "most", "limit": "5", "probability": "0.9"}],
}


def test_a_form_is_a_study():
    spec = spec_in(FORM)
    assert spec.space == {
        "power": rahbo.Float(1.5, 10.0, log=True),
        "n": rahbo.Int(1, 9),
        "gas": rahbo.Categorical(["argon", "helium", "neon"]),
    }
    assert spec.settings == {
        "direction": "maximize",
        "risk": rahbo.MeanStd(1.0),
        "repeats": rahbo.Adaptive(setup=2.0),
        "constraints": {"heat": rahbo.AtMost(5.0, 0.9)},
    }
    assert (spec.name, spec.outcome, spec.unit) == ("laser 1", "yield", "mJ")


@pytest.mark.parametrize(
    ("written", "choices"),
    [
        ("1,5; 2,7", ["1,5", "2,7"]),
        ("1,5\n2,7\n", ["1,5", "2,7"]),
        ("argon, helium", ["argon", "helium"]),
        ("argon, helium,\n", ["argon", "helium"]),
    ],
)
def test_choices_with_decimal_commas_stay_whole(written, choices):
    gas = {"name": "gas", "kind": "choice", "choices": written}
    spec = spec_in({**FORM, "parameters": [gas]})
    assert spec.space == {"gas": rahbo.Categorical(choices)}


def test_the_least_of_a_form():
    form = {**FORM, "limits": [], "outcome": "", "repeats": "3", "risk": {"kind": "neutral"}}
    spec = spec_in(form)
    assert spec.outcome == "value"
    assert spec.settings["risk"] == rahbo.MeanVariance(0.0)
    assert "constraints" not in spec.settings
    assert rahbo.Optimizer(spec.space, **spec.settings, seed=0).ask().repeats == 3


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": ""}, "The name of the study"),
        ({"direction": ""}, "larger or smaller"),
        ({"risk": None}, "risk measure"),
        ({"risk": {"kind": ["kappa"]}}, "risk measure"),
        ({"risk": {"kind": "quantile", "number": "0.7"}}, "0.5"),
        ({"repeats": "0"}, "repeats"),
        ({"repeats": "1001"}, "at most 1000"),
        ({"setup": "-1"}, "setup"),
        ({"parameters": []}, "at least one parameter"),
        ({"parameters": "x"}, "must be a list"),
        ({"parameters": ["x"]}, "Parameter 1"),
        ({"parameters": [REAL, REAL]}, "Two parameters"),
        ({"parameters": [{**REAL, "name": ""}]}, "parameter 1 is missing"),
        ({"parameters": [{**REAL, "low": "x"}]}, "The low end of power"),
        ({"parameters": [{**REAL, "low": "10", "high": "1"}]}, "power: Float needs low < high"),
        ({"parameters": [{**REAL, "low": "0"}]}, "log=True"),
        ({"parameters": [{**REAL, "kind": "whole"}]}, "whole number"),
        ({"parameters": [{"name": "g", "kind": "choice", "choices": "a"}]}, "two or more"),
        ({"parameters": [{"name": "g", "kind": "other"}]}, "real number"),
        ({"limits": [{"name": "power", "side": "most", "limit": "1"}] * 2}, "Two limits"),
        ({"limits": [{"name": "h", "side": "", "limit": "1"}]}, "at most"),
        ({"limits": [{"name": "h", "side": "least", "limit": "1", "probability": "2"}]}, "0.95"),
    ],
)
def test_what_is_wrong_in_a_form_is_said(change, problem):
    with pytest.raises(RahboError, match=problem):
        spec_in({**FORM, **change})


@pytest.mark.parametrize(
    "name", ["a", "laser 1", "Größe-2", "a.b", "2026-01-01", "console", "com", "com10"]
)
def test_names_of_studies(name):
    assert checked_study_name(name) == name


@pytest.mark.parametrize("name", ["con", "NUL", "com1", "LPT9.x", "aux.a.b", "prn .x"])
def test_names_that_windows_keeps_for_devices_are_refused(name):
    with pytest.raises(SettingsError, match="Windows"):
        checked_study_name(name)


@pytest.mark.parametrize(
    "name", ["", "../x", "a/b", "a\\b", ".x", "a.", "a ", "x" * 61, "a\0", "a\n", "~"]
)
def test_a_name_that_is_no_file_is_refused(name):
    with pytest.raises(SettingsError):
        checked_study_name(name)
