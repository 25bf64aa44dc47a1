"""The synthetic problems against their stated optima, dense search and sampling."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from rahbo.problems import branin, sine
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, RiskMeasure

A, B, C = (9.42478, 2.475), (math.pi, 2.275), (-math.pi, 12.275)
RISKS = [*map(MeanVariance, (0.0, 0.5, 1.0, 2.0)), MeanStd(2.0), ExpectedShortfall(0.1)]


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z))


def branin_by_hand(x1, x2):
    b, c, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return -((x2 - b * x1**2 + c * x1 - 6) ** 2 + 10 * (1 - t) * math.cos(x1) + 10)


def test_sine_is_the_stated_formula():
    for s in (1.0, 2.0):
        for x in (0.0, 0.3, 0.97, 1.25, 2.0):
            X = np.array([[x]])
            assert sine(s).f(X)[0] == pytest.approx(math.sin(2 * math.pi * x), abs=1e-15)
            expected = s * sigmoid(30 * (x - 1)) + 0.1
            assert sine(s).noise_var(X)[0] == pytest.approx(expected, rel=1e-14)


def test_branin_is_the_stated_formula():
    for s in (1.0, 2.0):
        for x1, x2 in (A, B, C, (-5.0, 0.0), (10.0, 15.0), (2.5, 7.5)):
            X = np.array([[x1, x2]])
            assert branin(s).f(X)[0] == pytest.approx(branin_by_hand(x1, x2), rel=1e-13)
            expected = (s * sigmoid(2 * (x1 - 3.2)) + 0.2) * (s * sigmoid(2 * x2) + 0.2)
            assert branin(s).noise_var(X)[0] == pytest.approx(expected, rel=1e-14)


def test_branin_has_three_equal_maxima_of_unequal_noise():
    X = np.array([A, B, C])
    np.testing.assert_allclose(branin().f(X), -0.397887, atol=1e-6)
    noisy, middle, quiet = branin().noise_var(X)
    assert noisy > middle > quiet


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("risk", RISKS, ids=repr)
def test_sine_optimum_agrees_with_dense_search(scale, risk):
    problem = sine(scale)
    x = np.linspace(0.0, 2.0, 1_000_003)
    dense = risk.value(np.sin(2 * np.pi * x), problem.noise_var(x[:, None]))
    best = problem.optimum(risk)
    assert best.value >= dense.max() - 1e-12
    assert best.value == pytest.approx(dense.max(), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("risk", RISKS, ids=repr)
def test_branin_optimum_agrees_with_dense_search(scale, risk):
    problem = branin(scale)
    best = problem.optimum(risk)
    side = np.linspace(0.0, 1.0, 601)
    grid = np.stack(np.meshgrid(15 * side - 5, 15 * side), axis=-1).reshape(-1, 2)
    assert best.value >= problem.risk_value(grid, risk).max()
    # A second, fine grid around the answer: nothing better nearby, and nothing far below.
    near = np.linspace(-0.01, 0.01, 401)
    around = np.array(list(best.params.values())) + np.stack(np.meshgrid(near, near), -1)
    dense = problem.risk_value(np.clip(around.reshape(-1, 2), [-5, 0], [10, 15]), risk)
    assert best.value >= dense.max() - 1e-12
    assert best.value == pytest.approx(dense.max(), abs=1e-9)


def test_stated_optima():
    assert sine().optimum(MeanVariance(0.0)).value == pytest.approx(1.0, abs=1e-12)
    for alpha in (0.5, 1.0, 2.0):
        best = sine().optimum(MeanVariance(alpha))
        assert best.params["x"] == pytest.approx(0.25, abs=1e-6)
        assert best.value == pytest.approx(1.0 - 0.1 * alpha, abs=1e-8)
    best = branin().optimum(MeanVariance(0.0))
    assert best.value == pytest.approx(-0.397887, abs=1e-6)
    place = (best.params["x1"], best.params["x2"])
    assert min(math.dist(place, stated) for stated in (A, B, C)) < 1e-4
    for alpha in (0.5, 1.0, 2.0):
        best = branin().optimum(MeanVariance(alpha))
        assert math.dist((best.params["x1"], best.params["x2"]), C) < 1e-3
        # At C the sigmoids are 0 and 1 to six digits.
        assert best.value == pytest.approx(-0.397887 - alpha * 0.2 * 1.2, abs=1e-5 * (1 + alpha))


def test_regret_of_the_noisy_maximum_is_its_extra_noise():
    quiet, noisy = sine().noise_var(np.array([[0.25], [1.25]]))
    regret = sine().regret({"x": 1.25}, MeanVariance(2.0))
    assert regret == pytest.approx(2.0 * (noisy - quiet), abs=1e-7)


def test_changing_a_returned_optimum_does_not_change_the_next():
    sine().optimum(MeanVariance()).params["x"] = 7.0
    assert sine().optimum(MeanVariance()).params["x"] == pytest.approx(0.25, abs=1e-6)


def test_a_measure_that_cannot_be_hashed_still_has_an_optimum():
    @dataclass
    class Loose(RiskMeasure):
        alpha: float = 1.0

        def value(self, f, v):
            return f - self.alpha * v

        def gradient(self, f, v):
            return np.ones_like(f), np.full_like(f, -self.alpha)

    assert sine().optimum(Loose()).value == pytest.approx(0.9, abs=1e-8)
