"""Optuna's distributions as our parameters, and back without loss."""

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial

from rahbo.errors import SpaceError
from rahbo.integrations.optuna.distributions import (
    merged,
    newest,
    ranges,
    shared,
    space_of,
    varying,
)

KINDS = {
    "rate": FloatDistribution(1e-7, 0.3, log=True),
    "share": FloatDistribution(-0.3, 1.1, step=0.1),
    "depth": IntDistribution(-3, 12),
    "width": IntDistribution(1, 1000, log=True),
    "size": IntDistribution(3, 17, step=7),
    "kind": CategoricalDistribution([None, True, 2.5, "a", math.nan]),
    "flag": CategoricalDistribution([False, True]),
}


@given(st.lists(st.floats(0, 1), min_size=len(KINDS), max_size=len(KINDS)))
def test_every_point_is_a_legal_trial_and_comes_back(uniform) -> None:
    space = space_of(KINDS)
    (x,) = space.from_uniform([uniform])
    params = space.decode(x)
    create_trial(params=params, distributions=KINDS, value=0.0)  # refuses what is out of range
    assert space.encode(params).tolist() == x.tolist()
    assert type(params["depth"]) is type(params["size"]) is int
    assert type(params["share"]) is float


def test_all_steps_and_choices_can_be_reached() -> None:
    kinds = {name: KINDS[name] for name in ("share", "size", "kind")}
    points = [space_of(kinds).decode(x) for x in space_of(kinds).enumerate()]
    assert len(points) == 15 * 3 * 5
    assert {p["size"] for p in points} == {3, 10, 17}
    assert max(p["share"] for p in points) == 1.1
    assert any(p["kind"] is True for p in points)


def test_choices_are_mapped_by_index() -> None:
    kind = CategoricalDistribution([True, 1, 1.0, 0, "1"])
    space = space_of({"c": kind})
    assert [space.decode(x)["c"] for x in space.enumerate()] == [True, 0, "1"]
    assert space.encode({"c": 1}).tolist() == space.encode({"c": True}).tolist()


@pytest.mark.parametrize(
    "params", [{"share": 0.05}, {"share": 9.0}, {"size": 4}, {"kind": "z"}, {"share": "a"}]
)
def test_values_out_of_range_are_refused(params) -> None:
    name = next(iter(params))
    with pytest.raises(SpaceError, match=name):
        space_of({name: KINDS[name]}).encode(params)


def trial_with(state: TrialState = TrialState.COMPLETE, **kinds) -> object:
    params = {name: kind.to_external_repr(getattr(kind, "low", 0)) for name, kind in kinds.items()}
    value = 0.0 if state == TrialState.COMPLETE else None
    return create_trial(state=state, params=params, distributions=kinds, value=value)


def test_shared_parameters_are_those_of_all_complete_trials() -> None:
    first, wider = FloatDistribution(0, 1), FloatDistribution(-1, 1)
    one = FloatDistribution(2, 2)
    trials = [
        trial_with(x=wider, y=first, one=one),
        trial_with(x=first, z=first, one=one),
        trial_with(TrialState.FAIL, z=first),
    ]
    found = shared(trials)
    assert list(found) == ["one", "x"]
    assert newest(found) == {"x": first}
    assert merged(found) == {"one": one, "x": wider}
    assert varying(merged(found)) == {"x": wider}
    assert shared([]) == {}
    assert ranges(trials[:2]) == {"one": [one] * 2, "x": [wider, first], "y": [first], "z": [first]}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([FloatDistribution(0, 1, step=0.5)] * 2, FloatDistribution(0, 1, step=0.5)),
        ([FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 3)], FloatDistribution(0, 3)),
        (
            [FloatDistribution(1, 2, log=True), FloatDistribution(0.1, 1, log=True)],
            FloatDistribution(0.1, 2, log=True),
        ),
        ([IntDistribution(0, 8, step=4), IntDistribution(2, 4)], IntDistribution(0, 8)),
    ],
)
def test_merged_ranges_hold_all(kinds, expected) -> None:
    assert merged({"x": kinds}) == {"x": expected}
