"""The sampler: Optuna's own tests, and what it promises about repeats, workers and failures."""

import pickle
import random
from collections import Counter

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.testing import pytest_samplers
from optuna.trial import TrialState

import rahbo
from rahbo.errors import SettingsError
from rahbo.integrations.optuna import RahboSampler, recommend, repeated
from rahbo.integrations.optuna.history import ASKED, FAILED, MAX_LOST
from rahbo.policy import RandomSearch

optuna.logging.set_verbosity(optuna.logging.WARNING)


class TestConformance(
    pytest_samplers.BasicSamplerTestCase,
    pytest_samplers.RelativeSamplerTestCase,
    pytest_samplers.SingleOnlySamplerTestCase,
):
    @pytest.fixture
    def sampler(self):
        return lambda: RahboSampler(seed=0)


def quadratic(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    noise = random.Random(trial.number).gauss(0.0, 1.0)
    return -((x - 0.3) ** 2) - (y - 0.6) ** 2 + (0.02 + 0.2 * x) * noise


def study_with(storage=None, **settings: object) -> optuna.Study:
    sampler = RahboSampler(**{"seed": 0, **settings})
    return optuna.create_study(direction="maximize", sampler=sampler, storage=storage)


def counts(study: optuna.Study) -> Counter:
    """How many trials had each bit pattern of parameters."""
    return Counter(
        tuple(v.hex() if isinstance(v, float) else v for v in t.params.values())
        for t in study.trials
    )


# -- repeats ---------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["memory", "sqlite", "journal"])
def test_a_point_is_proposed_until_it_has_its_repeats(where, tmp_path) -> None:
    storage = None
    if where == "sqlite":
        storage = f"sqlite:///{tmp_path}/study.db"
    if where == "journal":
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.log"))
        storage = optuna.storages.JournalStorage(backend)
    study = study_with(storage, repeats=3, n_initial=2)
    study.optimize(quadratic, n_trials=12)
    assert list(counts(study).values()) == [3] * 4


def test_adaptive_repeats_are_those_of_an_optimizer() -> None:
    study = study_with()
    study.optimize(quadratic, n_trials=30)
    asked = [t.system_attrs[ASKED] for t in study.trials]
    n_design = sum(a.get("source") == "design" for a in asked)
    assert n_design == 6
    assert list(counts(study).values())[:6] == [2] * 6
    assert sum(a.get("source") == "strategy" for a in asked) == 30 - 2 * 6


def test_threads_share_the_repeats() -> None:
    study = study_with(repeats=3)
    study.optimize(quadratic, n_trials=24, n_jobs=4)
    assert len(counts(study)) <= 16
    # Evaluations left undone when they stopped come first.
    study.optimize(quadratic, n_trials=26)
    assert sum(count < 3 for count in counts(study).values()) <= 1


def test_a_repeated_objective_needs_no_further_trials() -> None:
    study = study_with(repeats=5)
    study.optimize(repeated(quadratic, 5), n_trials=8)
    assert list(counts(study).values()) == [1] * 8


def test_an_enqueued_point_is_evaluated_and_repeated() -> None:
    study = study_with(repeats=3)
    study.enqueue_trial({"x": 0.25, "y": 0.5})
    study.enqueue_trial({"x": 0.25, "y": 0.5})
    study.optimize(quadratic, n_trials=6)
    assert counts(study)[(0.25).hex(), (0.5).hex()] == 3
    study.enqueue_trial({"x": 0.125})
    study.optimize(quadratic, n_trials=3)
    assert [t.params["x"] for t in study.trials[6:]] == [0.125] * 3
    assert len({t.params["y"] for t in study.trials[6:]}) == 1


def test_repeats_have_equal_conditional_parameters() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return trial.suggest_float("rate", 0.0, 1.0)
        return trial.suggest_int("depth", 1, 9) / 10

    # With some seeds a point of "b" comes back with another rate, which Optuna does not keep.
    study = study_with(repeats=3, seed=2)
    study.optimize(objective, n_trials=30)
    given = counts(study)
    assert len(given) >= 8
    assert all(count % 3 == 0 for count in given.values())


def test_a_point_that_can_no_longer_be_repeated_is_not_tried_for_ever() -> None:
    study = study_with(repeats=5)
    study.optimize(quadratic, n_trials=6)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.sampler = optuna.samplers.PartialFixedSampler({"y": 0.75}, study.sampler)
    study.optimize(quadratic, n_trials=24)
    later = study.trials[6:]
    assert {t.params["y"] for t in later} == {0.75}
    assert len({t.params["x"] for t in later}) >= 4


def test_the_newest_range_counts() -> None:
    study = study_with(repeats=1)
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=8)
    study.optimize(lambda t: -t.suggest_float("x", 5.0, 6.0), n_trials=8)
    later = [t.params["x"] for t in study.trials[9:]]
    assert all(5.0 <= x <= 6.0 for x in later)
    assert min(later) < 5.1


# -- spaces ----------------------------------------------------------------------------------


