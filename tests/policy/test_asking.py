"""What is evaluated next, as pure functions of a state."""

import numpy as np
import pytest

import rahbo
from rahbo.errors import ExhaustedError
from rahbo.numerics import Stream, generator
from rahbo.policy import (
    GPUCB,
    Domain,
    Rahbo,
    RahboUS,
    RandomSearch,
    Turn,
    initial_design,
    maximise,
    optimistic,
    propose,
    search,
    values,
)
from rahbo.policy.asking import doubted
from rahbo.space import Candidates, Categorical, Int

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def told(n, **settings):
    rng = np.random.default_rng(0)
    opt = rahbo.Optimizer(SPACE, seed=0, **settings)
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, [s.params["x"] + 0.1 * rng.standard_normal() for _ in s.indices])
    return opt


def several(opt, n):
    return list(propose(opt.state, n))


# -- the first step that answers -----------------------------------------------------------------


def test_the_design_comes_point_by_point_until_it_is_told_or_under_way():
    opt = told(0)
    design = initial_design(opt.settings.space, 6, 0)
    for i in range(6):
        (found,) = several(opt, 3)
        assert np.array_equal(found.x, design[i])
        assert (found.source, found.repeats, found.own_bound) == ("design", 2, None)
        s = opt.ask()
        if i < 3:
            opt.tell(s, [1.0, 2.0])
    assert several(opt, 1)[0].source == "strategy"


def test_a_design_that_failed_goes_on():
    opt = told(0)
    for _ in range(8):
        opt.tell_failure(opt.ask())
    assert several(opt, 1)[0].source == "design"


def test_the_users_own_settings_come_before_the_design():
    opt = told(0, try_first=[{"x": 0.123456789012345678, "y": 0.5}])
    (found,) = several(opt, 1)
    assert found.wish == {"x": 0.123456789012345678, "y": 0.5}
    assert opt.ask().params == found.wish


def test_the_strategy_proposes_what_ask_hands_out():
    opt = told(8)
    (found,) = several(opt, 1)
    s = opt.ask()
    trial = opt.trials[s.id]
    assert np.array_equal(found.x, trial.x)
    assert (found.source, found.repeats) == (trial.source, trial.n_requested) == ("strategy", 1)
    assert found.own_bound == trial.own_bound


def test_further_points_may_be_excluded():
    opt = rahbo.Optimizer(Candidates([{"a": 0.0}, {"a": 1.0}]), seed=0)
    opt.tell({"a": 0.0}, [1.0, 1.1])
    opt.tell({"a": 1.0}, [0.0, 0.1])
    first = opt.settings.space.encode({"a": 0.0}).tobytes()
    for _ in range(4):
        (found,) = propose(opt.state, 1, {first})
        assert opt.space.decode(found.x) == {"a": 1.0}


# -- several proposals from one search -----------------------------------------------------------


@pytest.mark.slow
def test_several_proposals_share_one_search_and_differ(monkeypatch):
    opt = told(10)
    searches = []
    original = search.samples
    monkeypatch.setattr(search, "samples", lambda *args: searches.append(1) or original(*args))
    kept = dict(opt.model.lists)
    found = several(opt, 6)
    assert len(searches) == 1
    X = np.array([p.x for p in found])
    assert len(np.unique(X, axis=0)) == 6
    assert np.array_equal(X, [p.x for p in several(opt, 6)])
    assert opt.model.lists.keys() == kept.keys()


@pytest.mark.slow
def test_each_proposal_is_nearly_the_best_given_the_earlier_ones():
    opt = told(12, method=rahbo.Method(strategy=Rahbo()))
    asked, model = len(opt.trials), opt.model
    found = several(opt, 5)
    asking = model
    for i, proposal in enumerate(found):
        bound = optimistic(asking, opt.settings.risk)
        where = Domain(opt.settings.space, opt.observations.best_first(), frozenset())
        best = maximise(bound, where, np.random.default_rng(i))
        F = values(bound, np.random.default_rng(99).random((500, 2)))
        short = bound.value(best[None])[0] - bound.value(proposal.x[None])[0]
        assert short <= 0.02 * (F.max() - np.median(F))
        draws = generator(opt.settings.seed, Stream.PENDING, asked + i + 1)
        count = np.array([proposal.repeats])
        asking = asking.with_pending(proposal.x[None], count, draws)


@pytest.mark.parametrize("strategy", [RahboUS(3), GPUCB(), RandomSearch()], ids=repr)
def test_other_strategies_search_for_each_proposal(strategy):
    opt = told(8, method=rahbo.Method(strategy=strategy))
    X = np.array([p.x for p in several(opt, 3)])
    assert len(np.unique(X, axis=0)) == 3


def test_several_rows_of_a_list_are_each_proposed_once_until_none_is_left():
    rows = [{"a": float(a)} for a in np.linspace(0.0, 1.0, 12)]
    opt = rahbo.Optimizer(Candidates(rows, revisit=False), repeats=1, seed=0)
    for _ in range(7):
        s = opt.ask()
        opt.tell(s, s.params["a"] + 0.01 * s.id)
    batch = opt.ask(4)
    tried = {t.params["a"] for t in opt.trials}
    assert len(tried) == 11
    with pytest.raises(ExhaustedError):
        opt.ask(3)
    # The last row was opened before the list was used up, and is handed out by the next call.
    assert {s.params["a"] for s in [*batch, opt.ask()]} | tried == {r["a"] for r in rows}


@pytest.mark.slow
def test_several_proposals_of_a_mixed_space_are_legal():
    space = {"x": (0.0, 1.0), "i": Int(0, 400), "c": Categorical(["p", "q"])}
    rng = np.random.default_rng(3)
    opt = rahbo.Optimizer(space, seed=0, valid=lambda p: p["x"] + p["i"] / 400 < 1.3)
    for _ in range(10):
        s = opt.ask()
        opt.tell(s, [s.params["x"] + 0.1 * rng.standard_normal() for _ in s.indices])
    batch = opt.ask(5)
    assert all(s.params["x"] + s.params["i"] / 400 < 1.3 for s in batch)
    assert len({tuple(s.params.items()) for s in batch}) >= 2


@pytest.mark.slow
def test_several_proposals_turn_away_from_failures():
    rng = np.random.default_rng(4)
    opt = rahbo.Optimizer(SPACE, seed=0)
    for x, y in rng.random((40, 2)):
        if x > 0.6:
            opt.tell_failure({"x": x, "y": y})
        else:
            opt.tell({"x": x, "y": y}, x + 0.1 * rng.standard_normal())
    assert sum(s.params["x"] < 0.7 for s in opt.ask(8)) >= 6


@pytest.mark.slow
def test_one_point_in_four_is_random_while_the_model_knows_nothing():
    rng = np.random.default_rng(0)
    data = [({"x": float(x)}, list(rng.standard_normal(2))) for x in np.linspace(0.0, 1.0, 12)]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data)
    where = Domain(opt.settings.space, opt.observations.best_first(), frozenset())
    turns = [Turn(opt.state, opt.model, where, np.random.default_rng(s)) for s in range(60)]
    drawn = [x for x in map(doubted, turns) if x is not None]
    # 15 are expected, and two standard deviations are 7.
    assert 8 <= len(drawn) <= 22
    assert len(np.unique(np.round(drawn, 3))) > 6
    assert not any(doubted(turn) is not None for turn in [
        Turn(opt.state.reported_by(Rahbo()), opt.model, where, turn.rng) for turn in turns
    ])  # fmt: skip
