"""The time of a run, with a clock that the tests turn."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

import rahbo
from rahbo.policy import RandomSearch
from rahbo.running import clock as module
from rahbo.running.clock import Clock

SPACE = {"x": (0.0, 2.0)}
FEW = {"n_initial": 4, "seed": 1, "method": rahbo.Method(strategy=RandomSearch())}


class Time:
    """Stands still until it is turned."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def time(monkeypatch):
    turned = Time()
    monkeypatch.setattr(module, "monotonic", turned)
    return turned


def taking(time, seconds, calls=None):
    """An objective that takes this long by the turned clock."""

    def objective(x, seed):
        time.now += seconds
        if calls is not None:
            calls.append(time.now)
        return x + (seed % 100) / 50

    return objective


def sources(result):
    return [trial.source for trial in result.trials]


def test_a_clock_without_limit_never_ends(time):
    clock = Clock()
    clock.evaluated(1.0)
    time.now += 1e9
    assert (clock.left, clock.is_up, clock.leaves_only(5)) == (math.inf, False, False)


def test_what_is_left_and_when_it_is_up(time):
    clock = Clock(10.0)
    time.now += 12.0
    assert (clock.elapsed, clock.left) == (12.0, -2.0)
    # At least one evaluation is made.
    assert not clock.is_up
    clock.evaluated(None)
    assert clock.is_up


def test_time_is_reserved_by_the_pace_so_far(time):
    clock = Clock(100.0)
    for _ in range(4):
        time.now += 10.0
        clock.evaluated(8.0)
    # 60 s are left at 10 s each: enough for one more evaluation and five that confirm.
    assert not clock.leaves_only(5)
    assert clock.leaves_only(6)
    assert clock.leaves_only(5, first=2)


def test_a_single_evaluation_takes_its_time_however_many_run_beside_it(time):
    clock = Clock(100.0)
    for _ in range(40):
        time.now += 1.0
        clock.evaluated(30.0)
    assert not clock.leaves_only(29)
    assert clock.leaves_only(31)


def test_an_evaluation_under_way_is_finished_and_its_other_repeats_are_not_made(time):
    result = rahbo.maximize(taking(time, 3.0), SPACE, seconds=10, repeats=5, seed=0)
    assert [len(t.values) for t in result.trials] == [4]
    assert result.optimizer.open == ()


def test_at_least_one_evaluation_is_made(time):
    assert rahbo.maximize(taking(time, 9.0), SPACE, seconds=1e-6, **FEW).n_evaluations == 1


@pytest.mark.slow
def test_the_end_of_the_time_confirms(time):
    result = rahbo.maximize(taking(time, 1.0), SPACE, seconds=60, **FEW)
    again = sources(result).count("confirm")
    assert 5 <= again <= 7
    assert sources(result)[-again:] == ["confirm"] * again
    assert (result.stopped_by, result.optimizer.open) == ("budget", ())
    assert 58 <= result.n_evaluations <= 60
    none = rahbo.maximize(taking(time, 1.0), SPACE, seconds=60, confirm=0, **FEW)
    assert "confirm" not in sources(none)


@pytest.mark.parametrize("blocks", [3, None])
def test_time_in_which_nothing_can_be_confirmed_is_for_the_search(time, blocks):
    whole = {"repeats": 3, "blocks": blocks, "confirm": 9}
    result = rahbo.maximize(taking(time, 1.0), SPACE, seconds=30, **whole, **FEW)
    assert (result.stopped_by, result.n_evaluations) == ("budget", 30)
    assert ("confirm" in sources(result)) == (blocks is None)


@pytest.mark.slow
def test_seconds_limit_evaluations_and_rounds(time):
    part = {"confirm": 3, **FEW}
    for budget in ({"evaluations": 100}, {"rounds": 100}):
        short = rahbo.maximize(taking(time, 1.0), SPACE, seconds=20, **budget, **part)
        assert sources(short)[-3:] == ["confirm"] * 3
        assert short.n_evaluations == 20
    long = rahbo.maximize(taking(time, 1.0), SPACE, evaluations=12, seconds=1e6, **part)
    plain = rahbo.maximize(taking(time, 1.0), SPACE, evaluations=12, **part)
    assert [t.values for t in long.trials] == [t.values for t in plain.trials]


@pytest.mark.slow
def test_a_resumed_run_gets_its_seconds_anew(time, tmp_path):
    journal = tmp_path / "run.jsonl"
    sizes = [
        rahbo.maximize(taking(time, 1.0), SPACE, seconds=8, journal=journal, **FEW).n_evaluations
        for _ in range(2)
    ]
    assert sizes == [8, 16]


def test_seconds_end_a_run_on_an_executor(time):
    with ThreadPoolExecutor(1) as pool:
        result = rahbo.maximize(
            taking(time, 1.0), SPACE, seconds=15, executor=pool, parallel=1, **FEW
        )
    assert result.stopped_by == "budget"
    assert 14 <= result.n_evaluations <= 16
    assert result.optimizer.open == ()
