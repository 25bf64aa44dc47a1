"""Values that are looked at again, and models that explain nothing."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

import rahbo
from rahbo.model import Matern52, knows_nothing
from rahbo.model.variance import KnownPosterior
from rahbo.policy.doubt import unbelieved

LINE = {"x": (0.0, 1.0)}
PLACES = np.linspace(0.0, 1.0, 12)
# A mean that hardly moves: whatever is far from the rest is taken for noise.
STIFF = Matern52([3.0], 0.05)


def told(*more, kernel=STIFF, risk=None, noise_std=0.3):
    """Repeated values around 0 on a line, and some further points."""
    rng = np.random.default_rng(0)
    data = [({"x": float(x)}, list(noise_std * rng.standard_normal(2))) for x in PLACES]
    data += [({"x": x}, values) for x, values in more]
    settings = {"risk": risk or rahbo.MeanVariance(1.0), "method": rahbo.Method(kernel=kernel)}
    return rahbo.Optimizer(LINE, seed=0, data=data, **settings)


def doubted(opt):
    return unbelieved(opt.state)[:, 0].tolist()


def test_a_single_value_too_good_for_the_noise_is_doubted():
    assert doubted(told((0.51, [3.0]))) == [0.51]


def test_the_best_of_several_comes_first():
    assert doubted(told((0.31, [2.0]), (0.51, [3.0]), (0.71, [2.5]))) == [0.51, 0.71, 0.31]


@pytest.mark.parametrize("values", [[3.0, 2.9], [0.3], [-3.0]], ids=["twice", "usual", "bad"])
def test_other_values_are_not(values):
    assert doubted(told((0.51, values))) == []


def test_a_value_that_the_model_follows_is_not():
    opt = told((0.51, [3.0]), kernel=Matern52([0.02], 4.0), noise_std=0.01)
    assert doubted(opt) == []


@pytest.mark.slow
def test_a_value_is_doubted_from_two_standard_deviations_on():
    # The value takes part in the mean, so what is left of it is compared.
    for value in np.linspace(0.4, 1.6, 13):
        opt = told((0.51, [value]))
        X = np.array([[0.51]])
        left = opt.model.units.to_outcome(opt.model.mean.predict(X)[0][0])
        rho = np.sqrt(opt.model.by_repeats.variance(X)[0])
        excess = (value - left) / (rho * opt.model.units.scale)
        assert doubted(opt) == ([0.51] if excess > 2.0 else [])


def test_a_value_no_better_than_the_best_belief_is_not():
    kernel = Matern52([0.05], 0.05)
    opt = told((0.98, [3.0]), (0.02, [6.0] * 12), kernel=kernel)
    one = opt.observations.count == 1
    noise_var = opt.model.by_repeats.variance(opt.observations.X[one])
    assert opt.model.mean.residuals[one] > 5.0 * np.sqrt(noise_var)
    assert doubted(opt) == []
    # The same value counts where it would be the best.
    assert doubted(told((0.98, [3.0]), (0.02, [0.1] * 12), kernel=kernel)) == [0.98]


def test_noise_that_its_model_takes_for_negative_is_none():
    below_zero = KnownPosterior(lambda X: np.full(len(X), -0.1))
    opt = told((0.51, [3.0]), risk=rahbo.Quantile(0.1))
    model = replace(opt.model, by_repeats=below_zero)
    state = SimpleNamespace(assumed=None, followed=model, settings=opt.settings)
    assert 0.51 in unbelieved.__wrapped__(state)


def test_its_own_distance_is_no_excuse():
    opt = told((0.51, [3.0]))
    X = np.array([[0.51]])
    with_it = opt.model.noise.variance(X)[0]
    without = opt.model.by_repeats.variance(X)[0]
    assert without < 0.7 * with_it
    # As learned from the repeated points alone, but for the hyperparameters.
    scale = opt.model.units.scale
    assert 0.3 < np.sqrt(without) * scale / 0.3 < 3.0


def test_known_noise_stays_as_it_is():
    data = [({"x": float(x)}, [x, x]) for x in PLACES]
    opt = rahbo.Optimizer(LINE, noise_std=lambda p: 0.2, data=data)
    assert opt.model.by_repeats is opt.model.noise


def linear(slope, counts=(2,)):
    rng = np.random.default_rng(1)
    data = []
    for i, x in enumerate(PLACES):
        noise = 0.3 * rng.standard_normal(counts[i % len(counts)])
        data.append(({"x": float(x)}, list(slope * x + noise)))
    return rahbo.Optimizer(LINE, seed=0, data=data)


def evidence(opt):
    """By the multivariate normal densities themselves."""
    observations, mean = opt.observations, opt.model.mean
    y = (observations.mean - opt.model.units.shift) / opt.model.units.scale
    noise = np.diag(mean.noise_var)
    A = mean.kernel(observations.X, observations.X) + noise
    varies = multivariate_normal(np.full(len(y), mean.prior_mean), A).logpdf(y)
    best = minimize_scalar(lambda c: -multivariate_normal(np.full(len(y), c), noise).logpdf(y))
    return varies + best.fun


@pytest.mark.parametrize("slope", [0.0, 0.3, 0.48, 0.5, 0.52, 0.54, 1.0, 3.0])
def test_the_mean_is_known_from_five_nats_on(slope):
    opt = linear(slope)
    assert knows_nothing(opt.model) == (evidence(opt) < 5.0)


def test_the_constant_weighs_points_by_their_repeats():
    opts = [linear(slope, counts=(2, 40)) for slope in np.linspace(0.1, 0.8, 15)]
    known = [not knows_nothing(opt.model) for opt in opts]
    assert known == [evidence(opt) >= 5.0 for opt in opts]
    assert 0 < sum(known) < len(known)


def test_noise_alone_tells_nothing_and_a_trend_does():
    assert [knows_nothing(o.model) for o in map(linear, (0.0, 3.0))] == [
        True,
        False,
    ]


def test_equal_outputs_tell_nothing():
    opt = rahbo.Optimizer(LINE, data=[({"x": float(x)}, [1.0, 1.0]) for x in PLACES])
    assert knows_nothing(opt.model)


def test_many_values_at_the_peak_leave_what_is_known():
    opt = linear(3.0)
    rng = np.random.default_rng(2)
    for _ in range(5):
        opt.tell({"x": 1.0}, list(3.0 + 0.3 * rng.standard_normal(20)))
    assert not knows_nothing(opt.model)


def test_a_batch_looks_again_at_each_doubted_value_once():
    opt = told((0.31, [2.0]), (0.51, [3.0]), (0.71, [2.5]))
    assert [s.params["x"] for s in opt.ask(5)][:3] == [0.51, 0.71, 0.31]
    asked = [t.params["x"] for t in opt.trials[-5:]]
    assert [asked.count(x) for x in (0.51, 0.71, 0.31)] == [1, 1, 1]
