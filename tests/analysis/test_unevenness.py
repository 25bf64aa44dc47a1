"""The test of uneven noise: its scores by hand, its symmetries, its error rates."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from rahbo.analysis import repeat_scatter, uneven_test
from rahbo.analysis.unevenness import (
    MIN_POINTS,
    PERMUTATIONS,
    Scatter,
    mean_difference,
    residual_scatter,
    unevenness,
)
from rahbo.model import GP, DirectNoise, ModelSettings, condition, learn
from rahbo.trials import Observations


def columns(d):
    return [np.array([j]) for j in range(d)]


def table(rng, X, log_var, count, draw=None, f=0.0):
    draw = draw or (lambda size: rng.standard_normal(size))
    f = np.broadcast_to(f, len(X))
    values = [m + math.exp(0.5 * g) * draw(k) for m, g, k in zip(f, log_var, count, strict=True)]
    return Observations.from_rounds(list(X), values)


def p_value(observations):
    return uneven_test(repeat_scatter(observations), columns(observations.X.shape[1])).p_value


def modelled(observations, noise=None):
    settings = ModelSettings() if noise is None else ModelSettings(noise=noise)
    return condition(settings, observations, learn(settings, observations))


# -- scores --------------------------------------------------------------------------------------


def test_mean_difference_is_that_over_all_pairs(rng):
    # Two rounds at a point merge, and points are told in turn.
    X = [np.array([x]) for x in (0.1, 0.7, 0.1, 0.4)]
    values = [[1e6 + 1.0, 1e6 + 4.0], list(rng.standard_normal(6)), [1e6 + 2.0], [3.0]]
    observations = Observations.from_rounds(X, values)
    found = mean_difference(observations)
    for i in (0, 1):
        pairs = combinations(observations.repeats(i), 2)
        assert found[i] == pytest.approx(np.mean([abs(a - b) for a, b in pairs]))
    assert found[0] == pytest.approx(2.0)
    assert math.isnan(found[2])


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 6])
def test_scores_are_standardised_for_gaussian_outcomes(k):
    rng = np.random.default_rng(k)
    X = rng.random((20_000, 1))
    scatter = repeat_scatter(table(rng, X, np.zeros(len(X)), np.full(len(X), k)))
    for u in (scatter.squares, scatter.differences):
        assert np.mean(u) == pytest.approx(0.0, abs=1e-9)
        assert np.std(u) == pytest.approx(1.0, abs=0.03)
    assert scatter.weight == pytest.approx(np.full(len(X), math.sqrt((k - 1) / 2)))


@pytest.mark.parametrize("noise", ["two-valued", "t5"])
def test_scores_of_few_and_of_many_repeats_are_alike_whatever_the_noise(noise):
    rng = np.random.default_rng(5)
    draw = {
        "two-valued": lambda size: (rng.random(size) < 0.3) * 1.0,
        "t5": lambda size: rng.standard_t(5.0, size),
    }[noise]
    X = rng.random((8000, 1))
    count = np.where(X[:, 0] > 0.5, 8, 2)
    scatter = repeat_scatter(table(rng, X, np.zeros(len(X)), count, draw))
    for u in (scatter.squares, scatter.differences):
        few, many = u[count == 2], u[count == 8]
        assert abs(few.mean() - many.mean()) < 0.12
        assert few.std() == pytest.approx(many.std(), rel=0.25)


@pytest.mark.parametrize("n", [1, MIN_POINTS - 1])
def test_too_few_repeated_points_are_no_evidence(rng, n):
    X = rng.random((n + 10, 2))
    count = np.append(np.full(n, 3), np.ones(10, dtype=int))
    observations = table(rng, X, np.zeros(n + 10), count)
    assert repeat_scatter(observations) is None
    assert residual_scatter(table(rng, X[:n], np.zeros(n), count[:n]), None) is None


def test_repeats_that_agree_are_no_evidence(rng):
    X = rng.random((20, 2))
    assert repeat_scatter(Observations.from_rounds(list(X), [[x[0]] * 3 for x in X])) is None


def test_residuals_are_those_of_the_most_likely_single_noise_level(rng):
    X = rng.random((40, 2))
    count = rng.integers(1, 3, 40)
    observations = table(rng, X, np.full(40, -2.0), count, f=np.sin(5 * X[:, 0]))
    model = modelled(observations)
    y = (observations.mean - model.units.shift) / model.units.scale

    def at(v):
        gp = model.mean
        return GP.condition(gp.kernel, gp.X, y, v / count, prior_mean=gp.prior_mean)

    best = max(np.geomspace(1e-3, 2.0, 400), key=lambda v: at(v).log_likelihood)
    r, total = at(best).leave_one_out()
    scatter = residual_scatter(observations, model)
    q = r**2 / total
    assert scatter.squares == pytest.approx((q / q.mean() - 1.0) / math.sqrt(2.0), abs=0.05)
    q = np.abs(r) / np.sqrt(total)
    expected = (q / q.mean() - 1.0) / math.sqrt(math.pi / 2 - 1)
    assert scatter.differences == pytest.approx(expected, abs=0.05)
    assert scatter.weight == pytest.approx(best / count / total / math.sqrt(2.0), rel=0.1)


# -- the test ------------------------------------------------------------------------------------


def test_units_means_and_signs_do_not_matter(rng):
    X = rng.random((25, 2))
    plain = table(rng, X, 1.5 * X[:, 0], rng.integers(2, 6, 25))
    y = plain.values
    moved = [1e3 * np.arange(25)[plain.point] + y, 1e-6 * y, -y]
    first = p_value(plain)
    assert 0.0 < first < 1.0
    for values in moved:
        rounds = [values[plain.point == i] for i in range(25)]
        assert p_value(Observations.from_rounds(list(X), rounds)) == first


def test_mirroring_an_input_changes_nothing(rng):
    """Also where points have different weights, which only a weighted mean takes out."""
    X = rng.random((40, 2))
    observations = table(rng, X, 2.0 * X[:, 0], rng.integers(2, 9, 40))
    scatter = repeat_scatter(observations)
    assert np.ptp(scatter.weight) > 1.0
    there = uneven_test(scatter, columns(2))
    back = uneven_test(replace(scatter, X=1.0 - scatter.X), columns(2))
    assert back.p_value == there.p_value
    assert back.input_p_values == there.input_p_values
    assert back.detectable_ratio == pytest.approx(there.detectable_ratio)


def test_a_loud_half_is_found_and_named(rng):
    X = rng.random((30, 3))
    observations = table(rng, X, 4.0 * (X[:, 1] > 0.5), np.full(30, 5))
    found = uneven_test(repeat_scatter(observations), columns(3))
    assert found.p_value == 1.0 / (PERMUTATIONS + 1)
    assert found.input_p_values[1] == 1.0 / (PERMUTATIONS + 1)
    assert min(found.input_p_values[0], found.input_p_values[2]) > 0.05
    # With the columns of one input taken together.
    both = uneven_test(repeat_scatter(observations), [np.array([0]), np.array([1, 2])])
    assert both.p_value == found.p_value
    assert both.input_p_values[1] <= 0.01 < 0.05 < both.input_p_values[0]


def test_noise_in_the_middle_is_found_by_the_squares(rng):
    X = rng.random((40, 1))
    assert p_value(table(rng, X, -16.0 * (X[:, 0] - 0.5) ** 2, np.full(40, 5))) <= 0.01


def test_squares_count_by_their_weight(rng, monkeypatch):
    """Without weight nothing but a slope is found."""
    X = np.linspace(0.0, 1.0, 41)[:, None]
    slope = table(rng, X, 4.0 * X[:, 0], np.full(41, 5))
    hump = table(rng, X, -16.0 * (X[:, 0] - 0.5) ** 2, np.full(41, 5))
    monkeypatch.setattr("rahbo.analysis.unevenness.SQUARE_WEIGHT", 1e-300)
    assert p_value(slope) <= 0.01
    assert p_value(hump) > 0.1


def test_inputs_with_one_or_two_values(rng):
    X = np.column_stack([np.full(20, 0.3), np.arange(20) % 2, rng.random(20)])
    observations = table(rng, X, 4.0 * X[:, 1], np.full(20, 4))
    found = uneven_test(repeat_scatter(observations), columns(3))
    assert found.input_p_values[0] == 1.0
    assert found.input_p_values[1] <= 0.01
    assert found.p_value <= 0.01


def test_equal_scores_say_nothing(rng):
    one = np.ones(10)
    found = uneven_test(Scatter(rng.random((10, 2)), 0.0 * one, 0.0 * one, one), columns(2))
    assert (found.p_value, found.input_p_values) == (1.0, (1.0, 1.0))


def test_more_repeats_show_smaller_ratios(rng):
    X = rng.random((30, 2))
    before = math.inf
    for k in (2, 5, 20):
        scatter = repeat_scatter(table(rng, X, np.zeros(30), np.full(30, k)))
        ratio = uneven_test(scatter, columns(2)).detectable_ratio
        # Of a linear term sum(f^2) = n Var[x] (k - 1) / 2; z is wanted at 2.394 + 0.842.
        information = 30 * np.median(X.var(axis=0)) * (k - 1) / 2 / np.mean(scatter.squares**2)
        assert math.log(ratio) == pytest.approx(1.1 * 3.236 / math.sqrt(information), rel=1e-3)
        assert 1.0 < ratio < before
        before = ratio


DRAWS = {
    "Gaussian": lambda rng: rng.standard_normal,
    "uniform": lambda rng: lambda size: rng.uniform(-1.0, 1.0, size),
    "t5": lambda rng: lambda size: rng.standard_t(5.0, size),
    "Bernoulli": lambda rng: lambda size: (rng.random(size) < 0.3) * 1.0,
}


@pytest.mark.slow
@pytest.mark.parametrize("noise", DRAWS)
def test_even_noise_is_seldom_called_uneven(noise):
    # 0.05 expected; more than 17 of 150 have a probability below 0.001.
    rng = np.random.default_rng(11)
    draw = DRAWS[noise](rng)
    alarms = 0
    for _ in range(150):
        X = rng.random((30, 2))
        count = rng.integers(2, 6, 30)
        alarms += p_value(table(rng, X, np.zeros(30), count, draw)) <= 0.05
    assert alarms <= 17


def test_a_variance_ratio_of_four_is_mostly_found():
    # 0.9 expected, 0.8 promised; fewer than 40 of 60 at 0.8 have a probability below 0.01.
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(60):
        X = rng.random((30, 3))
        log_var = math.log(4.0) * (X[:, 0] > 0.5)
        found += p_value(table(rng, X, log_var, np.full(30, 5))) <= 0.05
    assert found >= 40


# -- the record ----------------------------------------------------------------------------------


def judged(observations, noise=None):
    return unevenness(observations, modelled(observations, noise), columns(observations.X.shape[1]))


def test_repeats_come_before_residuals(rng):
    X = rng.random((40, 2))
    count = np.append(np.full(30, 6), np.ones(10, dtype=int))
    record, by_input = judged(table(rng, X, 3.0 * X[:, 0], count))
    assert (record.answer, record.source, record.n_points) == ("yes", "repeats", 30)
    assert record.p_value <= 0.05
    assert by_input[0] <= 0.05
    assert record.variance_ratio == pytest.approx(
        (record.noise_std_range.upper / record.noise_std_range.lower) ** 2
    )
    assert 2.0 < record.variance_ratio < 40.0
    assert record.verdict.startswith("Yes (p = 0.0")
    assert "residuals" not in record.verdict


def test_even_noise_with_many_repeats_is_called_even(rng):
    X = rng.random((40, 2))
    record, _ = judged(table(rng, X, np.full(40, 2 * math.log(3.0)), np.full(40, 8)))
    assert record.answer == "no"
    assert record.p_value > 0.05
    assert record.detectable_ratio < 16.0
    assert 2.0 < record.noise_std_range.lower <= record.noise_std_range.upper < 4.5
    assert record.verdict.startswith("No sign of it")


def test_few_repeats_cannot_tell(rng):
    X = rng.random((8, 2))
    record, _ = judged(table(rng, X, np.zeros(8), np.full(8, 2)))
    assert record.answer == "cannot tell"
    assert record.p_value > 0.05
    assert record.detectable_ratio > 16.0
    assert record.verdict.startswith("Cannot tell yet")


@pytest.mark.parametrize("noise", [None, DirectNoise()], ids=["default", "direct"])
def test_without_repeats_residuals_tell(rng, noise):
    X = rng.random((120, 2))
    log_var = np.where(X[:, 1] > 0.5, 0.0, -4.0)
    record, by_input = judged(table(rng, X, log_var, np.ones(120, dtype=int), f=2 * X[:, 0]), noise)
    assert (record.answer, record.source, record.n_points) == ("yes", "residuals", 120)
    assert by_input[1] <= 0.01
    assert "Without repeats" in record.verdict


def test_residuals_that_hold_no_noise_cannot_tell(rng):
    # Rough in one half and flat in the other, without noise: the residuals are uneven.
    X = rng.random((60, 1))
    f = np.where(X[:, 0] > 0.5, np.sin(60.0 * X[:, 0]), 0.0)
    record, _ = judged(table(rng, X, np.full(60, -30.0), np.ones(60, dtype=int), f=f))
    assert record.source == "residuals"
    assert record.answer == "cannot tell"


def test_nothing_to_test(rng):
    X = rng.random((4, 2))
    record, by_input = judged(table(rng, X, np.zeros(4), np.ones(4, dtype=int)))
    assert (record.answer, record.source, record.n_points) == ("cannot tell", "nothing", 0)
    assert record.p_value is None
    assert by_input == (None, None)
    assert record.verdict.startswith("Cannot tell")
