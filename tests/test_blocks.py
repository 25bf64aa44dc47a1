"""Runs with blocks: told with values, or asked for from a given set."""

import json
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import pytest

import rahbo
from journal_lines import checked
from rahbo.errors import DataError, ExhaustedError, JournalError
from rahbo.policy import RandomSearch

SPACE = {"x": (0.0, 1.0)}
EFFECTS = {"a": 1.0, "b": -1.0, "c": 0.25}
QUICK = {"method": rahbo.Method(strategy=RandomSearch()), "n_initial": 3}


def measured(x: float, block: str, seed: int = 0, t: float = 0.0) -> float:
    noise = np.random.default_rng([seed, int(1e6 * x), ord(block)]).normal()
    return -((x - 0.4) ** 2) + EFFECTS[block] + 0.02 * noise


def pairs(opt: rahbo.Optimizer) -> list[tuple[float, str]]:
    return [
        (trial.params["x"], trial.evaluations[i].block)
        for trial in opt.trials
        for i in trial.values
    ]


def spend(opt: rahbo.Optimizer, n: int) -> rahbo.Optimizer:
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, [measured(s.params["x"], b) for b in s.blocks])
    return opt


# -- telling -----------------------------------------------------------------------------------


def test_values_may_be_told_with_their_blocks():
    opt = rahbo.Optimizer(SPACE, seed=0)
    s = opt.ask()
    assert s.blocks == ()
    opt.tell(s, [1.0, 2.0], block="plate 7")
    opt.tell({"x": 0.3}, [1.0, 2.0, 3.0], block=["plate 7", 8, None])
    opt.tell({"x": 0.3}, 4.0, repeat=5, block="late")
    told = [[b.block for b in trial.evaluations.values()] for trial in opt.trials]
    assert told == [["plate 7", "plate 7"], ["plate 7", "8", None, "late"]]
    assert opt.observations.blocks == ("plate 7", "8", "late")


def test_large_effects_do_not_hide_the_best_setting(rng):
    opt = rahbo.Optimizer(SPACE, seed=0)
    for day in range(8):
        for x in rng.random(3):
            y = -((x - 0.4) ** 2) + 5.0 * np.sin(7.0 * day) + 0.01 * rng.normal()
            opt.tell({"x": float(x)}, y, block=f"day {day}")
    assert abs(opt.recommend().params["x"] - 0.4) < 0.15
    assert opt.blocks.std > 1.0
    assert opt.recommend().noise_std < 0.3


def test_past_results_may_have_blocks():
    rows = [({"x": x}, [measured(x, "a"), measured(x, "b")], ["a", "b"]) for x in (0.1, 0.5, 0.9)]
    opt = rahbo.Optimizer(SPACE, seed=0, data=rows)
    assert opt.blocks.effects["a"] > opt.blocks.effects["b"]
    assert len(opt.ask().params) == 1


# -- asking ------------------------------------------------------------------------------------


def test_each_setting_is_evaluated_once_in_a_block():
    opt = spend(rahbo.Optimizer(SPACE, seed=0, blocks=list("abc"), n_initial=4), 20)
    found = pairs(opt)
    assert len(found) == len(set(found)) == opt.n_evaluations
    assert {block for _, block in found} == set("abc")
    assert opt.blocks.effects["a"] == pytest.approx(1.0 - 1 / 12, abs=0.1)


def test_a_batch_has_no_pair_twice():
    opt = spend(rahbo.Optimizer(SPACE, seed=0, blocks=list("abc"), n_initial=3), 6)
    for batch in (opt.ask(4), opt.ask(4)):
        assert all(s.repeats == len(s.blocks) for s in batch)
    asked = [(s.params["x"], b) for s in opt.open for b in s.blocks] + pairs(opt)
    assert len(asked) == len(set(asked))


def test_blocks_told_out_of_order_belong_to_their_repeats():
    opt = rahbo.Optimizer(SPACE, seed=0, blocks=3)
    s = opt.ask()
    opt.tell(s, 2.0, repeat=1)
    assert opt.open[0].blocks == (s.blocks[0],)
    opt.tell(s, 1.0)
    (trial,) = opt.trials
    assert {i: told.block for i, told in trial.evaluations.items()} == dict(enumerate(s.blocks))
    with pytest.raises(DataError, match="one of blocks="):
        opt.tell({"x": 0.3}, 1.0, block="elsewhere")


def test_a_failed_block_is_tried_again():
    rows = rahbo.Candidates([{"x": 0.1}, {"x": 0.4}])
    opt = rahbo.Optimizer(rows, seed=0, blocks=list("abc"), n_initial=2)
    s = opt.ask()
    opt.tell_failure(s, "no beam")
    for _ in range(12):
        try:
            s = opt.ask()
        except ExhaustedError:
            break
        opt.tell(s, [measured(s.params["x"], b) for b in s.blocks])
    assert sorted(pairs(opt)) == [(x, b) for x in (0.1, 0.4) for b in "abc"]
    with pytest.raises(ExhaustedError):
        opt.ask()
    # In all its blocks, the mean of a setting is known: the sample mean.
    best = opt.recommend()
    assert best.mean == pytest.approx(
        np.mean([measured(best.params["x"], b) for b in "abc"]), abs=1e-3
    )
    assert best.confirm == opt.unconfirmed == 0
    assert opt.confirm(3) == []


