"""`-p NAME=...`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.cli.parameters import described, named, of_column, parameters_in
from rahbo.errors import SettingsError, SpaceError
from rahbo.space import Categorical, Float, Int, Parameter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr=1e-4:1e-1:log", Float(1e-4, 1e-1, log=True)),
        ("x=-1.5:2", Float(-1.5, 2.0)),
        ("x=0:1:float", Float(0.0, 1.0)),
        ("depth=1:15:int", Int(1, 15)),
        ("width=1:1e3:int:log", Int(1, 1000, log=True)),
        ("c=gini, entropy", Categorical(["gini", "entropy"])),
        ("c=a:b,c:d", Categorical(["a:b", "c:d"])),
        ("n=1,2,4", Categorical(["1", "2", "4"])),
        ("c=a=b,-x", Categorical(["a=b", "-x"])),
    ],
)
def test_a_parameter_is_read(text, expected):
    name, parameter = named(text)
    assert name == text.partition("=")[0]
    assert parameter == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr", "NAME="),
        ("=1.0:2.0", "begin with a letter"),
        ("a b=1.0:2.0", "begin with a letter"),
        ("{x}=1.0:2.0", "begin with a letter"),
        ("x\n=1.0:2.0", "begin with a letter"),
        ("seed=1.0:2.0", "seed of an evaluation"),
        ("x=1", "x: it must be LOW:HIGH"),
        ("x=", "x: it must be LOW:HIGH"),
        ("x=a:b", "must be numbers"),
        ("x=1_0.0:2_0.0", "must be numbers"),
        ("x=1:15", "1:15:float or 1:15:int"),
        ("x=2.0:1.0", "^x: Float .*Swap them"),
        ("x=0.0:1.0:log", "low > 0"),
        ("x=nan:1.0", "finite"),
        ("x=0.0:inf", "finite"),
        ("x=0.5:2:int", "whole"),
        ("x=0:1:int:float", "int and float"),
        ("x=0:1:sqrt", "int, float, log"),
        ("x=0.0:1.0:log:log", "int, float, log"),
        ("x=a,,b", "empty"),
        ("x=a,a", "distinct"),
        ("x=a\0,b", "zero byte"),
    ],
)
def test_what_is_no_parameter_is_refused(text, said):
    with pytest.raises(SpaceError, match=said.replace(":", ".")):
        named(text)


def test_a_list_may_hold_any_text_and_numbers():
    assert described("x", ["a,b", "", 3, 0.5]) == Categorical(["a,b", "", "3", "0.5"])
    with pytest.raises(SpaceError, match="string or a number"):
        described("x", [True, False])


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        name, parameter = named(text)
    except SpaceError:
        return
    assert text.startswith(f"{name}=")
    assert isinstance(parameter, Parameter)


def test_a_column_may_have_any_name_and_no_range():
    assert of_column("learning rate") == ("learning rate", None)
    assert of_column("seed") == ("seed", None)
    assert of_column("T (C)=20:30:int") == ("T (C)", Int(20, 30))
    with pytest.raises(SpaceError, match="x: it must be"):
        of_column("x=1")


def test_a_parameter_is_given_once():
    assert list(parameters_in(["x=0.0:1.0", "y=a,b"])) == ["x", "y"]
    with pytest.raises(SettingsError, match="names the parameter 'x' twice"):
        parameters_in(["x=0.0:1.0", "x=5.0:9.0"])


def test_a_list_of_two_numbers_may_be_bounds_or_choices():
    with pytest.raises(SpaceError, match=r'^x: .*"0.0:2.0:float" for a range, or \["0.0", "2.0"\]'):
        described("x", [0.0, 2.0])
    with pytest.raises(SpaceError, match=r'"8:16:int" for a range, or \["8", "16"\] for choices'):
        described("x", [8, 16])
    assert described("x", ["0.0", "2.0"]) == named("x=0.0,2.0")[1] == Categorical(["0.0", "2.0"])
    assert described("x", [1, 2, 4]) == Categorical(["1", "2", "4"])
