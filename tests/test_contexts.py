"""Runs under conditions that are given: asked, told, failed, killed, resumed, in parallel."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rahbo
from extras import needs
from rahbo.errors import SpaceError
from rahbo.policy import GPUCB, Rahbo, RahboUS, RandomSearch, TopTwo

SPACE = {"x": (0.0, 1.0), "t": rahbo.Context(10.0, 35.0)}
MIXED = {
    "x": (0.0, 1.0),
    "n": rahbo.Int(1, 4),
    "kind": ["a", "b", "c"],
    "t": rahbo.Context(10.0, 35.0),
    "line": rahbo.Context(["p", "q", "r"]),
}


def value(x, t, seed=0, **_):
    noise = 0.05 * (1.0 + x) * np.random.default_rng(seed).standard_normal()
    return -4.0 * (x - (t - 10.0) / 25.0) ** 2 + noise


def drawn(rng, space=SPACE):
    context = {"t": float(rng.uniform(5.0, 40.0))}
    return context if "line" not in space else {**context, "line": str(rng.choice(list("pqr")))}


def driven(opt, n, seed=0, space=SPACE):
    """Ask and tell ``n`` times under drawn conditions."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        context = drawn(rng, space)
        s = opt.ask(context=context)
        assert {name: s.params[name] for name in context} == context
        opt.tell(s, [value(**s.params, seed=rng.integers(1000)) for _ in range(s.repeats)])
        np.testing.assert_array_equal(opt.trials[s.id].x, opt.settings.space.encode(s.params))
    return opt


STRATEGIES = [TopTwo(), Rahbo(), RahboUS(2), GPUCB(), RandomSearch()]


