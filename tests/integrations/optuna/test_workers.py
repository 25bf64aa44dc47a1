"""Many workers on one PostgreSQL study, one of them killed."""

import subprocess
import sys
from collections import Counter

import optuna
import pytest
from optuna.trial import TrialState

import postgres
import rahbo
from rahbo.integrations.optuna import recommend

REPEATS, EVALUATIONS = 3, 30

# A low, quiet peak at 0.5 and a high, noisy one at 1.5. The first of the workers hangs in its
# third trial, the last one makes up for what points lack when the others have ended.
WORKER = """
import math, random, sys, time, warnings
from collections import Counter
import optuna, rahbo
from optuna.trial import TrialState
from rahbo.integrations.optuna import RahboSampler
warnings.simplefilter("ignore")
url, name, repeats, evaluations = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
storage = optuna.storages.RDBStorage(url, heartbeat_interval=1, grace_period=3)
sampler = RahboSampler(risk=rahbo.MeanVariance(1.0), repeats=repeats, seed=0)
study = optuna.load_study(study_name="workers", storage=storage, sampler=sampler)
begun = 0

def objective(trial):
    global begun
    trial.set_user_attr("worker", name)
    x = trial.suggest_float("x", 0.0, 2.0)
    begun += 1
    if name == "first" and begun == 3:
        trial.set_user_attr("hangs", True)
        time.sleep(600)
    time.sleep(0.1)
    low, high = math.exp(-((x - 0.5) ** 2) / 0.1), math.exp(-((x - 1.5) ** 2) / 0.1)
    return 0.9 * low + high + (0.05 + 1.5 * high) * random.gauss(0, 1)

def values():
    return Counter(t.params["x"] for t in study.trials if t.state == TrialState.COMPLETE)

def stop(study, trial):
    if values().total() >= evaluations:
        study.stop()

study.optimize(objective, callbacks=[stop])
if name == "last":
    while any(t.state == TrialState.RUNNING for t in study.trials):
        time.sleep(0.2)
        optuna.storages.fail_stale_trials(study)
    # The point of the killed worker may have no value yet, if the others ended before its
    # heartbeat was missed.
    points = {t.params["x"] for t in study.trials}
    while min(values()[x] for x in points) < repeats:
        study.optimize(objective, n_trials=1)
"""


@pytest.mark.slow
def test_repeats_complete_though_a_worker_is_killed() -> None:
    folder = postgres.binaries()
    if folder is None:
        pytest.skip("no PostgreSQL binaries are installed")
    with postgres.server(folder) as url:
        study = optuna.create_study(study_name="workers", storage=url, direction="maximize")
        run(url, study)
        trials, best = study.trials, recommend(study, risk=rahbo.MeanVariance(1.0))
        study._storage.remove_session()
        study._storage._backend.engine.dispose()

    assert [t.number for t in trials] == list(range(len(trials)))
    lost = [t for t in trials if t.state != TrialState.COMPLETE]
    assert [t.user_attrs.get("hangs") for t in lost] == [True]
    given = Counter(t.params["x"] for t in trials if t.state == TrialState.COMPLETE)
    assert lost[0].params["x"] in given
    assert min(given.values()) == REPEATS
    # A point gets one more where two workers choose at the same moment, as they seldom do.
    assert given.total() <= REPEATS * len(given) + 4
    assert best.params["x"] in given


def run(url: str, study: optuna.Study) -> None:
    """Start four workers, kill the first while it evaluates, and wait for the others."""
    command = [sys.executable, "-c", WORKER, url]
    budget = [str(REPEATS), str(EVALUATIONS)]
    names = ("first", "second", "third", "last")
    workers = {name: subprocess.Popen([*command, name, *budget]) for name in names}
    try:
        first = workers["first"]
        postgres.wait_for(lambda: any("hangs" in t.user_attrs for t in study.trials), first, 120)
        first.kill()
        assert first.wait() < 0
        assert [workers[name].wait(timeout=180) for name in names[1:]] == [0, 0, 0]
    finally:
        for worker in workers.values():
            worker.kill()
            worker.wait()
