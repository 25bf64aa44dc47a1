"""What every problem shares: the trip to rows and back, samples, the search for the optimum."""

import itertools
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from rahbo.errors import DataError, SettingsError, SpaceError
from rahbo.problems import (
    Problem,
    branin,
    euxfel,
    fel,
    forest,
    hartmann6,
    newsvendor,
    ridge10,
    sine,
)
from rahbo.risk import MeanStd, MeanVariance, Quantile
from rahbo.space import Float, Int

RISKS = [MeanVariance(0.0), MeanVariance(2.0), MeanStd(1.0), Quantile(0.1)]


@dataclass(frozen=True)
class Hill(Problem):
    """f = -(a - centre)^2 - b^2, v = 0.5 + a: optima by hand."""

    centre: float = 0.3

    def f(self, X):
        return -((X[:, 0] - self.centre) ** 2) - X[:, 1] ** 2

    def noise_var(self, X):
        return 0.5 + X[:, 0]


@dataclass(frozen=True)
class Ladder(Problem):
    """Integers alone: the best step is one of many teeth."""

    def f(self, X):
        return np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 1])

    def noise_var(self, X):
        return 0.1 + 0.05 * X[:, 0] * X[:, 1]


@dataclass(frozen=True)
class Needle(Problem):
    """A broad hill and a narrow, higher one on a log scale."""

    def f(self, X):
        u = np.log10(X[:, 0])
        return np.exp(-0.5 * ((u + 3.0) / 0.5) ** 2) + 1.2 * np.exp(-0.5 * ((u + 1.0) / 0.01) ** 2)

    def noise_var(self, X):
        return np.full(len(X), 0.25)


def hill(low=-1.0, high=1.0, centre=0.3):
    space = {"a": Float(low, high), "b": Float(-2.0, 1.0)}
    return Hill(f"hill on [{low}, {high}]", space, centre)


# -- optima --------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.6, 1.0])
def test_an_optimum_inside_by_hand(alpha):
    # d/da: -2 (a - 0.3) - alpha = 0, so a = 0.3 - alpha/2 and R = -alpha (0.8 - alpha/4).
    best = hill(low=-0.4).optimum(MeanVariance(alpha))
    assert best.params["a"] == pytest.approx(0.3 - alpha / 2, abs=1e-5)
    assert best.params["b"] == pytest.approx(0.0, abs=1e-5)
    assert best.value == pytest.approx(-alpha * (0.8 - alpha / 4), abs=1e-9)


def test_an_optimum_on_the_border_by_hand():
    best = hill(low=0.5, high=2.0).optimum(MeanVariance(1.0))
    assert best.params["a"] == 0.5
    assert best.value == pytest.approx(-(0.2**2) - 1.0, abs=1e-9)


def test_an_optimum_of_many_parameters_by_hand():
    @dataclass(frozen=True)
    class Wide(Problem):
        """Each parameter has its own best value; noise rises with the first."""

        def f(self, X):
            logs = np.log10(X[:, 4])
            steps = X[:, 5] - 7.0
            return -np.sum((X[:, :4] - 0.3) ** 2, axis=1) - (logs + 2.0) ** 2 - 0.1 * steps**2

        def noise_var(self, X):
            return 0.5 + X[:, 0]

    space = {f"x{j}": Float(-1.0, 1.0) for j in range(4)}
    space |= {"lr": Float(1e-4, 1.0, log=True), "n": Int(1, 20)}
    best = Wide("wide", space).optimum(MeanVariance(0.4))
    assert best.params == pytest.approx(
        {"x0": 0.1, "x1": 0.3, "x2": 0.3, "x3": 0.3, "lr": 0.01, "n": 7}, rel=1e-3
    )
    assert isinstance(best.params["n"], int)
    assert best.value == pytest.approx(-0.04 - 0.4 * 0.6, abs=1e-8)


@pytest.mark.parametrize("risk", RISKS)
def test_an_optimum_over_integers_is_that_of_plain_enumeration(risk):
    problem = Ladder("ladder", {"i": Int(0, 40), "j": Int(1, 25)})
    best = problem.optimum(risk)
    listed = {
        (i, j): float(risk.value(np.sin(3.0 * i) + np.cos(2.0 * j), 0.1 + 0.05 * i * j))
        for i, j in itertools.product(range(41), range(1, 26))
    }
    assert tuple(best.params.values()) == max(listed, key=listed.get)
    assert best.value == pytest.approx(max(listed.values()), abs=1e-12)
    assert all(type(v) is int for v in best.params.values())


def test_a_narrow_peak_on_a_log_scale_is_found():
    best = Needle("needle", {"lr": Float(1e-5, 1.0, log=True)}).optimum(MeanVariance(1.0))
    assert best.params["lr"] == pytest.approx(0.1, rel=1e-4)
    # The broad hill's tail at 10^-1 is exp(-8).
    assert best.value == pytest.approx(1.2 + np.exp(-8.0) - 0.25, abs=1e-6)


@pytest.mark.parametrize("risk", RISKS)
def test_no_random_point_beats_the_optimum(risk, rng):
    problem = hill(low=-0.4, centre=0.7)
    X = rng.uniform([-0.4, -2.0], [1.0, 1.0], (20_000, 2))
    assert problem.risk_value(X, risk).max() <= problem.optimum(risk).value + 1e-9


