"""Constraints and blocks of a study's trials."""

import math
import pickle
import random
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

import rahbo
from rahbo.errors import NotReadyError, ObjectiveError
from rahbo.integrations.optuna import RahboSampler, optimizer_of, recommend, repeated
from rahbo.integrations.optuna.beside import Reading, constraints_of, outcome_names
from rahbo.trials import LONGEST_NAME

optuna.logging.set_verbosity(optuna.logging.WARNING)

X = FloatDistribution(0.0, 1.0)


def trial_at(x: float, value: float | None = None, **attributes: object) -> FrozenTrial:
    return create_trial(
        params={"x": x}, distributions={"x": X}, value=x if value is None else value, **attributes
    )


def study_with(*trials: FrozenTrial) -> optuna.Study:
    study = optuna.create_study(direction="maximize")
    study.add_trials(trials)
    return study


def constrained(x: float, *values: float) -> FrozenTrial:
    return trial_at(x, system_attrs={"constraints": list(values)})


def noisy(trial: optuna.Trial) -> float:
    """The larger x, the better; the loss, which is noisier there, must be at most 1."""
    x, draw = trial.suggest_float("x", 0.0, 1.0), random.Random(trial.number)
    trial.set_user_attr("loss", 2.0 * x + 0.1 * x * draw.gauss(0.0, 1.0))
    return x + 0.02 * draw.gauss(0.0, 1.0)


def losses(trial: FrozenTrial) -> tuple[float, ...]:
    return (trial.user_attrs["loss"] - 1.0,)


# -- constraints -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_constraint_is_a_noisy_outcome_and_every_repeat_counts() -> None:
    sampler = RahboSampler(constraints_func=losses, probability=0.9, repeats=2, seed=0)
    study = optuna.create_study(direction="maximize", sampler=pickle.loads(pickle.dumps(sampler)))
    study.optimize(noisy, n_trials=40)
    for trial in study.trials:
        assert tuple(trial.system_attrs["constraints"]) == losses(trial)
    optimizer = optimizer_of(study, probability=0.9)
    assert optimizer.settings.constraints == {"constraint 0": rahbo.AtMost(0.0, 0.9)}
    told = [t.evaluations[0].outcomes["constraint 0"] for t in optimizer.trials]
    assert told == [losses(trial)[0] for trial in study.trials]
    assert not any(t.failures for t in optimizer.trials)
    # A loss of 2 x with a deviation of 0.1 x is below 1 with probability 0.9 up to x = 0.47.
    found = recommend(study, probability=0.9)
    assert found.feasible
    assert found.constraints[0].kept
    assert 0.3 < found.params["x"] < 0.49
    assert all(0.2 < t.params["x"] < 0.8 for t in study.trials[-8:])


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("where", ["memory", "sqlite"])
def test_constraints_of_any_sampler_are_read(named, where, tmp_path) -> None:
    def objective(trial: optuna.Trial) -> float:
        value = noisy(trial)
        if named:
            trial.set_constraint("loss", trial.user_attrs["loss"] - 1.0)
        return value

    with warnings.catch_warnings():
        # Optuna 4 calls it experimental, Optuna 5 deprecated.
        warnings.simplefilter("ignore")
        func = None if named else losses
        sampler = optuna.samplers.TPESampler(seed=0, constraints_func=func)
    storage = f"sqlite:///{tmp_path}/study.db" if where == "sqlite" else None
    study = optuna.create_study(direction="maximize", sampler=sampler, storage=storage)
    study.optimize(objective, n_trials=20)
    optimizer = optimizer_of(study)
    name = "constraint loss" if named else "constraint 0"
    assert optimizer.settings.constraints == {name: rahbo.AtMost(0.0)}
    assert [t.evaluations[0].outcomes[name] for t in optimizer.trials] == [
        losses(trial)[0] for trial in study.trials
    ]
    found = recommend(study)
    assert found.feasible
    assert 2.0 * found.params["x"] < 1.0


def test_if_no_point_keeps_the_constraints_the_least_violating_is_named() -> None:
    study = study_with(*(constrained(x, x + 1.0) for x in np.linspace(0, 1, 9).tolist()))
    found = recommend(study)
    assert not found.feasible
    assert found.params["x"] == 0.0
    assert "No evaluated setting is sure to keep its limits" in str(found)


