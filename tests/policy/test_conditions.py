"""What was tried, placed under other conditions."""

import numpy as np

from rahbo import Context, MeanVariance, Optimizer
from rahbo.policy.conditions import placed, placed_best_first, seen_in
from rahbo.space import Space

SPACE = Space.of({"x": (0.0, 1.0), "t": Context(0.0, 1.0)})


def test_choices_are_placed_once_each():
    X = np.array([[0.2, 0.1], [0.7, 0.4], [0.2, 0.9]])
    np.testing.assert_array_equal(placed(SPACE.at({"t": 0.5}), X), [[0.2, 0.5], [0.7, 0.5]])
    assert placed(SPACE.at({"t": 0.5}), X[:0]).shape == (0, 2)


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
