"""The problems of more inputs against published maxima, formulas by hand and other searches."""

import math

import numpy as np
import pytest
from scipy.optimize import differential_evolution

from rahbo.problems import hartmann6, ridge10
from rahbo.risk import MeanStd, MeanVariance

LOUD = (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
QUIET = (0.40465, 0.88244, 0.84610, 0.57399, 0.13893, 0.03850)
MIDDLE = np.array([0.6, 0.4, 0.55, 0.45, 0.5, 0.6, 0.4, 0.55, 0.45, 0.5])
RISKS = [*map(MeanVariance, (0.0, 0.5, 1.0, 2.0)), MeanStd(1.0)]


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def row_of(problem, risk):
    return problem.params_to_row(problem.optimum(risk).params)


def test_hartmann_has_its_published_maximum_and_its_second_peak():
    assert hartmann6().f(np.array([LOUD]))[0] == pytest.approx(3.32237, abs=1e-5)
    assert hartmann6().f(np.array([QUIET]))[0] == pytest.approx(3.20316, abs=1e-5)


@pytest.mark.parametrize("scale", [0.0, 1.0, 2.0])
def test_noise_is_the_stated_formula(scale):
    X = np.random.default_rng(3).random((20, 6))
    expected = 0.5 * scale * sigmoid(8 * (X[:, 5] - X[:, 1])) + 0.05
    np.testing.assert_allclose(hartmann6(scale).noise_var(X), expected, rtol=1e-13)
    X = np.random.default_rng(3).random((20, 10))
    z = X - MIDDLE
    along = z[:, 0] - 0.3 * z[:, 1] + z[:, 2] - 0.3 * z[:, 3]
    expected = 0.5 * scale * sigmoid(10 * along) + 0.02
    np.testing.assert_allclose(ridge10(scale).noise_var(X), expected, rtol=1e-12)


def test_ridge_is_the_stated_formula():
    x = np.random.default_rng(4).random(10)
    z = [*(x - MIDDLE), 0.0]
    expected = sum(
        0.7**j * math.exp(-((z[j] - 0.3 * z[j + 1]) ** 2) / (2 * 0.25**2)) for j in range(10)
    )
    assert ridge10().f(x[None])[0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_hartmann_optimum_agrees_with_another_search(alpha):
    problem, risk = hartmann6(), MeanVariance(alpha)
    found = differential_evolution(
        lambda x: -problem.risk_value(x.T, risk), [(0.0, 1.0)] * 6, rng=5, vectorized=True,
        updating="deferred", popsize=100, tol=1e-10, maxiter=400,
    )  # fmt: skip
    assert problem.optimum(risk).value == pytest.approx(-found.fun, abs=1e-7)


@pytest.mark.slow
def test_risk_moves_the_hartmann_optimum_to_the_other_peak():
    np.testing.assert_allclose(row_of(hartmann6(), MeanVariance(0.0)), LOUD, atol=1e-3)
    np.testing.assert_allclose(row_of(hartmann6(), MeanVariance(1.0)), QUIET, atol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("risk", RISKS, ids=repr)
def test_ridge_optimum_agrees_with_a_dense_search_of_the_two_offsets_that_count(risk):
    # Every u but u1 and u3 is best at 0 whatever the others are, if x stays in the cube.
    u = np.linspace(-0.6, 0.2, 2001)
    u1, u3 = np.meshgrid(u, u, indexing="ij")
    weights = 0.7 ** np.arange(10)
    f = weights.sum() + sum(
        w * (np.exp(-(a**2) / (2 * 0.25**2)) - 1.0) for w, a in ((1.0, u1), (0.49, u3))
    )
    dense = risk.value(f, 0.5 * sigmoid(10 * (u1 + u3)) + 0.02)
    best = ridge10().optimum(risk)
    assert all(0.05 < x < 0.95 for x in best.params.values())
    assert best.value >= dense.max() - 1e-9
    assert best.value == pytest.approx(dense.max(), abs=2e-6)


@pytest.mark.slow
def test_risk_moves_the_ridge_optimum_and_noise_falls():
    neutral, careful = (row_of(ridge10(), MeanVariance(a))[None] for a in (0.0, 1.0))
    np.testing.assert_allclose(neutral[0], MIDDLE, atol=1e-4)
    assert ridge10().noise_var(neutral)[0] == pytest.approx(0.27, abs=1e-4)
    assert ridge10().noise_var(careful)[0] < 0.15
    assert ridge10().f(careful)[0] < ridge10().f(neutral)[0] - 0.03
