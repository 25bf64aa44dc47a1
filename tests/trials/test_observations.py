"""Grouping of repeats by point against Python's own statistics."""

import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rahbo.trials import Observations

# A few places that rounds come back to.
PLACES = np.array([[0.0, 0.0], [0.5, 0.25], [0.5, 0.2500000001], [1.0, 1.0]])

numbers = st.floats(-1e6, 1e6).map(lambda y: round(y, 6))
histories = st.lists(
    st.tuples(st.integers(0, len(PLACES) - 1), st.lists(numbers, min_size=1, max_size=6)),
    min_size=1,
    max_size=12,
)


def observe(history):
    return Observations.from_rounds([PLACES[i] for i, _ in history], [v for _, v in history])


def grouped(history):
    """Values by place, in order of first visit: the plain Python way."""
    groups = {}
    for place, values in history:
        groups.setdefault(place, []).extend(values)
    return groups


@given(histories)
def test_repeats_merge_by_point_in_order_of_first_round(history):
    found, groups = observe(history), grouped(history)
    assert found.n == len(groups)
    np.testing.assert_array_equal(found.X, PLACES[list(groups)])
    np.testing.assert_array_equal(found.count, [len(v) for v in groups.values()])
    for i, values in enumerate(groups.values()):
        np.testing.assert_array_equal(found.repeats(i), values)


@given(histories)
def test_every_value_is_kept_in_order_of_round_and_repeat(history):
    found = observe(history)
    np.testing.assert_array_equal(found.values, [y for _, v in history for y in v])
    order = list(grouped(history))
    np.testing.assert_array_equal(found.rounds, [order.index(i) for i, _ in history])
    np.testing.assert_array_equal(found.point, [order.index(i) for i, v in history for _ in v])


@given(histories)
def test_mean_and_sample_variance_are_those_of_the_statistics_module(history):
    found = observe(history)
    for i, values in enumerate(grouped(history).values()):
        size = max(map(abs, values))
        assert found.mean[i] == pytest.approx(statistics.mean(values), rel=1e-12, abs=1e-14 * size)
        if len(values) == 1:
            assert np.isnan(found.sample_var[i])
        else:
            exact = statistics.variance([Fraction(y) for y in values])
            assert found.sample_var[i] == pytest.approx(
                float(exact), rel=1e-9, abs=(1e-14 * size) ** 2
            )


@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
def test_large_offsets_leave_the_variance_accurate(rng, offset):
    # Multiples of 2**-10 near 1e12 are floats, so that the noise survives the sum unrounded.
    noise = np.round(rng.normal(size=(20, 8)) * 1024) / 1024
    found = Observations.from_rounds(list(rng.random((20, 2))), list(noise + offset))
    np.testing.assert_array_equal(found.values.reshape(20, 8) - offset, noise)
    exact = [float(statistics.variance(map(Fraction, row))) for row in noise]
    np.testing.assert_allclose(found.sample_var, exact, rtol=1e-7)
    np.testing.assert_allclose(found.mean, offset + noise.mean(axis=1), rtol=2e-16)


def test_equal_values_have_zero_variance():
    found = Observations.from_rounds([np.array([0.3])], [[0.1] * 7])
    assert found.mean[0] == 0.1
    assert found.sample_var[0] == 0.0


def test_points_that_differ_in_the_last_bit_are_distinct():
    x = np.array([0.3, 0.7])
    near = np.nextafter(x, 1.0)
    found = Observations.from_rounds([x, near, x], [[1.0], [2.0], [3.0]])
    assert found.n == 2
    np.testing.assert_array_equal(found.count, [2, 1])


def test_values_of_one_point_told_in_many_rounds_equal_one_round(rng):
    x, values = np.array([0.5]), rng.normal(size=12)
    once = Observations.from_rounds([x], [values])
    often = Observations.from_rounds([x] * 4, np.split(values, 4))
    assert often.n == 1
    assert len(often.rounds) == 4
    np.testing.assert_array_equal(often.mean, once.mean)
    np.testing.assert_array_equal(often.sample_var, once.sample_var)


@pytest.mark.parametrize("step", [1.0, 0.1, 0.01, 1 / 3, 2.5e-7, 4e9])
@pytest.mark.parametrize("shift", [0.0, 0.05, -7.0])
def test_the_resolution_is_the_step_of_rounded_values(step, shift):
    rng = np.random.default_rng(0)
    values = step * (shift + rng.integers(-40, 40, 60))
    data = Observations.from_rounds(list(rng.random((60, 1))), values[:, None].tolist())
    assert data.resolution == pytest.approx(step, rel=1e-6)


def test_rounding_errors_do_not_hide_the_resolution():
    values = [np.nextafter(0.75, 1.0), 0.75, 0.25, np.nextafter(0.25, 0.0), 1.0, 2.5]
    assert 0.0 < np.diff(np.unique(values)).min() < 1e-15
    X = np.linspace(0.0, 1.0, len(values))[:, None]
    data = Observations.from_rounds(list(X), [[v] for v in values])
    assert data.resolution == pytest.approx(0.25)


@pytest.mark.parametrize(
    "values", [[1.0], [2.0, 2.0], np.random.default_rng(1).random(50).tolist()]
)
def test_values_that_are_not_rounded_have_no_resolution(values):
    X = np.linspace(0.0, 1.0, len(values))[:, None]
    assert Observations.from_rounds(list(X), [[v] for v in values]).resolution == 0.0


def test_a_selection_of_points_keeps_all_their_values(rng):
    history = [(i, rng.normal(size=1 + i % 3)) for i in (*range(6), 2, 0, 5)]
    points = rng.random((6, 2))
    everything = Observations.from_rounds([points[i] for i, _ in history], [v for _, v in history])
    some = everything.thinned(3)
    kept = [i for i, x in enumerate(everything.X) if x.tobytes() in {y.tobytes() for y in some.X}]
    assert len(kept) == some.n == 3
    assert kept[0] == 0
    assert kept[-1] == 5
    for j, i in enumerate(kept):
        np.testing.assert_array_equal(some.repeats(j), everything.repeats(i))
        assert some.count[j] == everything.count[i]
        assert some.mean[j] == everything.mean[i]
    assert len(some.rounds) == sum(i in kept for i in everything.rounds)
    assert everything.thinned(6) is everything


def test_later_rounds_join_the_points_they_know(rng):
    points = rng.random((5, 2))
    history = [(i, rng.normal(size=1 + i % 3)) for i in (0, 1, 2, 1, 3, 0, 4, 3, 4)]
    rounds = [points[i] for i, _ in history], [v for _, v in history]
    everything = Observations.from_rounds(*rounds, -1.0)
    for n in range(1, 10):
        first, later = (Observations.from_rounds(*(part[some] for part in rounds), -1.0)
                        for some in (slice(n), slice(n, None)))  # fmt: skip
        found = first.joined(later) if n < 9 else first
        for name in ("X", "values", "point", "rounds", "count", "mean", "sample_var"):
            np.testing.assert_array_equal(getattr(found, name), getattr(everything, name))
        assert found.sign == -1.0
