"""Ask, tell and report: bookkeeping, invariances, bad input, degenerate data."""

import copy
import itertools
import json
import os
import pickle
import tempfile
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import presets
import rahbo
from bands import bands
from rahbo.analysis import diagnose
from rahbo.errors import (
    DataError,
    ExhaustedError,
    JournalError,
    NotReadyError,
    SettingsError,
    SpaceError,
)
from rahbo.journal import read
from rahbo.model import DirectNoise, Matern52, Raw, Refit
from rahbo.numerics import one_blas_thread
from rahbo.policy import GPUCB, Rahbo, RahboUS, RandomSearch, TopTwo, optimistic
from work import lines_run

SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def bump(params, rng, k=3, scale=1.0, shift=0.0):
    """k noisy values of a bump whose right half is noisy."""
    x, y = list(params.values())[:2]
    f = np.exp(-8 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))
    values = f + (0.05 + 0.3 * x) * rng.standard_normal(k)
    return [float(shift + scale * v) for v in values]


def data_of(n, seed=0, k=3, **kwargs):
    rng = np.random.default_rng(seed)
    points = [dict(zip(SQUARE, map(float, rng.random(2)), strict=True)) for _ in range(n)]
    return [(p, bump(p, rng, k, **kwargs)) for p in points]


def run(rounds, seed=0, space=SQUARE, evaluate=bump, **settings):
    opt = rahbo.Optimizer(space, seed=seed, repeats=3, **settings)
    for _ in range(rounds):
        s = opt.ask()
        opt.tell(s, evaluate(s.params, np.random.default_rng([7, s.id])))
    return opt


def column(params):
    return np.array(list(params.values()), dtype=float)


# -- asking and telling --------------------------------------------------------------------------


def test_suggestions_have_ids_repeats_and_params_in_user_units():
    opt = rahbo.Optimizer({"a": (5.0, 6.0), "b": rahbo.Int(2, 9)}, repeats=4, seed=1)
    first, second = opt.ask(), opt.ask()
    assert (first.id, second.id) == (0, 1)
    assert first.repeats == 4
    assert first.indices == (0, 1, 2, 3)
    assert 5.0 <= first.params["a"] <= 6.0
    assert isinstance(first.params["b"], int)


def test_values_may_come_in_any_portion_and_order():
    whole = run(8)
    rng_of = {t.id: np.random.default_rng([7, t.id]) for t in whole.trials}
    pieces = rahbo.Optimizer(SQUARE, seed=0, repeats=3)
    for _ in range(8):
        s = pieces.ask()
        values = bump(s.params, rng_of[s.id])
        pieces.tell(s, values[2], repeat=2)
        assert pieces.open[0].indices == (0, 1)
        pieces.tell(s.id, values[:1])
        pieces.tell(s.params, values[1])
        assert pieces.open == ()
    np.testing.assert_array_equal(pieces.observations.values, whole.observations.values)
    assert pieces.ask().params == whole.ask().params


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_repeat_told_twice_counts_once_and_another_value_is_an_error(is_asked):
    opt = rahbo.Optimizer(SQUARE, repeats=3, seed=0)
    s = opt.ask() if is_asked else {"x": 0.5, "y": 0.25}
    opt.tell(s, 1.5, repeat=2)
    opt.tell(s, 1.5, repeat=2)
    assert opt.n_evaluations == 1
    with pytest.raises(DataError, match=r"Repeat 2 of suggestion 0 .* told as 1\.5 and now as"):
        opt.tell(s, 1.6, repeat=2)
    assert opt.trials[0].values == {2: 1.5}


def test_what_is_told_gets_its_time_once(monkeypatch):
    ticks = itertools.count(1.0)
    monkeypatch.setattr("rahbo.optimizer.now", lambda: next(ticks))
    past, limits = {"x": 0.5, "y": 0.5}, {"loss": rahbo.AtMost(1.0)}
    opt = rahbo.Optimizer(SQUARE, repeats=3, seed=0, data=[(past, 1.0)], constraints=limits)
    s = opt.ask()

    def times():
        return [[told.time for told in trial.evaluations.values()] for trial in opt.trials]

    opt.tell(s, [1.0, 2.0])
    opt.tell_failure(s, "no beam")
    assert times() == [[None], [1.0, 1.0, 2.0]]
    # The same again, and what comes beside a value, are not told now.
    opt.tell(s, 2.0, repeat=1, outcomes={"loss": 1.0})
    opt.tell_failure(s, "no beam", repeat=2)
    assert times()[1] == [1.0, 1.0, 2.0]
    # A value in the place of a failure is.
    opt.tell(s, 5.0, repeat=2)
    opt.tell(past, 2.0)
    assert times() == [[None], [1.0, 1.0, 5.0], [6.0]]


def test_more_values_than_asked_for_are_welcome():
    opt = rahbo.Optimizer(SQUARE, repeats=2, seed=0)
    s = opt.ask()
    opt.tell(s, [1.0, 2.0, 3.0])
    opt.tell(s, 4.0)
    assert opt.recommend().n_evaluations == 4


def test_points_never_asked_for_are_data_and_repeats_of_them_merge():
    opt = rahbo.Optimizer(SQUARE, seed=0)
    opt.tell({"x": 0.5, "y": 0.25}, [1.0, 2.0])
    opt.tell({"y": 0.25, "x": 0.5}, 6.0)
    assert opt.observations.n == 1
    assert opt.observations.count.tolist() == [3]
    assert opt.observations.mean.tolist() == [3.0]
    assert opt.recommend().params == {"x": 0.5, "y": 0.25}


def test_failures_of_points_never_asked_for_are_kept():
    opt = rahbo.Optimizer(SQUARE, seed=0, n_initial=2, data=data_of(4))
    opt.tell_failure({"x": 0.5, "y": 0.25}, "broke")
    opt.tell_failure({"x": 0.5, "y": 0.75}, "broke", repeat=3)
    assert [t.failures for t in opt.trials[4:]] == [{0: "broke"}, {3: "broke"}]
    assert opt.open == ()
    assert opt.ask().id == 6


