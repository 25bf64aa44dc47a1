"""Conditions: given, not chosen, and fixed in the space of what can be chosen."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.errors import SpaceError
from rahbo.space import Categorical, Context, Float, Int, Space, Time

SPEC = {
    "x": (0.0, 1.0),
    "depth": Int(1, 9),
    "solvent": ["water", "ethanol", "acetone"],
    "t": Context(10.0, 35.0),
    "line": Context(["a", "b", "c"]),
    "age": Context(Int(0, 5)),
    "rate": Context(0.1, 10.0, log=True),
    "time": Time(50.0),
}
HERE = {"t": 21.3, "line": "b", "age": 2, "rate": 3.0, "time": 77}

contexts = st.fixed_dictionaries(
    {
        "t": st.floats(-15.0, 60.0),
        "line": st.sampled_from(["a", "b", "c"]),
        "age": st.integers(-5, 10),
        "rate": st.floats(0.00101, 990.0),
        "time": st.floats(-5e4, 5e4) | st.integers(0, 1000),
    }
)


def test_a_context_is_written_as_a_parameter_is():
    assert Context(10.0, 35.0).parameter == Float(10.0, 35.0)
    assert Context(1, 5).parameter == Float(1.0, 5.0)
    assert Context(1e-3, 1.0, log=True).parameter == Float(1e-3, 1.0, log=True)
    assert Context(["a", "b"]).parameter == Categorical(["a", "b"])
    assert Context((0.0, 1.0)).parameter == Float(0.0, 1.0)
    assert Context(Int(1, 5)).parameter == Int(1, 5)
    assert [repr(part) for part in list(Space.of(SPEC).spec.values())[3:7]] == [
        "Context(10.0, 35.0)",
        "Context(['a', 'b', 'c'])",
        "Context(Int(0, 5))",
        "Context(0.1, 10.0, log=True)",
    ]
    for part in Space.of(SPEC).spec.values():
        assert pickle.loads(pickle.dumps(part)) == part


def test_only_choices_are_continuous_or_have_neighbours():
    space = Space.of(SPEC)
    assert space.columns[space.continuous.argmax()] == "x"
    assert space.continuous.sum() == 1
    assert list(space.conditions) == ["t", "line", "age", "rate", "time"]
    assert space.kinds["time"] == Float(0.0, 50.0)
    at = space.at(HERE)
    near = at.neighbours(at.encode({"x": 0.5, "depth": 3, "solvent": "water", **HERE}))
    assert len(near) > 2
    assert at.holds(near).all()
    assert not space.given.any()
    assert at.given.sum() == 1 + 3 + 1 + 1 + 1


@given(contexts, st.integers(0, 2**32))
def test_every_point_of_a_slice_has_the_conditions_and_survives_the_trip(context, seed):
    space = Space.of(SPEC)
    at, rng = space.at(context), np.random.default_rng(seed)
    drawn = at.from_uniform(rng.random((3, at.n_uniform)))
    snapped = at.snap(rng.uniform(-2.0, 3.0, (3, at.d)))
    for x in (*drawn, *snapped):
        params = at.decode(x)
        assert {name: params[name] for name in context} == context
        np.testing.assert_array_equal(at.canonical(x), x)
        np.testing.assert_array_equal(space.encode(params), x)
        np.testing.assert_array_equal(space.canonical(x), x)
        again = space.decode(x)
        assert all(again[n] == params[n] for n in ("x", "depth", "solvent", "line", "age"))
        assert math.isclose(again["t"], context["t"], rel_tol=1e-11, abs_tol=1e-11)
        assert math.isclose(again["rate"], context["rate"], rel_tol=1e-9)
        assert math.isclose(again["time"], context["time"], abs_tol=1e-9)
    assert at.holds(np.vstack([drawn, snapped])).all()
    np.testing.assert_array_equal(at.snap(drawn), drawn)


@given(contexts, contexts)
def test_a_slice_of_a_slice_is_the_slice_of_the_space(one, other):
    space = Space.of(SPEC)
    assert space.at(one).at(other) == space.at(other)


def test_finite_choices_are_listed_in_a_slice():
    space = Space.of({"n": Int(1, 4), "t": Context(0.0, 1.0), "kind": ["a", "b"]})
    at = space.at({"t": 0.25})
    assert space.size == math.inf
    assert at.size == 8
    assert [at.decode(x) for x in at.enumerate()[:3]] == [
        {"n": 1, "t": 0.25, "kind": "a"},
        {"n": 1, "t": 0.25, "kind": "b"},
        {"n": 2, "t": 0.25, "kind": "a"},
    ]


def test_a_constraint_sees_the_conditions():
    space = Space.of({"x": (0.0, 1.0), "t": Context(0.0, 1.0)}, lambda p: p["x"] <= p["t"])
    at = space.at({"t": 0.3})
    assert at.is_valid([[0.2, 0.9], [0.4, 0.9]]).tolist() == [True, False]


def test_a_number_beyond_the_bounds_is_kept_as_it_is():
    space = Space.of({"x": (0.0, 1.0), "t": Context(10.0, 35.0), "n": Context(Int(1, 5))})
    hot = {"x": 0.5, "t": 38.0, "n": 7}
    x = space.encode(hot)
    np.testing.assert_allclose(x, [0.5, 28.0 / 25.0, 1.5])
    assert space.decode(x) == hot
    with pytest.raises(SpaceError, match=r"n=6\.5 must be a whole number"):
        space.encode({**hot, "n": 6.5})
    log = Space.of({"x": (0.0, 1.0), "rate": Context(0.1, 10.0, log=True)})
    for bad in (0.0, -1.0, 1e-4, 1e4):
        with pytest.raises(SpaceError, match=r"far outside"):
            log.encode({"x": 0.5, "rate": bad})
    np.testing.assert_allclose(log.encode({"x": 0.5, "rate": 100.0}), [0.5, 1.5])


def test_a_time_far_away_is_refused():
    space = Space.of({"x": (0.0, 1.0), "time": Time(10.0)})
    assert space.encode({"x": 0.5, "time": 25})[1] == 2.5
    with pytest.raises(SpaceError, match=r"from the start of the run"):
        space.encode({"x": 0.5, "time": 1.7e9})
    with pytest.raises(SpaceError, match=r"must be a number"):
        space.encode({"x": 0.5, "time": "now"})


def test_a_told_context_decodes_as_it_was_told():
    space = Space.of({"x": (0.0, 1.0), "t": Context(0.0, 1.0)})
    params = {"x": 0.1234567890123456789, "t": 0.9876543210987654321}
    x = space.encode(params)
    told = space.with_told({x.tobytes(): params})
    assert told.decode(x) == params
    assert told.at({"t": 0.25}).decode(x)["t"] == 0.25
