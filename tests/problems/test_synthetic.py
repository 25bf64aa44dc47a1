"""The synthetic problems against their stated optima, dense search and sampling."""

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from rahbo.errors import DataError, SettingsError, SpaceError
from rahbo.problems import Problem, branin, sine
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, RiskMeasure
from rahbo.space import Float, Int

A, B, C = (9.42478, 2.475), (math.pi, 2.275), (-math.pi, 12.275)
RISKS = [*map(MeanVariance, (0.0, 0.5, 1.0, 2.0)), MeanStd(2.0), ExpectedShortfall(0.1)]


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z))


def branin_by_hand(x1, x2):
    b, c, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return -((x2 - b * x1**2 + c * x1 - 6) ** 2 + 10 * (1 - t) * math.cos(x1) + 10)


def test_sine_is_the_stated_formula():
    for s in (1.0, 2.0):
        for x in (0.0, 0.3, 0.97, 1.25, 2.0):
            X = np.array([[x]])
            assert sine(s).f(X)[0] == pytest.approx(math.sin(2 * math.pi * x), abs=1e-15)
            expected = s * sigmoid(30 * (x - 1)) + 0.1
            assert sine(s).noise_var(X)[0] == pytest.approx(expected, rel=1e-14)


def test_branin_is_the_stated_formula():
    for s in (1.0, 2.0):
        for x1, x2 in (A, B, C, (-5.0, 0.0), (10.0, 15.0), (2.5, 7.5)):
            X = np.array([[x1, x2]])
            assert branin(s).f(X)[0] == pytest.approx(branin_by_hand(x1, x2), rel=1e-13)
            expected = (s * sigmoid(2 * (x1 - 3.2)) + 0.2) * (s * sigmoid(2 * x2) + 0.2)
            assert branin(s).noise_var(X)[0] == pytest.approx(expected, rel=1e-14)