def test_past_results_replace_the_initial_design():
    opt = rahbo.Optimizer(SQUARE, seed=0, n_initial=5, data=data_of(5))
    opt.ask()
    assert opt.trials[-1].source == "strategy"
    fewer = rahbo.Optimizer(SQUARE, seed=0, n_initial=5, data=data_of(3))
    sources = []
    for _ in range(3):
        s = fewer.ask()
        fewer.tell(s, [1.0, 2.0])
        sources.append(fewer.trials[-1].source)
    assert sources == ["design", "design", "strategy"]


def test_failures_settle_repeats_and_keep_values():
    opt = rahbo.Optimizer(SQUARE, repeats=3, seed=0)
    s = opt.ask()
    opt.tell(s, 1.0)
    opt.tell_failure(s, "beam trip", repeat=2)
    assert opt.open[0].indices == (1,)
    opt.tell_failure(s, "beam trip")
    assert opt.open == ()
    assert opt.observations.values.tolist() == [1.0]
    assert opt.trials[0].failures == {2: "beam trip", 1: "beam trip"}
    assert opt.n_evaluations == 3


def test_a_run_in_which_everything_fails_goes_on():
    opt = rahbo.Optimizer(SQUARE, repeats=2, seed=0, n_initial=3)
    seen = set()
    for _ in range(10):
        s = opt.ask()
        seen.add(tuple(s.params.values()))
        opt.tell_failure(s, "no beam")
    assert len(seen) == 10
    with pytest.raises(NotReadyError, match="Nothing has been told"):
        opt.recommend()


def corner_fails(opt, rounds):
    """Ask and tell, where the corner with the largest values fails; returns what was asked."""
    asked = []
    for _ in range(rounds):
        s = opt.ask()
        x, y = s.params["x"], s.params["y"]
        asked.append((x, y))
        if x + y > 1.37:
            opt.tell_failure(s, "broke")
        else:
            opt.tell(s, [x + y + 0.01 * (s.id % 7), x + y - 0.01 * (s.id % 5)])
    return asked


@pytest.mark.slow
def test_few_later_asks_fail_where_the_best_fifth_of_the_space_does():
    later = []
    for seed in range(2):
        opt = rahbo.Optimizer(SQUARE, repeats=2, seed=seed)
        corner_fails(opt, 40)
        later += [t for t in opt.trials if t.source == "strategy"]
    assert len(later) >= 60
    assert sum(bool(t.failures) for t in later) <= 0.1 * len(later)


@pytest.mark.slow
def test_a_resumed_run_with_failures_goes_on_bit_for_bit():
    settings = {"space": SQUARE, "repeats": 2, "seed": 0}
    whole = rahbo.Optimizer(**settings)
    corner_fails(whole, 14)
    assert any(t.failures for t in whole.trials)
    resumed = rahbo.Optimizer(trials=whole.trials, **settings)
    assert corner_fails(resumed, 5) == corner_fails(whole, 5)


def test_failures_leave_what_is_believed_of_values_alone():
    opt = rahbo.Optimizer(SQUARE, repeats=2, seed=0)
    corner_fails(opt, 8)
    before = opt.predict({"x": 0.5, "y": 0.5})
    opt.tell_failure({"x": 0.5, "y": 0.45}, "broke")
    assert opt.predict({"x": 0.5, "y": 0.5}) == before


def test_cancelled_suggestions_are_no_longer_waited_for():
    opt = rahbo.Optimizer(SQUARE, repeats=2, seed=0)
    s = opt.ask()
    opt.tell(s, 1.0)
    opt.cancel(s)
    assert opt.open == ()
    assert opt.observations.values.tolist() == [1.0]


def test_a_batch_spreads_out_and_is_respected():
    opt = run(10)
    batch = opt.ask(4)
    assert [s.id for s in batch] == [10, 11, 12, 13]
    assert len(opt.open) == 4
    points = np.array([column(s.params) for s in batch])
    gaps = [np.abs(a - b).max() for a, b in itertools.combinations(points, 2)]
    assert min(gaps) > 1e-3
    # The first of a batch is what a single search finds, up to where its climb ends.
    alone = run(10).ask()
    np.testing.assert_allclose(column(batch[0].params), column(alone.params), atol=1e-3)


# -- determinism ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [Rahbo(), RahboUS(3), GPUCB(), RandomSearch()])
def test_the_same_seed_gives_the_same_run(strategy):
    a, b = (run(14, method=rahbo.Method(strategy=strategy)) for _ in range(2))
    assert [t.params for t in a.trials] == [t.params for t in b.trials]
    assert a.recommend() == b.recommend()
    other = run(14, seed=1, method=rahbo.Method(strategy=strategy))
    assert [t.params for t in a.trials] != [t.params for t in other.trials]


@pytest.mark.slow
@pytest.mark.parametrize("preset", [{}, presets.paper(repeats=3)], ids=["", "paper"])
@pytest.mark.parametrize("half", [3, 9, 17])
def test_a_run_rebuilt_half_way_continues_bit_for_bit(preset, half):
    settings = {key: value for key, value in preset.items() if key != "repeats"}
    whole = run(24, **settings)
    opt = run(half, **settings)
    opt.ask()
    rebuilt = rahbo.Optimizer(SQUARE, seed=0, repeats=3, trials=opt.trials, **settings)
    assert rebuilt.open == opt.open
    for _ in range(24 - half):
        s = rebuilt.ask()
        rebuilt.tell(s, bump(s.params, np.random.default_rng([7, s.id])))
    for a, b in zip(whole.trials, rebuilt.trials, strict=True):
        assert (a.params, a.values, a.own_bound) == (b.params, b.values, b.own_bound)
    assert whole.recommend() == rebuilt.recommend()