@pytest.mark.slow
@pytest.mark.parametrize("space", [SPACE, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_every_strategy_stays_under_the_conditions_and_can_continue(strategy, space):
    opt = driven(
        rahbo.Optimizer(space, method=rahbo.Method(strategy=strategy), seed=1), 14, space=space
    )
    again = rahbo.Optimizer(
        space, method=rahbo.Method(strategy=strategy), seed=1, trials=opt.trials
    )
    context = {"t": 36.5} if space is SPACE else {"t": 36.5, "line": "q"}
    batch = opt.ask(4, context=context)
    assert [s.params for s in again.ask(4, context=context)] == [s.params for s in batch]
    assert all(s.params["t"] == 36.5 for s in batch)
    assert len({tuple(s.params.values()) for s in batch}) > 1


def test_the_design_spreads_the_choices_whatever_the_conditions():
    opt = rahbo.Optimizer(SPACE, seed=3)
    driven(opt, 6)
    xs = sorted(t.params["x"] for t in opt.trials)
    assert all(t.source == "design" for t in opt.trials)
    assert np.diff(xs).min() > 0.02
    assert np.diff([0.0, *xs, 1.0]).max() < 0.4


@pytest.mark.slow
def test_it_learns_where_the_optimum_is_under_each_condition():
    opt = driven(rahbo.Optimizer(SPACE, seed=2), 25)
    for t in (12.0, 22.0, 33.0):
        assert abs(opt.recommend(context={"t": t}).params["x"] - (t - 10.0) / 25.0) < 0.25


def test_a_context_that_does_not_fit_opens_nothing():
    opt = rahbo.Optimizer(SPACE, seed=0)
    for ask in (opt.ask, opt.confirm):
        with pytest.raises(SpaceError, match=r"Pass context= with \['t'\]"):
            ask(2)
        with pytest.raises(SpaceError, match=r"missing \['t'\]"):
            ask(2, context={})
        with pytest.raises(SpaceError, match="context must be a dict"):
            ask(2, context="t")
    assert opt.trials == ()


def test_values_are_told_with_any_condition_and_those_beyond_the_bounds_are_kept():
    opt = rahbo.Optimizer(SPACE, seed=0, data=[({"x": 0.5, "t": 41.0}, [1.0, 1.2])])
    opt.tell({"x": 0.5, "t": 9.0}, 0.5)
    assert opt.observations.n == 2
    assert [opt.space.decode(x)["t"] for x in opt.observations.X] == [41.0, 9.0]
    with pytest.raises(SpaceError, match=r"missing \['t'\]"):
        opt.tell({"x": 0.5}, 1.0)


@pytest.mark.slow
def test_failures_and_a_constraint_that_uses_the_context():
    opt = rahbo.Optimizer(SPACE, seed=0, valid=lambda p: p["x"] <= p["t"] / 35.0)
    rng = np.random.default_rng(0)
    for _ in range(14):
        s = opt.ask(context={"t": float(rng.uniform(10.0, 35.0))})
        assert s.params["x"] <= s.params["t"] / 35.0
        if s.params["x"] > 0.7:
            opt.tell_failure(s, "too far")
        else:
            opt.tell(s, [value(**s.params, seed=i) for i in range(s.repeats)])
    for found in (opt.recommend(context={"t": 14.0}), opt.recommend()):
        assert found.params["x"] <= 0.41
    with pytest.raises(SpaceError, match=r"valid="):
        rahbo.Optimizer(SPACE, seed=0, valid=lambda p: p["t"] > 20.0).ask(context={"t": 15.0})


def test_a_list_of_choices_without_revisits_per_condition():
    space = {"n": rahbo.Int(1, 3), "line": rahbo.Context(["p", "q"])}
    opt = rahbo.Optimizer(space, seed=0, repeats=rahbo.Folds(2))
    for line in "pppqqq":
        s = opt.ask(context={"line": line})
        opt.tell(s, [float(s.params["n"]), 1.0])
    assert len({tuple(t.params.values()) for t in opt.trials}) == 6
    with pytest.raises(rahbo.errors.ExhaustedError):
        opt.ask(context={"line": "p"})
    assert opt.recommend(context={"line": "q"}).p_best is not None


@pytest.mark.slow
@needs("matplotlib")
@pytest.mark.parametrize("space", [SPACE, MIXED, {**SPACE, "time": rahbo.Time(10.0)}])
def test_pages_and_pictures_are_made_with_conditions(space):
    from rahbo.pages.report.record import record_of
    from rahbo.pages.watch.live import belief_of
    from rahbo.plots import overview

    opt = driven(rahbo.Optimizer(space, seed=1), 12, space=space)
    assert overview(opt).axes
    record = record_of(opt, source="run", made="now")
    shown = record.frontier.evaluated[record.pictures.points.recommended].params
    assert shown == opt.tried_at(opt.recommend().params)
    assert belief_of(opt, None)["points"]


# -- resuming ------------------------------------------------------------------------------------


def test_an_open_suggestion_is_handed_out_again_under_its_own_conditions_only(tmp_path):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer(SPACE, seed=0, repeats=3, journal=path)
    first, second = opt.ask(context={"t": 20.0}), opt.ask(context={"t": 30.0})
    opt.tell(first, 1.0)
    opt.close()
    opt = rahbo.Optimizer.resume(path)
    # The condition of the first has passed: its value stays, and nothing more is expected of it.
    again = opt.ask(context={"t": 30.0})
    assert (again.id, again.params) == (second.id, second.params)
    assert opt.trials[0].cancelled
    assert opt.trials[0].values == {0: 1.0}
    new = opt.ask(context={"t": 20.0})
    assert new.id == 2
    opt.close()
    assert rahbo.Optimizer.resume(path).trials[0].cancelled


def test_a_counted_time_goes_on_where_it_was(tmp_path):
    path = tmp_path / "run.jsonl"
    space = {"x": (0.0, 1.0), "time": rahbo.Time(10.0)}
    opt = rahbo.Optimizer(space, seed=0, repeats=2, journal=path)
    opt.tell(opt.ask(), [1.0, 2.0])
    s = opt.ask()
    assert s.params["time"] == 2.0
    opt.tell(s, 0.5, repeat=0)
    opt.close()
    opt = rahbo.Optimizer.resume(path)
    again = opt.ask()
    assert (again.id, again.indices) == (s.id, (1,))
    opt.tell(again, 0.6)
    assert opt.ask().params["time"] == 4.0
    opt.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="an open journal cannot be cut on Windows")
@pytest.mark.usefixtures("still_clock")
def test_a_journal_cut_anywhere_gives_the_same_run(tmp_path):
    path = tmp_path / "run.jsonl"
    space = {**SPACE, "time": rahbo.Time(10.0)}

    def run():
        return rahbo.maximize(
            lambda x, t, time, seed: value(x, t, seed) + 0.01 * time, space, evaluations=12,
            n_initial=3, repeats=2, seed=5, journal=path,
            method=rahbo.Method(strategy=RandomSearch()), context=lambda: {"t": 21.5},
        )  # fmt: skip

    whole, content = run(), path.read_bytes()
    header = content.index(b"\n") + 1
    for cut in range(header, len(content), 397):
        path.write_bytes(content[:cut])
        again = run()
        assert path.read_bytes() == content, cut
        assert again.recommendation == whole.recommendation


# -- maximize ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_maximize_asks_for_the_condition_once_per_suggestion():
    asked = []

    def now():
        asked.append({"t": 10.0 + 25.0 * len(asked) / 20.0})
        return asked[-1]

    seen = []

    def objective(x, t, seed):
        seen.append(t)
        return value(x, t, seed)

    result = rahbo.maximize(objective, SPACE, evaluations=20, context=now, seed=0)
    assert [t.params["t"] for t in result.trials] == [c["t"] for c in asked]
    assert sorted(set(seen)) == [c["t"] for c in asked]
    assert result.n_evaluations == 20
    assert set(result.recommendation.params) == {"x"}
    # Nothing is set aside to confirm a point under one condition.
    assert all(t.source != "confirm" for t in result.trials)


def test_an_iterable_that_ends_ends_the_run():
    contexts = [{"t": 20.0}] * 5
    result = rahbo.minimize(value, SPACE, evaluations=100, context=contexts, repeats=2, seed=0)
    assert result.stopped_by == "exhausted"
    assert len(result.trials) == 5


@pytest.mark.slow
def test_workers_get_the_conditions_of_their_suggestion():
    rng = np.random.default_rng(0)
    with ThreadPoolExecutor(4) as executor:
        result = rahbo.maximize(
            value, MIXED | {"time": rahbo.Time(50.0)}, evaluations=40, executor=executor, seed=0,
            parallel=4, context=lambda: drawn(rng, MIXED),
        )  # fmt: skip
    assert result.n_evaluations == 40
    assert all(0.0 <= t.params["time"] < 40.0 for t in result.trials)
    found = result.optimizer.recommend(context={"t": 20.0, "line": "p"})
    assert found.params["time"] == max(t.params["time"] for t in result.trials)


@pytest.mark.slow
def test_points_are_confirmed_under_the_given_conditions():
    opt = driven(rahbo.Optimizer(SPACE, seed=2), 10)
    again = opt.confirm(4, context={"t": 25.0})
    assert sum(s.repeats for s in again) == 4
    best = opt.recommend(context={"t": 25.0})
    assert again[0].params == best.params
    assert opt.unconfirmed == 0


@pytest.mark.slow
def test_a_drift_is_followed():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "time": rahbo.Time(40.0)}, seed=0)
    while opt.n_evaluations < 40:
        s = opt.ask()
        best = 0.2 + 0.6 * s.params["time"] / 40.0
        opt.tell(s, [-4.0 * (s.params["x"] - best) ** 2 for _ in range(s.repeats)])
    assert abs(opt.recommend().params["x"] - 0.8) < 0.15
