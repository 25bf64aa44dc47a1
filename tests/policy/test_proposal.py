"""What is evaluated next, as pure functions of the trials."""

import numpy as np
import pytest

import rahbo
from rahbo.errors import NotReadyError, SettingsError
from rahbo.policy import (
    Domain,
    contest_between,
    initial_design,
    propose,
    propose_design,
    with_pending,
)

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def told(n, **settings):
    rng = np.random.default_rng(0)
    opt = rahbo.Optimizer(SPACE, seed=0, **settings)
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, [s.params["x"] + 0.1 * rng.standard_normal() for _ in s.indices])
    return opt


def domain_of(opt):
    return Domain(opt.settings.space, np.empty((0, 2)), set())


def rng():
    return np.random.default_rng(1)


def test_the_design_comes_point_by_point_until_it_is_told_or_under_way():
    opt = told(0)
    design = initial_design(opt.settings.space, 6, 0)
    for i in range(6):
        found = propose_design(opt.settings.policy, opt.trials, domain_of(opt), rng())
        assert np.array_equal(found.x, design[i])
        assert (found.source, found.repeats, found.own_bound) == ("design", 2, None)
        s = opt.ask()
        if i < 3:
            opt.tell(s, [1.0, 2.0])
    assert propose_design(opt.settings.policy, opt.trials, domain_of(opt), rng()) is None


def test_a_design_that_failed_goes_on():
    opt = told(0)
    for _ in range(8):
        opt.tell_failure(opt.ask())
    found = propose_design(opt.settings.policy, opt.trials, domain_of(opt), rng())
    assert found.source == "design"


def test_the_strategy_proposes_what_ask_hands_out():
    opt = told(8)
    asked = len(opt.trials)
    settings, model = opt.settings.policy, opt.model
    found = propose(
        settings, opt.trials, model,
        with_pending(model, [], rng()), domain_of(opt), np.random.default_rng([0, 1, asked]),
    )  # fmt: skip
    s = opt.ask()
    trial = opt.trials[s.id]
    assert np.array_equal(found.x, trial.x)
    assert (found.source, found.repeats) == (trial.source, trial.n_requested) == ("strategy", 1)
    assert found.own_bound == trial.own_bound


def test_pending_trials_narrow_what_is_believed_at_their_points():
    opt = told(8)
    batch = opt.ask(3)
    pending = [opt.trials[s.id] for s in batch]
    X = np.array([t.x for t in pending])
    before, after = opt.model, with_pending(opt.model, pending, rng())
    assert (after.mean.predict(X)[1] <= before.mean.predict(X)[1]).all()


@pytest.mark.slow
def test_a_contest_is_between_the_points_that_may_be_recommended():
    opt = told(8, valid=lambda p: p["x"] < 0.8)
    opt.tell({"x": 0.9, "y": 0.5}, 100.0)
    s = opt.ask()
    X, contest = contest_between(opt.settings.policy, opt.trials, opt.model)
    assert (X[:, 0] < 0.8).all()
    assert len(X) == opt.observations.n - 1 == len(contest.reported)
    assert contest.tried.sum() == opt.n_evaluations - 1
    at = [i for i, x in enumerate(X) if opt.trials[s.id].is_at(x)]
    assert contest.under_way.sum() == (contest.under_way[at].sum() if at else 0)
    best = X[np.argmax(contest.reported)]
    assert opt.recommend().params == opt.space.decode(best)


def test_what_cannot_be_confirmed_says_why():
    opt = told(0, valid=lambda p: p["x"] < 0.8)
    opt.tell({"x": 0.9, "y": 0.5}, 100.0)
    with pytest.raises(NotReadyError, match="valid="):
        contest_between(opt.settings.policy, opt.trials, opt.model)
    opt = told(3, repeats=rahbo.Folds(2))
    with pytest.raises(SettingsError, match="revisit=False"):
        contest_between(opt.settings.policy, opt.trials, opt.model)
