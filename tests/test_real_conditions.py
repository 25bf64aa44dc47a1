"""Limits on outcomes, blocks and given conditions in one run: they meet in a value and a point."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rahbo
from rahbo import AtMost, Context, Optimizer

SPACE = {"x": (0.0, 1.0), "t": Context(0.0, 1.0)}
BLOCKS = {"a": 0.5, "b": -0.5, "c": 0.0}
KNOWN = {"constraints": {"loss": AtMost(0.8)}, "blocks": list(BLOCKS), "seed": 0}


def measured(x, t, block, seed):
    noise = np.random.default_rng(seed).standard_normal(2)
    return {
        "yield": x + BLOCKS[block] + 0.02 * noise[0],
        "loss": x + 0.3 * t + 0.02 * noise[1],
    }


def go_on(opt, until):
    while len(opt.trials) < until:
        t = round((0.37 * len(opt.trials)) % 1.0, 2)
        s = opt.ask(context={"t": t})
        for repeat, block in zip(s.indices, s.blocks, strict=True):
            seed = [s.id, repeat]
            opt.tell(s, measured(**s.params, block=block, seed=seed), repeat=repeat)


def told(opt):
    return [(t.params, t.evaluations, t.blocks) for t in opt.trials]


@pytest.mark.slow
def test_a_run_with_all_three_is_resumed_exactly_and_keeps_its_limits(tmp_path):
    path = tmp_path / "run.jsonl"
    whole = Optimizer(SPACE, **KNOWN)
    go_on(whole, 20)
    for until in (4, 13, 20):
        opt = Optimizer(SPACE, **KNOWN, journal=path)
        go_on(opt, until)
        opt.close()
    assert told(opt) == told(whole)
    for t in (0.1, 0.9):
        best = Optimizer.resume(path).recommend(context={"t": t})
        assert best.feasible
        assert best.params["x"] + 0.3 * t <= 0.8
        assert [check.name for check in best.constraints] == ["loss"]
    everywhere = opt.recommend()
    assert everywhere.feasible
    assert everywhere.params.keys() == {"x"}
    assert everywhere.params["x"] + 0.3 * 0.96 <= 0.8
    effects = opt.blocks
    assert effects is not None
    assert opt.recommend(context={"t": 0.5}).blocks is not None


@pytest.mark.slow
def test_the_loop_hands_all_three_to_the_objective():
    seen = []

    def objective(x, t, block):
        seen.append((x, t, block))
        return measured(x, t, block, seed=len(seen))

    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(
            objective,
            SPACE,
            evaluations=24,
            context=lambda: {"t": 0.5},
            executor=executor,
            parallel=2,
            **KNOWN,
        )
    assert result.n_evaluations == 24
    assert len({(x, block) for x, _, block in seen}) == len(seen)
    assert {t for _, t, _ in seen} == {0.5}
    assert {block for *_, block in seen} == set(BLOCKS)


def test_a_value_carries_outcomes_and_a_block():
    opt = Optimizer(SPACE, constraints={"loss": AtMost(0.8)}, seed=0)
    opt.tell(
        {"x": 0.5, "t": 0.1}, [1.0, 2.0], outcomes={"loss": [0.4, None]}, block=["day 1", None]
    )
    first, second = opt.trials[0].evaluations.values()
    assert first == rahbo.trials.Evaluation(1.0, None, {"loss": 0.4}, "day 1")
    assert second == rahbo.trials.Evaluation(2.0)
    past = Optimizer(
        SPACE,
        constraints={"loss": AtMost(0.8)},
        seed=0,
        data=[({"x": 0.5, "t": 0.1}, {"yield": 1.0, "loss": 0.4}, "day 1")],
    )
    assert past.trials[0].evaluations == {0: first}