@pytest.mark.slow
def test_looking_does_not_change_the_run():
    quiet, curious = run(12), rahbo.Optimizer(SQUARE, seed=0, repeats=3)
    for _ in range(12):
        s = curious.ask()
        curious.tell(s, bump(s.params, np.random.default_rng([7, s.id])))
        curious.recommend()
        curious.predict(s.params)
    assert [t.params for t in quiet.trials] == [t.params for t in curious.trials]


def test_late_values_of_an_early_suggestion_count_as_if_they_had_come_in_time():
    in_time, late = (rahbo.Optimizer(SQUARE, seed=0, repeats=3, data=data_of(8)) for _ in range(2))
    for opt in (in_time, late):
        for _ in range(4):
            s = opt.ask()
            opt.tell(s, 0.5, repeat=0)
            if opt is in_time:
                opt.tell(s, [0.6, 0.7])
    for trial in late.trials[8:]:
        late.tell(trial.id, [0.6, 0.7])
    if [t.params for t in in_time.trials] == [t.params for t in late.trials]:
        assert in_time.recommend() == late.recommend()
    rebuilt = rahbo.Optimizer(SQUARE, seed=0, repeats=3, trials=late.trials)
    assert rebuilt.recommend() == late.recommend()
    assert rebuilt.ask().params == late.ask().params


def test_past_results_are_not_counted_twice_when_a_run_goes_on():
    settings = {"seed": 0, "repeats": 3, "data": data_of(5)}
    first = rahbo.Optimizer(SQUARE, **settings)
    first.tell(first.ask(), [0.1, 0.2, 0.3])
    again = rahbo.Optimizer(SQUARE, **settings, trials=first.trials)
    assert again.n_evaluations == first.n_evaluations
    assert again.ask().params == first.ask().params


def test_no_points_have_no_predictions():
    assert run(3).predict([]) == []


def test_few_valid_points_are_no_reason_to_stay_in_the_design():
    opt = rahbo.Optimizer({"a": rahbo.Int(0, 9)}, valid=lambda p: p["a"] < 3, n_initial=6, seed=0)
    for _ in range(6):
        s = opt.ask()
        opt.tell(s, [1.0, 2.0])
    assert [t.source for t in opt.trials] == ["design"] * 3 + ["strategy"] * 3


# -- invariances ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_rahbo_without_risk_aversion_is_gpucb():
    for seed in range(3):
        a = run(16, seed=seed, method=rahbo.Method(strategy=Rahbo()), risk=rahbo.MeanVariance(0.0))
        b = run(16, seed=seed, method=rahbo.Method(strategy=GPUCB()))
        assert [t.params for t in a.trials] == [t.params for t in b.trials]
        assert a.recommend().params == b.recommend().params


def ask_once(data, alpha=1.0, space=SQUARE, **settings):
    opt = rahbo.Optimizer(
        space, seed=3, risk=rahbo.MeanVariance(alpha), n_initial=5, data=data, **settings
    )
    return opt, opt.ask()


def assert_equivalent(opt, x, y):
    """Within 1e-4 of the cube, or of equal acquisition value to 1e-8."""
    if np.abs(x - y).max() <= 1e-4:
        return
    acquisition = optimistic(opt.model, opt.settings.risk)
    a, b = acquisition.value(np.array([x, y]))
    assert abs(a - b) <= 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_renamed_and_rescaled_inputs_give_an_equivalent_proposal(seed):
    data = data_of(20, seed)
    opt, plain = ask_once(data)
    renamed = [({"u": p["x"], "v": p["y"]}, v) for p, v in data]
    _, other = ask_once(renamed, space={"u": (0.0, 1.0), "v": (0.0, 1.0)})
    assert list(other.params.values()) == list(plain.params.values())
    rescaled = [({"x": -5 + 15 * p["x"], "y": 1e3 * p["y"]}, v) for p, v in data]
    _, other = ask_once(rescaled, space={"x": (-5.0, 10.0), "y": (0.0, 1000.0)})
    x = column(other.params)
    assert_equivalent(opt, column(plain.params), np.array([(x[0] + 5) / 15, x[1] / 1e3]))


def test_minimising_is_maximising_the_negative():
    data = data_of(15)
    up = rahbo.Optimizer(SQUARE, seed=0, data=data)
    down = rahbo.Optimizer(
        SQUARE, seed=0, direction="minimize", data=[(p, [-v for v in vs]) for p, vs in data]
    )
    assert up.ask().params == down.ask().params
    a, b = up.recommend(), down.recommend()
    assert a.params == b.params
    assert a == b.negated()
    assert b.mean_interval.lower < b.mean < b.mean_interval.upper
    assert b.risk_interval.lower < b.risk < b.risk_interval.upper
    assert b.risk == pytest.approx(b.mean + b.noise_std)


# -- confirming ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_recommended_point_is_suggested_until_it_has_been_measured_five_times():
    opt = rahbo.Optimizer(SQUARE, seed=0, data=data_of(12, k=1))
    rng = np.random.default_rng(0)
    for _ in range(30):
        if not opt.unconfirmed:
            break
        (s,) = opt.confirm(1)
        assert s.params == opt.recommend().params
        assert s.repeats == 1
        assert opt.trials[s.id].source == "confirm"
        assert opt.trials[s.id].own_bound is None
        opt.tell(s, bump(s.params, rng, 1))
    assert opt.recommend().n_evaluations >= 5


def test_a_bad_surprise_moves_the_confirmation_to_the_next_point():
    data = [({"x": x}, [y, y + 0.1]) for x, y in ((0.1, 0.0), (0.4, 1.0), (0.9, 1.2))]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data)
    (s,) = opt.confirm(1)
    assert s.params == {"x": 0.9}
    opt.tell(s, -30.0)
    (s,) = opt.confirm(1)
    assert s.params == {"x": 0.4} == opt.recommend().params
    assert opt.unconfirmed == 3


