"""What each alpha would report."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import constrained
import rahbo
from bands import bands
from rahbo.analysis import (
    Choice,
    Frontier,
    Interval,
    Prediction,
    choose,
    envelope,
    frontier_of,
)
from rahbo.errors import NotReadyError, SettingsError
from rahbo.policy import GPUCB, Rahbo, RahboUS
from rahbo.risk import RiskMeasure

lines = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 20)), min_size=1, max_size=12)


@given(lines, st.floats(0.0, 50.0))
def test_the_envelope_is_the_largest_line_at_every_alpha(points, alpha):
    lower, noise = np.array(points, dtype=float).T
    found = envelope(lower, noise)
    assert found[0][1] == 0.0
    assert found[-1][2] == math.inf
    assert all(a[2] == b[1] and a[1] < a[2] for a, b in pairwise(found))
    best = (lower - alpha * noise).max()
    here = [lower[i] - alpha * noise[i] for i, start, end in found if start <= alpha <= end]
    assert max(here) == pytest.approx(best, abs=1e-9)
    assert min(here) == pytest.approx(best, abs=1e-9)


def test_the_envelope_by_hand():
    # Mean 3 with variance 2 until alpha = 1, then mean 2 with variance 1 until 4, then 0 without.
    lower, noise = np.array([2.0, 3.0, -2.0, 2.5]), np.array([1.0, 2.0, 0.0, 3.0])
    assert envelope(lower, noise) == [(1, 0.0, 1.0), (0, 1.0, 4.0), (2, 4.0, math.inf)]


def prediction(x, mean, std):
    ends = Interval(mean - 1.0, mean + 2.0)
    return Prediction(
        {"x": x}, mean, ends, std, Interval(std / 2, 2 * std), mean, ends, 0.9, mean - 1.0
    )


@pytest.fixture
def frontier():
    bold, careful = prediction(0.5, 3.0, 1.5), prediction(0.1, 2.0, 0.2)
    choices = (Choice(0.0, 0.7, bold, 4), Choice(0.7, math.inf, careful, 6))
    return Frontier(choices, (bold, careful), ((2.0, 2.0), (1.0, 0.3)), 0.5)


def test_what_an_alpha_would_report(frontier):
    assert frontier.at(0.0).prediction.params == {"x": 0.5}
    assert frontier.at(0.7).prediction.params == {"x": 0.5}
    assert frontier.at(5.0).prediction.params == {"x": 0.1}
    for bad in (-1.0, math.nan):
        with pytest.raises(SettingsError, match="alpha must be"):
            frontier.at(bad)


def test_negated(frontier):
    turned = frontier.negated()
    assert turned.choices[0].prediction.mean == -3.0
    assert turned.choices[0].prediction.mean_interval == Interval(-5.0, -2.0)
    assert turned.choices[0].prediction.noise_std == 1.5
    assert [p.mean for p in turned.evaluated] == [-3.0, -2.0]
    assert turned.worst == ((-2.0, 2.0), (-1.0, 0.3))
    assert turned.alpha == 0.5
    assert turned.negated() == frontier


def test_settings_in_a_narrow_range_are_told_apart():
    bold, careful = (
        Choice(*ends, prediction(1e7 + x, 3.0, 1.5), 4)
        for ends, x in (((0.0, 0.7), 40.1234567), ((0.7, math.inf), 40.1934567))
    )
    found = Frontier((bold, careful), (), (), None)
    assert [line.split()[-1] for line in str(found).splitlines()[1:]] == [
        "x=10000040.1", "x=10000040.2",
    ]  # fmt: skip
    assert "10000040.1" in found._repr_html_()
    assert "alpha" in str(Frontier((), (), (), None))


def test_in_words(frontier):
    first, bold, careful, own = str(frontier).splitlines()
    assert first.split() == ["alpha", "mean", "noise", "std", "evaluated", "params"]
    assert bold.split() == ["0", "to", "0.7", "3.0", "1.5", "4", "x=0.5"]
    assert careful.split() == ["0.7", "to", "inf", "2.0", "0.20", "6", "x=0.1"]
    assert own == "This run reports by alpha = 0.5."
    assert "reports by" not in str(replace(frontier, alpha=None))


# -- of a run ------------------------------------------------------------------------------------


def run(**settings):
    rng = np.random.default_rng(3)
    data = [
        ({"x": float(x)}, np.sin(5 * x) + 0.1 * (1 + 9 * x) * rng.standard_normal(3))
        for x in rng.random(15)
    ]
    return rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data, **settings)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize(
    ("strategy", "noise"), [(Rahbo(), "noise_upper"), (RahboUS(), "noise_var")]
)
def test_the_lines_are_the_ends_that_the_strategy_reports_by(strategy, noise, direction):
    risk = rahbo.MeanVariance(1.0)
    opt = run(
        method=rahbo.Method(strategy=strategy, min_noise_var=0.05), direction=direction, risk=risk
    )
    found, units = opt.frontier(), opt.model.units
    b, sign = bands(opt.model, opt.observations.X), opt.settings.sign
    mean, noise_std = np.array(found.worst).T
    np.testing.assert_allclose(mean, sign * (units.shift + units.scale * b.f_lower))
    expected = units.scale**2 * getattr(b, noise)
    np.testing.assert_allclose(noise_std**2, np.maximum(expected, 0.05))
    score = [sign * p.pessimistic for p in found.evaluated]
    np.testing.assert_allclose(score, sign * mean - noise_std**2)
    assert found.alpha == 1.0
    assert found.at(1.0).prediction.params == opt.recommend().params


def test_a_strategy_that_ignores_the_noise_reports_as_alpha_zero_does():
    opt = run(method=rahbo.Method(strategy=GPUCB()), risk=rahbo.MeanVariance(3.0))
    found, best = opt.frontier(), opt.recommend()
    assert found.alpha == 0.0
    assert found.at(0.0).prediction.params == best.params
    # What the other alphas would choose is still the pessimistic choice.
    careful = run(risk=rahbo.MeanVariance(3.0)).recommend().params
    assert found.at(3.0).prediction.params == careful
    assert found.at(3.0).prediction.params != best.params


def test_points_that_are_not_legal_are_left_out():
    opt = run(valid=lambda p: p["x"] > 0.5)
    found = opt.frontier()
    x = [p.params["x"] for p in found.evaluated]
    assert 0 < len(x) == len(found.worst) < opt.observations.n
    assert min(x) > 0.5
    with pytest.raises(NotReadyError, match="satisfies valid="):
        run(valid=lambda p: False).frontier()


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_measure_without_an_alpha_reports_one_of_the_points(direction):
    for risk in (rahbo.MeanStd(0.5), rahbo.MeanStd(2.0), rahbo.Quantile(0.01)):
        opt = run(risk=risk, direction=direction)
        found = opt.frontier()
        assert found.alpha is None
        assert found.measure == repr(risk)
        (own,) = (c for c in found.choices if (c.alpha_from, c.alpha_to) == found.alphas)
        assert own.prediction.params == opt.recommend().params
        assert f"This run reports by {risk!r}, which has no alpha." in str(found)
        assert f"the point of alpha = {own.alpha_from:.4g} to {own.alpha_to:.4g}." in str(found)


@dataclass(frozen=True)
class Capped(RiskMeasure):
    """Any noise std up to one half is as good as none: not convex in the variance."""

    def value(self, f, v):
        return np.asarray(f - 50.0 * np.maximum(np.sqrt(v) - 0.5, 0.0))

    def gradient(self, f, v):
        raise NotImplementedError


def test_a_measure_may_report_a_point_that_no_alpha_reports():
    x, mean = [0.1, 0.5, 0.9], [0.0, 0.35, 5.0]
    data = [
        ({"x": at}, m + s * np.linspace(-1.7, 1.7, 20))
        for at, m, s in zip(x, mean, (0.01, 0.3, 0.9), strict=True)
    ]
    opt = rahbo.Optimizer(rahbo.Candidates([{"x": at} for at in x]), seed=0, data=data)
    found = opt.state.by(Capped())
    assert opt.space.decode(opt.observations.X[choose("pessimistic", found)]) == {"x": 0.5}
    trade = frontier_of(found)
    assert trade.alphas is None
    assert "It reports a point that no alpha reports." in trade.own


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_only_settings_that_are_sure_to_keep_their_limits_may_be_chosen(direction):
    opt = constrained.told(30, direction=direction)
    found, best = opt.frontier(), opt.recommend()
    assert len(found.evaluated) == len(found.reportable) == opt.observations.n
    assert [p.feasible for p in found.evaluated] == list(found.reportable)
    assert 0 < len(found.candidates) < len(found.evaluated)
    assert all(choice.prediction.feasible for choice in found.choices)
    assert found.at(1.0).prediction.params == best.params
    assert found.warning == ""
    left = len(found.evaluated) - len(found.candidates)
    assert f"{left} of 30 are not" in str(found)
    assert "cost at most 0.8 with probability 0.95" in str(found)


def test_without_a_setting_that_keeps_the_limits_the_least_violating_one_is_shown():
    opt = constrained.told(12, constraints={"cost": rahbo.AtMost(-1.0)})
    found, best = opt.frontier(), opt.recommend()
    assert [c.prediction.params for c in found.choices] == [best.params]
    assert found.warning == best.warning
    assert best.warning in str(found)


def test_without_limits_every_point_may_be_chosen():
    found = run().frontier()
    assert found.reportable == ()
    assert found.candidates == list(range(len(found.evaluated)))
    assert "imits" not in str(found)
