"""Proposals that surely keep the limits."""

import numpy as np
import pytest

import rahbo
from constrained import LIMITS, SPACE, measure
from rahbo.errors import ExhaustedError, NotReadyError
from rahbo.policy.safety import SURE

START = [(0.2, 0.2), (0.3, 0.1), (0.1, 0.3), (0.25, 0.3)]


def data():
    return [
        ({"x": x, "y": y}, [measure(x, y, 10 * i + k) for k in range(3)])
        for i, (x, y) in enumerate(START)
    ]


@pytest.mark.slow
def test_every_proposal_is_certified_or_a_told_setting():
    opt = rahbo.Optimizer(SPACE, seed=1, constraints=LIMITS, safe=True, data=data())
    seen = {opt.settings.space.encode(p).tobytes() for p, _ in data()}
    for i in range(15):
        limits = opt.limits
        suggestion = opt.ask()
        x = opt.settings.space.encode(suggestion.params)
        assert x.tobytes() in seen or limits.room(x[None])[0] > SURE - 0.5
        seen.add(x.tobytes())
        opt.tell(suggestion, measure(**suggestion.params, seed=i))
    assert all(t.source != "design" for t in opt.trials)


@pytest.mark.slow
@pytest.mark.parametrize("start", [[0.1], [0.1, 0.2]])
def test_settings_that_are_alike_do_not_make_it_sure_of_others(start):
    def loss(x, *seed):
        return 2.0 * x + 0.05 * np.random.default_rng(seed).standard_normal()

    for seed in range(4):
        past = [({"x": x}, [{"v": x, "loss": loss(x, seed, i)} for i in range(3)]) for x in start]
        limits = {"loss": rahbo.AtMost(1.0, 0.9)}
        opt = rahbo.Optimizer(
            {"x": (0.0, 1.0)}, constraints=limits, safe=True, data=past, seed=seed
        )
        for _ in range(8):
            s = opt.ask()
            assert s.params["x"] < 0.5
            opt.tell(s, [{"v": s.params["x"], "loss": loss(s.params["x"], seed, s.id, i)}
                         for i in s.indices])  # fmt: skip


def test_without_a_safe_setting_it_says_what_to_tell():
    opt = rahbo.Optimizer(SPACE, seed=1, constraints=LIMITS, safe=True)
    with pytest.raises(NotReadyError, match="at least one setting that keeps the constraints"):
        opt.ask()
    opt.tell({"x": 0.1, "y": 0.1}, 0.2)
    with pytest.raises(NotReadyError, match="with its outcomes"):
        opt.ask()
    opt = rahbo.Optimizer(SPACE, seed=1, constraints=LIMITS, safe=True)
    for k in range(8):
        opt.tell({"x": 1.0, "y": 1.0 - 0.02 * k}, [measure(1.0, 1.0 - 0.02 * k, s) for s in (1, 2)])
    with pytest.raises(NotReadyError, match="at least one setting that keeps the constraints"):
        opt.ask()


def turning(x, y, seed):
    """Settings that looked safe at first and then break the limit by far."""
    return {"value": x, "cost": 5.0 + np.random.default_rng(seed).normal()}


def test_a_run_whose_start_was_not_safe_ends_with_what_it_knows():
    result = rahbo.maximize(
        turning, SPACE, evaluations=60, seed=0, constraints=LIMITS, safe=True, data=data()[:1]
    )
    assert result.stopped_by == "exhausted"
    assert not result.recommendation.constraints[0].kept
    with pytest.raises(ExhaustedError, match="safe=True allows no further evaluation"):
        result.optimizer.ask()
    with pytest.raises(ExhaustedError, match="safe=True allows no further evaluation"):
        result.optimizer.confirm(3)


