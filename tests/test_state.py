"""What a run knows: what is shared, what is handed on and what never changes."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import rahbo
from rahbo.analysis import best_pessimistic, legal, told, worst
from rahbo.errors import NotReadyError, SettingsError
from rahbo.model import Past, fitting
from rahbo.policy import Rahbo, limits
from rahbo.state import State, kept
from rahbo.trials import Counts, Evaluation, Paged, Trial

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def run(n=12, **settings):
    opt = rahbo.Optimizer(SPACE, n_initial=4, seed=0, **settings)
    for _ in range(n):
        s = opt.ask()
        rng = np.random.default_rng([5, s.id])
        noise = (0.05 + 0.3 * s.params["y"]) * rng.standard_normal(s.repeats)
        opt.tell(s, np.sin(5.0 * s.params["x"]) + s.params["y"] + noise)
    return opt


def opened(state, x=0.5):
    return Trial(len(state.trials), {"x": x, "y": x}, np.array([x, x]), 2, "strategy")


def assert_as_computed_afresh(state):
    fresh = State(state.settings, Paged.of(dict(state.trials)))
    assert state.counts == Counts.of(state.trials.values()) == fresh.counts
    assert [t.id for t in state.open] == [t.id for t in fresh.open]
    assert state.params == fresh.params
    assert state.repetition == fresh.repetition
    np.testing.assert_array_equal(state.observations.values, fresh.observations.values)
    X = np.random.default_rng(0).random((5, 2))
    for mine, theirs in ((state.model, fresh.model), (state.followed, fresh.followed)):
        np.testing.assert_array_equal(mine.mean.predict(X), theirs.mean.predict(X))
        np.testing.assert_array_equal(mine.noise.latent(X), theirs.noise.latent(X))


def test_a_state_is_what_its_trials_say_after_every_kind_of_change():
    state = run(8).state
    old = state.trials[3]
    for change in (
        lambda s: opened(s),
        lambda s: s.trials[len(s.trials) - 1].with_told({1: Evaluation(0.7)}),
        lambda s: s.trials[len(s.trials) - 1].with_failures([0], "no beam"),
        lambda s: opened(s, 0.25),
        lambda s: replace(s.trials[len(s.trials) - 1], cancelled=True),
        lambda s: s.trials[2].with_more([Evaluation(0.3), Evaluation(0.4)]),
    ):
        assert_as_computed_afresh(state)
        state = state.told(change(state))
    assert_as_computed_afresh(state)
    assert state.trials[3] is old


def test_what_is_still_true_is_handed_on():
    # The next round does not learn hyperparameters again.
    state = run(20).state
    model, followed = state.model, state.followed
    later = state.told(opened(state))
    # Nothing was measured, so nothing is learned.
    assert (later.model, later.followed) == (model, followed)
    told_one = later.told(later.trials[20].with_told({0: Evaluation(1.0)}))
    assert told_one.model is not model
    # The factor of the rounds before is the same.
    assert told_one.followed.mean.root is followed.mean.root
    early = state.told(state.trials[1].with_more([Evaluation(5.0)]))
    assert early.followed.mean.root is not followed.mean.root


def test_a_function_of_a_state_is_computed_once():
    calls = []

    @kept
    def n_trials(state):
        calls.append(state)
        return len(state.trials)

    state = run(5).state
    assert n_trials(state) == n_trials(state) == 5
    later = state.told(opened(state))
    assert n_trials(later) == 6
    assert calls == [state, later]


def test_views_share_models_but_not_what_is_derived():
    state = run().state
    averse = state.by(rahbo.MeanVariance(3.0))
    assert averse.model is state.model
    assert averse.risk == rahbo.MeanVariance(3.0) != state.risk
    assert averse.told(opened(averse)).risk == averse.risk
    assert not np.array_equal(worst(averse)[2], worst(state)[2])
    assert state.by(None) is state
    with pytest.raises(SettingsError, match="risk must be a RiskMeasure"):
        state.by("mean")
    assert state.quick.model is state.followed


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_knows_the_same(copied):
    state = State(run(6).settings, run(6).state.trials).handing_out([2, 5])
    other = copied(state)
    assert other.handed_out == {2, 5}
    np.testing.assert_array_equal(worst(other)[2], worst(state)[2])


# -- the past ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_past_is_what_the_run_knew_then(direction):
    """Replayed with the hyperparameters of the time: as if the run had stopped there."""
    opt = run(14, direction=direction)
    ends = [4, 7, 10, len(opt.trials)]
    for end, then in zip(ends, opt.state.after(ends), strict=True):
        assert len(then.trials) == end
        stopped = rahbo.Optimizer(
            SPACE, n_initial=4, seed=0, direction=direction, trials=opt.trials[:end]
        )
        np.testing.assert_array_equal(worst(then)[2], worst(stopped.state)[2])


@pytest.mark.parametrize("end", [0, -1, 13, 1.5, "2", True, None])
def test_the_past_has_as_many_trials_as_the_run(end):
    with pytest.raises(SettingsError, match="from 1 to 12"):
        next(run(12).state.after([1, end]))


def test_before_the_first_value_nothing_was_known():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    with pytest.raises(NotReadyError, match="Nothing has been told yet"):
        _ = opt.state.model
    opt.tell_failure(opt.ask(), "broke")
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(NotReadyError, match="None of the first 1 trials has a value"):
        next(opt.state.after([1]))
    assert told(next(opt.state.after([2]))).observations.n == 1


# -- outcomes with limits ------------------------------------------------------------------------


def limited(told=lambda i: True, n=12, sign=rahbo.AtMost, **settings):
    rng = np.random.default_rng(0)
    opt = rahbo.Optimizer(SPACE, seed=0, constraints={"loss": sign(1.2)}, **settings)
    for i in range(n):
        x, y = rng.random(2)
        loss = x + y + 0.05 * rng.standard_normal() if told(i) else None
        opt.tell({"x": x, "y": y}, {"value": -x, "loss": loss})
    return opt.state


def test_an_outcome_is_learned_from_the_trials_that_told_it():
    state = limited(lambda i: i % 2 == 0)
    model = state.outcome_models["loss"]
    assert (model.observations.n, model.observations.sign) == (6, -1.0)
    assert limited(lambda i: False).outcome_models == {"loss": None}
    assert limits(state).each[0].model is model


def test_the_past_of_an_outcome_is_empty_before_its_first_value():
    past = [s.outcome_models["loss"] for s in limited(lambda i: i >= 4).after([3, 6, 12])]
    assert past[0] is None
    assert [model.observations.n for model in past[1:]] == [2, 8]


def test_fits_of_another_run_are_taken_over_only_if_learned_in_the_same_way(monkeypatch):
    ours, theirs = limited(), limited()
    _ = theirs.model, theirs.outcome_models
    other = limited(sign=rahbo.AtLeast)
    mine, opposite = ours.learning_from(theirs), other.learning_from(theirs)
    learned, learn = [], fitting.learn
    monkeypatch.setattr(fitting, "learn", lambda *args: learned.append(args) or learn(*args))
    _ = mine.model, mine.outcome_models
    assert learned == []
    _ = opposite.outcome_models
    assert len(learned) == 1


def test_the_best_value_is_that_of_a_setting_that_keeps_its_limits():
    state = limited(n=30)
    may = limits(state).kept(state.observations.X)
    assert 0 < may.sum() < len(may)
    assert best_pessimistic(state) == pytest.approx(worst(state)[2][may].max())
    broken = replace(state.settings, constraints={"loss": rahbo.AtMost(-1.0)})
    none = State(broken, state.trials)
    assert legal(none).sum() == 1
    assert best_pessimistic(none) is None


# -- what readers and threads may do -------------------------------------------------------------


def test_a_look_by_another_strategy_changes_no_proposal():
    rng = np.random.default_rng(0)
    data = [({"x": float(x)}, list(rng.standard_normal(2))) for x in np.linspace(0.0, 1.0, 12)]
    looked, plain = (rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data) for _ in range(2))
    assert looked.state.reported_by(Rahbo()).assumed is None
    assert looked.state.assumed is not None
    assert looked.ask().params == plain.ask().params


def test_what_two_threads_learned_is_both_kept():
    opt = run(20)
    fitting, trials = opt.settings.fitting, opt.trials
    _, by_one = fitting.believe(trials, Past())
    _, by_other = fitting.follow(trials, Past())
    both = by_one.beside(Past(), by_other)
    assert both.base is by_other.base
    assert both.fits.keys() == by_one.fits.keys() | by_other.fits.keys()


def test_fits_are_taken_over_though_the_noise_is_known(monkeypatch):
    ours, theirs = run(12, noise_std=0.2).state, run(12, noise_std=0.2)
    _ = theirs.model
    learned = []
    monkeypatch.setattr(fitting, "learn", lambda *args: learned.append(args))
    _ = ours.learning_from(theirs.state).model
    assert learned == []


def test_before_any_value_every_answer_says_so():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "t": rahbo.Context(0.0, 1.0)}, seed=0)
    for asked in ({}, {"context": {"t": 0.5}}, {"rule": "own_round"}):
        with pytest.raises(NotReadyError, match="Nothing has been told yet"):
            opt.recommend(**asked)
