"""Widths of confidence bands against Lemma 1 by hand, and the lemma's promise by simulation."""

import math

import numpy as np
import pytest

from rahbo.model import GP, RBF, ConstantBeta, Lemma1Beta, Matern52, as_confidence, lemma1_beta


def posterior(rng, n=8, lam=0.5):
    X, noise_var = rng.random((n, 2)), rng.uniform(0.05, 0.5, n)
    kernel = Matern52([0.3, 0.7], 1.4)
    gp = GP.condition(kernel, X, rng.normal(size=n), noise_var, lam=lam)
    return gp, kernel(X, X), np.diag(noise_var)


def test_constant(rng):
    gp, _, _ = posterior(rng)
    assert ConstantBeta().beta(gp) == 2.0
    assert ConstantBeta(0.0).beta(gp) == 0.0
    assert ConstantBeta(3).beta(gp) == 3.0


@pytest.mark.parametrize("lam", [1.0, 0.5])
def test_lemma_1_by_determinants(rng, lam):
    gp, K, Sigma = posterior(rng, lam=lam)
    B, delta = 1.7, 0.05
    above = math.sqrt(np.linalg.det(lam * Sigma + K))
    below = delta * math.sqrt(np.linalg.det(lam * Sigma))
    expected = math.sqrt(2.0 * math.log(above / below)) + math.sqrt(lam) * B
    assert Lemma1Beta(B, delta).beta(gp) == pytest.approx(expected, rel=1e-10)
    assert lemma1_beta(gp.information_gain, B, delta, lam) == pytest.approx(expected, rel=1e-10)


def test_lemma_1_without_information():
    assert lemma1_beta(0.0, 1.5, math.exp(-2.0), 4.0) == pytest.approx(2.0 + 2.0 * 1.5)


def test_lemma_1_grows_with_data_and_counts_no_pending_points(rng):
    gp, _, _ = posterior(rng)
    rule = Lemma1Beta(1.0)
    fewer = GP.condition(gp.kernel, gp.X[:3], np.zeros(3), np.full(3, 0.5), lam=gp.lam)
    assert rule.beta(fewer) < rule.beta(gp)
    assert rule.beta(gp.with_pending(rng.random((2, 2)), np.full(2, 0.1))) == rule.beta(gp)


@pytest.mark.parametrize("lam", [1.0, 0.3])
def test_lemma_1_band_holds_at_all_points_and_times(lam):
    """With B the norm of f and Gaussian noise the band may fail in at most a share delta."""
    rng = np.random.default_rng(5)
    kernel, grid, delta = RBF([0.2], 1.0), np.linspace(0.0, 1.0, 40)[:, None], 0.2
    failures, runs = 0, 100
    for _ in range(runs):
        centres, weights = rng.random((5, 1)), rng.normal(size=5)
        norm = math.sqrt(weights @ kernel(centres, centres) @ weights)
        f = kernel(grid, centres) @ weights
        X, noise_var = rng.random((15, 1)), rng.uniform(0.1, 1.0, 15)
        y = kernel(X, centres) @ weights + rng.normal(size=15) * np.sqrt(noise_var)
        rule = Lemma1Beta(norm, delta)
        for t in (1, 3, 8, 15):
            gp = GP.condition(kernel, X[:t], y[:t], noise_var[:t], lam=lam)
            mu, sigma = gp.predict(grid)
            if np.any(np.abs(f - mu) > rule.beta(gp) * sigma):
                failures += 1
                break
    assert failures <= delta * runs


def test_as_confidence_takes_numbers_and_rules():
    assert as_confidence(2) == ConstantBeta(2.0)
    rule = Lemma1Beta(1.0)
    assert as_confidence(rule) is rule
