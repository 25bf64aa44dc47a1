"""Many workers on one PostgreSQL study, one of them killed."""

import math
import subprocess
import sys
import time
from collections import Counter

import optuna
import pytest
from optuna.trial import TrialState

import postgres
import rahbo
from rahbo.integrations.optuna import RahboSampler, recommend

REPEATS, EVALUATIONS = 3, 36

WORKER = """
import random, sys, time, warnings
import optuna, rahbo
from rahbo.integrations.optuna import RahboSampler
warnings.simplefilter("ignore")
url, name = sys.argv[1:]
storage = optuna.storages.RDBStorage(url, heartbeat_interval=1, grace_period=3)
sampler = RahboSampler(risk=rahbo.MeanVariance(1.0), repeats=3, seed=0)
study = optuna.load_study(study_name="workers", storage=storage, sampler=sampler)
done = 0

def objective(trial):
    global done
    trial.set_user_attr("worker", name)
    x = trial.suggest_float("x", 0.0, 2.0)
    done += 1
    if name == "doomed" and done == 4:
        trial.set_user_attr("hangs", True)
        time.sleep(600)
    time.sleep(0.05)
    return test_value(x, random.gauss(0, 1))

def stop(study, trial):
    if len(study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])) >= LIMIT:
        study.stop()

study.optimize(objective, callbacks=[stop])
"""

VALUE = """
import math
def test_value(x, noise):
    left, right = math.exp(-((x - 0.5) ** 2) / 0.1), math.exp(-((x - 1.5) ** 2) / 0.1)
    return 0.9 * left + right + (0.05 + 0.8 * right) * noise
"""


def study_on(url: str, **settings: object) -> optuna.Study:
    storage = optuna.storages.RDBStorage(url, heartbeat_interval=1, grace_period=3)
    return optuna.create_study(study_name="workers", storage=storage, **settings)


def counts(study: optuna.Study) -> Counter:
    return Counter(t.params["x"] for t in study.trials if t.state == TrialState.COMPLETE)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_repeats_complete_though_a_worker_is_killed() -> None:
    folder = postgres.binaries()
    if folder is None:
        pytest.skip("no PostgreSQL binaries are installed")
    program = VALUE + WORKER.replace("LIMIT", str(EVALUATIONS))
    with postgres.server(folder) as url:
        study = study_on(url, direction="maximize")
        names = ["doomed", "second", "third", "fourth"]
        workers = {n: subprocess.Popen([sys.executable, "-c", program, url, n]) for n in names}
        try:
            doomed = workers["doomed"]
            hangs = lambda: any("hangs" in t.user_attrs for t in study.trials)  # noqa: E731
            postgres.wait_for(hangs, doomed)
            doomed.kill()
            assert doomed.wait() < 0
            assert all(workers[name].wait(timeout=120) == 0 for name in names[1:])
        finally:
            for worker in workers.values():
                worker.kill()
                worker.wait()
        while any(t.state == TrialState.RUNNING for t in study.trials):
            time.sleep(0.2)
            optuna.storages.fail_stale_trials(study)
        finish(study)

        trials = study.trials
        assert [t.number for t in trials] == list(range(len(trials)))
        lost = [t for t in trials if t.state != TrialState.COMPLETE]
        assert [t.user_attrs["worker"] for t in lost] == ["doomed"]
        assert {t.user_attrs.get("worker") for t in trials} >= set(names)
        given = counts(study)
        assert lost[0].params["x"] in given
        # Two workers may choose at the same moment; then a point gets one more.
        assert set(given.values()) <= {REPEATS, REPEATS + 1}
        assert list(given.values()).count(REPEATS) >= 0.8 * len(given)
        best = recommend(study, risk=rahbo.MeanVariance(1.0))
        assert best.params["x"] in given
        assert abs(best.params["x"] - 0.5) < 0.15
        assert math.isclose(best.mean, 0.9, abs_tol=0.15)
        study._storage.remove_session()
        study._storage._backend.engine.dispose()


def finish(study: optuna.Study) -> None:
    """Run alone what points still lack."""
    namespace: dict = {}
    exec(VALUE, namespace)
    study.sampler = RahboSampler(risk=rahbo.MeanVariance(1.0), repeats=REPEATS, seed=0)
    for _ in range(EVALUATIONS):
        if min(counts(study).values()) >= REPEATS:
            return
        study.optimize(
            lambda t: namespace["test_value"](t.suggest_float("x", 0.0, 2.0), 0.0), n_trials=1
        )
    raise AssertionError(f"points lack repeats: {counts(study)}")
