"""What the noise costs, and what another aversion would choose."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rahbo
from rahbo.analysis import Alternative, Aversion, penalty_of
from rahbo.numerics import Justified
from rahbo.policy import GPUCB, pessimistic
from rahbo.risk import RiskMeasure

DIGITS = Justified(-2)


def steps(risk, direction="maximize", **settings):
    """Three candidates, the better the noisier."""
    rng = np.random.default_rng(0)
    sign = 1.0 if direction == "maximize" else -1.0
    rows = rahbo.Candidates([{"c": name} for name in "abc"])
    noise = rng.standard_normal((3, 60))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True)
    data = [({"c": name}, sign * (m + s * z))
            for name, m, s, z in zip("abc", (0.0, 1.0, 2.0), (0.01, 0.5, 2.0), noise, strict=True)
            ]  # fmt: skip
    return rahbo.Optimizer(rows, data=data, risk=risk, seed=0, direction=direction, **settings)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("risk", [rahbo.MeanStd(1.0), rahbo.Quantile(0.1), rahbo.MeanVariance(0.5)])
def test_the_weights_are_those_at_which_the_recommendation_changes(risk, direction):
    opt = steps(risk, direction)
    found = opt.recommend()
    aversion, sign = found.aversion, opt.settings.sign
    assert found.params == {"c": "b"}
    assert aversion.less.params == {"c": "c"}
    assert aversion.more.params == {"c": "a"}
    assert (aversion.less.trials, aversion.more.trials) == ((2,), (0,))
    kind = rahbo.MeanVariance if isinstance(risk, rahbo.MeanVariance) else rahbo.MeanStd
    for other, side in ((aversion.less, 1.001), (aversion.more, 0.999)):
        assert opt.recommend(risk=kind(other.weight * side)).params == found.params
        assert opt.recommend(risk=kind(other.weight / side)).params == other.params
    assert aversion.certain == pytest.approx(found.mean)
    assert sign * (aversion.certain - found.risk) > 0.0
    word = "takes" if sign > 0 else "adds"
    assert f"The noise {word} " in str(found)
    assert "it would be c=c, and from " in str(found)
    assert opt.recommend().negated().aversion.negated() == aversion


def test_a_strategy_that_ignores_the_noise_has_no_smaller_weight():
    found = steps(rahbo.MeanStd(1.0), method=rahbo.Method(strategy=GPUCB())).recommend()
    assert found.params == {"c": "c"}
    assert (found.aversion.weight, found.aversion.less) == (0.0, None)
    assert found.aversion.more.params == {"c": "b"}


def test_where_nothing_changes_that_is_said_and_a_single_point_is_no_choice():
    data = [({"x": x}, [x, x + 0.1, x - 0.1]) for x in (0.0, 0.5, 1.0)]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data, seed=0, risk=rahbo.MeanStd(1.0))
    assert "Any reasonable aversion to noise leads to this choice." in str(opt.recommend())
    one = rahbo.Optimizer({"x": (0.0, 1.0)}, data=data[:1], seed=0, risk=rahbo.MeanStd(1.0))
    assert "aversion" not in str(one.recommend())


def test_a_measure_without_a_weight_says_what_the_noise_costs():
    class Doubled(RiskMeasure):
        def value(self, f, v):
            return 2.0 * np.asarray(f) - np.asarray(v)

        def gradient(self, f, v):
            f, v = np.broadcast_arrays(f, v)
            return np.full(f.shape, 2.0), np.full(f.shape, -1.0)

    opt = steps(rahbo.MeanStd(1.0))
    found = opt.recommend(risk=Doubled())
    assert found.aversion.penalty is None
    assert found.aversion.certain == pytest.approx(2.0 * found.mean)
    assert "The noise takes " in str(found)
    assert "it would be" not in str(found)
    assert penalty_of(pessimistic(opt.model, Doubled()), Doubled()) == (None, None)


def test_sentences():
    found = Aversion(0.91, 0.86, "noise std", 1.0, None, Alternative({"x": 1.0}, (3,), 3.0), True)
    assert found.sentence(DIGITS, ["x=1"]) == (
        "The noise takes 0.05 off 0.91. From 3 standard deviations on it would be x=1."
    )
    assert found.negated().sentence(DIGITS, ["x=1"]).startswith("The noise adds 0.05 to -0.91.")
    close = replace(found, more=replace(found.more, weight=1.004))
    assert "From 1.004 standard deviations on" in close.sentence(DIGITS, ["x=1"])
    both = replace(found, penalty="noise variance", less=Alternative({"x": 2.0}, (4,), 0.25))
    assert both.sentence(DIGITS, ["x=2", "x=1"]).endswith(
        "Below alpha = 0.25 it would be x=2, and from alpha = 3 on it would be x=1."
    )
    tiny = replace(found, risk=0.9099, more=None)
    assert tiny.sentence(DIGITS, []).startswith("The noise takes less than 0.01 off 0.91.")
    neutral = replace(found, risk=0.91, more=None, robust=False)
    assert neutral.sentence(DIGITS, []) == ""
    assert math.isclose(found.more.weight, 3.0)