def test_a_block_that_always_fails_does_not_stop_a_run():
    rows = rahbo.Candidates([{"x": 0.1}, {"x": 0.4}])
    opt = rahbo.Optimizer(rows, seed=0, blocks=list("abc"), n_initial=2)
    while len(pairs(opt)) + sum(len(trial.failures) for trial in opt.trials) < 8:
        s = opt.ask()
        assert s.blocks
        for i, b in zip(s.indices, s.blocks, strict=True):
            if b == "b":
                opt.tell_failure(s, "no beam", repeat=i)
            else:
                opt.tell(s, measured(s.params["x"], b), repeat=i)
    with pytest.raises(ExhaustedError):
        opt.ask()
    assert sorted(pairs(opt)) == [(x, b) for x in (0.1, 0.4) for b in "ac"]
    assert sum(len(trial.failures) for trial in opt.trials) == 4


def test_confirming_completes_the_leader():
    opt = spend(rahbo.Optimizer(SPACE, seed=0, blocks=list("abc"), n_initial=4), 6)
    leader = opt.recommend()
    lacking = 3 - leader.n_evaluations
    assert opt.unconfirmed == leader.confirm == lacking
    first = opt.confirm(5)[0]
    if lacking:
        assert (first.params, len(first.blocks)) == (leader.params, lacking)
    asked = [(s.params["x"], b) for s in opt.open for b in s.blocks] + pairs(opt)
    assert len(asked) == len(set(asked))


def test_so_many_blocks_have_numbers_for_names():
    assert rahbo.Optimizer(SPACE, blocks=np.array(3)).settings.blocks == ("0", "1", "2")


def test_a_copy_goes_on_like_the_run():
    opt = spend(rahbo.Optimizer(SPACE, seed=0, blocks=list("abc"), n_initial=3), 5)
    other = pickle.loads(pickle.dumps(opt))
    assert other.ask() == opt.ask()
    assert other.blocks == opt.blocks


# -- journals ----------------------------------------------------------------------------------


def test_an_open_suggestion_keeps_its_blocks(tmp_path):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer(SPACE, seed=0, blocks=list("abc"), journal=path)
    s = opt.ask()
    opt.close()
    again = rahbo.Optimizer.resume(path)
    assert again.ask() == s
    again.tell(s, 1.0, repeat=1)
    again.close()
    last = rahbo.Optimizer.resume(path)
    assert last.trials[0].evaluations[1].block == s.blocks[1]
    last.close()


def test_journals_of_runs_without_blocks_do_not_name_them(tmp_path):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer(SPACE, seed=0, journal=path)
    opt.tell(opt.ask(), 1.0)
    opt.close()
    assert "block" not in path.read_text()
    with pytest.raises(JournalError, match="blocks is None there"):
        rahbo.Optimizer(SPACE, seed=0, blocks=3, journal=path)


@pytest.mark.parametrize("blocks", [["a"], ["a", "b", "c"], ["a", 1], "ab", [None, "a"]])
def test_a_damaged_journal_is_refused(tmp_path, blocks):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer(SPACE, seed=0, repeats=2, blocks=list("abc"), journal=path)
    opt.ask()
    opt.close()
    first, second = path.read_text().splitlines()
    event = json.loads(second)
    event["blocks"] = blocks
    path.write_bytes(checked(f"{first}\n{json.dumps(event, separators=(',', ':'))}\n".encode()))
    with pytest.raises(JournalError):
        rahbo.Optimizer.resume(path)


# -- whole runs --------------------------------------------------------------------------------


def test_an_objective_is_told_its_block():
    calls = []

    def objective(x, block, seed):
        calls.append((x, block, seed))
        return measured(x, block)

    result = rahbo.maximize(
        objective,
        SPACE,
        blocks=list("abc"),
        evaluations=12,
        seed=0,
        method=rahbo.Method(strategy=RandomSearch()),
    )
    assert len(calls) == result.n_evaluations == 12
    assert len({(x, block) for x, block, _ in calls}) == 12
    assert len({seed for *_, seed in calls}) == 12


def test_settings_share_the_seed_of_a_block():
    seeds = {}

    def objective(x, seed):
        seeds.setdefault(seed, []).append(x)
        return -((x - 0.4) ** 2) + np.random.default_rng(seed).normal()

    result = rahbo.maximize(
        objective,
        SPACE,
        blocks=4,
        evaluations=16,
        seed=0,
        method=rahbo.Method(strategy=RandomSearch()),
    )
    assert len(seeds) == 4
    assert sorted(len(xs) for xs in seeds.values()) == [4, 4, 4, 4]
    # The common random numbers are the effects, and nothing else is noise.
    drawn = np.array([np.random.default_rng(seed).normal() for seed in seeds])
    found = np.array(list(result.optimizer.blocks.effects.values()))
    assert sorted(found) == pytest.approx(sorted(drawn - drawn.mean()), abs=0.2)