def test_a_batch_to_confirm_goes_down_the_line():
    opt = rahbo.Optimizer(SQUARE, seed=0, data=data_of(12, k=1))
    batch = opt.confirm(10)
    assert [s.repeats for s in batch] == [4, 4, 2]
    assert batch[0].params == opt.recommend().params
    assert len({tuple(s.params.values()) for s in batch}) == 3
    assert opt.unconfirmed == 4
    # What is under way is not suggested again.
    (more,) = opt.confirm(2)
    assert more.params == batch[2].params


def test_failures_count_as_tries_of_a_point_to_confirm():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=[({"x": 0.2}, 1.0), ({"x": 0.8}, 0.0)])
    for _ in range(4):
        (s,) = opt.confirm(1)
        assert s.params == {"x": 0.2}
        opt.tell_failure(s)
    assert opt.unconfirmed == 0


def test_confirmations_are_handed_out_again_and_do_not_disturb_the_run():
    opt = run(10)
    batch = opt.confirm(7)
    again = rahbo.Optimizer(SQUARE, seed=0, repeats=3, trials=opt.trials)
    assert again.ask(len(batch)) == batch
    for each in (opt, again):
        for s in batch:
            each.tell(s, bump(s.params, np.random.default_rng(s.id), s.repeats))
    assert opt.ask() == again.ask()


# -- reporting -----------------------------------------------------------------------------------


def test_recommendation_rules_by_hand():
    data = [
        ({"x": 0.1, "y": 0.1}, [1.0, 1.1, 0.9]),
        ({"x": 0.5, "y": 0.5}, [5.0, -3.0, 2.5]),
        ({"x": 0.9, "y": 0.9}, [1.3, 1.2, 1.4]),
    ]
    opt = rahbo.Optimizer(SQUARE, seed=0, n_initial=3, data=data, repeats=3)
    lucky, steady = data[1][0], data[2][0]
    assert opt.recommend(rule="best_observed").params == lucky
    assert opt.recommend(rule="empirical").params == steady
    assert opt.recommend().params == steady
    neutral = opt.recommend(rule="empirical", risk=rahbo.MeanVariance(0.0))
    assert neutral.params == lucky
    with pytest.raises(NotReadyError, match="own_round"):
        opt.recommend(rule="own_round")


def test_own_bound_is_the_pessimistic_bound_before_the_answer():
    opt = run(12)
    before = opt.model
    s = opt.ask()
    b = bands(before, opt.settings.space.encode(s.params)[None])
    scale, shift = before.learned.units.scale, before.learned.units.shift
    expected = shift + scale * (b.f_lower[0] - np.sqrt(b.noise_upper[0]))
    assert opt.trials[-1].own_bound == pytest.approx(expected, rel=1e-9)


def test_the_pessimistic_recommendation_maximises_the_bound_over_evaluated_points():
    opt = run(20)
    X = opt.observations.X
    b, units = bands(opt.model, X), opt.model.units
    bound = units.shift + units.scale * (b.f_lower - np.sqrt(b.noise_upper))
    best = opt.recommend()
    assert best.params == opt.space.decode(X[np.argmax(bound)])
    assert best.pessimistic == best.score == pytest.approx(bound.max())
    assert opt.predict(best.params).pessimistic == pytest.approx(bound.max())


def test_the_own_round_rule_needs_a_chosen_point_that_was_told():
    opt = rahbo.Optimizer(SQUARE, seed=0, n_initial=3, repeats=3)
    for params, values in data_of(3):
        opt.tell(params, values)
    s = opt.ask()
    assert opt.trials[-1].source == "strategy"
    with pytest.raises(NotReadyError, match="own_round"):
        opt.recommend(rule="own_round")
    opt.tell(s, [0.1, 0.2, 0.3])
    found = opt.recommend(rule="own_round")
    assert found.params == s.params
    assert found.score == opt.trials[-1].own_bound


def test_a_cancelled_revisit_counts_for_the_own_round_rule_and_teaches_nothing():
    both = rahbo.Candidates([{"x": 0.2}, {"x": 0.8}])
    opt = rahbo.Optimizer(both, seed=0, n_initial=2, repeats=3)
    for values in ([0.1, 0.2, 0.3], [0.5, 0.6, 0.7]):
        opt.tell(opt.ask(), values)
    before = opt.observations
    s = opt.ask()
    with pytest.raises(NotReadyError, match="own_round"):
        opt.recommend(rule="own_round")
    opt.cancel(s)
    assert opt.recommend(rule="own_round").params == s.params
    np.testing.assert_array_equal(opt.observations.values, before.values)
    assert opt.n_evaluations == 6


def test_a_point_that_the_constraint_forbids_is_not_recommended():
    data = [({"x": 0.9, "y": 0.5}, [10.0, 10.1, 10.2]), ({"x": 0.2, "y": 0.5}, [1.0, 1.1, 0.9])]
    opt = rahbo.Optimizer(SQUARE, valid=lambda p: p["x"] < 0.5, seed=0, data=data)
    for rule in ("pessimistic", "best_observed", "empirical"):
        assert opt.recommend(rule=rule).params == data[1][0]
    only = rahbo.Optimizer(SQUARE, valid=lambda p: p["x"] < 0.5, seed=0, data=data[:1])
    with pytest.raises(NotReadyError, match="satisfies valid="):
        only.recommend()


def test_yes_no_outcomes_have_noise_though_their_repeats_tie():
    def flip(params, rng):
        return [float(rng.random() < 0.05 + 0.9 * params["x"]) for _ in range(5)]

    opt = run(24, evaluate=flip, space={"x": (0.0, 1.0)})
    noise_std = opt.predict({"x": 0.5}).noise_std
    assert 0.2 < noise_std < 1.0
    assert opt.recommend().params["x"] > 0.8


# -- what was told comes back --------------------------------------------------------------------

