import math

import numpy as np
import pytest
from gest_api.vocs import VOCS

from rahbo.errors import DataError
from rahbo.integrations.gest.results import NO_VALUE, Result
from rahbo.integrations.gest.vocs import Problem

PROBLEM = Problem.of(
    VOCS(
        variables={"x": [0.0, 1.0]},
        objectives={"f": "MINIMIZE"},
        constraints={"loss": ["LESS_THAN", 1.0]},
    ),
    0.95,
)


def read(**point) -> Result:
    return Result.of({"x": 0.5, **point}, PROBLEM)


def test_a_value_with_its_outcomes() -> None:
    found = read(_id=np.int64(3), f=np.float64(2.0), loss=0.5, xopt_error=False, other="text")
    assert found == Result(3, {"x": 0.5}, 2.0, {"loss": 0.5})


@pytest.mark.parametrize("number", [None, math.nan, 0, -1])
def test_tables_fill_a_missing_id_with_a_mark(number) -> None:
    assert read(_id=number, f=1.0).number is None


@pytest.mark.parametrize("value", [{}, {"f": None}, {"f": math.nan}, {"f": math.inf}])
def test_without_a_finite_objective_the_evaluation_failed(value) -> None:
    found = read(_id=2.0, **value)
    assert (found.number, found.value, found.reason) == (2, None, NO_VALUE)


def test_an_error_of_xopt_is_a_failure_with_its_reason() -> None:
    found = read(f=1.0, xopt_error=np.True_, xopt_error_str="ValueError: beam trip\n")
    assert (found.value, found.reason) == (None, "ValueError: beam trip")
    assert read(f=1.0, xopt_error=math.nan).value == 1.0


def test_an_id_is_enough_without_variables() -> None:
    assert Result.of({"_id": 4, "f": 1.0}, PROBLEM) == Result(4, None, 1.0, {"loss": None})


@pytest.mark.parametrize("point", [{"_id": 1.5}, {"_id": "a"}, {"f": "much"}, {"f": 1e70}])
def test_what_is_no_number_is_refused(point) -> None:
    with pytest.raises(DataError):
        read(**point)
