"""The loop over parallel evaluations: what is told, when points are asked for, how a run ends."""

import itertools
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import objectives
import rahbo
from objectives import noisy
from parallel_runs import assert_each_told_once, at, recorded
from rahbo.errors import ExecutorError, ObjectiveError
from rahbo.numerics import evaluation_seed
from rahbo.policy import RandomSearch
from rahbo.running.run import MAX_FAILURES
from rahbo.trials import LARGEST_VALUE

SPACE = {"x": (0.0, 2.0)}
SMALL = {"n_initial": 3, "repeats": 3, "seed": 7}
# Where points are of no concern, choosing them costs nothing.
QUICK = SMALL | {"method": rahbo.Method(strategy=RandomSearch())}
ONCE = QUICK | {"repeats": 1}


@contextmanager
def threads(n, parallel=None):
    """The keywords for threads."""
    with ThreadPoolExecutor(n) as executor:
        yield {"executor": executor, "parallel": parallel or n}


# -- what is told, and when points are asked for ---------------------------------------------


@pytest.mark.parametrize("parallel", [1, 3, 8])
def test_every_value_is_told_once_and_the_executor_stays_open(parallel):
    with threads(2, parallel) as where:
        result = rahbo.maximize(noisy, SPACE, evaluations=30, **where, **QUICK)
        assert where["executor"].submit(abs, -1).result() == 1
    assert_each_told_once(result, 30)
    assert result.stopped_by == "budget"


@pytest.mark.parametrize("evaluations", [None, 60])
def test_one_task_at_a_time_is_the_run_in_turn(evaluations):
    rounds = 4 if evaluations is None else None
    settings = {"n_initial": 4, "seed": 7, "rounds": rounds, "evaluations": evaluations}
    if evaluations:
        settings["method"] = rahbo.Method(strategy=RandomSearch())
    alone = rahbo.maximize(noisy, SPACE, **settings)
    with threads(1) as where:
        result = rahbo.maximize(noisy, SPACE, **where, **settings)
    assert recorded(result) == recorded(alone)
    assert result.recommendation == alone.recommendation


def test_a_slow_evaluation_holds_up_no_other():
    calls, enough = [], threading.Event()

    def objective(x):
        calls.append(x)
        if len(calls) == 1:
            assert enough.wait(30.0)
        elif len(calls) == 12:
            enough.set()
        return x

    with threads(2) as where:
        result = rahbo.maximize(objective, SPACE, evaluations=15, **where, **QUICK)
    # The first suggestion was still open when the fifth was asked for.
    assert len(calls) == result.n_evaluations == 15
    assert all(len(trial.values) == 3 for trial in result.trials)


def test_as_many_tasks_as_asked_for_are_under_way():
    lock, running, most = threading.Lock(), 0, 0
    full = threading.Barrier(4)

    def objective(x):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(30.0)
        with lock:
            running -= 1
        return x

    with threads(8, parallel=4) as where:
        result = rahbo.maximize(objective, SPACE, evaluations=24, **where, **QUICK)
    assert most == 4
    assert not any(t.failures for t in result.trials)


# -- budgets and ends ------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", [1, 3, rahbo.Adaptive(setup=3.0)])
@pytest.mark.parametrize("evaluations", [1, 2, 9, 10])
def test_evaluations_are_met_exactly(evaluations, repeats):
    calls, seen = [], []

    def objective(x, seed):
        calls.append(seed)
        return noisy(x, seed)

    with threads(4) as where:
        result = rahbo.maximize(
            objective, SPACE, evaluations=evaluations, **where, **(QUICK | {"repeats": repeats}),
            callback=lambda optimizer: seen.append(optimizer.n_evaluations),
        )  # fmt: skip
    assert len(calls) == len(set(calls)) == result.n_evaluations == evaluations
    assert result.optimizer.open == ()
    assert len(seen) == len(result.trials)
    assert seen[-1] == evaluations


@pytest.mark.parametrize("repeats", [1, 2])
def test_rounds_are_suggestions_after_the_initial_design(repeats):
    with threads(3) as where:
        result = rahbo.maximize(
            noisy, SPACE, rounds=7, confirm=4, **where, **(QUICK | {"repeats": repeats})
        )
    sources = [t.source for t in result.trials]
    assert (sources.count("design"), sources.count("strategy")) == (3, 7)
    assert sum(len(t.values) for t in result.trials if t.source == "confirm") == 4
    assert sum(len(t.values) for t in result.trials) == 10 * repeats + 4
    assert result.optimizer.open == ()


@pytest.mark.parametrize("parallel", [3, 40])
def test_the_leading_points_are_measured_again_several_at_a_time(parallel):
    with threads(parallel) as where:
        result = rahbo.maximize(
            noisy,
            SPACE,
            evaluations=60,
            **where,
            n_initial=4,
            seed=7,
            method=rahbo.Method(strategy=RandomSearch()),
        )
    again = [t for t in result.trials if t.source == "confirm"]
    assert sum(len(t.values) for t in again) == 6
    assert result.trials[-len(again) :] == tuple(again)
    assert result.n_evaluations == 60