def test_branin_has_three_equal_maxima_of_unequal_noise():
    X = np.array([A, B, C])
    np.testing.assert_allclose(branin().f(X), -0.397887, atol=1e-6)
    noisy, middle, quiet = branin().noise_var(X)
    assert noisy > middle > quiet


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("risk", RISKS, ids=repr)
def test_sine_optimum_agrees_with_dense_search(scale, risk):
    problem = sine(scale)
    x = np.linspace(0.0, 2.0, 1_000_003)
    dense = risk.value(np.sin(2 * np.pi * x), problem.noise_var(x[:, None]))
    best = problem.optimum(risk)
    assert best.value >= dense.max() - 1e-12
    assert best.value == pytest.approx(dense.max(), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("risk", RISKS, ids=repr)
def test_branin_optimum_agrees_with_dense_search(scale, risk):
    problem = branin(scale)
    best = problem.optimum(risk)
    side = np.linspace(0.0, 1.0, 601)
    grid = np.stack(np.meshgrid(15 * side - 5, 15 * side), axis=-1).reshape(-1, 2)
    assert best.value >= problem.risk_value(grid, risk).max()
    # A second, fine grid around the answer: nothing better nearby, and nothing far below.
    near = np.linspace(-0.01, 0.01, 401)
    around = np.array(list(best.params.values())) + np.stack(np.meshgrid(near, near), -1)
    dense = problem.risk_value(np.clip(around.reshape(-1, 2), [-5, 0], [10, 15]), risk)
    assert best.value >= dense.max() - 1e-12
    assert best.value == pytest.approx(dense.max(), abs=1e-9)


def test_stated_optima():
    assert sine().optimum(MeanVariance(0.0)).value == pytest.approx(1.0, abs=1e-12)
    for alpha in (0.5, 1.0, 2.0):
        best = sine().optimum(MeanVariance(alpha))
        assert best.params["x"] == pytest.approx(0.25, abs=1e-6)
        assert best.value == pytest.approx(1.0 - 0.1 * alpha, abs=1e-8)
    best = branin().optimum(MeanVariance(0.0))
    assert best.value == pytest.approx(-0.397887, abs=1e-6)
    place = (best.params["x1"], best.params["x2"])
    assert min(math.dist(place, stated) for stated in (A, B, C)) < 1e-4
    for alpha in (0.5, 1.0, 2.0):
        best = branin().optimum(MeanVariance(alpha))
        assert math.dist((best.params["x1"], best.params["x2"]), C) < 1e-3
        # At C the sigmoids are 0 and 1 to six digits.
        assert best.value == pytest.approx(-0.397887 - alpha * 0.2 * 1.2, abs=1e-5 * (1 + alpha))


@pytest.mark.parametrize("problem", [sine(), branin(2.0)], ids=lambda p: p.name)
@pytest.mark.parametrize("risk", RISKS, ids=repr)
def test_regret_is_zero_at_the_optimum_and_positive_elsewhere(problem, risk):
    best = problem.optimum(risk)
    assert problem.regret(best.params, risk) == pytest.approx(0.0, abs=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(50):
        params = {k: float(rng.uniform(p.low, p.high)) for k, p in problem.space.items()}
        value = problem.risk_value(problem.params_to_row(params)[None], risk)[0]
        regret = problem.regret(params, risk)
        assert regret >= -1e-9
        assert regret == pytest.approx(best.value - value, abs=1e-12)


def test_regret_of_the_noisy_maximum_is_its_extra_noise():
    quiet, noisy = sine().noise_var(np.array([[0.25], [1.25]]))
    regret = sine().regret({"x": 1.25}, MeanVariance(2.0))
    assert regret == pytest.approx(2.0 * (noisy - quiet), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "params"),
    [
        (sine(), {"x": 0.25}),
        (sine(2.0), {"x": 1.25}),
        (branin(), {"x1": -math.pi, "x2": 12.275}),
        (branin(2.0), {"x2": 2.475, "x1": 9.42478}),
    ],
    ids=["quiet sine", "noisy sine", "quiet branin", "noisy branin"],
)
def test_samples_have_the_stated_mean_and_variance(problem, params):
    rng = np.random.default_rng(7)
    n = 4000
    y = np.array([problem.sample(params, rng) for _ in range(n)])
    X = problem.params_to_row(params)[None]
    f, v = problem.f(X)[0], problem.noise_var(X)[0]
    # For Gaussian noise (n - 1)·s²/v is chi-square: each bound fails once in 10,000 seeds.
    low, high = stats.chi2.ppf([5e-5, 1 - 5e-5], n - 1) / (n - 1)
    assert low * v < y.var(ddof=1) < high * v
    assert abs(y.mean() - f) < 3.9 * math.sqrt(v / n)
    assert stats.kstest((y - f) / math.sqrt(v), "norm").pvalue > 1e-4


def test_samples_depend_on_the_generator_alone():
    first = sine().sample({"x": 0.5}, np.random.default_rng(5))
    assert isinstance(first, float)
    assert first == sine().sample({"x": 0.5}, np.random.default_rng(5))


def test_rows_follow_the_order_of_the_space():
    row = branin().params_to_row({"x2": 1.0, "x1": -2.0})
    np.testing.assert_array_equal(row, [-2.0, 1.0])
    assert branin().row_to_params(row) == {"x1": -2.0, "x2": 1.0}


@pytest.mark.parametrize("bad", [{"x1": 0.0}, {"x1": 0.0, "x2": 16.0}, {"x1": 0.0, "y": 1.0}])
def test_points_outside_the_space_are_refused(bad):
    with pytest.raises(SpaceError):
        branin().regret(bad, MeanVariance())


def test_points_of_the_wrong_shape_are_refused():
    with pytest.raises(DataError, match=r"\(m, 2\)"):
        branin().risk_value(np.zeros((4, 3)), MeanVariance())


@pytest.mark.parametrize("make", [sine, branin])
@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_bad_scales_are_refused(make, bad):
    with pytest.raises(SettingsError, match="scale"):
        make(bad)


def test_problems_are_values():
    assert sine() == sine(1.0)
    assert sine() != sine(2.0)
    assert sine().name == "sine"
    assert sine(2.0).name == "sine(scale=2)"
    assert len({branin(), branin(1.0), branin(2.0)}) == 2
    copy = pickle.loads(pickle.dumps(branin(2.0)))
    assert copy == branin(2.0)
    assert copy.optimum(MeanVariance()) == branin(2.0).optimum(MeanVariance())


def test_changing_a_returned_optimum_does_not_change_the_next():
    sine().optimum(MeanVariance()).params["x"] = 7.0
    assert sine().optimum(MeanVariance()).params["x"] == pytest.approx(0.25, abs=1e-6)


@dataclass(frozen=True)
class Mixed(Problem):
    """A peak at lr = 0.01, depth = 8, with more noise at even depths."""

    def f(self, X):
        return -((np.log10(X[:, 0]) + 2.0) ** 2) - 0.1 * (X[:, 1] - 8.0) ** 2

    def noise_var(self, X):
        return np.where(X[:, 1] % 2 == 0, 1.0, 0.25)


def test_optimum_of_a_mixed_problem():
    problem = Mixed("mixed", {"lr": Float(1e-4, 1e-1, log=True), "depth": Int(1, 15)})
    best = problem.optimum(MeanVariance(1.0))
    assert best.params["depth"] in (7, 9)
    assert isinstance(best.params["depth"], int)
    assert best.params["lr"] == pytest.approx(0.01, rel=1e-4)
    assert best.value == pytest.approx(-0.35, abs=1e-9)
    assert problem.optimum(MeanVariance(0.0)).params["depth"] == 8


def test_a_measure_that_cannot_be_hashed_still_has_an_optimum():
    @dataclass
    class Loose(RiskMeasure):
        alpha: float = 1.0

        def value(self, f, v):
            return f - self.alpha * v

        def gradient(self, f, v):
            return np.ones_like(f), np.full_like(f, -self.alpha)

    assert sine().optimum(Loose()).value == pytest.approx(0.9, abs=1e-8)
