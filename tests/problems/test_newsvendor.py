"""The newsvendor problem against simulation, numerical integration and another search."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import differential_evolution
from scipy.stats import gamma

from rahbo.problems import newsvendor
from rahbo.risk import MeanVariance

POINT = {"price1": 2.4, "stock1": 0.5, "price2": 1.5, "stock2": 1.4}
COST, SIZE, OWN = (0.6, 0.4), (2.0, 2.5), (1.0, 1.2)


def sales_moment(demand, stock, n):
    # E s^n is the integral of n s^(n-1) P(D > s), which has no peak to be missed.
    edges = [0.0, *(e for e in demand.mean() + demand.std() * np.arange(-8, 9) if 0 < e < stock)]
    steps = zip(edges, [*edges[1:], stock], strict=True)
    return sum(quad(lambda s: n * s ** (n - 1) * demand.sf(s), a, b)[0] for a, b in steps)


def by_integration(x, variability):
    """Mean and variance of the profit from integrals over the density of the demand."""
    mean = var = 0.0
    for i in (0, 1):
        p, q, other = x[2 * i], x[2 * i + 1], x[2 - 2 * i]
        mu = SIZE[i] * np.exp(-OWN[i] * (p - 1) + 0.2 * (other - 1))
        demand = gamma(1 / variability**2, scale=mu * variability**2)
        first, second = (sales_moment(demand, q, n) for n in (1, 2))
        mean += p * first - COST[i] * q
        var += p**2 * (second - first**2)
    return mean, var


@pytest.mark.slow
@pytest.mark.parametrize("variability", [0.01, 0.2, 0.5, 0.9, 2.0])
def test_mean_and_noise_are_the_integrals_over_the_demand(variability):
    X = np.array([1.0, 0.0, 1.0, 0.0]) + np.random.default_rng(1).random((8, 4)) * (2, 4, 2, 4)
    X[0, 1] = 0.0
    expected = np.array([by_integration(x, variability) for x in X])
    problem = newsvendor(variability)
    np.testing.assert_allclose(problem.f(X), expected[:, 0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(problem.noise_var(X), expected[:, 1], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_what_is_drawn_has_that_mean_and_variance_and_is_cut_off_at_selling_out():
    problem = newsvendor()
    y = np.array(problem.samples(POINT, (np.random.default_rng(s) for s in range(20_000))))
    X = problem.params_to_row(POINT)[None]
    f, v = problem.f(X)[0], problem.noise_var(X)[0]
    assert y.mean() == pytest.approx(f, abs=4 * np.sqrt(v / len(y)))
    assert y.var(ddof=1) == pytest.approx(v, rel=0.05)
    sold_out = 2.4 * 0.5 - 0.6 * 0.5 + 1.5 * 1.4 - 0.4 * 1.4
    assert y.max() == pytest.approx(sold_out)
    assert np.mean(y > sold_out - 1e-12) > 0.1


def test_nothing_in_stock_earns_and_risks_nothing():
    X = np.array([[2.0, 0.0, 1.5, 0.0]])
    assert newsvendor().f(X)[0] == newsvendor().noise_var(X)[0] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_optimum_agrees_with_another_search(alpha):
    problem, risk = newsvendor(), MeanVariance(alpha)
    found = differential_evolution(
        lambda x: -problem.risk_value(x.T, risk), [(1, 3), (0, 4)] * 2, rng=5, vectorized=True,
        updating="deferred", popsize=60, tol=1e-10, maxiter=400,
    )  # fmt: skip
    assert problem.optimum(risk).value == pytest.approx(-found.fun, abs=1e-7)


def test_risk_lowers_stock_and_noise():
    neutral, careful = (newsvendor().optimum(MeanVariance(a)).params for a in (0.0, 1.0))
    assert careful["stock2"] < 0.6 * neutral["stock2"]
    rows = np.array([newsvendor().params_to_row(p) for p in (neutral, careful)])
    assert np.diff(newsvendor().noise_var(rows))[0] < -0.5
