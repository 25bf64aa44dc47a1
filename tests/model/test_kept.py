"""Predictions at a fixed list, beside those of the posterior itself."""

import numpy as np
import pytest

from rahbo.model import GP, Matern52, kept
from rahbo.model.kept import Kept


def posterior(n, lam=1.0):
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    y = np.sin(4.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
    var = rng.uniform(0.01, 0.3, n)
    kernel = Matern52([0.4, 0.6, 1.5], 1.2)
    return rng, GP.condition(kernel, X, y, var, lam=lam, prior_mean=0.1)


@pytest.fixture(params=["kept", "recomputed"])
def memory(request, monkeypatch):
    """Kernel matrices that are kept, and ones that are too large for it; several chunks."""
    monkeypatch.setattr(kept, "CHUNK", 64)
    if request.param == "recomputed":
        monkeypatch.setattr(kept, "LARGEST", 0)
        monkeypatch.setattr(kept, "COLUMNS", 8 * 200 * 3)


@pytest.mark.parametrize("lam", [1.0, 0.4])
def test_the_list_follows_the_posterior(memory, lam):
    rng, gp = posterior(40, lam)
    listed = rng.random((200, 3))
    there = Kept(gp, listed)
    steps = [
        lambda g: g,
        lambda g: g.expect(listed[:3]).told(np.array([0.5, -0.2, 0.1]), np.full(3, 0.1)),
        lambda g: g.expect(rng.random((2, 3))).told(np.array([1.5, 0.2]), np.full(2, 0.01)),
        lambda g: g.expect(gp.X[[4, 4]]).told(np.array([0.3, 0.9]), np.full(2, 0.2)),
        lambda g: g.with_pending(listed[[0, 9]], np.full(2, 0.1), np.array([0.5, -1.0])),
        lambda g: g.with_pending(listed[[0, 9]], np.full(2, 0.1)),
    ]
    for step in steps:
        gp = step(gp)
        for found, expected in zip(there.predict(gp), gp.predict(listed), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_what_was_said_before_is_not_changed(memory):
    rng, gp = posterior(20)
    listed = rng.random((100, 3))
    there = Kept(gp, listed)
    mu, sigma = (part.copy() for part in there.predict(gp))
    there.predict(gp.expect(listed[:2]).told(np.ones(2), np.ones(2)))
    for found, expected in zip(there.predict(gp), (mu, sigma), strict=True):
        assert np.array_equal(found, expected)


def test_an_empty_list_and_no_data():
    _, gp = posterior(0)
    assert [len(part) for part in Kept(gp, np.empty((0, 3))).predict(gp)] == [0, 0]
    mu, sigma = Kept(gp, np.full((2, 3), 0.5)).predict(gp)
    np.testing.assert_allclose(mu, 0.1)
    np.testing.assert_allclose(sigma**2, 1.2)
