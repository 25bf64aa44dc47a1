"""Learning by the refit schedule: what is kept, what is learned again, and from which rounds."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import rahbo
from rahbo.errors import NotReadyError
from rahbo.model import (
    Past,
    Raw,
    Refit,
    as_told,
    fits_before,
    fitting,
    learn,
    places,
    shared_fits,
)
from rahbo.trials import Observations, valued
from told import evaluations

SPACE = {"x": (0.0, 1.0)}


def run(n_told=9, growth=1.5, direction="maximize"):
    """Four points of the design, then the strategy's; one more is open."""
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)},
        n_initial=4, repeats=2, seed=0, direction=direction,
        method=rahbo.Method(refit=Refit(growth)),
    )  # fmt: skip
    for _ in range(n_told):
        s = opt.ask()
        rng = np.random.default_rng([3, s.id])
        opt.tell(s, np.sin(5.0 * s.params["x"]) + 0.1 * rng.standard_normal(2))
    opt.ask()
    return opt


def test_stages_start_where_the_strategy_first_proposed():
    opt = run()
    fits = opt.settings.fitting.believe(opt.trials, Past())[1].fits
    assert list(fits) == [(4, 4), (4, 6), (4, 9)]
    assert [fit.last for fit in fits.values()] == [3, 5, 8]
    # Without proposals all that is told makes the first fit.
    told = [(t.params, list(t.values.values())) for t in valued(opt.trials)]
    past = rahbo.Optimizer({"x": (0.0, 1.0)}, data=told, seed=0)
    assert list(past.settings.fitting.believe(past.trials, Past())[1].fits) == [(9, 9)]


def test_each_stage_is_learned_from_its_rounds_and_the_stage_before():
    opt = run(direction="minimize")
    model, past = opt.settings.fitting.believe(opt.trials, Past())
    fits = past.fits
    previous = None
    for (_, stage), fit in fits.items():
        rounds = [[-y for y in t.values.values()] for t in opt.trials[:stage]]
        data = Observations.from_rounds([t.x for t in opt.trials[:stage]], rounds)
        previous = learn(opt.settings.model, data, previous)
        assert np.array_equal(
            fit.learned.mean.kernel.lengthscales, previous.mean.kernel.lengthscales
        )
        assert (fit.learned.units.shift, fit.learned.units.scale) == (
            previous.units.shift,
            previous.units.scale,
        )
    assert model.learned is fits[4, 9].learned
    assert model.observations.values == pytest.approx(-np.concatenate(
        [list(t.values.values()) for t in valued(opt.trials)]
    ))  # fmt: skip


def test_known_fits_are_used_and_change_nothing():
    opt = run()
    model, past = opt.settings.fitting.believe(opt.trials, Past())
    fits = past.fits
    again, kept = opt.settings.fitting.believe(opt.trials, Past(fits))
    kept = kept.fits
    assert again.learned is model.learned
    assert kept == fits


def test_a_changed_trial_drops_the_fits_that_saw_it():
    opt = run()
    fits = opt.settings.fitting.believe(opt.trials, Past())[1].fits
    assert list(fits_before(fits, 5)) == [(4, 4)]
    assert fits_before(fits, 0) == {}
    assert fits_before(fits, 9) == fits
    changed = [
        replace(t, evaluations=evaluations({0: 2.0, 1: 2.5})) if t.id == 5 else t
        for t in opt.trials
    ]
    model, _ = opt.settings.fitting.believe(changed, Past(fits_before(fits, 5)))
    fresh, _ = opt.settings.fitting.believe(changed, Past())
    assert model.learned.mean.kernel.lengthscales == fresh.learned.mean.kernel.lengthscales
    assert np.array_equal(model.mean.root, fresh.mean.root)


def test_what_was_believed_after_so_many_trials_is_not_learned_again():
    opt = run()
    ends = [2, 4, 5, 8, 10]
    now = {end: opt.settings.fitting.believe(opt.trials[:end], Past())[0] for end in ends}
    fits = opt.settings.fitting.believe(opt.trials, Past())[1].fits
    after = dict(
        zip(ends, opt.settings.fitting.believed_after(opt.trials, fits, ends), strict=True)
    )
    for end, model in after.items():
        believed = now[end]
        assert np.array_equal(model.observations.values, believed.observations.values)
        assert np.array_equal(model.mean.root, believed.mean.root) == (end >= 4)
        assert any(model.learned is fit.learned for fit in fits.values())
    # Before the first fit there is none to take but that.
    assert after[2].learned is after[4].learned is fits[4, 4].learned


def test_nothing_told_is_nothing_believed():
    opt = run(0)
    assert valued(opt.trials) == []
    with pytest.raises(NotReadyError, match="Nothing has been told yet"):
        opt.settings.fitting.believe(opt.trials, Past())


