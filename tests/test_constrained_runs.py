"""Runs with constraints from end to end: telling, asking, journals, executors, failures, lists."""

import collections
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest

import rahbo
from constrained import LIMITS, SPACE, measure, told
from rahbo.analysis import legal
from rahbo.errors import DataError, JournalError, ObjectiveError
from rahbo.policy import limits

Named = collections.namedtuple("Named", ["value", "cost"])


@dataclass
class Record:
    value: float
    cost: float


def as_named(x, y, seed):
    return Named(**measure(x, y, seed))


def as_record(x, y, seed):
    return Record(**measure(x, y, seed))


def truly_kept(params):
    return params["x"] ** 2 + params["y"] ** 2 + 1.645 * 0.05 <= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("objective", [measure, as_named, as_record])
def test_a_run_presses_against_the_limit_and_keeps_it(objective):
    result = rahbo.maximize(objective, SPACE, evaluations=50, seed=3, constraints=LIMITS)
    best = result.recommendation
    assert best.feasible
    assert truly_kept(best.params)
    # The best feasible value is 2 * sqrt(0.359) = 1.198.
    assert best.params["x"] + best.params["y"] > 1.0


@pytest.mark.slow
def test_minimising_keeps_limits_of_its_own_sign():
    result = rahbo.minimize(
        lambda x, y, seed: {k: v if k == "cost" else -v for k, v in measure(x, y, seed).items()},
        SPACE, evaluations=50, seed=3, constraints=LIMITS,
    )  # fmt: skip
    assert result.recommendation.feasible
    assert truly_kept(result.recommendation.params)
    assert result.recommendation.mean < -1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "executor", [ThreadPoolExecutor, partial(ProcessPoolExecutor, mp_context=get_context("spawn"))]
)
def test_workers_carry_the_outcomes(executor):
    with executor(2) as workers:
        result = rahbo.maximize(
            measure, SPACE, evaluations=16, seed=3, constraints=LIMITS, executor=workers,
            parallel=2,
        )  # fmt: skip
    assert all(each.outcomes for t in result.trials for each in t.evaluations.values())
    assert sum(len(t.values) for t in result.trials) == 16


class Odd(collections.UserDict):
    def __getitem__(self, name):
        raise ValueError("no")


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (1.0, "the outcomes cost by name"),
        ({"value": 1.0}, "the outcomes cost by name"),
        ({"value": 1.0, "b": 2.0, "cost": 1.0}, "under one name"),
        ("text", "the outcomes cost by name"),
        ({"value": 1.0, "cost": object()}, "cost"),
        (Odd(value=1.0, cost=1.0), "cost"),
    ],
)
def test_an_objective_without_the_outcomes_is_refused(returned, says):
    with pytest.raises(ObjectiveError, match=says):
        rahbo.maximize(lambda x, y: returned, SPACE, evaluations=10, constraints=LIMITS)


@pytest.mark.slow
def test_an_objective_may_leave_an_outcome_missing_and_may_fail():
    def objective(x, y, seed):
        found = measure(x, y, seed)
        if seed % 5 == 0:
            return {**found, "cost": None}
        return {**found, "value": np.nan} if seed % 5 == 1 else found

    result = rahbo.maximize(objective, SPACE, evaluations=25, seed=0, constraints=LIMITS)
    assert any(t.failures for t in result.trials)
    assert any(
        each.value is not None and not each.outcomes
        for t in result.trials
        for each in t.evaluations.values()
    )


def test_telling_a_repeat_again_is_ignored_and_something_else_is_an_error():
    opt = rahbo.Optimizer(SPACE, seed=0, constraints=LIMITS)
    s = opt.ask()
    opt.tell(s, 1.0, repeat=0, outcomes={"cost": 0.5})
    opt.tell(s, {"value": 1.0, "cost": 0.5}, repeat=0)
    with pytest.raises(DataError):
        opt.tell(s, 1.0, repeat=0, outcomes={"cost": 0.6})
    with pytest.raises(DataError, match="constraints= names"):
        opt.tell(s, 1.0, repeat=1, outcomes={"price": 0.6})
    with pytest.raises(DataError, match="needs the name 'value' for the objective, got 'csot'"):
        opt.tell(s, {"csot": 0.5}, repeat=1)
    assert opt.n_evaluations == 1