def test_a_stop_waits_for_what_is_under_way_and_drops_the_rest():
    calls = []

    def objective(x, seed):
        calls.append(x)
        return noisy(x, seed)

    with threads(2) as where:
        result = rahbo.maximize(
            objective, SPACE, evaluations=300, stop=rahbo.Gap(1.0), **where, **SMALL
        )
    assert (result.stopped_by, result.optimizer.open) == ("stop", ())
    assert 9 <= len(calls) == result.n_evaluations < 300
    assert all(len(t.values) == 3 for t in result.trials if t.source == "design")


def test_a_stop_is_confirmed_first():
    with threads(3) as where:
        result = rahbo.maximize(
            noisy, SPACE, evaluations=80, stop=rahbo.Gap(1e6), **where, n_initial=4, seed=7,
            method=rahbo.Method(strategy=RandomSearch()),
        )  # fmt: skip
    assert (result.stopped_by, result.optimizer.open) == ("stop", ())
    assert result.recommendation.n_evaluations >= 5


def test_a_callback_ends_a_run():
    started = []

    def objective(x):
        started.append(x)
        return x

    with threads(2) as where:
        result = rahbo.maximize(
            objective, SPACE, evaluations=200, callback=lambda opt: opt.n_evaluations >= 12,
            **where, **QUICK,
        )  # fmt: skip
    assert (result.stopped_by, result.optimizer.open) == ("callback", ())
    assert len(started) == result.n_evaluations < 40


@pytest.mark.parametrize("parallel", [None, 4])
def test_a_list_without_revisits_may_end_early(parallel):
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 0.5}, {"x": 1.0}], revisit=False)
    with threads(4) as where:
        run = where if parallel else {}
        result = rahbo.maximize(noisy, rows, rounds=50, repeats=2, seed=0, **run)
    assert sorted(t.params["x"] for t in result.trials) == [0.0, 0.5, 1.0]
    assert (result.stopped_by, result.n_evaluations) == ("exhausted", 6)


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("within", ["callback", "objective"])
def test_an_interrupted_run_reports_and_is_brought_to_its_end(within, tmp_path):
    settings = {
        "n_initial": 4,
        "seed": 7,
        "method": rahbo.Method(strategy=RandomSearch()),
        "evaluations": 40,
    }
    calls = itertools.count(1)

    def objective(x, seed):
        if next(calls) == 37 and within == "objective":
            interrupt()
        return noisy(x, seed)

    callback = at(6, interrupt) if within == "callback" else None
    with threads(3) as where:
        part = rahbo.maximize(
            objective, SPACE, callback=callback, journal=tmp_path / "run", **where, **settings
        )
        assert part.stopped_by == "interrupt"
        assert 6 <= part.n_evaluations < 40
        result = rahbo.maximize(noisy, SPACE, journal=tmp_path / "run", **where, **settings)
    assert (result.stopped_by, result.n_evaluations) == ("budget", 40)
    assert result.optimizer.open == ()
    assert {t.source for t in result.trials[-3:]} == {"confirm"}
    for before, after in zip(part.trials, result.trials, strict=False):
        assert before.values.items() <= after.values.items()
    for trial in result.trials:
        for i, value in trial.values.items():
            assert value == noisy(**trial.params, seed=evaluation_seed(7, trial.id, i))


def test_what_an_earlier_run_left_open_is_evaluated_before_a_stop():
    earlier = rahbo.Optimizer(SPACE, **SMALL)
    for _ in range(3):
        earlier.tell(earlier.ask(), [0.0, 0.1, 0.2])
    earlier.ask()
    with threads(1) as where:
        result = rahbo.maximize(
            noisy, SPACE, evaluations=60, stop=rahbo.Gap(1e9), **where, **SMALL,
            trials=earlier.trials,
        )  # fmt: skip
    assert (result.stopped_by, result.n_evaluations) == ("stop", 12)


# -- failures of the objective ---------------------------------------------------------------


class Told(Executor):
    """Evaluates at once; ``fate`` may put another future in place of the n-th evaluation's."""

    def __init__(self, fate=lambda n, future: future):
        self.fate, self.number = fate, -1

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)
        # The first submission checks the workers.
        self.number += 1
        return self.fate(self.number, future) if self.number else future


def failed(error):
    future = Future()
    future.set_exception(error)
    return future


def dropped():
    future = Future()
    future.cancel()
    future.set_running_or_notify_cancel()
    return future


def test_values_that_came_in_before_an_error_are_kept():
    values = iter([1.0, "no number", 3.0])
    with pytest.raises(ObjectiveError, match="one number, got 'no number'") as caught:
        rahbo.maximize(
            lambda x: next(values), SPACE, evaluations=90, executor=Told(), parallel=3, **QUICK
        )
    told = [value for trial in caught.value.optimizer.trials for value in trial.values.values()]
    assert told == [1.0, 3.0]