TABLE_SPACE = {
    "x": (-3.0, 7.0),
    "lr": rahbo.Float(1e-5, 1.0, log=True),
    "depth": rahbo.Int(1, 15),
    "kind": ["a", "b", "c"],
}
rows = st.fixed_dictionaries(
    {
        "x": st.floats(-3.0, 7.0),
        "lr": st.floats(1e-5, 1.0),
        "depth": st.integers(1, 15),
        "kind": st.sampled_from("abc"),
    }
)


def shown(opt):
    """The parameters of every evaluated point that a report shows."""
    best, page = opt.recommend(), opt.diagnose()
    return [
        best.params,
        *(p.params for p in opt.frontier().evaluated),
        *(c.prediction.params for c in opt.frontier().choices),
        page.decision.risk_averse.params,
        page.decision.risk_neutral.params,
    ]


@pytest.mark.slow
@given(st.lists(rows, min_size=3, max_size=5), st.sampled_from(["maximize", "minimize"]))
@settings(max_examples=8)
def test_params_come_back_exactly_as_they_were_told(table, direction):
    data = [(row, [float(i), i + 0.5]) for i, row in enumerate(table)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        told = rahbo.Optimizer(TABLE_SPACE, direction=direction, seed=0, journal=path)
        for row, values in data:
            told.tell(row, values)
        told.close()
        resumed = rahbo.Optimizer.resume(path)
        resumed.close()
    past = rahbo.Optimizer(TABLE_SPACE, direction=direction, seed=0, data=data)
    keys = {repr(sorted(row.items())) for row in table}
    for opt in (told, resumed, past):
        assert {repr(sorted(params.items())) for params in shown(opt)} <= keys
        assert [t.params for t in opt.trials] == table


def test_a_told_point_keeps_digits_that_the_cube_does_not():
    opt = rahbo.Optimizer({"x": (0.0, 0.7)}, seed=0, data=[({"x": 0.1 + 0.2}, [5.0, 5.1])])
    x = opt.trials[0].x
    assert opt.settings.space.decode(x) == {"x": 0.3}
    assert opt.space.decode(x) == {"x": 0.1 + 0.2}
    # The same point to all digits that count: a repeat, shown as it was told first.
    opt.tell({"x": 0.3}, 5.2)
    assert opt.recommend().params == {"x": 0.1 + 0.2}
    assert opt.recommend().n_evaluations == 3
    assert [t.params["x"] for t in opt.trials] == [0.1 + 0.2, 0.3]


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_table_of_past_results_is_diagnosed_in_user_units(direction, k):
    sign = 1.0 if direction == "maximize" else -1.0
    table = data_of(25, k=k, scale=100.0 * sign, shift=300.0 * sign)
    opt = rahbo.Optimizer(SQUARE, data=table, direction=direction, seed=0)
    found = opt.diagnose()
    with one_blas_thread():
        upwards = diagnose(opt.state)
    assert found == (upwards if sign > 0 else upwards.negated())
    assert found.decision.risk_averse.mean == pytest.approx(opt.recommend().mean)
    assert found.unevenness.source == ("repeats" if k > 1 else "residuals")
    assert str(found).startswith("Is the noise uneven?\n  ")


# -- spaces --------------------------------------------------------------------------------------


def test_candidates_are_exhausted_only_without_revisits():
    rows = [{"a": i, "kind": "xy"[i % 2]} for i in range(6)]
    opt = rahbo.Optimizer(rahbo.Candidates(rows, revisit=False), seed=0, repeats=2, n_initial=3)
    asked = []
    for _ in range(6):
        s = opt.ask()
        asked.append(s.params["a"])
        opt.tell(s, [float(s.params["a"]), 1.0 + s.params["a"]])
    assert sorted(asked) == list(range(6))
    with pytest.raises(ExhaustedError, match="revisit=False"):
        opt.ask()
    assert opt.recommend().params == rows[5]
    opt.tell(rows[5], 5.5)
    free = rahbo.Optimizer(rahbo.Candidates(rows), seed=0, repeats=2, n_initial=3)
    for _ in range(12):
        s = free.ask()
        free.tell(s, [float(s.params["a"]), 1.0 + s.params["a"]])


@pytest.mark.slow
def test_constraints_between_parameters_are_kept():
    def valid(params):
        return params["x"] + params["y"] <= 0.5

    opt = run(15, valid=valid)
    assert all(valid(t.params) for t in opt.trials)
    assert any(t.source == "strategy" for t in opt.trials)
    # The unconstrained bump sits at (0.3, 0.6); the best legal point is on the border.
    assert sum(opt.recommend().params.values()) > 0.35


@pytest.mark.slow
def test_mixed_spaces_run():
    space = {
        "lr": rahbo.Float(1e-4, 1e-1, log=True),
        "depth": rahbo.Int(1, 15),
        "criterion": rahbo.Categorical(["gini", "entropy", "log_loss"]),
    }

    def evaluate(params, rng):
        value = -((np.log10(params["lr"]) + 2) ** 2) - 0.02 * (params["depth"] - 9) ** 2
        value += params["criterion"] == "entropy"
        return [float(value + 0.1 * rng.standard_normal()) for _ in range(3)]

    opt = run(35, space=space, evaluate=evaluate)
    best = opt.recommend().params
    assert best["criterion"] == "entropy"
    assert 5 <= best["depth"] <= 13
    assert 1e-3 < best["lr"] < 1e-1


def test_known_noise_is_used_as_it_is():
    opt = run(12, noise_std=lambda p: 0.05 + 0.3 * p["x"])
    record = opt.predict({"x": 0.5, "y": 0.5})
    assert record.noise_std == pytest.approx(0.2)
    assert record.noise_std_interval == pytest.approx((0.2, 0.2))
    assert run(8, noise_std=0.2).predict({"x": 0.1, "y": 0.5}).noise_std == pytest.approx(0.2)
    for bad in (None, -0.1, "x", float("inf")):
        with pytest.raises(DataError, match="known noise must be a number at every point"):
            run(8, noise_std=lambda p, bad=bad: bad)


def test_known_noise_of_candidates_and_a_constraint():
    rows = [{"a": i} for i in range(10)]
    column = np.sqrt([0.1 * i for i in range(10)])
    opt = rahbo.Optimizer(
        rahbo.Candidates(rows), valid=lambda p: p["a"] < 7, noise_std=column, seed=0, n_initial=2
    )
    for _ in range(4):
        s = opt.ask()
        opt.tell(s, [1.0, 2.0])
    assert opt.predict({"a": 4}).noise_std == pytest.approx(0.4**0.5)


def test_fixed_kernels_are_taken_as_they_are():
    kernel = Matern52([0.2, 0.3], 2.0)
    noise = DirectNoise(kernel=Matern52([0.5, 0.5], 0.1), max_noise_var=0.2)
    opt = run(
        14, method=rahbo.Method(kernel=kernel, noise=noise, outputs=Raw(), refit=Refit(np.inf))
    )
    assert opt.model.mean.kernel == kernel
    assert opt.model.noise.gp.kernel == noise.kernel
    with pytest.raises(SettingsError, match=r"2 columns of the space \(x, y\), got .* with 1"):
        rahbo.Optimizer(SQUARE, method=rahbo.Method(kernel=Matern52([0.2])))


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"repeats": 0}, "repeats"),
        ({"repeats": 2.5}, "repeats"),
        ({"repeats": True}, "repeats"),
        ({"direction": "up"}, "direction"),
        ({"risk": 1.0}, "risk"),
        ({"method": rahbo.paper}, r"method must be a Method such as rahbo.paper\(\)"),
        ({"noise_std": -0.1}, "noise_std must be a number >= 0"),
        ({"noise_std": float("nan")}, "noise_std must be a number >= 0"),
        ({"noise_std": "std"}, r"noise_std .* pass the column itself"),
        ({"noise_std": {"x": 0.1}}, "noise_std must be a number >= 0, a function"),
        ({"noise_std": [0.1, None]}, "noise_std must be a number >= 0, got None"),
        ({"noise_std": [0.1, 0.2]}, "one number for each row of Candidates"),
        ({"noise_std": 0.1, "method": rahbo.paper()}, r"Leave out noise_std=, or noise="),
        ({"n_initial": 0}, "n_initial"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_bad_settings_are_named(settings, culprit):
    with pytest.raises(SettingsError, match=culprit):
        rahbo.Optimizer(SQUARE, **settings)


def test_a_predicate_that_nothing_satisfies_is_reported():
    opt = rahbo.Optimizer(SQUARE, valid=lambda p: False, seed=0)
    with pytest.raises(SpaceError, match="valid="):
        opt.ask()
    assert opt.trials == ()


# -- degenerate but legal data -------------------------------------------------------------------


def exercise(opt, evaluate, rounds=4):
    for _ in range(rounds):
        s = opt.ask()
        opt.tell(s, evaluate(s.params))
    record = opt.recommend()
    numbers = [record.mean, record.noise_std, record.risk, *record.mean_interval]
    assert np.all(np.isfinite([*numbers, *record.noise_std_interval, *record.risk_interval]))
    json.dumps(record.params)


PRESETS = [{}, presets.paper(repeats=3)]


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "evaluate",
    [
        lambda p: [1.0, 1.0, 1.0],
        lambda p: [0.0, 0.0],
        lambda p: [p["x"], p["x"]],
        lambda p: [p["x"]],
        lambda p: [1e12 + p["x"], 1e12 - p["x"]],
        lambda p: [1e12 * p["x"], 1e12 * p["y"], 3e12],
        lambda p: [1e-12 * p["x"], 1e-12 * p["y"], 3e-12],
        lambda p: [float(p["x"] > 0.5)] * 3,
        lambda p: [1e50 * p["x"], -1e50],
    ],
    ids=["equal", "zero", "no noise", "one repeat", "offset", "1e12", "1e-12", "steps", "1e50"],
)
def test_degenerate_outputs(preset, evaluate):
    settings = {**preset, "n_initial": 4}
    exercise(rahbo.Optimizer(SQUARE, seed=0, **settings), evaluate, rounds=9)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_a_single_point(preset):
    settings = {**preset, "n_initial": 1}
    for values in ([1.0], [1.0, 2.0]):
        opt = rahbo.Optimizer(SQUARE, seed=0, **settings)
        opt.tell({"x": 0.5, "y": 0.5}, values)
        assert opt.recommend().n_evaluations == len(values)
        exercise(opt, lambda p: [p["x"], p["y"]])