def test_only_settings_that_keep_the_limits_are_measured_again():
    past = data() + [({"x": x, "y": 0.95}, [measure(x, 0.95, k) for k in (1, 2)]) for x in (0.9, 1)]
    opt = rahbo.Optimizer(SPACE, seed=1, constraints=LIMITS, safe=True, data=past)
    again = opt.confirm(40)
    assert sum(s.repeats for s in again) == 40
    assert all((s.params["x"], s.params["y"]) in START for s in again)


def blocked(x, y, block):
    return measure(x, y, 7 * int(block) + int(1e6 * x))


def data_in_blocks():
    """Safe settings that have all their blocks, and one that is not safe and lacks some."""
    past = [
        ({"x": x, "y": y}, [blocked(x, y, b) for b in range(3)], ["0", "1", "2"]) for x, y in START
    ]
    return [*past, ({"x": 0.9, "y": 0.95}, [blocked(0.9, 0.95, 0)], ["0"])]


def test_a_safe_run_that_can_confirm_nothing_searches_on_safely():
    result = rahbo.maximize(
        blocked, SPACE, evaluations=6, confirm=5, repeats=3, seed=1, constraints=LIMITS, safe=True,
        blocks=3, data=data_in_blocks(),
    )  # fmt: skip
    assert (result.stopped_by, result.n_evaluations) == ("budget", 13 + 6)
    assert all(t.params["x"] ** 2 + t.params["y"] ** 2 < 0.8 for t in result.trials[5:])


@pytest.mark.parametrize("n", range(2, 8))
def test_a_safe_run_that_searches_on_is_resumed_bit_for_bit(tmp_path, n):
    made = []

    def interrupted(x, y, block):
        made.append(block)
        if len(made) == n:
            raise KeyboardInterrupt
        return blocked(x, y, block)

    settings = {"evaluations": 7, "confirm": 6, "repeats": 3, "seed": 1}
    settings |= {"constraints": LIMITS, "safe": True, "blocks": 3}
    whole = rahbo.maximize(blocked, SPACE, data=data_in_blocks(), **settings)
    settings["journal"] = tmp_path / "run.jsonl"
    rahbo.maximize(interrupted, SPACE, data=data_in_blocks(), **settings)
    result = rahbo.maximize(blocked, SPACE, data=data_in_blocks(), **settings)
    assert [(t.params, t.values, t.source, t.cancelled) for t in result.trials] == [
        (t.params, t.values, t.source, t.cancelled) for t in whole.trials
    ]


def test_a_safe_run_with_nothing_left_to_confirm_or_to_try_is_exhausted():
    past = data_in_blocks()
    rows = rahbo.Candidates([params for params, *_ in past])
    params, values, blocks = past[3]
    past[3] = (params, values[:1], blocks[:1])
    result = rahbo.maximize(
        blocked, rows, evaluations=6, confirm=5, seed=1, constraints=LIMITS, safe=True, blocks=3,
        data=past,
    )  # fmt: skip
    assert (result.stopped_by, result.n_evaluations) == ("exhausted", 13)


def test_a_list_is_searched_safely_too():
    rows = [
        {"x": float(x), "y": float(y)} for x in np.linspace(0, 1, 9) for y in np.linspace(0, 1, 9)
    ]
    start = [
        (r, [measure(**r, seed=k) for k in (1, 2, 3)]) for r in rows if max(r.values()) <= 0.25
    ]
    opt = rahbo.Optimizer(rahbo.Candidates(rows), seed=1, constraints=LIMITS, safe=True, data=start)
    for i in range(10):
        suggestion = opt.ask()
        assert suggestion.params in rows
        opt.tell(suggestion, measure(**suggestion.params, seed=i))


def test_several_safe_proposals_at_once_differ():
    opt = rahbo.Optimizer(SPACE, seed=1, constraints=LIMITS, safe=True, data=data())
    for i in range(6):
        s = opt.ask()
        opt.tell(s, measure(**s.params, seed=i))
    found = opt.ask(4)
    assert len({tuple(s.params.values()) for s in found}) > 1
