import pytest
from gest_api.vocs import VOCS, ContinuousVariable, DiscreteVariable

from rahbo import AtLeast, AtMost, Categorical, Float, Int
from rahbo.errors import SettingsError, SpaceError
from rahbo.integrations.gest.vocs import Problem, nearly

ONE = {"f": "MINIMIZE"}


def problem(variables=None, objectives=None, probability=0.95, **others) -> Problem:
    variables = {"x": [0.0, 1.0]} if variables is None else variables
    vocs = VOCS(variables=variables, objectives=objectives or ONE, **others)
    return Problem.of(vocs, probability)


def test_variables_become_parameters_in_the_order_of_their_names() -> None:
    found = problem(
        {
            "x": [0.0, 2.0],
            "turns": ContinuousVariable(domain=[0.5, 4.2], dtype=int),
            "bunches": {3, 1, 2},
            "filter": {"thin", "thick"},
            "charge": {0.5, 0.1, 2},
            "mode": DiscreteVariable(values={"only"}),
        },
        constants={"energy": 5.8},
    )
    assert found.space == {
        "bunches": Int(1, 3),
        "charge": Categorical([0.1, 0.5, 2]),
        "filter": Categorical(["thick", "thin"]),
        "turns": Int(1, 4),
        "x": Float(0.0, 2.0),
    }
    assert list(found.space) == sorted(found.space)
    assert found.fixed == {"mode": "only", "energy": 5.8}


@pytest.mark.parametrize(
    ("kind", "direction"), [("MINIMIZE", "minimize"), ("MAXIMIZE", "maximize")]
)
def test_the_objective_has_a_direction(kind, direction) -> None:
    found = problem(objectives={"f": kind})
    assert (found.objective, found.direction) == ("f", direction)


def test_constraints_become_limits_with_the_stated_probability() -> None:
    limits = {"a": ["LESS_THAN", 1.0], "b": ["GREATER_THAN", 2.0], "c": ["BOUNDS", -1.0, 3.0]}
    found = problem(constraints=limits, probability=0.9)
    assert found.constraints == {
        "a": AtMost(1.0, 0.9),
        "b": AtLeast(2.0, 0.9),
        "c (low)": AtLeast(-1.0, 0.95),
        "c (high)": AtMost(3.0, 0.95),
    }
    assert found.sources == {"a": "a", "b": "b", "c (low)": "c", "c (high)": "c"}


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"objectives": {"f": "MINIMIZE", "g": "MINIMIZE"}}, "one objective, got f, g"),
        ({"objectives": {"f": "EXPLORE"}}, "MINIMIZE or MAXIMIZE"),
        ({"variables": {"x": "contextual"}}, "contextual"),
        ({"variables": {"x": [0.0, 1.0], "_id": [0.0, 1.0]}}, "the name '_id'"),
        ({"constants": {"_id": 1.0}}, "the name '_id'"),
        ({"objectives": {"x": "MINIMIZE"}}, "'x' both as"),
        ({"constraints": {"x": ["LESS_THAN", 1.0]}}, "'x' both as"),
        ({"constants": {"f": 1.0}}, "'f' both as"),
        ({"variables": {"x": {1}}}, "two values or more"),
        ({"variables": {"x": ContinuousVariable(domain=[0.1, 0.9], dtype="int")}}, "whole numbers"),
        ({"variables": {"x": ContinuousVariable(domain=[0, 1], dtype=(3,))}}, "a scalar"),
        ({"constraints": {"c": ["LESS_THAN", 1.0]}, "probability": 0.4}, "above 0.5"),
        ({"constraints": {"c": ["BOUNDS", 0.0, 1.0]}, "probability": 0.4}, "got 0.4"),
        (
            {"constraints": {"c": ["BOUNDS", 0, 1], "c (low)": ["LESS_THAN", 1.0]}},
            "other names",
        ),
    ],
)
def test_what_cannot_be_optimised_is_refused(given, what) -> None:
    with pytest.raises(SettingsError, match=what):
        problem(**given)


def test_a_point_that_rounding_moved_out_of_its_range_is_moved_back() -> None:
    found = problem({"x": [1 / 3, 1.0], "n": {1, 2, 3}})
    assert found.params({"x": 0.3333333333, "n": 2.0, "f": 1.0}) == {"x": 1 / 3, "n": 2}
    assert found.params({"x": 0.33, "n": 2})["x"] == 0.33
    with pytest.raises(SpaceError, match="n is missing"):
        found.params({"x": 0.5})


def test_points_are_compared_up_to_rounding() -> None:
    assert nearly({"x": 1 / 3, "kind": "a"}, {"x": 0.3333333333, "kind": "a"})
    assert not nearly({"x": 1 / 3}, {"x": 0.3334})
    assert not nearly({"x": 1.0, "value": None}, {"x": 1.0, "value": 2.0})
    assert not nearly({"x": 1.0}, {"y": 1.0})