def test_blas_threads_are_given_back():
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info()]
    opt = run(8)
    opt.recommend()
    assert [pool["num_threads"] for pool in threadpool_info()] == before


@pytest.mark.slow
def test_a_list_without_revisits_gives_each_row_its_repeats_and_no_more():
    rows = rahbo.Candidates([{"x": float(x)} for x in range(8)], revisit=False)
    for repeats, most in ((rahbo.Adaptive(), 10), (rahbo.Adaptive(max=4, setup=5.0), 4), (3, 3)):
        opt = rahbo.Optimizer(rows, repeats=repeats, seed=0)
        for _ in range(200):
            try:
                s = opt.ask()
            except ExhaustedError:
                break
            noise = np.random.default_rng(s.id).standard_normal(s.repeats)
            opt.tell(s, list(s.params["x"] + noise))
        assert list(opt.observations.count) == [most] * 8


@pytest.mark.parametrize("seed", range(6))
def test_the_recommended_point_is_the_one_confirmed(seed):
    # A smallest noise variance above what is learned makes bounds equal that would differ.
    rng = np.random.default_rng(seed)
    data = [({"x": float(x)}, x + 0.1 * rng.standard_normal(2)) for x in rng.random(15)]
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)},
        risk=rahbo.MeanVariance(5.0),
        method=rahbo.Method(min_noise_var=0.04),
        data=data,
        seed=0,
    )
    assert opt.confirm(1)[0].params == opt.recommend().params


