"""An executor of the user: what is refused, and a cluster that is gone."""

import os
import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from random import SystemRandom

import pytest

import objectives
import rahbo
from extras import imported
from objectives import noisy
from parallel_runs import assert_each_told_once, at
from rahbo.errors import ExecutorError, ObjectiveError, SettingsError
from rahbo.policy import RandomSearch

SPACE = {"x": (0.0, 2.0)}
QUICK = {"n_initial": 3, "repeats": 3, "seed": 7, "method": rahbo.Method(strategy=RandomSearch())}


class Silent(Executor):
    """An executor from which nothing is heard, after so many tasks."""

    def __init__(self, after=0):
        self.left = after

    def submit(self, function, *arguments):
        self.left -= 1
        future = Future()
        if self.left >= 0:
            future.set_result(function(*arguments))
        return future


class Client:
    """A client of Dask whose cluster is gone."""

    status = "closed"

    def __init__(self, after):
        self.after = after

    def get_executor(self, pure):
        assert not pure
        return Silent(self.after)


@pytest.mark.parametrize("after", [0, 4])
def test_a_closed_client_is_an_error_while_the_run_waits(after, monkeypatch):
    monkeypatch.setattr("rahbo.running.pool.LONGEST_WAIT", 0.01)
    monkeypatch.setattr("rahbo.running.parallel.LONGEST_WAIT", 0.01)
    with pytest.raises(ExecutorError, match=r"Dask client is closed.*\.optimizer holds"):
        rahbo.maximize(noisy, SPACE, evaluations=9, executor=Client(after), parallel=1, **QUICK)


@pytest.fixture(scope="module")
def spawned():
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        yield {"executor": executor, "parallel": 2}


@pytest.mark.slow
def test_the_processes_of_a_user(spawned):
    result = rahbo.maximize(noisy, SPACE, evaluations=12, **spawned, **QUICK)
    assert_each_told_once(result, 12)
    with pytest.raises(ObjectiveError, match=r"All 3 .*no beam") as caught:
        rahbo.maximize(objectives.broken, SPACE, evaluations=3, **spawned, **QUICK)
    assert type(caught.value.__cause__) is ValueError
    assert "objectives.py" in str(caught.value.__cause__.__cause__)
    # What cannot be sent is refused before anything runs, and harms nobody.
    with pytest.raises(SettingsError, match=r"cannot run <function.*pickle"):
        rahbo.maximize(lambda x: x, SPACE, evaluations=9, **spawned, **QUICK)
    assert spawned["executor"].submit(abs, -1).result() == 1


@pytest.mark.slow
def test_workers_that_cannot_start_are_an_error():
    with (
        ThreadPoolExecutor(1, initializer=objectives.refuse) as executor,
        pytest.raises(SettingsError, match=r"cannot run .*BrokenThreadPool"),
    ):
        rahbo.maximize(noisy, SPACE, evaluations=9, executor=executor, parallel=1, **QUICK)


# -- Dask ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    distributed = imported("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with imported("distributed").Client(cluster) as client:
        yield client


def test_a_dask_worker_that_is_killed_loses_nothing(client):
    def kill():
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGTERM)

    result = rahbo.maximize(
        objectives.slow, SPACE, evaluations=60, executor=client, parallel=2,
        callback=at(9, kill), **QUICK,
    )  # fmt: skip
    assert_each_told_once(result, 60)


def test_equal_tasks_are_different_measurements(client):
    # Dask takes calls with equal arguments for the same unless told otherwise.
    values = []
    for executor in (client, client.get_executor()):
        result = rahbo.maximize(
            lambda x: SystemRandom().random(), SPACE, evaluations=6, executor=executor, parallel=2,
            **QUICK,
        )  # fmt: skip
        values += [value for trial in result.trials for value in trial.values.values()]
    assert len(set(values)) == len(values) == 12


@pytest.mark.parametrize("gone", ["client", "cluster"])
def test_a_cluster_that_is_gone_ends_the_run_and_the_journal_continues_it(gone, tmp_path):
    distributed = imported("distributed")
    same = {"evaluations": 30, "parallel": 2, "journal": tmp_path / "run.jsonl", **QUICK}
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, timeout="1s") as client,
        pytest.raises(ExecutorError) as caught,
    ):
        rahbo.maximize(
            objectives.slow, SPACE, executor=client, **same,
            callback=at(9, (client if gone == "client" else cluster).close),
        )  # fmt: skip
    assert caught.value.optimizer.n_evaluations >= 9
    assert not any(trial.failures for trial in caught.value.optimizer.trials)
    with ThreadPoolExecutor(2) as executor:
        result = rahbo.maximize(objectives.slow, SPACE, executor=executor, **same)
    assert_each_told_once(result, 30)
