"""Lists of designs: the trip to the unit cube and back against plain Python."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from rahbo.space import Candidates, Space

CHOICES = st.sampled_from(["a", "b", "", True, False, None, 1, 2.5])
NUMBERS = st.integers(-50, 50).map(lambda v: v / 4)


@st.composite
def rows(draw):
    """Distinct rows with a numeric, a mixed and a constant column."""
    pairs = draw(
        st.lists(
            st.tuples(NUMBERS, CHOICES),
            min_size=1,
            max_size=12,
            unique_by=lambda pair: (pair[0], type(pair[1]) is bool, pair[1]),
        )
    )
    return [{"x": x, "kind": kind, "fixed": "same"} for x, kind in pairs]


@given(rows())
def test_every_row_survives_the_trip_in_order(listed):
    space = Space.of(Candidates(listed))
    X = space.enumerate()
    assert X.shape == (len(listed), space.d)
    assert np.all((X >= 0.0) & (X <= 1.0))
    for x, row in zip(X, listed, strict=True):
        assert space.decode(x) == row
        assert [type(v) for v in space.decode(x).values()] == [type(v) for v in row.values()]
        np.testing.assert_array_equal(space.encode(row), x)
        np.testing.assert_array_equal(space.canonical(x), x)
    assert space.size == len(listed)


def test_a_constant_column_is_zero_whatever_it_holds():
    part = Candidates([{"x": 1.0, "n": 7, "s": "same"}, {"x": 2.0, "n": 7, "s": "same"}])
    np.testing.assert_array_equal(part.units(part.all()), [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert part.labels("") == ["x", "n", "s=same"]


def test_two_levels_are_one_column_and_three_are_one_each():
    part = Candidates([{"k": "u", "c": "p"}, {"k": "v", "c": "q"}, {"k": "u", "c": "r"}])
    assert part.labels("") == ["k=v", "c=p", "c=q", "c=r"]
    np.testing.assert_array_equal(
        part.units(part.all()), [[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    )


def test_one_and_true_are_different_levels():
    part = Candidates([{"k": 1}, {"k": True}, {"k": "x"}])
    assert part.count == 3.0
    assert [part.code("", row) for row in part.rows] == [0, 1, 2]
    assert part.code("", {"k": 1.0}) == 0


def test_a_list_of_one_row_is_a_space_of_one_point():
    space = Space.of(Candidates([{"x": 4.0, "s": "only"}]))
    assert space.size == 1
    np.testing.assert_array_equal(space.enumerate(), [[0.0, 0.0]])
    assert space.decode([0.9, 0.9]) == {"x": 4.0, "s": "only"}


def test_rows_are_copies():
    row = {"x": 1.0}
    part = Candidates([row, {"x": 2.0}])
    row["x"] = 5.0
    assert part.rows[0] == {"x": 1.0}


def test_uniform_numbers_give_every_row_the_same_share():
    part = Candidates([{"x": float(v)} for v in (0, 1, 2, 3, 100)])
    u = (np.arange(1000) + 0.5) / 1000
    assert np.bincount(part.draw(u).astype(int)).tolist() == [200] * 5
    assert part.draw(np.array([0.0, 1.0])).tolist() == [0.0, 4.0]


def test_revisits_are_allowed_unless_forbidden():
    listed = [{"x": 0.0}, {"x": 1.0}]
    assert Space.of(Candidates(listed)).revisit
    assert not Space.of(Candidates(listed, revisit=False)).revisit


def test_repr_says_how_many():
    assert repr(Candidates([{"x": 0.0}, {"x": 1.0}])) == "Candidates(2 rows)"