def test_a_largest_noise_variance_bounds_the_intervals():
    rng = np.random.default_rng(1)
    data = [({"x": float(x)}, float(np.sin(6 * x) + 0.1 * rng.standard_normal()))
            for x in rng.random(20)]  # fmt: skip
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)}, method=rahbo.Method(max_noise_var=0.0101), data=data, seed=0
    )
    best = opt.recommend()
    assert best.noise_std <= best.noise_std_interval.upper <= 0.0101**0.5 * (1 + 1e-9)


def test_nothing_is_unconfirmed_where_points_may_not_be_measured_again():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, repeats=rahbo.Folds(3), seed=0)
    opt.tell(opt.ask(), [1.0, 2.0, 3.0])
    assert opt.unconfirmed == 0


# -- threads and interrupts ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [RandomSearch(), TopTwo()])
def test_eight_threads_share_an_optimizer_and_its_journal(tmp_path, strategy, monkeypatch):
    is_cheap = isinstance(strategy, RandomSearch)
    total, path = 400 if is_cheap else 24, tmp_path / "run.jsonl"
    space = rahbo.Candidates([{"x": float(x)} for x in range(20)]) if is_cheap else SQUARE
    # What counts is the order of writes. Waiting for the disk each time takes long.
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    opt = rahbo.Optimizer(
        space, seed=0, repeats=2, method=rahbo.Method(strategy=strategy), journal=path
    )
    told = {}

    def work():
        while (suggestion := opt.ask()).id < total:
            for repeat in suggestion.indices:
                value = suggestion.id + repeat / 10
                opt.tell(suggestion, value, repeat=repeat)
                assert (suggestion.id, repeat) not in told
                told[suggestion.id, repeat] = value
            if suggestion.id % 50 == 0:
                assert all(other.id < len(opt.trials) for other in opt.open)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work) for _ in range(8)]:
            done.result()
    assert len(told) == 2 * total
    for trials in (opt.trials, read(path)[1]):
        assert {(t.id, i): v for t in trials for i, v in t.values.items()} == told
    opt.close()


@pytest.mark.slow
def test_some_threads_ask_while_others_tell_and_look(tmp_path):
    opt = rahbo.Optimizer(SQUARE, seed=0, repeats=1, journal=tmp_path / "run.jsonl")
    asked, ended = SimpleQueue(), threading.Event()

    def ask():
        for _ in range(12):
            asked.put(opt.ask())

    def tell():
        for _ in range(12):
            suggestion = asked.get(timeout=120)
            opt.tell(suggestion, suggestion.params["x"])

    def look():
        while not ended.is_set():
            if opt.observations.n:
                opt.recommend()

    with ThreadPoolExecutor(5) as pool:
        looking = pool.submit(look)
        working = [pool.submit(step) for step in (ask, ask, tell, tell)]
        for done in working:
            done.result()
        ended.set()
        looking.result()
    assert opt.open == ()
    assert opt.n_evaluations == 24
    opt.close()


def test_an_exhausted_list_hands_out_what_a_batch_could_not():
    opt = rahbo.Optimizer(rahbo.Candidates([{"x": 1.0}, {"x": 2.0}], revisit=False), repeats=1)
    with pytest.raises(ExhaustedError):
        opt.ask(3)
    assert sorted(s.params["x"] for s in opt.ask(2)) == [1.0, 2.0]


@pytest.mark.slow
def test_two_runs_may_reuse_the_fits_of_each_other_at_the_same_time():
    one, other = (rahbo.Optimizer(SQUARE, seed=0, data=data_of(8)) for _ in range(2))
    one.recommend()

    def take(mine, theirs):
        for _ in range(200):
            mine.reuse_fits(theirs)

    with ThreadPoolExecutor(2) as pool:
        for done in (pool.submit(take, one, other), pool.submit(take, other, one)):
            done.result(timeout=120)


def test_a_copy_is_made_while_another_thread_tells():
    opt = rahbo.Optimizer(SQUARE, seed=0)
    ended = threading.Event()

    def tell():
        for i in range(1500):
            opt.tell({"x": 0.5, "y": i / 1500}, float(i))
        ended.set()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(tell)
        while not ended.is_set():
            copied = pickle.loads(pickle.dumps(opt))
            assert [t.id for t in copied.trials] == list(range(len(copied.trials)))
            copied.tell({"x": 0.25, "y": 0.25}, 1.0)
        done.result()
    assert len(opt.trials) == 1500


# -- settings to try first -----------------------------------------------------------------------


def test_settings_to_try_first_are_handed_out_exactly_as_given():
    first = [{"x": 0.1, "n": 3}, {"x": 0.7, "n": 1}]
    space = {"x": rahbo.Float(1e-3, 10.0, log=True), "n": rahbo.Int(1, 5)}
    opt = rahbo.Optimizer(space, try_first=iter(first), seed=0)
    assert [s.params for s in opt.ask(3)][:2] == first
    assert opt.settings.try_first == tuple(first)


def test_more_settings_to_try_first_than_the_design_has_are_all_tried():
    first = [{"x": i / 10} for i in range(9)]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, try_first=first, n_initial=3, repeats=1, seed=0)
    for params in first:
        suggestion = opt.ask()
        assert suggestion.params == params
        opt.tell(suggestion, params["x"])
    assert {t.source for t in opt.trials} == {"design"}
    asked = opt.ask()
    assert opt.trials[asked.id].source == "strategy"


def test_settings_to_try_first_are_tried_although_there_are_past_results_but_not_twice():
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)}, try_first=[{"x": 0.5}], data=[({"x": 0.5}, 1.0)], seed=0
    )
    assert opt.ask().params == {"x": 0.5}
    opt.cancel(1)
    assert opt.ask().params != {"x": 0.5}


