"""Summaries of many points: what stays, what moves, what is left out, and what that costs."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from rahbo.model import (
    CubeNoise,
    Linear,
    LogNoise,
    Matern52,
    ModelSettings,
    Raw,
    condition,
    find_places,
    learn,
)
from rahbo.trials import Observations
from tables import NOISES

SETTINGS = ModelSettings()


def told(X, y):
    """One value a point, or several where ``y`` has lists."""
    return Observations.from_rounds(list(X), [np.atleast_1d(v) for v in y])


def peak(X):
    """A maximum of 1 in the middle of the cube."""
    return np.exp(-3.0 * np.sum((X - 0.5) ** 2, axis=1))


@pytest.fixture(scope="module")
def noisy():
    """One value at each of 900 points of `peak`, and hyperparameters from some of them."""
    rng = np.random.default_rng(20211206)
    X = rng.random((900, 2))
    y = peak(X) + 0.2 * rng.standard_normal(900)
    return told(X, y), learn(SETTINGS, told(X[:80], y[:80]))


@pytest.fixture(scope="module")
def hundred(noisy):
    """A hundred places for these points."""
    return find_places(SETTINGS, *noisy, most=100)


# What a summary is


def test_few_points_stay_as_they_are(rng):
    X = rng.random((40, 2))
    data = told(X, [rng.normal(size=rng.integers(1, 4)) for _ in X])
    found = find_places(SETTINGS, data, most=40).summarise(data)
    for name in ("X", "values", "point", "rounds", "count", "mean", "sample_var"):
        np.testing.assert_array_equal(getattr(found, name), getattr(data, name))
    assert found.told is data


def test_there_are_as_many_places_as_allowed_and_each_is_one_of_its_points(noisy, hundred):
    data, places = noisy[0], hundred
    found = places.summarise(data)
    assert found.n == len(places.centre) == 100
    np.testing.assert_array_equal(found.X, data.X[places.centre])
    np.testing.assert_array_equal(places.place[places.centre], np.arange(100))
    assert np.all(places.shift[places.centre] == 0.0)


def test_a_place_has_the_moved_values_of_its_points(noisy, hundred):
    data, places = noisy[0], hundred
    found = places.summarise(data)
    moved = data.mean + places.shift
    for i in range(found.n):
        own = moved[places.place == i]
        np.testing.assert_array_equal(found.repeats(i), own)
        assert found.count[i] == len(own)
        assert found.mean[i] == pytest.approx(own.mean(), rel=1e-12)
        if len(own) > 1:
            assert found.sample_var[i] == pytest.approx(own.var(ddof=1), rel=1e-9)
    np.testing.assert_array_equal(found.X[found.rounds], data.X[places.centre[places.place]])


def test_equal_data_have_equal_places(noisy, hundred):
    again = find_places(SETTINGS, *noisy, most=100)
    np.testing.assert_array_equal(again.place, hundred.place)
    np.testing.assert_array_equal(again.shift, hundred.shift)


def test_later_rounds_join_the_places_of_known_points_and_new_points_have_their_own(noisy, hundred):
    data, places = noisy[0], hundred
    again, new = int(np.argmax(np.abs(places.shift))), np.array([0.123, 0.456])
    points = [*data.X, data.X[again], new, data.X[places.centre[3]]]
    later = Observations.from_rounds(points, [[y] for y in [*data.values, 5.0, 6.0, 7.0]])
    before, after = places.summarise(data), places.summarise(later)
    assert after.n == before.n + 1
    np.testing.assert_array_equal(after.X[:-1], before.X)
    np.testing.assert_array_equal(after.X[-1], new)
    assert after.mean[-1] == 6.0
    i = places.place[again]
    assert after.repeats(i)[-1] == 5.0 + places.shift[again]
    assert after.repeats(3)[-1] == 7.0


# What it leaves


def test_the_slope_of_the_mean_does_not_count_as_noise(rng):
    X = rng.random((900, 1))
    y = 10.0 * X[:, 0] + 0.1 * rng.standard_normal(900)
    data, learned = told(X, y), learn(SETTINGS, told(X[:80], y[:80]))
    places = find_places(SETTINGS, data, learned, most=60)

    def pooled(places):
        found = places.summarise(data)
        many = found.count > 1
        return np.average(found.sample_var[many], weights=found.count[many] - 1)

    assert pooled(places) == pytest.approx(0.01, rel=0.15)
    assert pooled(replace(places, shift=np.zeros(900))) > 0.02


@pytest.mark.slow
def test_the_model_of_a_summary_is_close_to_that_of_all_points(noisy, rng):
    data, learned = noisy
    exact = condition(SETTINGS, data, learned)
    summary = find_places(SETTINGS, data, learned, most=200).summarise(data)
    few = condition(SETTINGS, summary, learned)
    X = rng.random((300, 2))
    one, other = exact.belief(X), few.belief(X)
    assert np.sqrt(np.mean((one.mu - other.mu) ** 2)) < 0.35 * np.mean(one.sigma)
    assert np.mean(other.sigma / one.sigma) == pytest.approx(1.0, abs=0.1)
    assert np.mean(np.log(other.noise_var / one.noise_var)) == pytest.approx(0.0, abs=0.15)


def test_points_near_the_best_keep_their_values(rng):
    X = rng.random((900, 2))
    y = 5.0 * peak(X) + 0.2 * rng.standard_normal(900)
    data, learned = told(X, y), learn(SETTINGS, told(X[:80], y[:80]))
    places = find_places(SETTINGS, data, learned, most=200)
    near = np.linalg.norm(X - 0.5, axis=1) < 0.14
    assert near.sum() > 30
    assert np.isin(np.flatnonzero(near), places.centre).all()
    size = np.bincount(places.place[places.place >= 0])
    assert np.all(size[places.place[near]] == 1)
    assert size.max() > 5


def test_points_near_another_peak_keep_their_values_if_it_could_be_the_best(rng):
    X = rng.random((900, 2))
    peaks = np.array([[0.2, 0.2], [0.8, 0.8]])
    y = 0.2 * rng.standard_normal(900)
    for centre in peaks:
        y += 5.0 * np.exp(-10.0 * np.sum((X - centre) ** 2, axis=1))
    places = find_places(SETTINGS, told(X, y), learn(SETTINGS, told(X[:80], y[:80])), most=200)
    for centre in peaks:
        near = np.linalg.norm(X - centre, axis=1) < 0.06
        assert near.sum() > 5
        assert np.isin(np.flatnonzero(near), places.centre).all()


def test_a_point_that_many_values_show_to_be_the_best_leads(noisy, rng):
    data, learned = noisy
    # A pilot of evenly spaced points alone would not know this one.
    corner = 503
    values = [list(data.repeats(i)) for i in range(data.n)]
    values[corner] = list(3.0 + 0.2 * rng.standard_normal(20))
    places = find_places(SETTINGS, told(data.X, values), learned, most=200)
    near = np.argsort(np.linalg.norm(data.X - data.X[corner], axis=1))[:10]
    assert np.isin(near, places.centre).all()


def test_a_lucky_value_does_not_lead(noisy):
    data, learned = noisy
    corner = int(np.argmin(np.sum(data.X**2, axis=1)))
    values = data.values.copy()
    values[corner] += 3.0
    places = find_places(SETTINGS, told(data.X, values), learned, most=200)
    near = np.linalg.norm(data.X - data.X[corner], axis=1) < 0.1
    size = np.bincount(places.place[places.place >= 0])
    assert np.mean(size[places.place[near & (places.place >= 0)]]) > 2.0


def test_without_noise_values_are_left_out_instead_of_moved(rng):
    X = rng.random((900, 3))
    y = np.sin(9.0 * X[:, 0]) * np.cos(7.0 * X[:, 1] + 4.0 * X[:, 2])
    data = told(X, y)
    settings = replace(SETTINGS, noise=CubeNoise(lambda X: np.full(len(X), 1e-10)))
    learned = learn(settings, told(X[:80], y[:80]))
    found = find_places(settings, data, learned, most=600).summarise(data)
    kept = np.isin(found.values, data.values)
    assert kept.sum() == found.n
    assert len(found.values) < 1.05 * found.n


def test_values_of_a_finite_number_are_never_moved(rng):
    X = rng.random((600, 2))
    data = told(X, peak(X)[:, None] + 0.2 * rng.standard_normal((600, 3)))
    settings = replace(SETTINGS, population=3)
    learned = learn(settings, told(X[:60], [data.repeats(i) for i in range(60)]))
    found = find_places(settings, data, learned, most=100).summarise(data)
    assert found.n == 100
    assert np.all(found.count == 3)
    assert np.isin(found.values, data.values).all()


def test_rounded_values_keep_their_rounding_step(rng):
    X = rng.random((600, 2))
    data = told(X, np.round(peak(X) + 0.2 * rng.standard_normal(600), 1))
    learned = learn(SETTINGS, told(X[:80], data.values[:80]))
    assert find_places(SETTINGS, data, learned, most=100).summarise(data).resolution == (
        pytest.approx(0.1)
    )


# Any settings, any data


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("outputs", [SETTINGS.outputs, Raw()])
def test_any_noise_model_works_with_single_and_repeated_values(noise, outputs, rng):
    settings = ModelSettings(noise=NOISES[noise], outputs=outputs)
    X = rng.random((600, 2))
    y = [peak(x[None]) + 0.2 * rng.standard_normal(1 + 4 * (i % 9 == 0)) for i, x in enumerate(X)]
    data = told(X, y)
    learned = learn(settings, told(X[:60], y[:60]))
    places = find_places(settings, data, learned, most=100)
    model = condition(settings, places.summarise(data), learned)
    belief = model.belief(X)
    assert np.all(np.isfinite(belief.mu) & (belief.sigma > 0.0))
    error = model.units.to_outcome(belief.mu) - peak(X)
    assert np.sqrt(np.mean(error**2)) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 5, 20])
def test_nothing_learned_before_is_needed(d, rng):
    X = rng.random((700, d))
    data = told(X, X[:, 0] + 0.1 * rng.standard_normal(700))
    found = find_places(SETTINGS, data, most=200).summarise(data)
    assert found.n == 200
    assert np.all(np.isfinite(found.mean))


@pytest.mark.parametrize(
    "kernel", [Linear([0.5, 0.5]), Matern52([1e-6, 1e-6]), Matern52([1e4, 1e4])]
)
def test_any_kernel_works(kernel, rng):
    settings = ModelSettings(kernel=kernel, noise=LogNoise(kernel=Matern52([1.0, 1.0])))
    X = rng.random((600, 2))
    data = told(X, X[:, 0] + 0.1 * rng.standard_normal(600))
    learned = learn(settings, told(X[:60], data.values[:60]))
    found = find_places(settings, data, learned, most=100).summarise(data)
    assert found.n <= 100
    assert np.all(np.isfinite(found.mean))


def test_equal_outputs_work(rng):
    X = rng.random((600, 2))
    data = told(X, np.ones(600))
    learned = learn(SETTINGS, told(X[:60], np.ones(60)))
    found = find_places(SETTINGS, data, learned, most=100).summarise(data)
    assert found.mean == pytest.approx(1.0, abs=1e-9)


def test_places_of_a_grid_are_points_of_the_grid(rng):
    side = np.linspace(0.0, 1.0, 9)
    X = np.stack(np.meshgrid(side, side, side), axis=-1).reshape(-1, 3)
    data = told(X, X.sum(axis=1) + 0.2 * rng.standard_normal(len(X)))
    learned = learn(SETTINGS, told(X[::9], data.values[::9]))
    found = find_places(SETTINGS, data, learned, most=150).summarise(data)
    assert np.isin(found.X, side).all()
    assert len(np.unique(found.X, axis=0)) == found.n


@pytest.mark.slow
def test_memory_does_not_grow_with_the_square_of_the_points(rng):
    n = 8000
    X = rng.random((n, 4))
    data = told(X, peak(X) + 0.2 * rng.standard_normal(n))
    learned = learn(SETTINGS, told(X[:80], data.values[:80]))
    tracemalloc.start()
    find_places(SETTINGS, data, learned, most=300)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 0.2 * 8 * n**2