def test_fits_are_shared_as_far_as_trials_are_the_same():
    opt, other = run(), run(7)
    fits = opt.settings.fitting.believe(opt.trials, Past())[1].fits
    assert shared_fits(fits, opt.trials, opt.trials) == fits
    # The other run has seven of the nine rounds.
    assert list(shared_fits(fits, opt.trials, other.trials)) == [(4, 4), (4, 6)]
    changed = [
        replace(t, evaluations=evaluations({0: 2.0, 1: 2.5})) if t.id == 5 else t
        for t in opt.trials
    ]
    assert list(shared_fits(fits, opt.trials, changed)) == [(4, 4)]
    moved = [replace(t, x=t.x + 0.01) if t.id == 0 else t for t in opt.trials]
    assert shared_fits(fits, opt.trials, moved) == {}


def test_the_history_of_a_long_run_repeats_few_fits(monkeypatch):
    opt = grown(60)
    monkeypatch.setattr(fitting, "LONG", 50)
    monkeypatch.setattr(fitting, "ENOUGH", 20)
    calls, learned = [], fitting.learn
    monkeypatch.setattr(fitting, "learn", lambda *a: calls.append(a[2]) or learned(*a))
    past = list(opt.settings.fitting.believed_after(opt.trials, {}, [5, 30, 40, 60]))
    assert [model.observations.n for model in past] == [5, 30, 40, 60]
    # All of them start afresh: at ten rounds, and sixteen stages later.
    assert calls == [None, None]
    assert past[0].learned is past[1].learned is not past[2].learned
    assert past[2].learned is past[3].learned


# -- when to fit again ---------------------------------------------------------------------------


@pytest.mark.parametrize("growth", [1.0, 1.01, 1.1, 1.5, 2.0, 10.0])
@pytest.mark.parametrize("first", [1, 5, 10, 33])
def test_stages_grow_by_the_factor_and_by_one_at_least(growth, first):
    n = 400
    stages = Refit(growth).stages(first, n)
    assert stages[0] == first
    assert stages[-1] <= n
    for a, b in itertools.pairwise(stages):
        assert b > a
        # Rounded down, so never later than the factor says unless by the one round at least.
        assert b == a + 1 or b / a <= growth < (b + 1) / a
    last = stages[-1]
    assert max(last + 1, int(last * growth)) > n


@pytest.mark.parametrize("growth", [1.0, 1.1, 1.7, np.inf])
def test_stages_are_a_prefix_of_later_ones(growth):
    longest = Refit(growth).stages(6, 200)
    for n in range(6, 200):
        assert Refit(growth).stages(6, n) == [s for s in longest if s <= n]


def test_factor_one_refits_every_round_and_infinity_never_again():
    assert Refit(1.0).stages(3, 8) == [3, 4, 5, 6, 7, 8]
    assert Refit(np.inf).stages(3, 1000) == [3]


def test_the_default_schedule_refits_a_number_of_times_that_grows_like_the_logarithm():
    hundred, thousand = (len(Refit().stages(10, n)) for n in (100, 1000))
    assert thousand - hundred == pytest.approx(np.log(10) / np.log(1.1), abs=2)


def test_a_huge_finite_factor_never_refits():
    assert Refit(1e308).stages(10, 1000) == [10]


# -- following a run that grows ------------------------------------------------------------------


def grown(n, **settings):
    """A run of n rounds of one noisy input, told without asking."""
    rng = np.random.default_rng(3)
    data = [({"x": float(x)}, [float(np.sin(6 * x) + (0.1 + x) * rng.normal())])
            for x in rng.random(n)]  # fmt: skip
    design = [replace(t, source="design" if t.id < 10 else "strategy")
              for t in rahbo.Optimizer(SPACE, data=data).trials]  # fmt: skip
    return rahbo.Optimizer(SPACE, trials=design, seed=0, **settings)


