"""What the luckiest trial promised."""

import numpy as np
import pytest

import rahbo
from rahbo.analysis import fresh_value


def rows(*told):
    return [({"x": x}, values) for x, values in told]


def lucky(seed=0, direction="maximize"):
    """A quiet optimum at 0.2, and one value far above it where there is much noise."""
    rng = np.random.default_rng(seed)
    sign = 1.0 if direction == "maximize" else -1.0
    data = [
        ({"x": float(x)},
         list(sign * (1.0 - 2 * (x - 0.2) ** 2 + (0.02 + 1.5 * x) * rng.standard_normal(4))))
        for x in np.linspace(0.0, 1.0, 11)
    ]  # fmt: skip
    settings = {"risk": rahbo.MeanStd(1.0), "direction": direction, "seed": 0}
    return rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, **settings)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_luckiest_trial_is_named_with_what_to_expect(direction):
    opt = lucky(direction=direction)
    found, sign = opt.recommend(), opt.settings.sign
    luck = found.luckiest
    value, trial = max((sign * v, t.id) for t in opt.trials for v in t.values.values())
    assert (luck.trial, sign * luck.value) == (trial, value)
    assert opt.trials[trial].values[luck.repeat] == luck.value
    assert luck.params == opt.trials[trial].params
    assert not luck.is_recommended
    assert sign * (luck.value - luck.expected) > luck.spread
    there = opt.predict(luck.params)
    assert luck.expected == pytest.approx(there.mean)
    assert luck.spread > there.noise_std
    assert f"Trial {trial} promised {sign * value:.1f}; expect " in str(found)


def test_the_recommended_setting_names_its_luck_once():
    data = rows((0.5, [3.0, 0.1, -0.2, 0.0, 0.1, -0.1]), (0.0, [-5.0, -5.4]), (1.0, [-5.2, -4.9]))
    found = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, seed=0).recommend()
    assert found.luckiest.is_recommended
    assert found.luckiest.expected == pytest.approx(found.mean)
    assert str(found).count("promised") == 1
    assert "Its luckiest value promised 3.0; expect " in str(found)


def test_nothing_is_said_of_values_that_keep_their_promise():
    quiet = [({"x": x}, [x, x + 1e-5]) for x in np.linspace(0.0, 1.0, 9).tolist()]
    single = rows((0.5, [1.0]))
    equal = rows((0.1, [2.0, 2.0]), (0.7, [2.0]), (0.9, [2.0]))
    for data in (quiet, single, equal):
        found = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, seed=0).recommend()
        assert not found.luckiest.is_luck
        assert "promised" not in str(found)


def test_of_equal_values_one_of_the_recommended_setting_counts_or_the_first():
    data = rows((0.0, [1.0, -3.0, -2.0]), (0.5, [1.0, 1.0, 0.9]), (1.0, [-1.0, 1.0, -2.0]))
    found = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, seed=0).recommend()
    assert found.trials == (1,)
    assert (found.luckiest.trial, found.luckiest.repeat) == (1, 0)
    data = rows((0.0, [1.0, -3.0]), (0.5, [0.9, 0.9, 0.9, 0.9]), (1.0, [-1.0, 1.0]))
    found = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, seed=0).recommend()
    assert found.trials == (1,)
    assert (found.luckiest.trial, found.luckiest.repeat) == (0, 0)


def test_what_is_not_valid_promises_nothing():
    data = rows((0.2, [1.0, 1.1]), (0.8, [9.0, 9.5]))
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, seed=0, valid=lambda p: p["x"] < 0.5)
    assert opt.recommend().luckiest.value == 1.1


def test_a_trial_that_breaks_its_limits_is_named_as_such():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, constraints={"cost": rahbo.AtMost(0.5)})
    rng = np.random.default_rng(0)
    for x in np.linspace(0.0, 1.0, 9).tolist():
        for y in x + 0.3 * rng.standard_normal(2) + (x == 1.0):
            opt.tell({"x": x}, y, outcomes={"cost": x + 0.01 * rng.standard_normal()})
    found = opt.recommend()
    assert not found.luckiest.keeps_limits
    assert found.luckiest.sentence("trial") == "" or "not sure to keep its limits" in str(found)


@pytest.mark.slow
def test_a_new_value_is_as_far_from_the_expectation_as_is_said():
    inside, twice = [], []
    for seed in range(60):
        opt = lucky(seed)
        luck = opt.recommend().luckiest
        x = luck.params["x"]
        truth, std = 1.0 - 2 * (x - 0.2) ** 2, 0.02 + 1.5 * x
        new = truth + std * np.random.default_rng(seed + 1).standard_normal(100)
        far = np.abs(new - luck.expected) / luck.spread
        inside.append(np.mean(far < 1.0))
        twice.append(np.mean(far < 2.0))
    assert 0.62 < np.mean(inside) < 0.80
    assert np.mean(twice) > 0.91


def test_differences_between_blocks_widen_the_expectation():
    rng = np.random.default_rng(0)
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    for x in np.linspace(0.0, 1.0, 8).tolist():
        noise = 0.05 * rng.standard_normal(4)
        opt.tell({"x": x}, [x + 3.0 * b + noise[b] for b in range(4)],
                 block=[f"day {b}" for b in range(4)])  # fmt: skip
    x = opt.observations.X[3]
    expected, spread = fresh_value(opt.state, x)
    assert opt.predict({"x": float(x[0])}).noise_std < 0.2
    assert spread > 0.7 * opt.blocks.std > 1.0
    assert expected == pytest.approx(opt.predict({"x": float(x[0])}).mean)
