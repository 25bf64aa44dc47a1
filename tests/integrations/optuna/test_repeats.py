"""Several evaluations in one trial, as `repeated` makes them."""

import math
import pickle

import optuna
import pytest
from optuna.trial import TrialState

from rahbo.errors import ObjectiveError, SettingsError
from rahbo.integrations.optuna import repeated

optuna.logging.set_verbosity(optuna.logging.CRITICAL)


class Told:
    """An objective that gives the listed outcomes one after the other, and raises exceptions."""

    def __init__(self, *outcomes: object) -> None:
        self.left = list(outcomes)

    def __call__(self, trial: optuna.Trial) -> object:
        trial.suggest_float("x", 0.0, 1.0)
        outcome = self.left.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def run(objective, study: optuna.Study | None = None, **settings) -> optuna.trial.FrozenTrial:
    study = study or optuna.create_study()
    study.optimize(repeated(objective, 3, **settings), n_trials=1, catch=(Exception,))
    return study.trials[-1]


def test_every_value_is_kept_and_the_mean_shown() -> None:
    trial = run(Told(1.0, 2.0, 6))
    assert trial.user_attrs["rahbo:values"] == [1.0, 2.0, 6.0]
    assert trial.value == 3.0


def test_an_exception_ends_the_trial_unless_it_is_caught() -> None:
    trial = run(Told(1.0, ValueError(), 3.0))
    assert (trial.state, trial.user_attrs["rahbo:values"]) == (TrialState.FAIL, [1.0])
    trial = run(Told(1.0, ValueError(), 3.0), catch=(ValueError,))
    assert (trial.value, trial.user_attrs["rahbo:values"]) == (2.0, [1.0, None, 3.0])


@pytest.mark.parametrize("odd", [math.nan, math.inf, 1e300])
def test_what_is_no_measurement_costs_one_evaluation(odd) -> None:
    assert run(Told(odd, 1.0, 3.0)).value == 2.0
    assert run(Told(odd, odd, odd)).state == TrialState.FAIL


def test_a_pruned_trial_is_pruned() -> None:
    assert run(Told(1.0, optuna.TrialPruned())).state == TrialState.PRUNED


def test_a_trial_goes_on_from_the_values_it_has() -> None:
    study = optuna.create_study()
    failed = run(Told(1.0, 2.0, ValueError()), study)
    study.enqueue_trial(failed.params, user_attrs=failed.user_attrs)
    again = Told(6.0, 100.0)
    assert run(again, study).value == 3.0
    assert again.left == [100.0]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_trial_of_a_dead_worker_goes_on_when_it_is_retried(tmp_path, monkeypatch) -> None:
    retry = optuna.storages.RetryHeartbeatStaleTrialCallback()
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{tmp_path}/study.db",
        heartbeat_interval=60,
        heartbeat_stale_trial_callback=retry,
    )
    study = optuna.create_study(storage=storage)
    with pytest.raises(SystemExit):
        study.optimize(repeated(Told(1.0, SystemExit()), 3), n_trials=1)
    dead = study.trials[0]
    assert dead.state == TrialState.RUNNING
    monkeypatch.setattr(storage, "_get_stale_trial_ids", lambda study_id: [dead._trial_id])
    optuna.storages.fail_stale_trials(study)
    monkeypatch.undo()
    trial = run(Told(2.0, 6.0), study)
    assert trial.user_attrs["rahbo:values"] == [1.0, 2.0, 6.0]
    assert trial.params == dead.params


def test_each_evaluation_has_a_seed_of_its_own() -> None:
    def objective(trial: optuna.Trial, seed: int) -> float:
        return float(seed)

    study = optuna.create_study(study_name="seeds")
    seeds = run(objective, study).user_attrs["rahbo:values"]
    seeds += run(objective, study).user_attrs["rahbo:values"]
    assert len(set(seeds)) == 6
    same = optuna.create_study(study_name="seeds")
    assert run(objective, same).user_attrs["rahbo:values"] == seeds[:3]


def test_it_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(repeated(math.sin, 2))).repeats == 2


def test_what_is_no_number_is_refused() -> None:
    study = optuna.create_study()
    with pytest.raises(ObjectiveError, match="one number"):
        study.optimize(repeated(Told(None), 2), n_trials=1)
    for repeats in (0, 1.5, True):
        with pytest.raises(SettingsError, match="repeats"):
            repeated(Told(), repeats)
