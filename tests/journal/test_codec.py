"""Settings to JSON and back: all that the package has by name, all else by description."""

import functools
import json
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import presets
import rahbo
from rahbo.errors import JournalError, SpaceError
from rahbo.journal import Code, describe, encode_settings, show
from rahbo.journal.codec import (
    decode,
    decode_settings,
    differences,
    encode,
    encode_scalar,
    same,
)
from rahbo.model import (
    RBF,
    ConstantBeta,
    DirectNoise,
    KnownNoise,
    Lemma1Beta,
    Linear,
    LogNoise,
    Matern52,
    Raw,
    Refit,
    Standardized,
)
from rahbo.numerics import Registered
from rahbo.policy import GPUCB, Adaptive, Fixed, Rahbo, RahboUS, RandomSearch, TopTwo

OBJECTS = [
    rahbo.Float(1e-4, 0.1, log=True), rahbo.Int(1, 15), rahbo.Categorical([1, "1", None, False]),
    rahbo.MeanVariance(2.5), rahbo.MeanStd(0.1), rahbo.Quantile(0.2), rahbo.ExpectedShortfall(0.3),
    Fixed(7), Adaptive(3, 4, 0.5), Rahbo(), TopTwo(0.9), RahboUS(4),
    GPUCB(), RandomSearch(),
    LogNoise(RBF, 2.0), LogNoise(Matern52([0.1, 0.3], 1 / 3)), DirectNoise(max_noise_var=0.1),
    KnownNoise(0.1), KnownNoise([0.1, 1 / 3]), ConstantBeta(3.0), Lemma1Beta(2.0, 0.05),
    Standardized(), Raw(), Refit(np.inf), Linear([0.7], 2.0), Matern52, None, 0.1, -np.inf, 3, "x",
    rahbo.paper(),
]  # fmt: skip


def through_json(data):
    return json.loads(json.dumps(data, allow_nan=False))


@pytest.mark.parametrize("value", OBJECTS, ids=repr)
def test_what_the_package_has_comes_back(value):
    back = decode(through_json(encode(value)))
    assert back == value
    assert type(back) is type(value)


def test_not_a_number_comes_back():
    assert np.isnan(decode(through_json(encode(float("nan")))))


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)  # fmt: skip


@given(SCALARS)
def test_plain_values_keep_value_and_type(value):
    back = decode(through_json(encode_scalar(value, "x")))
    assert (type(back), repr(back)) == (type(value), repr(value))


@pytest.mark.parametrize(
    "value",
    [np.float32(0.1), np.float64(0.1), np.int8(-3), np.uint64(2**63), np.bool_(True), np.str_("a")],
    ids=repr,
)
def test_numpy_scalars_keep_value_and_type(value):
    back = decode(through_json(encode_scalar(value, "x")))
    assert (type(back), back) == (type(value), value)


@pytest.mark.parametrize("value", [b"a", 1j, (1,), object, np.longdouble(1)], ids=repr)
def test_other_values_are_refused_by_name(value):
    with pytest.raises(SpaceError, match=f"c=.* of type {type(value).__name__}"):
        encode_scalar(value, "c")


# -- code --------------------------------------------------------------------------------------


def constraint(params, bound=1.0):
    return True


@dataclass(frozen=True)
class Own:
    weight: float
    function: object