def test_any_choices_steps_and_constants_are_sampled() -> None:
    choices = [None, True, 1.5, "a", float("nan")]

    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", choices)
        q = trial.suggest_float("q", -0.3, 0.7, step=0.1)
        n = trial.suggest_int("n", 3, 12, step=3)
        k = trial.suggest_int("k", 1, 1000, log=True)
        trial.suggest_float("constant", 2.0, 2.0)
        return (kind == "a") - abs(q - 0.2) - abs(n - 6) / 10 - abs(k - 10) / 1000

    study = study_with(repeats=1, n_initial=10)
    study.optimize(objective, n_trials=30)
    best = study.best_params
    assert best["kind"] == "a"
    assert all(type(t.params["n"]) is int and t.params["n"] % 3 == 0 for t in study.trials)
    assert all(t.distributions["q"]._contains(t.params["q"]) for t in study.trials)


def test_choices_that_optuna_cannot_tell_apart_do_not_trap_the_sampler() -> None:
    study = study_with(repeats=1)
    study.optimize(
        lambda t: (t.suggest_categorical("c", [True, 1, 0]) == 0) + t.suggest_float("x", 0, 1),
        n_trials=20,
    )
    assert study.best_params["c"] is not True
    assert Counter(str(t.params["c"]) for t in study.trials)["0"] >= 10


