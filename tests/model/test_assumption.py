"""The model to propose by as long as the data hardly show that the mean varies."""

import math

import numpy as np
import pytest

import presets
import rahbo
from rahbo.model import (
    DirectNoise,
    Matern32,
    Matern52,
    Raw,
    Refit,
    condition,
    knows_nothing,
    learn,
    learn_assuming,
)
from rahbo.policy import Rahbo, pessimistic
from rahbo.policy.doubt import knows_nothing as nothing_known
from rahbo.state import State

SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def told(slope=0.0, n=14, **settings):
    """Pairs of noisy values on a square, with a slope in x."""
    rng = np.random.default_rng(5)
    data = [
        ({"x": float(x), "y": float(y)}, list(slope * x + rng.standard_normal(2)))
        for x, y in rng.random((n, 2))
    ]
    return rahbo.Optimizer(SQUARE, seed=0, data=data, **settings)


def assumed(opt):
    return opt.state.assumed


def assumes(opt):
    """Whether points are proposed by another model than the fitted one."""
    return assumed(opt) is not None


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("kernel", [Matern52, Matern32])
def test_the_mean_varies_as_much_as_the_outputs_on_six_tenths_of_the_typical_lengths(d, kernel):
    opt = rahbo.Optimizer(
        {f"x{i}": (0.0, 1.0) for i in range(d)}, method=rahbo.Method(kernel=kernel), seed=0
    )
    for _ in range(8):
        s = opt.ask()
        opt.tell(s, list(np.random.default_rng(s.id).standard_normal(2)))
    found = learn_assuming(opt.settings.model, opt.observations).mean.kernel
    assert type(found) is kernel
    assert found.lengthscales == pytest.approx(np.full(d, 0.6 * 0.2 * math.sqrt(d)))
    assert found.variance == pytest.approx(1.0)


def test_the_noise_is_learned_under_the_assumed_mean():
    opt = told()
    settings, observations = opt.settings.model, opt.observations
    found = learn_assuming(settings, observations)
    expected = learn(rahbo.Optimizer(
        SQUARE, method=rahbo.Method(kernel=found.mean.kernel), seed=0
    ).settings.model, observations)  # fmt: skip
    assert np.array_equal(found.noise.theta, expected.noise.theta)
    model = condition(settings, observations, found)
    assert np.all(model.mean.predict(observations.X)[1] > 0.0)


def test_a_kernel_that_was_given_is_kept():
    kernel = Matern52([0.7, 0.8], 0.3)
    opt = told(method=rahbo.Method(kernel=kernel))
    assert learn_assuming(opt.settings.model, opt.observations).mean.kernel is kernel
    assert knows_nothing(opt.model)
    assert not assumes(opt)


def test_it_is_assumed_until_the_data_show_that_the_mean_varies():
    flat, steep = told(0.0), told(8.0)
    assert knows_nothing(flat.model)
    assert assumes(flat)
    assert not knows_nothing(steep.model)
    assert not assumes(steep)


def test_what_is_believed_and_reported_does_not_rest_on_it():
    opt, plain = told(), told(method=rahbo.Method(strategy=Rahbo()))
    assert assumes(opt)
    assert not assumes(plain)
    mine, theirs = opt.recommend(), plain.recommend()
    assert mine.params == theirs.params
    assert mine.risk_interval == theirs.risk_interval
    before = opt.state.followed
    opt.ask()
    assert opt.model.learned.mean.theta == pytest.approx(plain.model.learned.mean.theta)
    assert opt.state.followed.learned.mean is before.learned.mean


def test_a_flat_fit_is_sure_of_everything_and_the_assumed_mean_is_not():
    opt = told(n=30)
    X = np.random.default_rng(1).random((200, 2))
    fitted, rough = opt.model.mean.predict(X)[1], assumed(opt).mean.predict(X)[1]
    assert np.median(rough) > 1.5 * np.median(fitted)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": rahbo.Method(refit=Refit(math.inf))},
        {"method": rahbo.Method(strategy=Rahbo())},
        presets.paper(repeats=2),
    ],
    ids=["never fitted again", "Algorithm 1", "paper"],
)
def test_runs_that_assume_nothing(settings):
    assert not assumes(told(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"method": rahbo.Method(noise=DirectNoise())},
        {"noise_std": 1.0},
        {"method": rahbo.Method(outputs=Raw())},
        {"risk": rahbo.Quantile(0.1)},
        {"direction": "minimize"},
        {"repeats": 3},
    ],
    ids=lambda given: next(iter(given)),
)
def test_other_settings_assume_it_too(settings):
    opt = told(**settings)
    assert assumes(opt)
    for _ in range(3):
        s = opt.ask()
        opt.tell(s, list(np.random.default_rng(s.id).standard_normal(s.repeats)))
    opt.ask(3)
    assert opt.recommend().n_evaluations >= 1


def test_equal_outputs_are_no_obstacle():
    data = [({"x": float(x), "y": 0.5}, [1.0, 1.0]) for x in np.linspace(0.0, 1.0, 8)]
    opt = rahbo.Optimizer(SQUARE, seed=0, data=data)
    assert assumes(opt)
    assert len(opt.ask(3)) == 3


@pytest.mark.parametrize("n", [1, 2])
def test_the_bound_kept_with_a_point_is_that_of_the_fitted_model(n):
    opt = told()
    for _ in range(4):
        fitted = pessimistic(opt.state.followed, opt.settings.risk)
        assert assumes(opt)
        asked = opt.ask(n)
        for s in asked:
            trial = opt.trials[s.id]
            expected = fitted.model.units.to_outcome(fitted.value(trial.x[None])[0])
            assert trial.own_bound == pytest.approx(expected, rel=1e-9)
        for s in asked:
            opt.tell(s, list(np.random.default_rng(s.id).standard_normal(s.repeats)))


def test_one_point_in_four_is_random_for_as_long_as_it_is_assumed():
    opt = told()
    assert opt.state.assumed is not None
    assert nothing_known(opt.state)
    assert not nothing_known(told(8.0).state)


@pytest.mark.parametrize("n", [1, 3])
def test_what_is_kept_changes_nothing(n):
    opt = told()
    for _ in range(9 // n):
        # Values of earlier suggestions come last, so that what was kept no longer holds.
        for s in reversed(opt.ask(n)):
            opt.tell(s, list(np.random.default_rng(s.id).standard_normal(s.repeats)))
            assert assumes(opt)
        kept, afresh = assumed(opt), State(opt.settings, opt.state.trials).assumed
        assert np.array_equal(kept.mean.y, afresh.mean.y)
        X = np.random.default_rng(2).random((20, 2))
        assert np.array_equal(kept.mean.predict(X)[0], afresh.mean.predict(X)[0])
        assert np.array_equal(kept.noise.latent(X)[0], afresh.noise.latent(X)[0])


def test_a_resumed_run_goes_on_as_it_would_have(tmp_path):
    def run(opt, n):
        for _ in range(n):
            s = opt.ask()
            opt.tell(s, list(np.random.default_rng(s.id).standard_normal(s.repeats)))

    whole = rahbo.Optimizer(SQUARE, seed=3)
    run(whole, 16)
    begun = rahbo.Optimizer(SQUARE, seed=3, journal=tmp_path / "run.jsonl")
    run(begun, 10)
    begun.close()
    resumed = rahbo.Optimizer.resume(tmp_path / "run.jsonl")
    assert assumes(resumed)
    run(resumed, 6)
    resumed.close()
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]
