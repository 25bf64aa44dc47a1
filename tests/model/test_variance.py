"""What is known of the noise in advance."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rahbo.errors import DataError, SettingsError
from rahbo.model import CubeNoise, DirectNoise, KnownNoise, LogNoise, SampleVariances, Units
from rahbo.model.variance import LARGEST_VAR
from rahbo.space import Candidates, Categorical, Float, Int, Space

SPACE = Space.of({"lr": Float(1e-4, 1e-1, log=True), "depth": Int(1, 5), "kind": ["a", "b"]})


def empty(d, scale=1.0, floor=1e-10):
    return SampleVariances(np.empty((0, d)), np.empty(0), np.empty(0), floor, Units(0.0, scale))


def test_known_function_is_asked_in_user_units():
    asked = []

    def noise_var(params):
        asked.append(params)
        return params["lr"] * params["depth"] + (1.0 if params["kind"] == "b" else 0.0)

    points = [{"lr": 0.01, "depth": 3, "kind": "a"}, {"lr": 0.1, "depth": 5, "kind": "b"}]
    X = np.array([SPACE.encode(p) for p in points])
    model = KnownNoise(noise_var).bind(SPACE)
    posterior = model.condition(empty(SPACE.d), None)
    np.testing.assert_allclose(posterior.variance(X), [0.03, 1.5], rtol=1e-9)
    assert asked == points
    assert posterior.gp is None


def test_known_noise_is_certain_and_pending_points_teach_nothing():
    posterior = CubeNoise(lambda X: 1.0 + X[:, 0]).condition(empty(1), None)
    X = np.array([[0.0], [0.5]])
    for z in (-3.0, 0.0, 3.0):
        np.testing.assert_array_equal(posterior.variance(X, z), [1.0, 1.5])
    np.testing.assert_array_equal(posterior.latent(X)[1], 0.0)
    assert posterior.with_pending(X, np.array([2, 2])) is posterior


def test_known_noise_is_converted_to_the_units_of_the_model():
    posterior = CubeNoise(lambda X: 8.0 * X[:, 0]).condition(empty(1, scale=2.0, floor=1e-3), None)
    np.testing.assert_allclose(posterior.variance(np.array([[0.5], [0.0]])), [1.0, 1e-3])


def test_known_noise_gradient_also_at_the_faces_of_the_cube():
    posterior = CubeNoise(lambda X: np.exp(X[:, 0]) + X[:, 1] ** 2).condition(empty(2), None)
    X = np.array([[0.0, 1.0], [0.3, 0.6], [1.0, 0.0]])
    v, zero, gradient, no_slope = posterior.latent_with_gradient(X)
    np.testing.assert_array_equal(v, posterior.variance(X))
    np.testing.assert_allclose(
        gradient, np.column_stack([np.exp(X[:, 0]), 2.0 * X[:, 1]]), rtol=1e-5, atol=1e-5
    )
    assert not np.any(zero)
    assert not np.any(no_slope)


ROWS = [{"t": 300, "s": "water"}, {"t": 350, "s": "ethanol"}, {"t": 400, "s": "acetone"}]


def test_known_variances_of_candidates_follow_their_order():
    space = Space.of(Candidates(ROWS))
    posterior = KnownNoise([0.1, 0.2, 0.3]).bind(space).condition(empty(space.d), None)
    for row, expected in zip(ROWS, [0.1, 0.2, 0.3], strict=True):
        x = space.encode(row)[None]
        assert posterior.variance(x)[0] == pytest.approx(expected)
        # A search may ask between the rows: the nearest one answers.
        nudged = np.clip(x + 1e-4, 0.0, 1.0)
        assert posterior.variance(nudged)[0] == pytest.approx(expected)


def test_known_variances_of_a_small_grid():
    space = Space.of({"depth": Int(1, 3), "kind": Categorical(["a", "b"])})
    posterior = KnownNoise(np.arange(1.0, 7.0)).bind(space).condition(empty(space.d), None)
    np.testing.assert_allclose(posterior.variance(space.enumerate()), np.arange(1.0, 7.0))


def test_noise_far_above_the_outputs_stays_finite():
    data = replace(empty(1), units=Units(0.0, 1e-90))
    assert data.to_model(1e-200) == pytest.approx(1e-20)
    assert data.to_model(3.0) == LARGEST_VAR
    with np.errstate(all="raise", under="ignore"):
        found = (
            KnownNoise(1e120)
            .bind(Space.of({"x": (0.0, 1.0)}))
            .condition(data, None)
            .variance(np.array([[0.5]]))
        )
    assert np.isfinite(found**2).all()


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_known_noise_must_be_a_variance(bad):
    posterior = KnownNoise(lambda params: bad).bind(SPACE).condition(empty(SPACE.d), None)
    with pytest.raises(DataError, match="finite number >= 0"):
        posterior.variance(np.full((1, SPACE.d), 0.5))


def test_known_noise_must_give_one_number_a_point():
    posterior = CubeNoise(lambda X: np.ones((len(X), 2))).condition(empty(1), None)
    with pytest.raises(DataError, match="at every point"):
        posterior.variance(np.array([[0.5]]))


def test_known_noise_must_be_bound_first():
    model = KnownNoise(lambda params: 1.0)
    with pytest.raises(SettingsError, match="bind"):
        model.condition(empty(1), None)


@pytest.mark.parametrize("model", [LogNoise(), DirectNoise()])
def test_learned_models_need_no_space(model):
    assert model.bind(SPACE) is model