def test_a_list_that_is_complete_ends_the_run():
    rows = rahbo.Candidates([{"x": 0.1}, {"x": 0.4}])
    result = rahbo.maximize(measured, rows, blocks=list("abc"), evaluations=100, seed=0)
    assert (result.stopped_by, result.n_evaluations) == ("exhausted", 6)
    assert result.recommendation.params == {"x": 0.4}


@pytest.mark.slow
def test_threads_get_each_pair_once():
    with ThreadPoolExecutor(3) as pool:
        result = rahbo.maximize(
            measured,
            SPACE,
            blocks=list("abc"),
            evaluations=36,
            seed=0,
            executor=pool,
            n_initial=4,
            parallel=3,
        )
    found = pairs(result.optimizer)
    assert len(found) == len(set(found)) == 36
    # The last values, which come in any order, may put a point in the lead that lacks blocks.
    assert max(Counter(x for x, _ in found).values()) == 3
    assert abs(result.recommendation.params["x"] - 0.4) < 0.2


# Each suggestion asks for all blocks of its point, so that no point can be confirmed.
WHOLE = {"blocks": list("abc"), "repeats": 3, "seed": 0, **QUICK}


@pytest.mark.parametrize("confirm", [2, 5, 6, 11])
def test_a_run_that_can_confirm_nothing_searches_on(confirm):
    result = rahbo.maximize(measured, SPACE, evaluations=15, confirm=confirm, **WHOLE)
    found = pairs(result.optimizer)
    assert (result.stopped_by, len(found), len(set(found))) == ("budget", 15, 15)
    assert [trial.source for trial in result.trials] == ["design"] * 3 + ["strategy"] * 2


def test_rounds_that_leave_nothing_to_confirm_end_the_run():
    result = rahbo.maximize(measured, SPACE, rounds=2, confirm=6, **WHOLE)
    assert (result.stopped_by, result.n_evaluations) == ("budget", 15)


def test_a_stop_criterion_ends_a_run_that_can_confirm_nothing():
    stop = rahbo.Gap(10.0)
    result = rahbo.maximize(measured, SPACE, evaluations=60, confirm=6, stop=stop, **WHOLE)
    assert (result.stopped_by, result.n_evaluations) == ("stop", 9)


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_run_whose_failures_leave_nothing_to_confirm_searches_on(parallel):
    def objective(x, block):
        if block == "b" and x > 0.5:
            raise RuntimeError("no beam")
        return measured(x, block)

    with ThreadPoolExecutor(parallel) as pool:
        result = rahbo.maximize(
            objective, SPACE, evaluations=24, confirm=12, executor=pool, parallel=parallel, **WHOLE
        )
    assert (result.stopped_by, result.n_evaluations) == ("budget", 24)
    assert len(pairs(result.optimizer)) == len(set(pairs(result.optimizer)))


@pytest.mark.parametrize("given", [{}, {"t": 1.0}])
def test_a_run_that_searches_on_is_resumed_bit_for_bit(tmp_path, given):
    space = SPACE | {name: rahbo.Context(0.0, 2.0) for name in given}
    settings = {"evaluations": 14, "confirm": 6, "context": (lambda: given) if given else None}
    settings |= WHOLE
    whole = rahbo.maximize(measured, space, **settings)
    for n in range(2, 15):
        made = []

        def objective(x, block, seed, t=None, n=n, made=made):
            made.append(block)
            if len(made) == n:
                raise KeyboardInterrupt
            return measured(x, block, seed)

        path = tmp_path / f"{n}.jsonl"
        part = rahbo.maximize(objective, space, journal=path, **settings)
        assert (part.stopped_by, part.n_evaluations) == ("interrupt", n - 1)
        result = rahbo.maximize(measured, space, journal=path, **settings)
        assert [(t.params, t.values, t.source) for t in result.trials] == [
            (t.params, t.values, t.source) for t in whole.trials
        ]


def test_conditions_are_asked_for_once_where_nothing_can_be_confirmed():
    asked = []

    def now():
        asked.append({"t": 1.0})
        return asked[-1]

    space = SPACE | {"t": rahbo.Context(0.0, 2.0)}
    result = rahbo.maximize(
        lambda x, t, block: measured(x, block), space, evaluations=15, confirm=6, context=now,
        **WHOLE,
    )  # fmt: skip
    assert (result.stopped_by, result.n_evaluations) == ("budget", 15)
    assert len(asked) == len(result.trials) == 5


def test_snapshots_of_a_run_with_blocks():
    opt = spend(rahbo.Optimizer(SPACE, seed=0, blocks=list("abc"), n_initial=3), 6)
    for known in islice(opt.state.after([3, 6]), 2):
        assert known.model.blocks is not None
    assert opt.diagnose() is not None
    assert len(opt.frontier().choices) >= 1
