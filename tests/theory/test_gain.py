"""Information gain against its other form, exhaustive search and dense determinants."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from rahbo.errors import SettingsError
from rahbo.model import RBF, Linear, Matern32, Matern52
from rahbo.theory import (
    greedy_information_gain,
    information_gain,
    information_gain_terms,
    uneven_gain,
)

KERNELS = [
    RBF([0.3, 0.7], 1.3),
    Matern32([0.2, 0.5], 0.4),
    Matern52([0.4, 0.4], 2.0),
    Linear([1.0, 0.5], 0.8),
]


def dense_gain(kernel, X, v, lam):
    """1/2 ln det(I + K Sigma^-1 / lam), by NumPy's general determinant."""
    M = np.eye(len(X)) + kernel(X, X) / (lam * np.broadcast_to(v, len(X)))[None, :]
    sign, log_det = np.linalg.slogdet(M)
    assert sign > 0
    return 0.5 * log_det


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("lam", [0.5, 1.0, 2.0])
def test_both_forms_agree(kernel, lam, rng):
    X = rng.uniform(size=(30, 2))
    X[20:] = X[:10]
    v = rng.uniform(0.01, 2.0, size=30)
    by_determinant = information_gain(kernel, X, v, lam)
    assert information_gain_terms(kernel, X, v, lam).sum() == pytest.approx(
        by_determinant, rel=1e-9
    )
    assert dense_gain(kernel, X, v, lam) == pytest.approx(by_determinant, rel=1e-9)


def test_one_point_is_worked_out_by_hand():
    # kappa = 2, lam = 4: prior variance 1/2, noise 1/4, gain ln(3) / 2; then sigma^2 = 1/6.
    kernel, X = RBF([0.3], 2.0), np.array([[0.4], [0.4]])
    assert information_gain(kernel, X[:1], 0.25, 4.0) == pytest.approx(0.5 * np.log(3.0))
    terms = information_gain_terms(kernel, X, 0.25, 4.0)
    np.testing.assert_allclose(terms, [0.5 * np.log(3.0), 0.5 * np.log(5.0 / 3.0)], rtol=1e-12)


def test_repeating_a_point_is_worth_as_much_as_dividing_its_noise():
    X = np.array([[0.1], [0.6]])
    thrice = information_gain(RBF([0.2]), X[[0, 1, 0, 0]], np.array([0.3, 0.4, 0.3, 0.3]))
    assert thrice == pytest.approx(information_gain(RBF([0.2]), X, np.array([0.1, 0.4])), rel=1e-12)


@pytest.mark.parametrize("lam", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_bracket_holds_the_exhaustive_maximum(seed, lam):
    rng = np.random.default_rng(seed)
    X, v, kernel = rng.uniform(size=(6, 1)), rng.uniform(0.02, 1.0, size=6), Matern52([0.3])
    greedy = greedy_information_gain(kernel, X, v, 4, lam)
    for T in range(1, 5):
        sets = (list(s) for s in combinations_with_replacement(range(6), T))
        maximum = max(dense_gain(kernel, X[s], v[s], lam) for s in sets)
        assert greedy.lower[T - 1] <= maximum * (1.0 + 1e-12)
        assert maximum <= greedy.upper[T - 1]
    # With one round greedy is exact.
    first = max(dense_gain(kernel, X[[i]], v[[i]], lam) for i in range(6))
    assert greedy.lower[0] == pytest.approx(first, rel=1e-12)


def test_greedy_value_is_the_gain_of_the_points_chosen(rng):
    X, v = rng.uniform(size=(40, 2)), rng.uniform(0.05, 0.5, size=40)
    greedy = greedy_information_gain(Matern32([0.3, 0.4]), X, v, 60, 0.5)
    for T in (1, 7, 60):
        chosen = greedy.indices[:T]
        gain = dense_gain(Matern32([0.3, 0.4]), X[chosen], v[chosen], 0.5)
        assert greedy.lower[T - 1] == pytest.approx(gain, rel=1e-9)


def test_greedy_prefers_quiet_points_and_comes_back_to_them():
    X, v = np.array([[0.0], [1.0]]), np.array([0.01, 10.0])
    greedy = greedy_information_gain(RBF([0.01]), X, v, 3)
    assert greedy.indices[0] == 0
    # A revisit is worth ln(201 / 101) / 2, the noisy point ln(1.1) / 2.
    assert greedy.indices.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("ratio", [1.0, 3.0, 40.0])
def test_uneven_noise_costs_at_most_the_ratio(kernel, ratio, rng):
    X = rng.uniform(size=(25, 2))
    v = np.append(rng.uniform(0.1, 0.1 * ratio, size=23), [0.1, 0.1 * ratio])
    uneven, right = uneven_gain(kernel, X, v, 15, 0.5)
    assert np.all(uneven.lower <= right.upper * (1 + 1e-12))
    # A.1.3 holds set by set: here on the sets chosen greedily.
    for T in (1, 5, 15):
        chosen = uneven.indices[:T]
        even = dense_gain(kernel, X[chosen], v.max(), 0.5)
        assert uneven.lower[T - 1] <= v.max() / v.min() * even * (1 + 1e-12)
    scaled = greedy_information_gain(kernel, X, v.max(), 15, 0.5).lower * v.max() / v.min()
    np.testing.assert_allclose(right.lower, scaled)


@pytest.mark.parametrize("noise_var", [0.0, -1.0, np.nan, np.ones(3), np.ones((4, 1))])
def test_noise_that_is_none_is_refused(noise_var):
    with pytest.raises(SettingsError, match="noise_var must be"):
        information_gain(RBF([0.3]), np.linspace(0, 1, 4)[:, None], noise_var)


@pytest.mark.parametrize("rounds", [0, -1, 2.5, True])
def test_rounds_must_be_a_number_of_rounds(rounds):
    with pytest.raises(SettingsError, match="rounds must be"):
        greedy_information_gain(RBF([0.3]), np.zeros((1, 1)), 1.0, rounds)
