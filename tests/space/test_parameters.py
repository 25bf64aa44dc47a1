"""One value of the user against its columns; spaces of them are tested in test_space.py."""

import numpy as np
import pytest

from rahbo.errors import SpaceError
from rahbo.space import Candidates, Categorical, Float, Int, Space, plain


@pytest.mark.parametrize(
    ("part", "value", "columns"),
    [
        (Float(-5.0, 10.0), 2.5, [0.5]),
        (Float(1e-4, 1.0, log=True), 1e-2, [0.5]),
        (Int(1, 5), 2, [0.25]),
        (Int(1, 16, log=True), 4, [0.5]),
        (Categorical(["a", "b"]), "b", [1.0]),
        (Categorical(["a", "b", "c"]), "b", [0.0, 1.0, 0.0]),
    ],
)
def test_a_value_and_its_columns_translate_into_each_other(part, value, columns):
    code = np.array([part.code("p", value)], dtype=float)
    np.testing.assert_allclose(part.units(code), [columns], atol=1e-15)
    assert part.value(columns) == value
    np.testing.assert_array_equal(part.codes(np.array([columns])), code)
    assert len(part.labels("p")) == len(columns)


def test_near_codes_are_other_legal_codes():
    assert set(Int(0, 3).near(1.0)) == {0.0, 2.0, 3.0}
    assert set(Categorical(["a", "b", "c"]).near(1.0)) == {0.0, 2.0}
    assert Float(0.0, 1.0).near(0.5).size == 0


def test_dates_and_durations_of_numpy_are_no_numbers():
    for value in (np.datetime64("2026-03-01", "ns"), np.timedelta64(5, "ns")):
        assert plain(value) is value
        with pytest.raises(SpaceError, match="must be a number"):
            Float(0.0, 1e30).code("p", value)
    assert plain(np.float32(0.5)) == 0.5


def test_counts():
    assert Float(0.0, 1.0).count == np.inf
    assert Int(3, 7).count == 5
    assert Candidates([{"a": 1}, {"a": 2}]).count == 2


@pytest.mark.parametrize(
    "choices",
    [[True, False], [False, True], ["0", "2"], [1, 2, 4], [2.0, 0.0], [None, 1.0], ["a", 2]],
)
def test_other_lists_are_choices(choices):
    assert Space.of({"x": choices}).spec == {"x": Categorical(choices)}
    assert Space.of({"x": (0.0, 2.0)}).spec == {"x": Float(0.0, 2.0)}