def test_failures_in_a_row_end_the_run_with_the_traceback_of_the_worker():
    with threads(2) as where, pytest.raises(ObjectiveError, match="no beam") as caught:
        rahbo.maximize(objectives.broken, SPACE, evaluations=100, **where, **QUICK)
    assert "in broken" in str(caught.value.__cause__.__cause__)
    assert MAX_FAILURES <= caught.value.optimizer.n_evaluations < 40


def test_a_value_too_large_is_a_failure():
    with threads(2) as where:
        result = rahbo.maximize(
            lambda x: 2 * LARGEST_VALUE if x < 1.0 else x, SPACE, evaluations=12, **where, **QUICK
        )
    assert {bool(t.failures) for t in result.trials} == {False, True}


# -- executors that fail ---------------------------------------------------------------------


class UnprintableError(Exception):
    def __repr__(self):
        raise ValueError("no text for this")


def test_an_exception_on_the_way_is_a_failure_even_if_it_cannot_be_printed():
    executor = Told(lambda n, future: failed(UnprintableError()) if n == 2 else future)
    result = rahbo.maximize(noisy, SPACE, evaluations=8, executor=executor, parallel=1, **ONCE)
    assert [dict(t.failures) for t in result.trials] == [
        {0: "<UnprintableError, whose repr() raises ValueError>"} if n == 1 else {}
        for n in range(8)
    ]


@pytest.mark.parametrize("fate", [dropped, lambda: failed(BrokenExecutor("died"))])
def test_a_broken_executor_ends_the_run_with_everything_told(fate, tmp_path):
    executor = Told(lambda n, future: fate() if n in (13, 14) else future)
    same = {"evaluations": 30, "parallel": 4, "journal": tmp_path / "run.jsonl", **QUICK}
    with pytest.raises(ExecutorError, match=r"lost an evaluation.*\.optimizer holds") as caught:
        rahbo.maximize(noisy, SPACE, executor=executor, **same)
    before = caught.value.optimizer
    # What was under way beside the lost ones had its value.
    assert before.n_evaluations == executor.number - 2
    assert not any(t.failures for t in before.trials)
    assert_each_told_once(rahbo.maximize(noisy, SPACE, executor=Told(), **same), 30)


def test_an_executor_that_takes_no_more_tasks_loses_no_values():
    with threads(2) as where, pytest.raises(ExecutorError, match="no more tasks") as caught:
        rahbo.maximize(
            noisy, SPACE, evaluations=30, **where, **QUICK,
            callback=at(3, lambda: where["executor"].shutdown(wait=False)),
        )  # fmt: skip
    assert caught.value.optimizer.n_evaluations >= 3
    assert caught.value.optimizer.recommend().params


# -- time-outs that cannot stop anything -----------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_a_thread_past_its_time_keeps_its_worker_until_it_returns(n):
    # The time is long for the other evaluations, which take none, on any machine.
    release, running, number = threading.Event(), [], itertools.count(1)

    def objective(x):
        if next(number) == 1:
            running.append(x)
            release.wait(60.0)
            running.pop()
            return x
        assert len(running) == (0 if release.is_set() else 1)
        return x

    def go_on(optimizer):
        if optimizer.trials[0].failures:
            release.set()

    with threads(n) as where:
        result = rahbo.maximize(
            objective, SPACE, evaluations=9, timeout=3.0, callback=go_on, **where, **ONCE
        )
        release.set()
    failures = [dict(t.failures) for t in result.trials]
    assert failures == [{0: "timed out after 3 s"}] + [{}] * 8
    assert not result.trials[0].values


@pytest.mark.slow
def test_threads_that_never_return_end_the_run_with_what_was_measured():
    number, release = itertools.count(1), threading.Event()

    def objective(x):
        if next(number) > 4:
            release.wait(60.0)
        return x

    with threads(2) as where:
        with pytest.raises(ExecutorError, match="n_jobs") as caught:
            rahbo.maximize(objective, SPACE, evaluations=60, timeout=0.5, **where, **QUICK)
        release.set()
    optimizer = caught.value.optimizer
    assert sum(len(t.values) for t in optimizer.trials) == 4
    assert sum(len(t.failures) for t in optimizer.trials) == 2


# -- copies of a generator -------------------------------------------------------------------


def test_a_generator_that_processes_have_copies_of_is_warned_of_once(recwarn):
    rahbo.maximize(objectives.from_its_module, SPACE, evaluations=8, n_jobs=2, **ONCE)
    (warning,) = recwarn.list
    assert warning.category is UserWarning
    assert "random.Random" in str(warning.message)
    assert "Give the objective an argument seed" in str(warning.message)
    assert warning.filename == __file__
