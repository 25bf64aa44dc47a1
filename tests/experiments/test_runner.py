"""Runs: what they record, and that nothing but the case decides it."""

import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import numpy as np
import pytest

import presets
import rahbo
from rahbo.errors import NotReadyError, SettingsError
from rahbo.experiments import Case, Experiment, Store, replay, run_case, run_cases, runner
from rahbo.policy import maximise, strategies
from rahbo.problems import sine
from rahbo.risk import MeanVariance

CASE = Case("sine", "rahbo", 1.0, 3, 4, 4, 5)
# The same in the program below.
TINY = Experiment("tiny", ("sine",), (1.0,), (2,), 3, 3, 3, ("rahbo", "gpucb"))

PROGRAM = """
import sys
from pathlib import Path
from rahbo.experiments.records import Store
from rahbo.experiments.runner import run_cases
from rahbo.experiments.spec import Experiment

if __name__ == "__main__":
    tiny = Experiment("tiny", ("sine",), (1.0,), (2,), 3, 3, 3, ("rahbo", "gpucb"))
    run_cases(tiny.cases(), Store(Path(sys.argv[1])), jobs=int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def records():
    return run_case(CASE)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    run_cases(TINY.cases(), Store(folder))
    return contents(folder)


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.jsonl")}


def test_a_case_is_the_run_that_maximize_makes(records):
    def objective(x, seed):
        return sine().sample({"x": x}, np.random.default_rng(seed))

    settings = presets.paper(1.0, 3, 4)
    result = rahbo.maximize(objective, sine().space, rounds=4, seed=5, **settings)
    assert [r["tried"]["params"] for r in records] == [t.params for t in result.trials]
    assert [r["source"] for r in records] == ["design"] * 4 + ["strategy"] * 4
    assert records[-1]["reported"]["pessimistic"]["params"] == result.recommendation.params
    assert [r["evaluations"] for r in records] == [3, 6, 9, 12, 15, 18, 21, 24]


def test_records_hold_the_truth(records):
    tried = [r["tried"]["params"]["x"] for r in records]
    for i, r in enumerate(records):
        assert len(r["reported"]) == (0 if i < 4 else 4)
        for place in (r["tried"], *r["reported"].values()):
            x = place["params"]["x"]
            assert x in tried[: i + 1]
            assert place["f"] == pytest.approx(np.sin(2 * np.pi * x))
            assert place["noise_var"] == pytest.approx(0.1 + 1 / (1 + np.exp(-30 * (x - 1))))


@pytest.mark.parametrize("method", ["gpucb", "rahbo-us"])
def test_all_methods_begin_with_the_same_points_and_values(method, records):
    other = run_case(replace(CASE, method=method, rounds=1))
    assert len(other) == (15 if method == "rahbo-us" else 5)
    assert [r["tried"] for r in other[:4]] == [r["tried"] for r in records[:4]]
    told = [[t.values for t in replay(c).trials[:4]] for c in (CASE, replace(CASE, method=method))]
    assert told[0] == told[1]


def test_a_replay_ends_where_the_run_ended(records):
    optimizer = replay(CASE)
    assert [t.params for t in optimizer.trials] == [r["tried"]["params"] for r in records]
    last = records[-1]["reported"]
    assert {rule: optimizer.recommend(rule=rule).params for rule in last} == {
        rule: place["params"] for rule, place in last.items()
    }


# A table


FOREST = Case("forest", "rahbo", 20.0, 5, 4, 6, 0)


def params_of(records):
    return [r["tried"]["params"] for r in records]


def _replace_search(monkeypatch, propose):
    def widened(bound, widths, domain, rng):
        return (propose(bound.widened(width), domain, rng) for width in widths)

    monkeypatch.setattr(strategies, "maximise", propose)
    monkeypatch.setattr(strategies, "maximise_widened", widened)


@pytest.fixture
def _revisiting(monkeypatch):
    """Whatever the method, about every other proposal is a point that is known already."""

    def propose(bound, domain, rng):
        return domain.known[0] if rng.random() < 0.5 else maximise(bound, domain, rng)

    _replace_search(monkeypatch, propose)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rahbo", "gpucb", "rahbo-us"])
@pytest.mark.usefixtures("_revisiting")
def test_values_of_a_table_are_told_once_and_a_revisit_counts_as_a_round(smooth_forest, method):
    case = replace(FOREST, method=method, alpha=0.0 if method == "gpucb" else 20.0)
    records, optimizer = run_case(case), replay(case)
    assert [r["round"] for r in records] == list(range(case.n_rounds))
    tried = params_of(records)
    new = [params not in tried[:i] for i, params in enumerate(tried)]
    assert case.n_initial < sum(new) < case.n_rounds
    assert [r["evaluations"] for r in records] == (5 * np.cumsum(new)).tolist()
    assert optimizer.n_evaluations == 5 * sum(new)
    assert set(optimizer.observations.count.tolist()) == {5}
    assert optimizer.open == ()
    for trial, is_new in zip(optimizer.trials, new, strict=True):
        values = smooth_forest.values(trial.params) if is_new else []
        assert list(trial.values.values()) == values
    assert run_case(case) == records


def test_reports_on_a_table_are_the_truth_of_what_was_seen(smooth_forest):
    records = run_case(FOREST)
    for i, r in enumerate(records):
        values = [smooth_forest.values(params) for params in params_of(records[: i + 1])]
        means, variances = np.mean(values, axis=1), np.var(values, axis=1, ddof=1)
        assert r["tried"]["f"] == pytest.approx(means[-1])
        assert r["tried"]["noise_var"] == pytest.approx(variances[-1])
        if i < FOREST.n_initial:
            continue
        assert r["reported"]["best_observed"]["f"] == pytest.approx(max(means))
        place = r["reported"]["empirical"]
        largest = max(means - 20.0 * variances)
        assert place["f"] - 20.0 * place["noise_var"] == pytest.approx(largest)
        assert smooth_forest.regret(place["params"], MeanVariance(20.0)) >= 0


def test_a_first_round_that_revisits_the_design_is_reported_by_every_rule(
    smooth_forest, monkeypatch
):
    _replace_search(monkeypatch, lambda bound, domain, rng: domain.known[0])
    records = run_case(FOREST)
    assert records[-1]["evaluations"] == 5 * FOREST.n_initial
    last = records[FOREST.n_initial :]
    assert all(r["reported"]["own_round"]["params"] == r["tried"]["params"] for r in last)


def test_a_table_has_as_many_repeats_as_values(smooth_forest):
    with pytest.raises(SettingsError, match=r"5 values per point.*got 3"):
        run_case(replace(FOREST, repeats=3))


def test_finished_cases_are_not_run_again(tmp_path):
    cases, store = TINY.cases(), Store(tmp_path)
    store.write(cases[1], [])
    told = []
    run_cases(cases[:3], store, progress=told.append)
    assert told == [cases[0], cases[2]]
    assert store.path(cases[1]).read_bytes() == b""


def test_bad_jobs_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="jobs"):
        run_cases(TINY.cases(), Store(tmp_path), jobs=0)


def test_a_dead_worker_is_told_in_one_sentence(tmp_path, monkeypatch):
    class Dead:
        def __init__(self, *args, **kwargs): ...
        def __enter__(self):
            return self

        def __exit__(self, *error): ...
        def submit(self, *args):
            future = Future()
            future.set_exception(BrokenProcessPool())
            return future

    monkeypatch.setattr(runner, "ProcessPoolExecutor", Dead)
    with pytest.raises(NotReadyError, match="Finished runs are kept"):
        run_cases(TINY.cases(), Store(tmp_path), jobs=2)


def start(folder, jobs):
    command = [sys.executable, "-c", PROGRAM, str(folder), str(jobs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "after"), [(1, 1), (1, 3), (2, 1)])
def test_killed_and_started_again_it_ends_the_same(tmp_path, uninterrupted, jobs, after):
    process = start(tmp_path, jobs)
    while len(contents(tmp_path)) < after and process.poll() is None:
        time.sleep(0.01)
    time.sleep(random.Random(after).uniform(0.0, 0.1))
    process.send_signal(signal.SIGKILL)
    # The pipe ends with the last process that holds it: workers do not outlive their parent.
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    before = contents(tmp_path)
    assert before.items() <= uninterrupted.items()
    written = {path: (tmp_path / path).stat().st_mtime_ns for path in before}

    process = start(tmp_path, jobs)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert contents(tmp_path) == uninterrupted
    assert {path: (tmp_path / path).stat().st_mtime_ns for path in before} == written