def test_an_outcome_may_be_told_after_its_value(tmp_path):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer(SPACE, seed=0, constraints=LIMITS, journal=path)
    s = opt.ask()
    opt.tell(s, {"value": 1.0}, repeat=0)
    assert opt.limits.each[0].model is None
    opt.tell(s, 1.0, repeat=0, outcomes={"cost": 0.5})
    opt.close()
    resumed = rahbo.Optimizer.resume(path)
    for run in (opt, resumed):
        assert run.n_evaluations == 1
        assert run.trials[0].evaluations[0].outcomes == {"cost": 0.5}
        assert run.limits.each[0].model.observations.n == 1
    resumed.close()


@pytest.mark.slow
def test_a_resumed_run_goes_on_in_the_same_way(tmp_path):
    def go_on(opt, n):
        for _ in range(n):
            s = opt.ask()
            found = [measure(**s.params, seed=100 * s.id + i) for i in s.indices]
            opt.tell(s, [{**one, "b": one["value"]} for one in found])
        return [t.params for t in opt.trials], opt.recommend()

    settings = {"seed": 5, "constraints": {**LIMITS, "b": rahbo.AtLeast(-9.0, 0.9)}}
    whole = rahbo.Optimizer(SPACE, **settings)
    expected = go_on(whole, 12)
    with_journal = rahbo.Optimizer(SPACE, journal=tmp_path / "run.jsonl", **settings)
    go_on(with_journal, 8)
    with_journal.close()
    resumed = rahbo.Optimizer.resume(tmp_path / "run.jsonl")
    assert resumed.settings.constraints == settings["constraints"]
    assert go_on(resumed, 4) == expected
    resumed.close()
    with pytest.raises(JournalError, match="constraints is"):
        rahbo.Optimizer(SPACE, seed=5, journal=tmp_path / "run.jsonl")
    copy = pickle.loads(pickle.dumps(whole))
    assert go_on(copy, 2) == go_on(whole, 2)
    other = rahbo.Optimizer(SPACE, trials=whole.trials, **settings)
    other.reuse_fits(whole)
    assert other.recommend() == whole.recommend()


def test_a_journal_without_constraints_does_not_mention_them(tmp_path):
    rahbo.Optimizer(SPACE, seed=5, journal=tmp_path / "run.jsonl").close()
    text = (tmp_path / "run.jsonl").read_text("utf-8")
    assert "constraints" not in text
    assert "safe" not in text
    with pytest.raises(JournalError, match="constraints is None there"):
        rahbo.Optimizer(SPACE, seed=5, journal=tmp_path / "run.jsonl", constraints=LIMITS)


def test_snapshots_know_the_limits_of_their_time():
    opt = told(20)
    early, late = opt.state.after([6, 20])
    assert limits(early).each[0].model.observations.n == 6
    np.testing.assert_array_equal(legal(late), legal(opt.state))


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_safe_run_takes_small_steps_where_every_reading_is_the_same(unit):
    # A loss monitor that reads 0 tells nothing of what lies further away, in no unit.
    start = ({"x": 0.1}, [{"y": 0.1, "loss": 0.0}, {"y": 0.11, "loss": 0.0}])
    opt = rahbo.Optimizer(
        {"x": (0.0, 1.0)}, seed=0, data=[start], safe=True, constraints={"loss": rahbo.AtMost(unit)}
    )
    tried = [0.1]
    for _ in range(6):
        s = opt.ask()
        x = s.params["x"]
        assert min(abs(x - known) for known in tried) < 0.15
        tried.append(x)
        opt.tell(s, [{"y": x, "loss": 0.0}] * s.repeats)
    assert max(tried) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"repeats": rahbo.Folds(3)},
        {"valid": lambda p: p["x"] >= 0.1},
        {"repeats": rahbo.Adaptive(setup=2.0)},
    ],
    ids=["folds", "valid", "setup"],
)
def test_settings_work_together_with_constraints(settings):
    opt = rahbo.Optimizer(SPACE, seed=2, n_initial=5, constraints=LIMITS, **settings)
    for _ in range(9):
        s = opt.ask()
        opt.tell(s, [measure(**s.params, seed=10 * s.id + i) for i in s.indices])
    assert len(opt.ask(3)) == 3
    assert opt.recommend().constraints[0].name == "cost"


