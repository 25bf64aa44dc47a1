"""The evidence and its gradient against densities and differences, its maximum against SciPy."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.stats import multivariate_normal

from differences import slope_of
from gp_data import KERNELS, close, data_of
from rahbo.model import GP, RBF, Evidence, Hyperprior, Linear, Matern32, Matern52, fit

PRIORS = {
    "flat": Hyperprior.flat(0.3),
    "weak": Hyperprior.weak(2),
    "tight": Hyperprior(-1.0, 0.4, 0.5, 0.3, 0.8, 0.1),
}


def evidence_of(kind, prior, *, learned_noise=True, lam=1.0, seed=7, n=20, d=2):
    rng, X, y, noise_var = data_of(seed, n, d)
    weights = rng.uniform(0.2, 1.0, n) if learned_noise else None
    return rng, Evidence(kind, X, y, noise_var, weights, lam, prior)


@pytest.mark.parametrize("lam", [1.0, 0.4])
@pytest.mark.parametrize("learned_noise", [False, True])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", KERNELS)
def test_evidence_gradient(kind, prior, learned_noise, lam):
    rng, evidence = evidence_of(kind, PRIORS[prior], learned_noise=learned_noise, lam=lam)
    for _ in range(3):
        theta = rng.uniform(-1.5, 0.5, 4 if learned_noise else 3)
        value, gradient, _ = evidence(theta)
        assert math.isfinite(value)
        close(gradient, slope_of(lambda theta: evidence(theta)[0], theta))


@pytest.mark.parametrize("lam", [1.0, 0.4])
@pytest.mark.parametrize("prior", PRIORS)
def test_evidence_is_likelihood_plus_prior(prior, lam):
    rng, evidence = evidence_of(Matern52, PRIORS[prior], lam=lam)
    p, theta = PRIORS[prior], rng.uniform(-1.0, 0.5, 4)
    value, _, m = evidence(theta)
    noise = evidence.noise_var + math.exp(theta[3]) * evidence.noise_weights
    kernel = Matern52(np.exp(theta[:2]), math.exp(theta[2]))
    covariance = kernel(evidence.X, evidence.X) / lam + np.diag(noise)

    def log_posterior(m):
        total = multivariate_normal(np.full(20, m), covariance).logpdf(evidence.y)
        total -= np.sum((theta[:2] - p.log_lengthscale) ** 2) / (2 * p.log_lengthscale_std**2)
        total -= (theta[2] - p.log_variance) ** 2 / (2 * p.log_variance_std**2)
        total -= (theta[3] - p.log_noise) ** 2 / (2 * p.log_noise_std**2)
        return total - ((m - p.mean) ** 2 / (2 * p.mean_var) if p.mean_var else 0.0)

    assert value == pytest.approx(log_posterior(m), rel=1e-9)
    if p.mean_var == 0.0:
        assert m == p.mean
    else:
        best = scipy_minimize(lambda m: -log_posterior(m[0]), [0.0], tol=1e-10)
        assert m == pytest.approx(best.x[0], abs=1e-5)
        assert -best.fun <= value + 1e-9


def test_subset_is_the_evidence_of_those_rows():
    rng, evidence = evidence_of(RBF, PRIORS["weak"])
    rows, theta = np.array([1, 4, 9, 12]), rng.uniform(-1.0, 0.0, 4)
    direct = Evidence(
        RBF,
        evidence.X[rows],
        evidence.y[rows],
        evidence.noise_var[rows],
        evidence.noise_weights[rows],
        1.0,
        PRIORS["weak"],
    )
    assert evidence.subset(rows)(theta)[0] == direct(theta)[0]


# Fit


def best_of_scipy(evidence, *, starts=20, seed=0):
    """The largest log posterior found by L-BFGS-B from many random starts in the same box."""
    d, p = evidence.X.shape[1], evidence.prior
    bounds = [(math.log(0.01), math.log(100.0))] * d
    bounds.append((p.log_variance - math.log(1e4), p.log_variance + math.log(1e4)))
    if evidence.noise_weights is not None:
        bounds.append((p.log_noise - p.log_noise_reach, p.log_noise + p.log_noise_reach))
    rng = np.random.default_rng(seed)
    low, high = np.array(bounds).T

    def negative(theta):
        value, gradient, _ = evidence(theta)
        return -value, -gradient

    inner = np.maximum(low, -4.0), np.minimum(high, 3.0)
    results = [
        scipy_minimize(negative, rng.uniform(*inner), jac=True, method="L-BFGS-B", bounds=bounds)
        for _ in range(starts)
    ]
    return max(-r.fun for r in results)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "d", "learned_noise"),
    [
        (Matern52, 10, 1, False),
        (Matern52, 30, 2, False),
        (Matern52, 40, 4, False),
        (Matern32, 25, 3, False),
        (RBF, 30, 2, True),
        (Matern52, 20, 2, True),
        (Linear, 20, 2, True),
    ],
)
@pytest.mark.parametrize("seed", [10, 11, 12])
def test_fit_is_no_worse_than_twenty_starts_of_scipy(kind, n, d, learned_noise, seed):
    _, evidence = evidence_of(
        kind, Hyperprior.weak(d), learned_noise=learned_noise, seed=seed, n=n, d=d
    )
    found = fit(evidence)
    assert found.log_posterior >= best_of_scipy(evidence) - 0.05
    assert found.log_posterior == pytest.approx(evidence(found.theta)[0], rel=1e-12)
    assert found.prior_mean == pytest.approx(evidence(found.theta)[2], rel=1e-12)
    assert found.kernel == kind.from_log_parameters(found.theta[: d + 1])
    assert found.noise_scale == (math.exp(found.theta[-1]) if learned_noise else 0.0)


class Counted:
    """Counts evaluations of the evidence."""

    def __init__(self, monkeypatch):
        self.calls = 0
        plain = Evidence.__call__

        def counted(evidence, theta):
            self.calls += 1
            return plain(evidence, theta)

        monkeypatch.setattr(Evidence, "__call__", counted)


@pytest.mark.parametrize("learned_noise", [False, True])
@pytest.mark.parametrize("seed", [20, 21, 22])
def test_warm_start_at_the_optimum_is_quick_and_no_worse(monkeypatch, seed, learned_noise):
    _, evidence = evidence_of(
        Matern52, Hyperprior.weak(3), learned_noise=learned_noise, seed=seed, n=40, d=3
    )
    counted = Counted(monkeypatch)
    first = fit(evidence)
    cold, counted.calls = counted.calls, 0
    second = fit(evidence, first)
    assert second.log_posterior >= first.log_posterior
    assert counted.calls <= 5
    assert counted.calls < cold / 4


def test_warm_start_after_one_more_point_is_quick(monkeypatch):
    _, evidence = evidence_of(Matern52, Hyperprior.weak(3), learned_noise=False, seed=23, n=41, d=3)
    first = fit(evidence.subset(np.arange(40)))
    counted = Counted(monkeypatch)
    second = fit(evidence, first)
    assert counted.calls <= 12
    assert second.log_posterior >= evidence(first.theta)[0]
    assert second.log_posterior >= best_of_scipy(evidence) - 0.05


@pytest.mark.parametrize("learned_noise", [False, True])
@pytest.mark.parametrize("kind", KERNELS)
def test_a_given_kernel_is_kept_as_it_is(kind, learned_noise):
    kernel = kind([0.3, 300.0], 1e-7)
    _, evidence = evidence_of(kernel, Hyperprior.weak(2), learned_noise=learned_noise)
    found = fit(evidence)
    assert found.kernel is kernel
    np.testing.assert_array_equal(found.theta[:3], kernel.log_parameters)
    again = fit(evidence, found)
    assert again.kernel is kernel
    assert again.log_posterior >= found.log_posterior
    if learned_noise:
        levels = np.linspace(math.log(1e-6), math.log(1e4), 500)
        best = max(evidence(np.append(kernel.log_parameters, s))[0] for s in levels)
        assert found.log_posterior >= best - 0.05


# Hard cases

SCALES = [1.0, 1e12, 1e-12]


def fit_and_predict(evidence):
    """Fit, condition and predict, and check that every number is finite."""
    found = fit(evidence)
    noise = evidence.noise_var
    if evidence.noise_weights is not None:
        noise = noise + found.noise_scale * evidence.noise_weights
    gp = GP.condition(
        found.kernel, evidence.X, evidence.y, noise, lam=evidence.lam, prior_mean=found.prior_mean
    )
    X_new = np.vstack([np.random.default_rng(0).random((5, evidence.X.shape[1])), evidence.X[:3]])
    parts = gp.predict_with_gradient(X_new)
    assert all(np.all(np.isfinite(part)) for part in parts)
    assert np.all(parts[1] > 0)
    assert math.isfinite(gp.log_likelihood)
    assert np.all(np.isfinite(found.hessian))
    return gp, found


def hard(X, y, scale=1.0, noise_share=1e-8, *, learned_noise=False, kind=Matern52):
    """Evidence of outputs of any scale under the flat prior that goes with them."""
    y = scale * np.asarray(y, dtype=float)
    prior = Hyperprior.flat(math.log(np.mean(y**2) or 1.0))
    n = len(y)
    weights = np.ones(n) if learned_noise else None
    return Evidence(kind, X, y, np.full(n, noise_share * scale**2), weights, 1.0, prior)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("kind", KERNELS)
def test_few_points_at_any_scale(kind, n, scale, rng):
    for learned_noise in (False, True):
        X, y = rng.random((n, 2)), rng.normal(size=n)
        fit_and_predict(hard(X, y, scale, learned_noise=learned_noise, kind=kind))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_outputs_equal(value, scale, rng):
    X = rng.random((8, 2))
    gp, _ = fit_and_predict(hard(X, np.full(8, value), scale))
    np.testing.assert_allclose(gp.predict(X)[0], value * scale, rtol=1e-3, atol=1e-9 * scale)


@pytest.mark.parametrize("apart", [0.0, 1e-9])
@pytest.mark.parametrize("kind", KERNELS)
def test_near_duplicates(kind, apart, rng):
    X = rng.random((6, 2)) * 0.9
    X = np.vstack([X, X + apart])
    y = np.sin(5.0 * X[:, 0]) + 0.01 * rng.normal(size=12)
    fit_and_predict(hard(X, y, kind=kind))
    fit_and_predict(hard(X, y, kind=kind, learned_noise=True))


def test_near_duplicates_agree_with_merged_points(rng):
    X = rng.random((5, 2)) * 0.9
    y, kernel = np.sin(5.0 * X[:, 0]), Matern52([0.3, 0.5])
    twice = GP.condition(kernel, np.vstack([X, X + 1e-9]), np.tile(y, 2), np.full(10, 0.02))
    merged = GP.condition(kernel, X, y, np.full(5, 0.01))
    X_new = rng.random((7, 2))
    for found, expected in zip(twice.predict(X_new), merged.predict(X_new), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KERNELS)
def test_thirty_dimensions(kind, rng):
    X = rng.random((25, 30))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=25)
    _, found = fit_and_predict(
        Evidence(kind, X, y, np.full(25, 0.01), None, 1.0, Hyperprior.weak(30))
    )
    assert found.kernel.d == 30


def test_almost_no_noise_interpolates(rng):
    X = rng.random((15, 1))
    y = np.sin(6.0 * X[:, 0])
    gp = GP.condition(RBF([0.3]), X, y, np.full(15, 1e-12))
    mu, sigma = gp.predict(X)
    np.testing.assert_allclose(mu, y, atol=1e-5)
    assert np.all((sigma > 0) & (sigma < 1e-3))
