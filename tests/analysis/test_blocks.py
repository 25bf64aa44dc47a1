"""What is said of blocks to the user."""

import numpy as np
import pytest

import rahbo
from rahbo.analysis import BlockEffects, Interval


def told(direction="maximize", sign=1.0):
    rng = np.random.default_rng(3)
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, direction=direction)
    for x in np.linspace(0.0, 1.0, 10):
        y = np.sin(4.0 * x) + np.array([0.5, -0.5]) + 0.05 * rng.normal(size=2)
        opt.tell({"x": float(x)}, sign * y, block=["monday", "tuesday"])
    return opt


def test_effects_are_in_user_units():
    found = told().blocks
    assert found.effects["monday"] == pytest.approx(0.5, abs=0.05)
    assert found.effects["tuesday"] == pytest.approx(-0.5, abs=0.05)
    assert 0.0 < found.effect_stds["monday"] < 0.1
    assert found.std_interval.lower < found.std < found.std_interval.upper
    assert "between 2 blocks" in str(found)
    assert "monday: +0.5" in str(found)


def test_minimising_turns_effects_round():
    one, other = told(), told("minimize", -1.0)
    assert other.blocks.effects["monday"] == pytest.approx(-one.blocks.effects["monday"])
    assert other.blocks.std == pytest.approx(one.blocks.std)
    assert other.recommend().blocks == other.blocks


def test_recommendation_says_how_much_blocks_differ():
    said = told().recommend()
    assert said.blocks.summary in str(said)
    assert said.noise_std < 0.2


def test_without_blocks_nothing_is_said():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=[({"x": 0.5}, [1.0, 2.0])])
    assert opt.blocks is None
    assert opt.recommend().blocks is None
    assert "block" not in str(opt.recommend())


def test_one_block_says_nothing_of_how_much_blocks_differ():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=[({"x": 0.5}, [1.0, 2.0], "monday")])
    assert opt.blocks is None
    assert opt.recommend().blocks is None
    assert "block" not in str(opt.recommend())
    opt.tell({"x": 0.5}, 1.5, block="tuesday")
    assert set(opt.blocks.effects) == {"monday", "tuesday"}


def test_many_blocks_are_cut_short():
    effects = {str(i): float(i) for i in range(20)}
    found = BlockEffects(1.0, Interval(0.5, 2.0), effects, effects, 0.9)
    assert str(found).endswith("and 8 more")


def test_each_effect_has_an_interval():
    found = told().blocks
    for name, (lower, upper) in found.intervals.items():
        assert lower < found.effects[name] < upper
        # 1.645 deviations to each side hold 90 %.
        assert upper - lower == pytest.approx(3.29 * found.effect_stds[name], rel=1e-3)
