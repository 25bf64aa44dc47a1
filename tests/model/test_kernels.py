"""Kernels pair by pair against their formulas; `tests/testing` has their gradients."""

import math

import numpy as np
import pytest

from rahbo.model import RBF, Linear, Matern32, Matern52, require_kernel

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


@pytest.mark.parametrize("kind", STATIONARY)
def test_a_point_and_itself_have_the_prior_variance_even_in_another_array(kind):
    kernel, X, _, _ = example(kind, 4)
    # Short lengthscales make the squared norms large, and their difference inexact.
    kernel = kind(0.01 * np.ones(4), 2.0)
    np.testing.assert_allclose(np.diag(kernel(X, X.copy())), 2.0, rtol=1e-9)


@pytest.mark.parametrize("kind", KERNELS)
def test_inputs_are_not_overwritten(kind):
    kernel, X, Z, _ = example(kind, 2)
    X_before, Z_before = X.copy(), Z.copy()
    kernel(X, Z)
    kernel(X, X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(Z, Z_before)


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
        require_kernel("kernel", kernel)


@pytest.mark.parametrize("kind", STATIONARY)
@pytest.mark.parametrize("length", [1e-3, 1e-6, 1e-9])
def test_short_lengthscales_keep_small_distances(kind, length):
    kernel = kind([length, 1.0])
    X = np.column_stack([0.7 + length * np.arange(6), np.linspace(0.0, 1.0, 6)])
    expected = [[by_formula(kernel, x, z) for z in X] for x in X]
    np.testing.assert_allclose(kernel(X, X), expected, atol=1e-6)