class Plain:
    pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (constraint, "constraint"),
        (Own(0.5, constraint), "Own(weight=0.5, function=constraint)"),
        (functools.partial(constraint, 1, bound=2.0), "partial(constraint, 1, bound=2.0)"),
        (Plain(), "Plain"),
        (Plain, "Plain"),
        (range(3), "range(0, 3)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_code_is_described_by_name_and_fields(value, text):
    assert describe(value) == text
    assert encode(value) == {"code": text}
    assert show(encode(value)) == text


@dataclass(frozen=True)
class Thrice(Registered):
    """A setting of a user."""

    n: int = 3
    rule: object = None


class Periodic(RBF):
    """A kernel of a user."""


class Inheriting(Thrice):
    """May hold more than the fields it inherits."""


@dataclass(frozen=True)
class Marked(Thrice):
    code: str = "a"


@pytest.mark.parametrize("value", [Thrice(4), Periodic([0.1], 2.0), Periodic])
def test_a_class_of_a_user_comes_back(value):
    assert encode(value)["module"] == __name__
    back = decode(through_json(encode(value)))
    assert back == value
    assert "module" not in show(encode(value))


def test_what_a_user_defines_in_a_function_or_without_fields_is_code():
    @dataclass(frozen=True)
    class Local(rahbo.MeanVariance):
        pass

    for value in (Local(1.0), Local, Inheriting(1), Marked(1)):
        assert encode(value) == {"code": describe(value)}


def test_a_class_that_is_not_defined_is_named_with_its_module():
    data = {"type": "Expectile", "module": "my_risks", "level": 0.1}
    for one in (data, {"class": "Expectile", "module": "my_risks"}, {"risk": [data]}["risk"]):
        with pytest.raises(JournalError, match=r"class Expectile of the module my_risks.*--import"):
            decode(one)


def test_a_class_of_the_package_and_one_of_a_user_are_not_exchanged():
    with pytest.raises(JournalError, match="unknown type 'Thrice'"):
        decode({"type": "Thrice"})
    with pytest.raises(JournalError, match="class Fixed of the module mine"):
        decode({"type": "Fixed", "module": "mine", "n_repeats": 2})


def test_what_journals_once_described_is_the_same_as_what_they_hold_now():
    assert same({"code": describe(Thrice(4))}, encode(Thrice(4)))
    assert not same({"code": describe(Thrice(3))}, encode(Thrice(4)))
    assert same({"code": "Thrice(n=4, rule=constraint)"}, encode(Thrice(4, constraint)))


def test_settings_with_code_inside_are_stood_for():
    found = decode_settings(
        {"noise": encode(KnownNoise(constraint)), "valid": encode(constraint), "lam": 1.0}
    )
    assert found["method"] == Code("method", "Method(noise=KnownNoise(noise_var=constraint))")
    with pytest.raises(JournalError, match=r"valid=constraint, whose code.*Pass valid= again"):
        found["valid"]({"x": 1.0})


def test_unknown_types_are_not_made():
    with pytest.raises(JournalError, match=r"unknown type 'os.system'"):
        decode({"type": "os.system", "command": "true"})


# -- whole settings ----------------------------------------------------------------------------


def encoded(space, **settings):
    return through_json(
        encode_settings(rahbo.Optimizer(space, seed=0, **{"n_initial": 2, **settings}).settings)
    )


def test_settings_are_the_keywords_of_an_optimizer():
    data = encoded({"type": (0.0, 1.0), "code": [1, 2, 3]}, **presets.paper())
    again = rahbo.Optimizer(**decode_settings(data))
    assert through_json(encode_settings(again.settings)) == data
    assert differences(data, data) == []


def test_numbers_of_other_types_are_the_same_setting_and_truths_are_not():
    assert same(encode(rahbo.MeanVariance(1)), encode(rahbo.MeanVariance(np.float64(1.0))))
    assert same({"numpy": "int64", "value": 3}, 3)
    assert not same(encode(rahbo.Categorical([1, 0])), encode(rahbo.Categorical([True, False])))
    assert not same([1], [1, 2])


def test_the_order_of_parameters_counts():
    a = encoded({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    b = encoded({"y": (0.0, 1.0), "x": (0.0, 1.0)})
    assert len(differences(a, b)) == 1


def test_lists_of_candidates_are_told_apart():
    rows = [{"a": 1, "b": "u"}, {"a": 2, "b": "v"}]
    data = encoded(rahbo.Candidates(rows))
    (short,) = differences(data, encoded(rahbo.Candidates([*rows, {"a": 3, "b": "w"}])))
    assert "Candidates(2 rows, revisit=True) there and Candidates(3 rows" in short
    (row,) = differences(data, encoded(rahbo.Candidates([rows[0], {"a": 2, "b": "w"}])))
    assert "{'a': 2, 'b': 'v'} at 1 there" in row
    assert "{'a': 2, 'b': 'w'} at 1 here" in row
    (names,) = differences(data, encoded(rahbo.Candidates([{"a": 1, "c": 1}, {"a": 2, "c": 2}])))
    assert "['a', 'b']" in names