def test_constraints_may_be_missing_or_of_any_kind() -> None:
    study = study_with(
        constrained(0.1, -1.0, -2.0),
        constrained(0.2, -1.0),
        trial_at(0.3),
        trial_at(0.4, system_attrs={"constraints": None}),
        trial_at(0.45, system_attrs={"constraints": 3.0, "constraints:a": -1}),
        constrained(0.5, -math.inf, -1.0),
        constrained(0.6, math.inf, -1.0),
        constrained(0.7, math.nan),
        create_trial(
            params={"x": 0.8}, distributions={"x": X}, state=TrialState.PRUNED,
            system_attrs={"constraints": [1.0]},
        ),
    )  # fmt: skip
    optimizer = optimizer_of(study)
    told = [
        dict(first.outcomes) or None if first.failure is None else "failed"
        for first in (t.evaluations[0] for t in optimizer.trials)
    ]
    first, second = "constraint 0", "constraint 1"
    assert told == [
        {first: -1.0, second: -2.0},
        {first: -1.0},
        None,
        None,
        {"constraint a": -1.0},
        {second: -1.0},
        "failed",
        "failed",
        "failed",
    ]
    assert set(optimizer.settings.constraints) == {first, second, "constraint a"}
    with pytest.raises(NotReadyError, match="finite constraints"):
        recommend(study_with(constrained(0.1, math.inf), constrained(0.2, math.nan)))


def test_each_constraint_has_a_name_of_its_own() -> None:
    keys = ["a\n", "a\t", "b" * 1000, "b" * 999, ""]
    trial = trial_at(0.5, system_attrs={f"constraints:{key}": 1.0 for key in keys})
    names = outcome_names([trial], ["constraint a?"])
    assert names.keys() == set(keys) == constraints_of(trial).keys()
    assert len({*names.values(), "constraint a?"}) == 6
    assert all(name.isprintable() and len(name) <= LONGEST_NAME for name in names.values())


def test_constraints_of_a_repeated_trial_count_once() -> None:
    sampler = RahboSampler(constraints_func=lambda trial: (trial.params["x"] - 0.5,), seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(repeated(lambda trial: trial.suggest_float("x", 0.0, 1.0), 3), n_trials=3)
    for trial in optimizer_of(study).trials:
        assert len(trial.values) == 3
        assert [bool(each.outcomes) for each in trial.evaluations.values()] == [True, False, False]


@pytest.mark.parametrize("returned", [(math.nan,), 3.0, None, ["high"]])
def test_constraints_that_are_not_numbers_are_an_error(returned) -> None:
    study = optuna.create_study(sampler=RahboSampler(constraints_func=lambda trial: returned))
    with pytest.raises(ObjectiveError, match="must return a sequence of numbers"):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)


# -- blocks ----------------------------------------------------------------------------------


def test_the_block_of_a_trial_is_an_attribute_that_it_has() -> None:
    several = {"rahbo:values": [1.0, None, 2.0], "fold": ["a", "b"]}
    study = study_with(
        trial_at(0.1, user_attrs={"fold": "a"}),
        trial_at(0.2, user_attrs={"fold": 3}),
        trial_at(0.3, user_attrs={"fold": 3.0}),
        trial_at(0.4),
        trial_at(0.5, user_attrs={"fold": {"x": 1}}),
        trial_at(0.6, user_attrs={"fold": True}),
        trial_at(0.7, value=1.5, user_attrs=several),
        trial_at(0.8, user_attrs={"fold": "b"}, system_attrs={"constraints": [-1.0]}),
    )
    trials = optimizer_of(study, block_attr="fold").trials
    blocks = [[t.evaluations[i].block for i in t.values] for t in trials]
    assert blocks == [["a"], ["3"], ["3"], [None], [None], [None], ["a", None], ["b"]]
    assert dict(trials[-1].evaluations[0].outcomes) == {"constraint 0": -1.0}
    assert Reading().block_attr is None
    assert not any(
        each.block for t in optimizer_of(study).trials for each in t.evaluations.values()
    )


@pytest.mark.slow
def test_settings_are_compared_within_blocks() -> None:
    effects = np.random.default_rng(0).normal(0.0, 1.0, 4)

    def objective(trial: optuna.Trial) -> float:
        fold = trial.number % 4
        trial.set_user_attr("fold", fold)
        x = trial.suggest_float("x", 0.0, 1.0)
        noise = random.Random(trial.number).gauss(0.0, 0.02)
        return -((x - 0.6) ** 2) + float(effects[fold]) + noise

    sampler = RahboSampler(block_attr="fold", repeats=2, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=32)
    found = recommend(study, block_attr="fold")
    assert abs(found.params["x"] - 0.6) < 0.2
    assert found.blocks is not None
    # The noise is what is left within blocks.
    assert found.noise_std < 0.3
    assert recommend(study).blocks is None
    assert recommend(study).noise_std > 2.0 * found.noise_std
