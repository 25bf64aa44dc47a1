"""Bounds against arithmetic by hand, simulation and each other."""

from dataclasses import replace
from math import e, exp, log, sqrt

import numpy as np
import pytest

from rahbo.errors import SettingsError
from rahbo.model import GP, RBF, Lemma1Beta, Matern52, sample_variance_var
from rahbo.theory import (
    Both,
    ConfidenceBand,
    Theorem1,
    beta_bound,
    corollary_rounds,
    greedy_information_gain,
    proposition1_bound,
    sample_complexity,
    theorem1_bound,
)


def test_beta_of_three_points_is_worked_out_by_hand():
    # RBF of lengthscale 1/2, variance 2, at 0, 1/2 and 1; lam = 1/2.
    a, b = 2 * exp(-0.5), 2 * exp(-2.0)
    noise = (0.3, 0.8, 0.5)
    p, q, r = (2 + 0.5 * v for v in noise)
    # det [[p, a, b], [a, q, a], [b, a, r]] by the first row.
    det = p * (q * r - a * a) - a * (a * r - a * b) + b * (a * a - q * b)
    det_noise = 0.5**3 * 0.3 * 0.8 * 0.5
    beta = sqrt(2 * log(sqrt(det) / (0.05 * sqrt(det_noise)))) + sqrt(0.5) * 1.7
    X = np.array([[0.0], [0.5], [1.0]])
    gp = GP.condition(RBF([0.5], 2.0), X, np.ones(3), np.array(noise), lam=0.5)
    assert Lemma1Beta(1.7, 0.05).beta(gp) == pytest.approx(beta, rel=1e-12)
    gain = 0.5 * log(det / det_noise)
    bound = beta_bound(gain, 1.7, 0.05, 0.5)
    assert bound.corrected == pytest.approx(beta, rel=1e-12)
    assert bound.printed == pytest.approx(sqrt(2 * log(20) + gain) + sqrt(0.5) * 1.7, rel=1e-12)
    # What A.1.2 prints is below the beta of Lemma 1 that it is meant to bound.
    assert bound.printed < beta


def bernoulli(p):
    return lambda rng, shape: (rng.uniform(size=shape) < p) - p


SAMPLERS = [
    ("gaussian", lambda rng, shape: rng.normal(0.0, 1.5, shape), 2.25, 3.0),
    ("uniform", lambda rng, shape: rng.uniform(-1.0, 1.0, shape), 1 / 3, 1.8),
    ("bernoulli 1/2", bernoulli(0.5), 0.25, 1.0),
    ("bernoulli 1/5", bernoulli(0.2), 0.16, (1 - 3 * 0.16) / 0.16),
]


@pytest.mark.parametrize(("name", "sample", "var", "kurtosis"), SAMPLERS)
@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_variance_of_the_sample_variance_agrees_with_simulation(name, sample, var, kurtosis, k):
    draws = sample(np.random.default_rng([k, len(name)]), (200_000, k))
    s2 = draws.var(axis=1, ddof=1)
    deviation = (s2 - var) ** 2
    standard_error = deviation.std() / sqrt(len(deviation))
    expected = float(sample_variance_var(var, k, kurtosis))
    assert abs(deviation.mean() - expected) < 4 * standard_error + 1e-12
    # The pairwise form is the sample variance, and the bound of A.2 holds at kurtosis <= 3.
    some = draws[:50]
    pairs = ((some[:, :, None] - some[:, None, :]) ** 2).sum(axis=(1, 2)) / (2 * k * (k - 1))
    np.testing.assert_allclose(pairs, s2[:50], rtol=1e-12, atol=1e-15)
    assert (expected <= 2 * var**2 / (k - 1) + 1e-15) == (kurtosis <= 3)


def test_proposition_1_by_hand():
    band = ConfidenceBand(Both(3.0, 4.0), gain=5.0, noise_var=0.5, prior_var=2.0)
    bound = proposition1_bound(band, rounds=7, n_repeats=2, delta=0.05)
    assert bound.corrected == pytest.approx(2 * 2 * 3 * sqrt(2 * 7 * 5 * 2 / log(5)))
    assert bound.printed == pytest.approx(2 * 2 * 4 * sqrt(2 * 7 * 5 / log(3)))
    assert (bound.probability, bound.noise) == (0.95, None)
    assert bound.per_evaluation == pytest.approx(bound.corrected / 14)


