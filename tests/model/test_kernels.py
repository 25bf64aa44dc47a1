"""Kernels pair by pair against their formulas, and their gradients against differences."""

import math

import numpy as np
import pytest

from differences import slope_of
from rahbo.model import RBF, Linear, Matern32, Matern52, check_kernel

STATIONARY = [RBF, Matern32, Matern52]
KERNELS = [*STATIONARY, Linear]


def by_formula(kernel, x, z):
    """One covariance, one pair at a time, in plain Python."""
    lengths, variance = kernel.lengthscales.tolist(), kernel.variance
    if isinstance(kernel, Linear):
        return variance * math.fsum(
            a * b / length**2 for a, b, length in zip(x, z, lengths, strict=True)
        )
    scaled = [(a - b) / length for a, b, length in zip(x, z, lengths, strict=True)]
    r = math.hypot(*scaled)
    if isinstance(kernel, RBF):
        return variance * math.exp(-0.5 * r**2)
    if isinstance(kernel, Matern32):
        return variance * (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)
    return variance * (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r)


def example(kind, d, seed=0):
    rng = np.random.default_rng(seed)
    kernel = kind(np.exp(rng.uniform(-1.5, 1.0, d)), math.exp(rng.uniform(-2.0, 2.0)))
    return kernel, rng.random((7, d)), rng.random((9, d)), rng


@pytest.mark.parametrize("d", [1, 2, 5, 30])
@pytest.mark.parametrize("kind", KERNELS)
def test_values_pair_by_pair(kind, d):
    kernel, X, Z, _ = example(kind, d)
    expected = np.array([[by_formula(kernel, x, z) for z in Z] for x in X])
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-11)
    np.testing.assert_allclose(kernel.evaluate(X, Z)[0], expected, rtol=1e-11)


@pytest.mark.parametrize("kind", KERNELS)
def test_diagonal(kind):
    kernel, X, _, _ = example(kind, 3)
    expected = [by_formula(kernel, x, x) for x in X]
    np.testing.assert_allclose(kernel.diagonal(X), expected, rtol=1e-13)
    np.testing.assert_allclose(np.diag(kernel(X, X)), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", STATIONARY)
def test_a_point_and_itself_have_the_prior_variance_even_in_another_array(kind):
    kernel, X, _, _ = example(kind, 4)
    # Short lengthscales make the squared norms large, and their difference inexact.
    kernel = kind(0.01 * np.ones(4), 2.0)
    np.testing.assert_allclose(np.diag(kernel(X, X.copy())), 2.0, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("kind", KERNELS)
def test_positive_semidefinite_and_symmetric(kind, n):
    rng = np.random.default_rng(n)
    for d in (1, 3):
        kernel = kind(np.exp(rng.uniform(-2.0, 1.0, d)), 1.7)
        X = rng.random((n, d))
        K = kernel(X, X)
        np.testing.assert_allclose(K, K.T, rtol=1e-13)
        assert np.linalg.eigvalsh(K).min() >= -1e-12 * n * np.max(np.diag(K))


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("kind", KERNELS)
def test_input_gradient(kind, d):
    kernel, X, Z, rng = example(kind, d)
    W = rng.normal(size=(len(X), len(Z)))
    found = kernel.input_gradient(X, Z, W * kernel.evaluate(X, Z)[1])
    for x, w, gradient in zip(X, W, found, strict=True):
        expected = slope_of(
            lambda x, w=w: sum(w_i * by_formula(kernel, x, z) for w_i, z in zip(w, Z, strict=True)),
            x,
        )
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("kind", KERNELS)
def test_diagonal_gradient(kind):
    kernel, X, _, _ = example(kind, 3)
    expected = [slope_of(lambda x: by_formula(kernel, x, x), x) for x in X]
    np.testing.assert_allclose(kernel.diagonal_gradient(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("triangle", [False, True])
@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("kind", KERNELS)
def test_log_parameter_gradient(kind, d, triangle):
    kernel, X, _, rng = example(kind, d)
    W = rng.normal(size=(len(X), len(X)))
    W = np.tril(W) if triangle else W + W.T

    def weighted_sum(theta):
        other = kind(np.exp(theta[:-1]), math.exp(theta[-1]))
        return sum(
            W[i, j] * by_formula(other, X[i], X[j]) for i in range(len(X)) for j in range(len(X))
        )

    K, slope = kernel.evaluate(X, X)
    found = kernel.log_parameter_gradient(X, K, slope, W.copy())
    expected = slope_of(weighted_sum, kernel.log_parameters)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kind", KERNELS)
def test_inputs_are_not_overwritten(kind):
    kernel, X, Z, _ = example(kind, 2)
    X_before, Z_before = X.copy(), Z.copy()
    kernel(X, Z)
    kernel(X, X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(Z, Z_before)


@pytest.mark.parametrize("kind", KERNELS)
def test_log_parameters_there_and_back(kind):
    kernel, _, _, _ = example(kind, 3)
    theta = kernel.log_parameters
    np.testing.assert_allclose(np.exp(theta[:-1]), kernel.lengthscales)
    assert math.exp(theta[-1]) == pytest.approx(kernel.variance)
    again = kind.from_log_parameters(theta)
    np.testing.assert_allclose(again.lengthscales, kernel.lengthscales, rtol=1e-14)
    assert again.variance == pytest.approx(kernel.variance, rel=1e-14)
    assert kernel.d == 3


def test_equality_is_of_kind_and_parameters():
    assert RBF([0.2, 0.3], 2.0) == RBF(np.array([0.2, 0.3]), 2.0)
    assert hash(RBF([0.2, 0.3], 2.0)) == hash(RBF([0.2, 0.3], 2.0))
    assert RBF([0.2, 0.3], 2.0) != RBF([0.2, 0.4], 2.0)
    assert RBF([0.2, 0.3], 2.0) != RBF([0.2, 0.3], 1.0)
    assert RBF([0.2]) != Matern52([0.2])
    assert RBF([0.2]) != "RBF([0.2])"


def test_repr_names_the_parameters():
    assert repr(Matern52([0.25, 3.0], 1.5)) == "Matern52([0.25, 3], variance=1.5)"


def test_kernels_and_their_classes_pass():
    for kernel in (RBF, Linear, Matern52([0.1, 0.2])):
        check_kernel("kernel", kernel)


@pytest.mark.parametrize("kind", STATIONARY)
@pytest.mark.parametrize("length", [1e-3, 1e-6, 1e-9])
def test_short_lengthscales_keep_small_distances(kind, length):
    kernel = kind([length, 1.0])
    X = np.column_stack([0.7 + length * np.arange(6), np.linspace(0.0, 1.0, 6)])
    expected = [[by_formula(kernel, x, z) for z in X] for x in X]
    np.testing.assert_allclose(kernel(X, X), expected, atol=1e-6)
