"""A model that is extended round by round, beside one that is conditioned on everything."""

import numpy as np
import pytest

import rahbo
from bands import bands
from rahbo.model import DirectNoise, condition, learn
from rahbo.model.extension import can_extend, extended
from rahbo.model.units import STEP
from rahbo.trials import Observations

SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def rounds_of(n, counts, seed=0, again=0.2):
    """Random rounds of a smooth function with uneven noise; some at points known before."""
    rng = np.random.default_rng(seed)
    points, values = [], []
    for i in range(n):
        old = points and rng.random() < again
        x = points[int(rng.integers(len(points)))] if old else rng.random(2)
        noise = (0.05 + 0.5 * x[0]) * rng.standard_normal(counts[i % len(counts)])
        points.append(x)
        values.append((np.sin(5.0 * x[0]) + x[1] + noise).tolist())
    return points, values


def both(n, later, counts, **settings):
    """A model of the first rounds extended by the later ones, and one conditioned on all."""
    points, values = rounds_of(n + later, counts)
    fitting = rahbo.Optimizer(SPACE, seed=0, **settings).settings.fitting.model
    first = Observations.from_rounds(points[:n], values[:n])
    after = Observations.from_rounds(points[n:], values[n:])
    everything = Observations.from_rounds(points, values)
    learned = learn(fitting, first)
    base = condition(fitting, first, learned)
    return base, extended(base, after), condition(fitting, everything, learned)


@pytest.mark.parametrize("counts", [(1,), (2,), (1, 1, 3)], ids=str)
@pytest.mark.parametrize("n", [40, 120])
def test_a_tenth_more_rounds_give_nearly_the_posterior_of_all(n, counts):
    _, found, expected = both(n, n // 10, counts)
    X = np.random.default_rng(1).random((300, 2))
    a, b = bands(found, X), bands(expected, X)
    assert np.max(np.abs(a.mu - b.mu) / b.sigma) < 0.3
    assert np.mean(np.abs(a.mu - b.mu) / b.sigma) < 0.05
    assert np.max(np.abs(np.log(a.sigma / b.sigma))) < 0.2
    assert np.max(np.abs(np.log(a.noise_upper / b.noise_upper))) < 0.3
    assert np.mean(np.abs(np.log(a.noise_var / b.noise_var))) < (0.15 if n == 40 else 0.06)
    assert np.array_equal(found.mean.X, expected.mean.X)
    assert found.observations.n == expected.observations.n


def test_later_rounds_move_the_posterior():
    base, found, _ = both(40, 4, (1,))
    X = found.observations.X[-2:]
    assert np.all(found.mean.predict(X)[1] < 0.97 * base.mean.predict(X)[1])
    assert np.all(found.noise.latent(X)[1] < base.noise.latent(X)[1])


@pytest.mark.parametrize("counts", [(1,), (1, 3)], ids=str)
def test_under_known_noise_the_result_is_exact(counts):
    _, found, expected = both(30, 5, counts, noise_std=lambda p: 0.05 + 0.5 * p["a"])
    X = np.random.default_rng(1).random((50, 2))
    for one, other in zip(found.mean.predict(X), expected.mean.predict(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=2 * STEP)
    assert found.noise is expected.noise or np.array_equal(
        found.noise.variance(X), expected.noise.variance(X)
    )


def test_no_later_rounds_change_nothing():
    base, _, _ = both(20, 2, (1,))
    none = Observations.from_rounds([], [])
    assert extended(base, none) is base


def test_the_papers_noise_model_is_conditioned_every_time():
    base, _, _ = both(20, 2, (2,))
    assert can_extend(base)
    data = [({"a": x, "b": 0.5}, [x, x + 0.1]) for x in np.linspace(0.0, 1.0, 8).tolist()]
    paper = rahbo.Optimizer(SPACE, method=rahbo.Method(noise=DirectNoise()), data=data, seed=0)
    assert not can_extend(paper.model)


@pytest.mark.parametrize("values", [[1e12, 1e12 + 1e3], [0.0], [1e-12]], ids=str)
def test_extreme_later_values_stay_finite(values):
    points, told = rounds_of(30, (1, 2))
    fitting = rahbo.Optimizer(SPACE, seed=0).settings.fitting.model
    first = Observations.from_rounds(points, told)
    base = condition(fitting, first, learn(fitting, first))
    new = [np.array([0.5, 0.5]), points[3], points[3]]
    after = Observations.from_rounds(new, [values] * 3)
    found = extended(base, after)
    belief = bands(found, np.random.default_rng(0).random((20, 2)))
    for part in (belief.mu, belief.sigma, belief.noise_lower, belief.noise_upper):
        assert np.all(np.isfinite(part))