def test_theorem_1_by_hand():
    mean = ConfidenceBand(Both(3.0, 3.0), gain=5.0, noise_var=0.5)
    noise = ConfidenceBand(Both(6.0, 6.0), gain=1.5, noise_var=0.25)
    bound = theorem1_bound(mean, noise, rounds=7, n_repeats=4, alpha=1.5, delta=0.05)
    printed = 3 * 4 * sqrt(2 * 7 * 5 / log(3)) + 1.5 * 6 * 4 * sqrt(2 * 7 * 1.5 / log(5))
    assert bound.printed == pytest.approx(printed)
    assert bound.corrected == pytest.approx(2 * printed)
    assert bound.probability == pytest.approx(0.9)
    needed = corollary_rounds(bound, 0.1)
    assert needed.corrected == pytest.approx(
        16 * (9 * 5 / log(3) + 1.5**2 * 36 * 1.5 / log(5)) / 0.01
    )
    assert needed.printed == pytest.approx(4 * (9 * 5 / log(3) + 1.5 * 36 * 1.5 / log(5)) / 0.01)


@pytest.mark.parametrize("prior_var", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("noise_var", [0.01, 0.5, 20.0])
def test_step_4_bounds_posterior_deviations(prior_var, noise_var, rng):
    # sigma^2 <= (c / lam) / ln(1 + c / (lam v)) ln(1 + sigma^2 / v) for sigma^2 <= c / lam.
    var = rng.uniform(0.0, prior_var, size=1000)
    gain = 0.5 * np.log1p(var / noise_var).sum()
    rate = ConfidenceBand(Both(1.0, 1.0), float(gain), noise_var, prior_var).rate
    assert np.sqrt(var).sum() <= sqrt(2 * 1000 * rate.corrected)


X = np.linspace(0.0, 1.0, 25)[:, None]
EASY = Theorem1(X, RBF([0.6]), RBF([0.8], 0.01), norm_f=0.5, norm_noise=0.2, min_noise_var=0.01,
                max_noise_var=0.03, alpha=2.0, n_repeats=10, lam=0.8, lam_noise=1.2)  # fmt: skip


def test_bounds_before_any_data_are_theorem_1_with_greedy_gains():
    bound = EASY.bounds(12)[-1]
    upper = [
        greedy_information_gain(kernel, X, v, 12, lam).lower[-1] / (1 - 1 / e)
        for kernel, v, lam in (
            (RBF([0.6]), 0.003, 0.8),
            (RBF([0.6]), 0.001, 0.8),
            (RBF([0.8], 0.01), 2 * 0.03**2 / 9, 1.2),
        )
    ]
    beta = sqrt(2 * log(10) + 2 * upper[1]) + sqrt(0.8) * 0.5
    beta_noise = sqrt(2 * log(10) + 2 * upper[2]) + sqrt(1.2) * 0.2
    c, c_noise = 1 / 0.8, 0.01 / 1.2
    sum_f = beta * sqrt(2 * 12 * upper[0] * c / log(1 + c / 0.003))
    sum_noise = beta_noise * sqrt(
        2 * 12 * upper[2] * c_noise / log(1 + c_noise / (2 * 0.03**2 / 9))
    )
    assert bound.rounds == 12
    assert bound.corrected == pytest.approx(20 * (sum_f + 2.0 * sum_noise))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_sample_complexity_is_the_smallest(alpha):
    assumptions, epsilon = replace(EASY, alpha=alpha), 2.0
    found = sample_complexity(assumptions, epsilon, max_rounds=6000)
    bounds = assumptions.bounds(6000)
    T = found.by_theorem
    assert T is not None
    assert T > 1
    assert bounds[T - 1].corrected / (10 * T) <= epsilon
    assert bounds[T - 2].corrected / (10 * (T - 1)) > epsilon
    for form in ("corrected", "printed"):
        T = getattr(found, form)
        assert T is not None
        assert getattr(corollary_rounds(bounds[T - 1], epsilon), form) <= T
        assert getattr(corollary_rounds(bounds[T - 2], epsilon), form) > T - 1
    # The corollary is what the theorem says after (a + b)^2 <= 2 a^2 + 2 b^2.
    assert bounds[found.corrected - 1].per_evaluation <= epsilon
    assert found.by_theorem <= found.corrected
    # As printed it is too early: the theorem does not yet promise epsilon there.
    assert bounds[found.printed - 1].per_evaluation > epsilon


def test_sample_complexity_beyond_the_search_is_none():
    found = sample_complexity(EASY, 1e-3, max_rounds=20)
    assert (found.corrected, found.printed, found.by_theorem) == (None, None, None)
    assert found.max_rounds == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 0.5}, "delta"),
        ({"min_noise_var": 0.0}, "min_noise_var"),
        ({"min_noise_var": 0.1}, "min_noise_var"),
        ({"max_noise_var": np.inf}, "max_noise_var"),
        ({"n_repeats": 1}, "n_repeats"),
    ],
)
def test_impossible_assumptions_are_refused(change, message):
    with pytest.raises(SettingsError, match=message):
        replace(EASY, **change)


def test_accuracy_must_be_positive():
    with pytest.raises(SettingsError, match="epsilon"):
        sample_complexity(replace(EASY, kernel=Matern52([0.5])), 0.0)
