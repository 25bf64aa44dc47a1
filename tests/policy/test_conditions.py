"""What was tried, placed under other conditions."""

import numpy as np
import pytest

from rahbo import Context, MeanVariance, Optimizer
from rahbo.policy import Acquisition, Domain, maximise
from rahbo.policy.conditions import placed, placed_best_first, seen_in
from rahbo.space import Space

SPACE = Space.of({"x": (0.0, 1.0), "t": Context(0.0, 1.0)})


def test_choices_are_placed_once_each():
    X = np.array([[0.2, 0.1], [0.7, 0.4], [0.2, 0.9]])
    np.testing.assert_array_equal(placed(SPACE.at({"t": 0.5}), X), [[0.2, 0.5], [0.7, 0.5]])
    assert placed(SPACE.at({"t": 0.5}), X[:0]).shape == (0, 2)


def test_a_point_under_other_conditions_may_not_be_proposed():
    domain = Domain(SPACE.at({"t": 0.5}), np.empty((0, 2)), frozenset())
    assert domain.allowed(np.array([[0.2, 0.5], [0.2, 0.4]])).tolist() == [True, False]


@pytest.mark.parametrize("t", [-0.5, 0.5, 1.5])
def test_the_search_finds_the_best_choice_under_a_condition_beyond_its_bounds(t):
    class Ridge(Acquisition):
        """Largest where x is half of t, and larger under any other condition."""

        def value(self, X):
            return -((X[:, 0] - 0.5 * np.abs(X[:, 1])) ** 2) + 100.0 * np.abs(X[:, 1] - t)

        def value_and_gradient(self, X):
            slope = -2.0 * (X[:, 0] - 0.5 * np.abs(X[:, 1]))
            return self.value(X), np.column_stack([slope, 100.0 * np.sign(X[:, 1] - t)])

    for valid in (None, lambda p: p["x"] < 0.9):
        space = Space.of(SPACE, valid).at({"t": t})
        domain = Domain(space, np.array([[0.1, t]]), frozenset())
        x = maximise(Ridge(), domain, np.random.default_rng(0))
        np.testing.assert_allclose(x, [0.5 * abs(t), t], atol=1e-4)


def test_seen_points_are_those_of_the_slice():
    X = np.array([[0.2, 0.1], [0.7, 0.4]])
    assert seen_in(SPACE.at({"t": 0.5}), X) == {np.array([v, 0.5]).tobytes() for v in (0.2, 0.7)}
    assert seen_in(Space.of({"x": (0.0, 1.0), "y": (0.0, 1.0)}), X) == {x.tobytes() for x in X}
    assert seen_in(SPACE.at({"t": 0.5}), []) == set()


def test_the_best_choices_under_the_given_conditions_come_first():
    opt = Optimizer({"x": (0.0, 1.0), "t": Context(0.0, 1.0)}, seed=0)
    for x in np.linspace(0.0, 1.0, 7):
        for t in (0.0, 0.5, 1.0):
            # A warm day is better whatever is chosen, and the optimum moves with it.
            opt.tell({"x": float(x), "t": t}, [5.0 * t - (x - t) ** 2] * 2)
    for t, best in ((0.0, 0.0), (1.0, 1.0)):
        X = placed_best_first(opt.settings.space.at({"t": t}), opt.model, MeanVariance(1.0))
        assert X[0].tolist() == [best, t]
        assert len(X) == 7
