"""Runners-up that differ."""

import numpy as np
import pytest

import rahbo
from rahbo.analysis import are_alike


def crowded(space, noise=0.3):
    """Pairs of settings that nearly coincide."""
    rng = np.random.default_rng(1)
    opt = rahbo.Optimizer(space, seed=0, risk=rahbo.MeanStd(1.0))
    for x in np.repeat(np.linspace(0.05, 0.95, 7), 3) + 1e-4 * rng.random(21):
        params = {"x": float(x)} | ({"kind": rng.choice(["a", "b"])} if "kind" in space else {})
        opt.tell(params, float(np.sin(6 * x)) + noise * rng.standard_normal(2))
    return opt


@pytest.mark.parametrize("space", [{"x": (0.0, 1.0)}, {"x": (0.0, 1.0), "kind": ["a", "b"]}])
def test_runner_ups_are_elsewhere(space):
    opt = crowded(space)
    found, known = opt.recommend(), opt.state
    assert found.runner_ups
    settings = [found.params, *(other.params for other in found.runner_ups)]
    X = np.array([opt.settings.space.encode(params) for params in settings])
    for i in range(len(X)):
        assert are_alike(known, X, X[i]).tolist() == [j == i for j in range(len(X))]
    for other in found.runner_ups:
        told = [t.id for t in opt.trials if t.params == other.params]
        assert list(other.trials) == told


def test_other_categories_and_other_rows_are_never_alike():
    opt = crowded({"x": (0.0, 1.0), "kind": ["a", "b"]})
    encode = opt.settings.space.encode
    X = np.array([encode({"x": 0.3, "kind": kind}) for kind in ("a", "b")])
    assert are_alike(opt.state, X, X[0]).tolist() == [True, False]
    rows = rahbo.Candidates([{"x": 0.1}, {"x": 0.1001}, {"x": 0.9}])
    listed = rahbo.Optimizer(rows, seed=0, data=[({"x": 0.1}, [1.0, 1.1]), ({"x": 0.9}, [0.5])])
    X = listed.settings.space.enumerate()
    assert are_alike(listed.state, X, X[0]).tolist() == [True, False, False]


def test_a_runner_up_shows_the_value_that_decided():
    # A single value looks better, but little is known of it.
    rng = np.random.default_rng(1)
    rows = rahbo.Candidates([{"x": float(i)} for i in range(3)])
    data = [
        ({"x": 0.0}, 1.0 + 0.3 * rng.standard_normal(40)),
        ({"x": 1.0}, -3.0 + 0.3 * rng.standard_normal(40)),
        ({"x": 2.0}, [1.3]),
    ]
    found = rahbo.Optimizer(rows, seed=0, data=data, noise_std=0.5).recommend()
    (other,) = found.runner_ups
    assert other.risk > found.risk
    line = str(found).splitlines()[-1]
    assert line.startswith("runner-up  x=2: pessimistic value ")
    assert f"(recommended {found.risk_digits.text(found.score)})" in line
    assert other.score < found.score
    assert str(other).startswith("x=2: risk value ")