def test_minimisation() -> None:
    sampler = RahboSampler(seed=0)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    study.optimize(lambda t: (t.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, n_trials=25)
    assert sum(abs(t.params["x"] - 0.3) < 0.1 for t in study.trials[13:]) >= 8


def test_a_pruner_with_brackets() -> None:
    study = study_with(repeats=2)
    study.pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(4):
            trial.report(x + step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return x

    study.optimize(objective, n_trials=20)
    assert all(t.state.is_finished() for t in study.trials)


# -- storage is all that counts --------------------------------------------------------------


def test_a_proposal_depends_on_the_storage_the_seed_and_the_number() -> None:
    study = study_with()
    proposed = []
    for _ in range(22):
        fresh = optuna.create_study(direction="maximize", sampler=RahboSampler(seed=0))
        fresh.add_trials(study.trials)
        trial, other = study.ask(), fresh.ask()
        value = quadratic(trial)
        assert quadratic(other) == value
        assert other.params == trial.params
        proposed.append(trial.params["x"])
        study.tell(trial, value)
    assert len(set(proposed)) > 10


def test_workers_that_choose_at_the_same_moment_choose_differently() -> None:
    study = study_with(repeats=2)
    study.optimize(quadratic, n_trials=3)
    # Nobody has parameters when the last one chooses: it leaves the first places to the others.
    first, second, third = study.ask(), study.ask(), study.ask()
    for trial in (third, second, first):
        quadratic(trial)
    known = {t.params["x"] for t in study.trials[:3]}
    assert first.params["x"] in known
    assert len({t.params["x"] for t in (first, second, third)} | known) == 4


def test_an_abandoned_trial_is_not_waited_for_for_ever() -> None:
    study = study_with(repeats=2)
    study.optimize(quadratic, n_trials=3)
    study.ask()
    study.optimize(quadratic, n_trials=13)
    assert list(counts(study).values()).count(2) >= 6


def test_a_sampler_can_be_sent_to_another_process() -> None:
    study = study_with(repeats=2, risk=rahbo.Quantile(0.1))
    study.optimize(quadratic, n_trials=16)
    other = pickle.loads(pickle.dumps(study.sampler))
    copied = optuna.create_study(direction="maximize", sampler=other)
    copied.add_trials(study.trials)
    one, two = study.ask(), copied.ask()
    assert quadratic(one) == quadratic(two)


def test_an_independent_sampler_of_the_user_is_used() -> None:
    fixed = pytest_samplers.FixedSampler({}, {}, 0.5)
    study = study_with(independent_sampler=fixed)
    study.optimize(quadratic, n_trials=1)
    assert study.trials[0].params == {"x": 0.5, "y": 0.5}


# -- failures --------------------------------------------------------------------------------


def test_where_trials_fail_or_are_pruned_fewer_are_made() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if x > 0.6:
            raise optuna.TrialPruned if x > 0.8 else ValueError
        return x

    study = study_with(repeats=2)
    study.optimize(objective, n_trials=40, catch=(ValueError,))
    failed = [t.state != TrialState.COMPLETE for t in study.trials]
    assert sum(failed) > 0
    assert sum(failed[20:]) <= 6
    # A point whose first evaluation fails is not repeated.
    assert max(counts(study)[t.params["x"].hex(),] for t in study.trials if t.values is None) == 1


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A storage with a heartbeat, and a list of the trials it considers stale."""
    stale: list[int] = []
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        storage = optuna.storages.RDBStorage(
            f"sqlite:///{tmp_path}/study.db", heartbeat_interval=60
        )
    monkeypatch.setattr(storage, "_get_stale_trial_ids", lambda study_id: stale)
    return storage, stale


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_running_trial_counts_and_a_stale_one_does_not(watched) -> None:
    storage, stale = watched
    study = study_with(storage, repeats=2)
    study.optimize(quadratic, n_trials=1)
    running = study.ask()
    quadratic(running)
    assert running.params == study.trials[0].params
    other = study.ask()
    quadratic(other)
    assert other.params != running.params
    stale.append(running._trial_id)
    third = study.ask()
    quadratic(third)
    assert third.params == running.params


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_lost_trials_are_repeated_and_failed_ones_are_not(watched) -> None:
    storage, _ = watched
    study = study_with(storage, repeats=3)
    study.optimize(quadratic, n_trials=1)
    study.optimize(lambda t: float("nan") * quadratic(t), n_trials=1)
    lost = study.ask()
    quadratic(lost)
    storage.set_trial_state_values(lost._trial_id, TrialState.FAIL)
    assert [FAILED in t.system_attrs for t in study.trials] == [False, True, False]
    study.optimize(quadratic, n_trials=2)
    same = [t.params == study.trials[0].params for t in study.trials]
    assert same == [True, True, True, True, False]


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_random_point_whose_worker_died_is_not_drawn_again_later(watched) -> None:
    storage, _ = watched
    study = study_with(
        storage, repeats=2, n_initial=1, method=rahbo.Method(strategy=RandomSearch())
    )
    study.optimize(quadratic, n_trials=4)
    lost = study.ask()
    quadratic(lost)
    # The others go on before they see that its worker is dead.
    study.optimize(quadratic, n_trials=3)
    storage.set_trial_state_values(lost._trial_id, TrialState.FAIL)
    study.optimize(quadratic, n_trials=9)
    complete = study.get_trials(states=[TrialState.COMPLETE])
    assert set(Counter(trial.params["x"] for trial in complete).values()) == {2}


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_point_that_kills_its_workers_is_left(watched) -> None:
    storage, _ = watched
    study = study_with(storage, repeats=2)
    study.optimize(quadratic, n_trials=2)
    killed = []
    for _ in range(MAX_LOST + 3):
        trial = study.ask()
        quadratic(trial)
        storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
        killed.append(trial.params["x"])
    assert list(Counter(killed).values()) == [MAX_LOST + 1, 2]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_retried_trial_goes_on_with_its_parameters(tmp_path, monkeypatch) -> None:
    retry = optuna.storages.RetryHeartbeatStaleTrialCallback()
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{tmp_path}/study.db",
        heartbeat_interval=60,
        heartbeat_stale_trial_callback=retry,
    )
    study = study_with(storage, repeats=1)
    study.optimize(quadratic, n_trials=8)
    lost = study.ask()
    lost.suggest_float("x", 0.0, 1.0)
    monkeypatch.setattr(storage, "_get_stale_trial_ids", lambda study_id: [lost._trial_id])
    optuna.storages.fail_stale_trials(study)
    monkeypatch.undo()
    study.optimize(quadratic, n_trials=2)
    asked = study.trials[8].system_attrs[ASKED]["params"]
    assert study.trials[9].params == asked
    assert study.trials[10].params != asked


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"risk": 1.0}, SettingsError, "risk"),
        ({"repeats": 0}, SettingsError, "repeats"),
        ({"n_initial": 0}, SettingsError, "n_initial"),
        ({"seed": -1}, SettingsError, "seed"),
        ({"probability": 0.5}, SettingsError, "probability"),
        ({"block_attr": 3}, SettingsError, "block_attr"),
        ({"direction": "maximize"}, SettingsError, "study itself determines direction"),
        ({"constraints": {"a": rahbo.AtMost(1.0)}}, SettingsError, "determines constraints"),
        ({"blocks": 3}, SettingsError, "determines blocks"),
        ({"safe": True}, SettingsError, "safe=True is not possible"),
        ({"try_first": [{"x": 0.1}]}, SettingsError, "enqueue_trial"),
        ({"rist": rahbo.MeanVariance(1.0)}, TypeError, "rist"),
    ],
    ids=repr,
)
def test_wrong_settings_are_refused_at_once_and_by_every_answer(settings, error, said) -> None:
    study = optuna.create_study()
    study.optimize(quadratic, n_trials=2)
    for call in (RahboSampler, lambda **given: recommend(study, **given)):
        with pytest.raises(error, match=said):
            call(**settings)


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=RahboSampler())
    with pytest.raises(SettingsError, match="one objective"):
        study.optimize(lambda t: (t.suggest_float("x", 0, 1), 0.0), n_trials=1)
    with pytest.raises(SettingsError, match="one objective"):
        recommend(study)


def test_the_seed_of_a_study_is_by_default_its_own() -> None:
    def first(name: str) -> float:
        study = optuna.create_study(study_name=name, sampler=RahboSampler())
        return study.ask({"x": FloatDistribution(0, 1), "c": CategoricalDistribution("ab")}).params[
            "x"
        ]

    assert first("one") == first("one") != first("two")
