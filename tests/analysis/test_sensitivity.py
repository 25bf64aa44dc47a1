"""Shares of the inputs against variances by hand."""

from dataclasses import replace

import numpy as np
import pytest

from past_tables import optimizer
from rahbo.analysis import sensitivity_of
from rahbo.analysis.sensitivity import columns_of, effect_shares
from rahbo.model.variance import KnownPosterior
from rahbo.space import Space


@pytest.fixture(scope="module")
def run():
    return optimizer(25, 3, noise_std=lambda p: 0.3 + p["x"])


def noise_total(model, run):
    return sensitivity_of(model, run.settings.space).noise_total.tolist()


def test_shares_of_a_function_that_is_known():
    """f = x + 2 y + 4 c (x - 1/2)(y - 1/2) on the unit square: variances by hand."""
    rng = np.random.default_rng(0)
    U, other = rng.random((2, 200_000, 2))

    def h(U):
        return U[:, 0] + 2.0 * U[:, 1] + 4.0 * (U[:, 0] - 0.5) * (U[:, 1] - 0.5)

    swapped = [np.column_stack([other[:, 0], U[:, 1]]), np.column_stack([U[:, 0], other[:, 1]])]
    alone, total = effect_shares(np.array([h(U), h(other), *map(h, swapped)]))
    parts = np.array([1.0 / 12.0, 4.0 / 12.0, 16.0 / 144.0])
    np.testing.assert_allclose(alone, parts[:2] / parts.sum(), atol=0.01)
    np.testing.assert_allclose(total, (parts[:2] + parts[2]) / parts.sum(), atol=0.01)


def test_shares_of_an_additive_noise_are_its_variances(run):
    model = replace(run.model, noise=KnownPosterior(lambda X: 3.0 * X[:, 0] + X[:, 1]))
    shares = noise_total(model, run)
    assert shares == pytest.approx([0.9, 0.1], abs=0.02)


def test_a_product_counts_for_both_inputs(run):
    model = replace(
        run.model, noise=KnownPosterior(lambda X: (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + 1.0)
    )
    shares = noise_total(model, run)
    assert shares == pytest.approx([1.0, 1.0], abs=0.05)


def test_constant_noise_has_no_shares(run):
    model = replace(run.model, noise=KnownPosterior(lambda X: np.full(len(X), 0.7)))
    assert noise_total(model, run) == [0.0, 0.0]


def test_a_choice_has_all_its_columns():
    space = Space.of({"x": (0.0, 1.0), "kind": ["a", "b", "c"], "k": ["u", "v"]})
    found = {name: columns.tolist() for name, columns in columns_of(space).items()}
    assert found == {"x": [0], "kind": [1, 2, 3], "k": [4]}


def test_the_diagnosis_and_the_plot_say_the_same(run):
    shares = sensitivity_of(run.model, run.settings.space)
    assert [one.share for one in run.diagnose().inputs] == shares.noise_total.tolist()