def test_what_is_followed_depends_on_the_trials_alone():
    opt = grown(60)
    fit, trials = opt.settings.fitting, opt.trials
    step, past = fit.follow(trials[:40], Past())
    for end in range(41, 61):
        step, past = fit.follow(trials[:end], past)
    fresh, _ = fit.follow(trials, Past())
    X = np.linspace(0.0, 1.0, 20)[:, None]
    for one, other in zip(step.mean.predict(X), fresh.mean.predict(X), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(step.noise.variance(X, 1.0), fresh.noise.variance(X, 1.0))


def test_at_a_stage_all_data_are_conditioned_on():
    opt = grown(64)
    fit = opt.settings.fitting
    stage = Refit().stages(10, 64)[-1]
    followed, past = fit.follow(opt.trials[:stage], Past())
    believed, _ = fit.believe(opt.trials[:stage], Past())
    assert past.base.key == (10, stage)
    assert np.array_equal(followed.mean.weights, believed.mean.weights)
    later, same = fit.follow(opt.trials[: stage + 1], past)
    assert same.base is past.base
    assert len(later.mean.added) == 1


@pytest.mark.parametrize("refit", [Refit(math.inf), Refit(2.0)])
def test_data_are_conditioned_on_again_though_nothing_is_learned(refit):
    opt = grown(60, method=rahbo.Method(refit=refit))
    followed, past = opt.settings.fitting.follow(opt.trials, Past())
    assert past.base.key[1] > 54
    assert past.base.key[1] not in {stage for _, stage in past.fits}
    assert followed.observations.n == 60


@pytest.mark.slow
def test_a_run_that_is_resumed_does_not_repeat_every_fit(monkeypatch):
    monkeypatch.setattr(fitting, "ENOUGH", 20)
    opt = grown(160)
    fit = opt.settings.fitting
    past = Past()
    for end in range(10, 161):
        _, past = fit.follow(opt.trials[:end], past)
    calls = []
    learned = fitting.learn
    monkeypatch.setattr(fitting, "learn", lambda *a: calls.append(1) or learned(*a))
    _, again = fit.follow(opt.trials, Past())
    stages = Refit().stages(10, 160)
    assert len(calls) == len(stages) % 16 < len(stages) // 2
    for key, found in again.fits.items():
        assert found.learned.mean.kernel == past.fits[key].learned.mean.kernel


# -- more points than both GPs take ---------------------------------------------------------------


def test_many_points_are_summarised_and_later_rounds_join_them(monkeypatch):
    monkeypatch.setattr(places, "MOST", 30)
    opt = grown(64)
    followed, past = opt.settings.fitting.follow(opt.trials, Past())
    assert past.base.model.observations.n <= 30
    assert followed.observations.n == past.base.model.observations.n + 4
    assert as_told(followed.observations).n == 64
    assert np.array_equal(followed.mean.X, followed.observations.X)
    # Every place is a point that was told.
    assert {x.tobytes() for x in followed.observations.X} <= {t.x.tobytes() for t in opt.trials}
    exact, _ = opt.settings.fitting.believe(opt.trials, Past())
    assert as_told(exact.observations).n == 64
    X = np.linspace(0.0, 1.0, 50)[:, None]
    a, b = followed.belief(X), exact.belief(X)
    assert np.mean(np.abs(a.mu - b.mu) / b.sigma) < 0.5


def test_outputs_as_in_the_paper_are_never_summarised(monkeypatch):
    monkeypatch.setattr(places, "MOST", 30)
    opt = grown(64, method=rahbo.Method(outputs=Raw()))
    model, _ = opt.settings.fitting.believe(opt.trials, Past())
    assert model.observations.n == 64


def test_a_recommendation_of_many_points_is_one_that_was_told(monkeypatch):
    monkeypatch.setattr(places, "MOST", 30)
    opt = grown(64)
    found = opt.recommend()
    told = next(t for t in opt.trials if t.params == found.params)
    assert found.n_evaluations == 1
    assert found.sample_mean == pytest.approx(told.values[0])
    assert len(opt.frontier().evaluated) == 64
    assert opt.diagnose().calibration.n_points <= 30
    assert opt.ask().params["x"] <= 1.0
    assert opt.confirm(3)


def test_values_that_complete_a_known_point_are_told_together():
    rng = np.random.default_rng(2)
    rows = [{"x": float(x)} for x in np.linspace(0.0, 1.0, 30)]
    folds = {row["x"]: np.sin(6 * row["x"]) + 0.3 * rng.standard_normal(5) for row in rows}
    data = [(row, [float(folds[row["x"]][0])]) for row in rows]
    opt = rahbo.Optimizer(rahbo.Candidates(rows), repeats=rahbo.Folds(5), data=data, seed=0)
    for _ in range(2):
        suggestion = opt.ask()
        opt.tell(suggestion, folds[suggestion.params["x"]][1 : 1 + suggestion.repeats])
    followed, past = opt.settings.fitting.follow(opt.trials, Past())
    assert past.base.key[1] < 32
    complete = opt.observations.count == 5
    assert complete.sum() == 2
    mu, sigma = followed.mean.predict(opt.observations.X[complete])
    expected = followed.units.to_model(opt.observations.mean[complete])
    np.testing.assert_allclose(mu, expected, atol=0.02)
    assert np.all(sigma < 0.02)


@pytest.mark.parametrize("seed", range(3))
def test_of_many_points_the_recommended_one_is_confirmed_first(monkeypatch, seed):
    monkeypatch.setattr(places, "MOST", 30)
    monkeypatch.setattr(places, "PILOT", 20)
    rng = np.random.default_rng(seed)
    data = [({"x": float(x)}, [float(np.sin(6 * x) + (0.1 + x) * rng.normal())])
            for x in rng.random(120)]  # fmt: skip
    opt = rahbo.Optimizer(SPACE, data=data, method=rahbo.Method(beta=0.5), seed=0)
    assert opt.confirm(5)[0].params == opt.recommend().params
    assert opt.diagnose().repeats.n_leading >= 1