@pytest.mark.slow
def test_lists_mixed_spaces_and_confirmations_work():
    rows = [{"x": float(x), "y": float(y)} for x in np.linspace(0, 1, 7) for y in (0.0, 0.5, 1.0)]
    mixed = {"x": (0.0, 1.0), "y": [0.0, 0.5, 1.0]}
    for space in (rahbo.Candidates(rows), mixed):
        opt = rahbo.Optimizer(space, seed=2, n_initial=5, constraints=LIMITS)
        for _ in range(9):
            s = opt.ask()
            opt.tell(s, [measure(**s.params, seed=10 * s.id + i) for i in s.indices])
        best = opt.recommend()
        assert opt.confirm(1)[0].params == best.params


def test_failures_and_limits_are_weighed_together():
    opt = told(15)
    opt.tell_failure({"x": 0.1, "y": 0.1}, "trip")
    s = opt.ask()
    opt.tell(s, measure(**s.params, seed=1))
    assert opt.recommend().feasible


def test_numpy_numbers_in_records_are_numbers():
    def objective(x, y, seed):
        return {k: np.float32(v) if k == "cost" else np.array(v) for k, v in
                measure(x, y, seed).items()}  # fmt: skip

    result = rahbo.maximize(objective, SPACE, evaluations=8, seed=0, constraints=LIMITS)
    assert all(each.outcomes for t in result.trials for each in t.evaluations.values())


def test_before_an_outcome_is_told_the_objective_decides_and_that_is_said():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, constraints={"loss": rahbo.AtMost(1.0)}, seed=0)
    for x in (0.1, 0.5, 0.9):
        opt.tell({"x": x}, [x, x + 0.01])
    found = opt.recommend()
    assert found.params == {"x": 0.9}
    assert not found.feasible
    assert "NOT KNOWN, as no value of it was told" in str(found)
    assert "not known (loss)" in found.warning
    assert "NOT KNOWN" in str(opt.predict({"x": 0.2}))


@pytest.mark.slow
def test_a_run_does_not_stop_before_a_setting_keeps_its_limits():
    def objective(x, y, seed):
        noise = 0.02 * np.random.default_rng(seed).standard_normal(2)
        return {"v": x + y + noise[0], "loss": x + y + noise[1]}

    space, limits = {"x": (0.0, 1.0), "y": (0.0, 1.0)}, {"loss": rahbo.AtMost(-1.0)}
    found = rahbo.maximize(
        objective, space, evaluations=30, stop=rahbo.Gap(5.0), constraints=limits, seed=0
    )
    assert found.stopped_by == "budget"
    assert found.n_evaluations == 30


def test_an_infinite_outcome_is_a_failure():
    def objective(x):
        return {"v": x, "loss": np.inf if x > 0.6 else x}

    found = rahbo.maximize(
        objective,
        {"x": (0.0, 1.0)},
        evaluations=20,
        constraints={"loss": rahbo.AtMost(0.5)},
        seed=0,
    )
    failures = [why for t in found.trials for why in t.failures.values()]
    assert failures
    assert all("loss" in why for why in failures)
