"""Ceilings and exact values: what is found is what evaluating every point would find."""

import numpy as np
import pytest

import rahbo
from rahbo.policy import Acquisition, in_chunks, optimistic, screening, values
from rahbo.policy.screening import CHUNK, FEW, Screened
from rahbo.risk import MeanVariance, Quantile


class Function(Acquisition):
    """Any function, without gradients."""

    def __init__(self, function):
        self.function = function

    def value(self, X):
        return self.function(X)

    def value_and_gradient(self, X):
        raise NotImplementedError


@pytest.fixture(scope="module")
def model():
    """Both GPs after 90 single values of a bumpy function with uneven noise."""
    rng = np.random.default_rng(11)
    data = []
    for x in np.vstack([rng.random((50, 2)), 0.6 + 0.1 * rng.standard_normal((40, 2))]).clip(0, 1):
        f = np.sin(9 * x[0]) + np.cos(7 * x[1] + 2 * x[0])
        data.append(({"a": x[0], "b": x[1]}, [f + (0.05 + 0.5 * x[0]) * rng.standard_normal()]))
    return rahbo.Optimizer({"a": (0.0, 1.0), "b": (0.0, 1.0)}, seed=0, data=data).model


@pytest.fixture
def many(monkeypatch):
    """Let 90 data points count as many, so that ceilings are used."""
    monkeypatch.setattr(screening, "MANY", 40)
    monkeypatch.setattr(screening, "LEAST", 20)


@pytest.mark.parametrize("risk", [MeanVariance(1.0), Quantile(0.1)], ids=repr)
@pytest.mark.parametrize("wanted", [1, 12])
def test_the_largest_values_are_exact(model, many, wanted, risk):
    X = np.random.default_rng(0).random((600, 2))
    bound, screened = optimistic(model, risk), Screened.of(model, X)
    assert not screened.exact.any()
    for width in (1.0, 2.0, 4.0):
        wide = bound.widened(width)
        F, order = screened.best(wide, wanted, lambda F: F)
        expected = wide.value(X)
        np.testing.assert_allclose(F[order], expected[order], rtol=1e-9)
        assert list(order[:wanted]) == list(np.argsort(-expected, kind="stable")[:wanted])
        assert np.all(expected - 1e-9 <= F)
    assert screened.exact.sum() < 600


def test_few_points_get_exact_values_where_one_is_wanted(model, many):
    X = np.random.default_rng(0).random((600, 2))
    screened = Screened.of(model, X)
    screened.best(optimistic(model, MeanVariance(1.0)), 1, lambda F: F)
    assert FEW <= screened.exact.sum() <= 3 * FEW


def test_weights_count_when_points_are_ranked(model, many):
    X = np.random.default_rng(1).random((600, 2))
    bound = optimistic(model, MeanVariance(1.0))
    weight = np.where(X[:, 0] < 0.5, 1.0, 0.0)
    expected = -5.0 + weight * (bound.value(X) + 5.0)
    F, order = Screened.of(model, X).best(bound, 5, lambda F: -5.0 + weight * (F + 5.0))
    assert list(order[:5]) == list(np.argsort(-expected, kind="stable")[:5])
    np.testing.assert_allclose(F[order[:5]], expected[order[:5]], rtol=1e-9)


def test_with_few_data_every_value_is_exact(model):
    X = np.random.default_rng(2).random((300, 2))
    screened = Screened.of(model, X)
    assert screened.exact.all()
    bound = optimistic(model, MeanVariance(1.0))
    F, order = screened.best(bound, 3, lambda F: F)
    np.testing.assert_allclose(F, bound.value(X), rtol=1e-9)
    assert len(order) == 300


def test_values_come_a_chunk_at_a_time_and_in_order(rng):
    sizes = []

    def value(X):
        sizes.append(len(X))
        return X @ [1.0, 10.0]

    for m in (1, CHUNK, CHUNK + 1, 5000):
        sizes.clear()
        X = rng.random((m, 2))
        np.testing.assert_allclose(values(Function(value), X), X[:, 0] + 10 * X[:, 1])
        assert max(sizes) <= CHUNK
        assert sum(sizes) == m


def test_chunks_are_put_together_along_the_points():
    X = np.random.default_rng(0).random((2 * CHUNK + 3, 2))
    sizes = []

    def double(points):
        sizes.append(len(points))
        return np.stack([points[:, 0], 2.0 * points[:, 0]])

    np.testing.assert_array_equal(in_chunks(double, X), [X[:, 0], 2.0 * X[:, 0]])
    assert len(sizes) == 3
    assert max(sizes) <= CHUNK
