"""The GP against dense algebra, its gradients against differences."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from differences import slope_of
from gp_data import KERNELS, close, data_of, kernel_of
from rahbo.errors import NumericalError
from rahbo.model import GP, RBF, Matern52
from rahbo.model.gp import cholesky


def dense(kernel, X, y, noise_var, X_new, lam=1.0, m=0.0):
    """Posterior mean and covariance (eq. 5, 6) by a general solver."""
    A = kernel(X, X) + lam * np.diag(noise_var)
    k = kernel(X_new, X)
    mu = m + k @ np.linalg.solve(A, y - m)
    return mu, (kernel(X_new, X_new) - k @ np.linalg.solve(A, k.T)) / lam


# Posterior


@pytest.mark.parametrize("lam", [1.0, 0.3, 4.0])
@pytest.mark.parametrize("kind", KERNELS)
def test_posterior_is_equations_5_and_6(kind, lam):
    rng, X, y, noise_var = data_of(1)
    kernel, X_new = kernel_of(kind, rng, 2), rng.random((11, 2))
    gp = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=0.7)
    mu, covariance = dense(kernel, X, y, noise_var, X_new, lam, 0.7)
    found_mu, sigma = gp.predict(X_new)
    np.testing.assert_allclose(found_mu, mu, rtol=1e-9)
    np.testing.assert_allclose(sigma**2, np.diag(covariance), rtol=1e-8)
    close(gp.covariance(X_new), covariance, 1e-9)


@pytest.mark.parametrize("lam", [1.0, 0.3, 4.0])
@pytest.mark.parametrize("kind", KERNELS)
def test_log_likelihood_is_that_of_a_multivariate_normal(kind, lam):
    rng, X, y, noise_var = data_of(2)
    kernel = kernel_of(kind, rng, 2)
    gp = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=-0.4)
    covariance = kernel(X, X) / lam + np.diag(noise_var)
    expected = multivariate_normal(np.full(20, -0.4), covariance).logpdf(y)
    assert gp.log_likelihood == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("lam", [1.0, 0.5])
@pytest.mark.parametrize("kind", KERNELS)
def test_information_gain_is_the_determinant_form(kind, lam):
    rng, X, y, noise_var = data_of(3, n=15, d=3)
    kernel = kernel_of(kind, rng, 3)
    gp = GP.condition(kernel, X, y, noise_var, lam=lam)
    sign, log_det = np.linalg.slogdet(np.eye(15) + kernel(X, X) / (lam * noise_var)[:, None])
    assert sign == 1.0
    assert gp.information_gain == pytest.approx(0.5 * log_det, rel=1e-9)


def test_information_gain_is_the_sum_over_rounds():
    rng, X, y, noise_var = data_of(4, n=12)
    kernel, lam = kernel_of(Matern52, rng, 2), 0.7
    total = 0.5 * math.log1p(kernel.variance / lam / noise_var[0])
    for t in range(1, 12):
        _, sigma = GP.condition(kernel, X[:t], y[:t], noise_var[:t], lam=lam).predict(X[t : t + 1])
        total += 0.5 * math.log1p(sigma[0] ** 2 / noise_var[t])
    gp = GP.condition(kernel, X, y, noise_var, lam=lam)
    assert gp.information_gain == pytest.approx(total, rel=1e-9)


def test_far_from_data_the_prior_returns():
    gp = GP.condition(
        RBF([0.01], 3.0),
        np.zeros((1, 1)),
        np.array([5.0]),
        np.array([0.1]),
        lam=2.0,
        prior_mean=1.0,
    )
    mu, sigma = gp.predict(np.ones((1, 1)))
    assert mu[0] == 1.0
    assert sigma[0] ** 2 == pytest.approx(3.0 / 2.0)


@pytest.mark.parametrize("kind", KERNELS)
def test_gradients_in_x(kind):
    for seed, d in ((0, 1), (1, 2), (2, 5)):
        rng, X, y, noise_var = data_of(seed, d=d)
        gp = GP.condition(
            kernel_of(kind, rng, d), X, y, noise_var, lam=0.6, prior_mean=0.3
        ).with_pending(rng.random((2, d)), np.array([0.1, 0.2]))
        X_new = rng.uniform(0.05, 0.95, (6, d))
        mu, sigma, d_mu, d_sigma = gp.predict_with_gradient(X_new)
        plain_mu, plain_sigma = gp.predict(X_new)
        np.testing.assert_allclose(mu, plain_mu, rtol=1e-13)
        np.testing.assert_allclose(sigma, plain_sigma, rtol=1e-12)
        for part, gradient in enumerate((d_mu, d_sigma)):

            def one(x, gp=gp, part=part):
                return gp.predict(x[None])[part][0]

            close(gradient, [slope_of(one, x) for x in X_new])


# Outputs that come later


@pytest.mark.parametrize("lam", [1.0, 0.4])
@pytest.mark.parametrize("kind", KERNELS)
def test_outputs_that_come_later_change_the_posterior_as_if_all_were_told_at_once(kind, lam):
    rng, X, y, noise_var = data_of(8, n=30)
    kernel, X_new = kernel_of(kind, rng, 2), rng.random((9, 2))
    all_at_once = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=0.2)
    later = GP.condition(kernel, X[:20], y[:20], noise_var[:20], lam=lam, prior_mean=0.2)
    later = later.expect(X[20:25]).told(y[20:25], noise_var[20:25])
    for i in range(25, 30):
        later = later.expect(X[i : i + 1]).told(y[i : i + 1], noise_var[i : i + 1])
    parts = zip(
        (*later.predict_with_gradient(X_new), *later.leave_one_out(), later.residuals),
        (*all_at_once.predict_with_gradient(X_new), *all_at_once.leave_one_out(),
         all_at_once.residuals),
        strict=True,
    )  # fmt: skip
    for found, expected in parts:
        close(found, expected, 1e-8)
    close(later.spread, all_at_once.spread, 1e-8)
    close(later.covariance(X_new), all_at_once.covariance(X_new), 1e-8)
    close(later.log_likelihood, all_at_once.log_likelihood, 1e-9)
    close(later.log_det_ratio, all_at_once.log_det_ratio, 1e-9)
    assert np.array_equal(later.X, X)


@pytest.mark.parametrize("lam", [1.0, 0.4])
def test_later_outputs_at_one_point_count_as_their_mean_weighted_by_precision(lam):
    rng, X, y, noise_var = data_of(9, n=12)
    kernel, X_new = Matern52([0.4, 0.6]), rng.random((9, 2))
    before = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=0.2)
    new = rng.random(2)
    again, values = np.vstack([X[3], new, X[3], new]), np.array([0.1, -0.5, 0.7, 0.3])
    var = np.array([0.2, 0.1, 0.4, 0.3])
    found = before.expect(again).told(values, var)
    precision = [1 / noise_var[3] + 1 / 0.2 + 1 / 0.4, 1 / 0.1 + 1 / 0.3]
    weighted = [y[3] / noise_var[3] + 0.1 / 0.2 + 0.7 / 0.4, -0.5 / 0.1 + 0.3 / 0.3]
    merged_y, merged_var = np.append(y, 0.0), np.append(noise_var, 0.0)
    for i, p, w in zip((3, 12), precision, weighted, strict=True):
        merged_y[i], merged_var[i] = w / p, 1.0 / p
    expected = GP.condition(
        kernel, np.vstack([X, new]), merged_y, merged_var, lam=lam, prior_mean=0.2
    )
    close(found.y, merged_y, 1e-12)
    close(found.noise_var, merged_var, 1e-12)
    for one, other in zip(found.predict(X_new), expected.predict(X_new), strict=True):
        close(one, other, 1e-9)
    for one, other in zip(found.leave_one_out(), expected.leave_one_out(), strict=True):
        close(one, other, 1e-9)
    close(found.log_likelihood, expected.log_likelihood, 1e-9)
    close(found.log_det_ratio, expected.log_det_ratio, 1e-9)


def test_later_outputs_under_almost_no_noise_still_interpolate(rng):
    X = rng.random((40, 2))
    y, var = np.sin(4.0 * X[:, 0]) + X[:, 1], np.full(40, 1e-8)
    gp = GP.condition(Matern52([0.5, 0.8]), X[:30], y[:30], var[:30])
    gp = gp.expect(X[30:]).told(y[30:], var[30:])
    mu, sigma = gp.predict(X)
    np.testing.assert_allclose(mu, y, atol=1e-6)
    assert np.all(sigma < 2e-4)


# Pending points


@pytest.mark.parametrize("lam", [1.0, 0.4])
@pytest.mark.parametrize("kind", KERNELS)
def test_pending_points_equal_outputs_at_the_posterior_mean(kind, lam):
    rng, X, y, noise_var = data_of(5)
    kernel, pending, X_new = kernel_of(kind, rng, 2), rng.random((3, 2)), rng.random((9, 2))
    pending_var = np.array([0.01, 0.3, 1.0])
    gp = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=0.2)
    mu, sigma = gp.predict(X_new)
    told = GP.condition(
        kernel,
        np.vstack([X, pending]),
        np.append(y, gp.predict(pending)[0]),
        np.append(noise_var, pending_var),
        lam=lam,
        prior_mean=0.2,
    )
    told_mu, told_sigma = told.predict(X_new)
    found_mu, found_sigma = gp.with_pending(pending, pending_var).predict(X_new)
    close(found_mu, mu, 1e-13)
    close(told_mu, mu, 1e-9)
    np.testing.assert_allclose(found_sigma, told_sigma, rtol=1e-8)
    assert np.all(found_sigma <= sigma * (1 + 1e-12))
    close(gp.with_pending(pending, pending_var).covariance(X_new), told.covariance(X_new), 1e-9)


@pytest.mark.parametrize("lam", [1.0, 0.5])
def test_pending_points_may_be_drawn_from_what_is_expected(lam):
    rng, X, y, noise_var = data_of(6)
    kernel, pending, X_new = Matern52([0.4, 0.6]), rng.random((3, 2)), rng.random((9, 2))
    pending_var, draws = np.array([0.01, 0.3, 1.0]), rng.standard_normal(3)
    gp = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=0.2)
    factor = np.linalg.cholesky(gp.covariance(pending) + np.diag(pending_var))
    told = GP.condition(
        kernel,
        np.vstack([X, pending]),
        np.append(y, gp.predict(pending)[0] + factor @ draws),
        np.append(noise_var, pending_var),
        lam=lam,
        prior_mean=0.2,
    )
    found = gp.with_pending(pending, pending_var, draws)
    for one, other in zip(found.predict(X_new), told.predict(X_new), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


def test_pending_points_may_come_one_after_another_and_repeat_known_points():
    rng, X, y, noise_var = data_of(6)
    gp, X_new = GP.condition(Matern52([0.4, 0.6]), X, y, noise_var), rng.random((5, 2))
    pending, var = np.vstack([X[3], X[3], rng.random(2)]), np.array([0.2, 0.2, 0.1])
    at_once = gp.with_pending(pending, var)
    in_turn = gp
    for x, v in zip(pending, var, strict=True):
        in_turn = in_turn.with_pending(x[None], np.array([v]))
    np.testing.assert_allclose(at_once.predict(X_new)[1], in_turn.predict(X_new)[1], rtol=1e-10)
    assert at_once.information_gain == gp.information_gain


def test_no_pending_points_change_nothing():
    _, X, y, noise_var = data_of(6)
    gp = GP.condition(RBF([0.4, 0.6]), X, y, noise_var)
    assert gp.with_pending(np.empty((0, 2)), np.empty(0)) is gp


# The algebra


def test_cholesky_reproduces_the_matrix(rng):
    B = rng.normal(size=(6, 6))
    K, diagonal = B @ B.T, rng.uniform(0.1, 1.0, 6)
    L = cholesky(K.copy(), diagonal)
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, K + np.diag(diagonal), rtol=1e-12)


def test_cholesky_helps_a_matrix_that_rounding_made_indefinite():
    K = np.ones((4, 4))
    K[0, 1] = K[1, 0] = 1.0 + 1e-13
    L = cholesky(K.copy(), np.zeros(4))
    np.testing.assert_allclose(L @ L.T, K, atol=1e-5)


@pytest.mark.parametrize("matrix", [-np.eye(3), 2.0 * np.ones((3, 3)) - np.eye(3)])
def test_cholesky_refuses_what_is_not_a_covariance(matrix):
    with pytest.raises(NumericalError, match="3 points is not positive definite"):
        cholesky(matrix.copy(), np.zeros(3))


@pytest.mark.parametrize("lam", [1.0, 0.5])
def test_leave_one_out_is_the_prediction_by_the_others(lam):
    rng = np.random.default_rng(11)
    X, y, noise_var = rng.random((9, 2)), rng.normal(size=9), rng.uniform(0.05, 0.5, 9)
    kernel = Matern52([0.4, 0.7], 1.3)
    residual, var = GP.condition(kernel, X, y, noise_var, lam=lam, prior_mean=0.3).leave_one_out()
    for i in range(9):
        rest = np.arange(9) != i
        others = GP.condition(kernel, X[rest], y[rest], noise_var[rest], lam=lam, prior_mean=0.3)
        mu, sigma = others.predict(X[i : i + 1])
        assert residual[i] == pytest.approx(y[i] - mu[0], rel=1e-9)
        assert var[i] == pytest.approx(sigma[0] ** 2 + noise_var[i], rel=1e-9)


@pytest.mark.parametrize("lam", [1.0, 0.5])
def test_residuals_and_spread_at_the_data(lam):
    rng = np.random.default_rng(12)
    X, y, noise_var = rng.random((9, 2)), rng.normal(size=9), rng.uniform(0.05, 0.5, 9)
    gp = GP.condition(Matern52([0.4, 0.7], 1.3), X, y, noise_var, lam=lam, prior_mean=0.3)
    np.testing.assert_allclose(gp.spread, gp.predict(X)[1], rtol=1e-9)
    np.testing.assert_allclose(gp.residuals, y - gp.predict(X)[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [RBF, Matern52])
def test_without_data_the_posterior_is_the_prior(kind, rng):
    kernel, none = kind([0.3, 0.5], 2.0), np.empty(0)
    gp = GP.condition(kernel, np.empty((0, 2)), none, none, lam=0.5, prior_mean=1.5)
    X = rng.random((4, 2))
    mu, sigma = gp.predict(X)
    close(mu, np.full(4, 1.5))
    close(sigma, np.full(4, 2.0))
    close(gp.covariance(X), kernel(X, X) / 0.5)
    assert (gp.log_likelihood, gp.log_det_ratio) == (0.0, 0.0)
    later = gp.with_pending(X[:2], np.full(2, 0.1))
    close(later.predict(X)[1], GP.condition(kernel, X[:2], np.zeros(2), np.full(2, 0.1), lam=0.5)
          .predict(X)[1])  # fmt: skip