def test_settings_to_try_first_may_be_rows_of_a_list():
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 1.0}])
    assert rahbo.Optimizer(rows, try_first=[{"x": 1.0}], seed=0).ask().params == {"x": 1.0}


def test_settings_to_try_first_are_choices_under_the_present_conditions():
    space = {"x": (0.0, 1.0), "line": rahbo.Context(["a", "b"])}
    opt = rahbo.Optimizer(space, try_first=[{"x": 0.25}], seed=0)
    assert opt.ask(context={"line": "b"}).params == {"x": 0.25, "line": "b"}
    assert opt.ask(context={"line": "a"}).params["x"] != 0.25


def test_a_safe_run_can_start_from_settings_to_try_first():
    limits = {"loss": rahbo.AtMost(5.0)}
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)}, constraints=limits, safe=True, try_first=[{"x": 0.5}], repeats=3, seed=0
    )
    suggestion = opt.ask()
    assert suggestion.params == {"x": 0.5}
    opt.tell(suggestion, [1.0, 1.1, 0.9], outcomes={"loss": [0.1, 0.2, 0.15]})
    asked = opt.ask()
    assert opt.trials[asked.id].source == "strategy"


def test_a_journal_holds_the_settings_to_try_first(tmp_path):
    path = tmp_path / "run.jsonl"
    first = [{"x": 0.5, "c": "a"}, {"x": np.float64(0.1), "c": "b"}]
    space = {"x": (0.0, 1.0), "c": ["a", "b"]}
    opt = rahbo.Optimizer(space, try_first=first, journal=path, seed=0)
    opt.tell(opt.ask(), [1.0, 2.0])
    opt.close()
    again = rahbo.Optimizer.resume(path)
    assert again.settings.try_first == tuple(first)
    assert again.ask().params == first[1]
    again.close()
    with pytest.raises(JournalError, match="try_first is"):
        rahbo.Optimizer(space, journal=path, seed=0)
    plain = tmp_path / "plain.jsonl"
    rahbo.Optimizer(space, journal=plain, seed=0).close()
    assert "try_first" not in plain.read_text()


def _by_index(opt, suggestion, n):
    for i in range(n):
        opt.tell(suggestion, float(i % 7), repeat=i)


def _backwards_and_beyond(opt, suggestion, n):
    # The last one was not asked for, and the first one is missing for long.
    for i in (*range(n // 2, 0, -1), 0, *range(n // 2 + 1, n)):
        opt.tell(suggestion, float(i % 7), repeat=i)


def _next_free(opt, suggestion, n):
    for i in range(n):
        opt.tell(suggestion.id, float(i % 7))


def _failures_in_between(opt, suggestion, n):
    for i in range(n):
        if i % 5 == 4:
            opt.tell_failure(suggestion, "trip", repeat=i)
        else:
            opt.tell(suggestion, float(i % 7), repeat=i)


def _outcomes_and_blocks(opt, suggestion, n):
    for i in range(n):
        opt.tell(suggestion, 1.0, repeat=i, outcomes={"loss": 0.5}, block=f"day {i % 9}")


def _unasked(opt, suggestion, n):
    for i in range(n):
        opt.tell({"x": 0.25}, float(i % 7), repeat=i)


TOLD = [_by_index, _backwards_and_beyond, _next_free, _failures_in_between, _outcomes_and_blocks,
        _unasked]  # fmt: skip


def _work_of_repeats(tell, n, journal=None):
    """The lines run to tell so many repeats of a suggestion, and to look what is open."""
    limits = {"constraints": {"loss": rahbo.AtMost(1.0)}} if tell is _outcomes_and_blocks else {}
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, repeats=n, seed=0, journal=journal, **limits)
    suggestion = opt.ask()
    work = lines_run(lambda: tell(opt, suggestion, n))
    opt.close()
    told = opt.trials[-1]
    assert told.n_made == n
    assert all(each.time is not None for each in told.evaluations.values())
    return work


@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("tell", TOLD)
def test_the_work_of_repeats_told_one_by_one_is_linear(tell, on_disk, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    few, many = (
        _work_of_repeats(tell, n, tmp_path / f"{n}.jsonl" if on_disk else None) for n in (200, 800)
    )
    assert many < 5 * few


def test_the_states_of_a_trial_share_what_was_told():
    """A copy for each state would take memory that is quadratic in the repeats."""

    def taken(n):
        opt = rahbo.Optimizer({"x": (0.0, 1.0)}, repeats=n, seed=0)
        suggestion, states = opt.ask(), []
        tracemalloc.start()
        try:
            for i in range(n):
                opt.tell(suggestion, float(i), repeat=i)
                states.append(opt.state.trials[0])
            return tracemalloc.get_traced_memory()[0], states
        finally:
            tracemalloc.stop()

    few, _ = taken(300)
    many, states = taken(1200)
    assert many < 6 * few
    # To the outside, each state is still what it was.
    for i in (0, 1, 500, 1199):
        assert states[i].values == {k: float(k) for k in range(i + 1)}
        assert states[i].missing == tuple(range(i + 1, 1200))
        assert states[i].n_missing == 1199 - i


def test_two_copies_of_a_run_may_both_go_on_from_a_long_trial():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, repeats=200, seed=0)
    suggestion = opt.ask()
    opt.tell(suggestion, [float(i) for i in range(100)])
    opt.tell(suggestion, 100.0)
    other = copy.copy(opt)
    opt.tell(suggestion, 1.0, repeat=150)
    other.tell(suggestion, 2.0, repeat=150)
    other.tell(suggestion, 3.0)
    assert opt.trials[0].values[150] == 1.0
    assert 101 not in opt.trials[0].values
    assert other.trials[0].values[150] == 2.0
    assert other.trials[0].values[101] == 3.0
    assert pickle.loads(pickle.dumps(other)).trials[0].values == other.trials[0].values