@pytest.mark.parametrize("risk", RISKS)
def test_regret_is_what_a_point_lacks(risk):
    problem = hill(low=-0.4)
    params = {"a": 0.8, "b": -0.5}
    here = risk.value(-((0.8 - 0.3) ** 2) - 0.25, 1.3)
    expected = problem.optimum(risk).value - float(here)
    assert problem.regret(params, risk) == pytest.approx(expected, abs=1e-12)
    assert problem.regret(problem.optimum(risk).params, risk) == pytest.approx(0.0, abs=1e-9)


def test_problems_of_one_name_and_another_space_have_other_optima():
    wide, narrow = (
        Hill("one name", {"a": Float(low, 3.0), "b": Float(-1.0, 1.0)}).optimum(MeanVariance(0.0))
        for low in (-0.4, 1.0)
    )
    assert wide.params["a"] == pytest.approx(0.3, abs=1e-5)
    assert narrow.params["a"] == 1.0


# -- rows and params -----------------------------------------------------------------------------


def test_rows_and_params_are_inverse():
    problem = Hill("mixed", {"lr": Float(1e-4, 1.0, log=True), "n": Int(1, 9)})
    params = {"n": 4, "lr": 0.01}
    row = problem.params_to_row(params)
    np.testing.assert_array_equal(row, [0.01, 4.0])
    assert problem.row_to_params(row) == params
    assert [type(v) for v in problem.row_to_params(row).values()] == [float, int]


@pytest.mark.parametrize(
    "params", [{"a": 0.0}, {"a": 0.0, "b": 0.0, "c": 1.0}, {"a": 9.0, "b": 0.0}, {}]
)
def test_params_outside_the_space_are_refused(params):
    for call in (
        lambda p: hill().params_to_row(p),
        lambda p: hill().sample(p, np.random.default_rng(0)),
        lambda p: hill().regret(p, MeanVariance(1.0)),
    ):
        with pytest.raises(SpaceError):
            call(params)


@pytest.mark.parametrize("shape", [(2,), (3, 1), (3, 3), (1, 2, 2)])
def test_points_of_another_shape_are_refused(shape):
    with pytest.raises(DataError, match=r"needs points of shape \(m, 2\), got"):
        hill().risk_value(np.zeros(shape), MeanVariance(1.0))


def test_risk_values_of_lists_and_of_no_points():
    np.testing.assert_allclose(
        hill().risk_value([[0.3, 0.0], [0.0, 1.0]], MeanVariance(2.0)), [-1.6, -2.09]
    )
    assert hill().risk_value(np.empty((0, 2)), MeanVariance(1.0)).shape == (0,)


# -- samples -------------------------------------------------------------------------------------


def test_a_sample_is_the_mean_and_one_scaled_draw():
    params = {"a": 0.4, "b": -1.0}
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(3):
        expected = -(0.1**2) - 1.0 + np.sqrt(0.9) * same.standard_normal()
        drawn = hill().sample(params, rng)
        assert drawn == pytest.approx(expected, rel=1e-12)
        assert type(drawn) is float


# -- all problems --------------------------------------------------------------------------------

SCALED = (sine, branin, hartmann6, ridge10, fel)


@pytest.mark.parametrize("make", [*SCALED, newsvendor, euxfel, forest], ids=lambda m: m.__name__)
def test_a_problem_is_a_value(make):
    assert make() == make()
    assert make().name == make.__name__
    others = [make(0.2)] if make in (*SCALED, newsvendor) else []
    for one in others:
        assert one != make()
        assert "=0.2)" in one.name
    for one in (make(), *others):
        copy = pickle.loads(pickle.dumps(one))
        assert copy == one
        low = np.array([[kind.low for kind in one.space.values()]], dtype=float)
        assert copy.f(low) == one.f(low)


@pytest.mark.parametrize(
    ("make", "setting"),
    [
        *itertools.product(SCALED, [-1.0, math.nan, math.inf]),
        *((newsvendor, bad) for bad in (0.0, 0.001, -1.0, 3.0, math.nan, math.inf)),
    ],
)
def test_a_setting_out_of_range_is_refused(make, setting):
    with pytest.raises(SettingsError, match=rf"^{make.__name__}\(\) needs"):
        make(setting)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "row"),
    [
        (sine(), [0.25]),
        (sine(2.0), [1.25]),
        (branin(2.0), [9.42478, 2.475]),
        (euxfel(), euxfel().surrogate.middle),
        (fel(), fel().surrogate.middle - 0.03),
    ],
    ids=["quiet sine", "noisy sine", "noisy branin", "euxfel", "fel"],
)
def test_samples_have_the_stated_mean_and_variance(problem, row):
    rng, n, row = np.random.default_rng(7), 4000, np.asarray(row)
    params = problem.row_to_params(row)
    y = np.array([problem.sample(params, rng) for _ in range(n)])
    f, v = problem.f(row[None])[0], problem.noise_var(row[None])[0]
    # For Gaussian noise (n - 1)·s²/v is chi-square: each bound fails once in 10,000 seeds.
    low, high = stats.chi2.ppf([5e-5, 1 - 5e-5], n - 1) / (n - 1)
    assert low * v < y.var(ddof=1) < high * v
    assert abs(y.mean() - f) < 3.9 * math.sqrt(v / n)
    assert stats.kstest((y - f) / math.sqrt(v), "norm").pvalue > 1e-4
