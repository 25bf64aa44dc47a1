"""The answer of a study, whatever made it."""

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import rahbo
from rahbo.errors import NotReadyError
from rahbo.integrations.optuna import RahboSampler, optimizer_of, recommend, repeated

optuna.logging.set_verbosity(optuna.logging.WARNING)

X = FloatDistribution(0.0, 1.0)


def two_peaks(x: float, noise: float) -> float:
    """A high peak at 0.8 that is noisy, and a lower one at 0.25 that is not."""
    high, low = np.exp(-(((x - 0.8) / 0.15) ** 2)), np.exp(-(((x - 0.25) / 0.15) ** 2))
    return float(high + 0.8 * low + (0.03 + 0.8 * high) * noise)


def study_of(values: dict[float, object], direction: str = "maximize") -> optuna.Study:
    """A study with a trial at each ``x``; a list is a repeated trial."""
    study = optuna.create_study(direction=direction)
    for x, told in values.items():
        several = told if isinstance(told, list) else [told]
        attributes = {"rahbo:values": several} if isinstance(told, list) else {}
        study.add_trial(
            create_trial(
                params={"x": x},
                distributions={"x": X},
                value=float(np.mean([v for v in several if v is not None])),
                user_attrs=attributes,
            )
        )
    return study


@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_any_study_has_a_risk_averse_answer(repeats, direction, rng) -> None:
    sign = 1.0 if direction == "maximize" else -1.0

    def objective(trial: optuna.Trial) -> float:
        return sign * two_peaks(trial.suggest_float("x", 0.0, 1.0), rng.standard_normal())

    study = optuna.create_study(direction=direction, sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(repeated(objective, repeats) if repeats > 1 else objective, n_trials=60)
    averse = recommend(study, risk=rahbo.MeanVariance(2.0))
    assert abs(averse.params["x"] - 0.25) < 0.12
    assert sign * averse.mean == pytest.approx(0.8, abs=0.2)
    assert averse.params in [trial.params for trial in study.trials]
    assert all(up.params in [t.params for t in study.trials] for up in averse.runner_ups)


def test_the_trial_to_deploy_has_the_number_that_optuna_gave_it() -> None:
    # A pruned trial and one that misses a parameter shift the numbers.
    study = study_of({0.1: [1.0, 1.2], 0.5: [5.0, 5.3]})
    study.add_trial(create_trial(state=TrialState.RUNNING, params={}, distributions={}))
    study.add_trial(study.trials[1])
    found = recommend(study)
    assert found.trials == (1, 3)
    assert {study.trials[i].params["x"] for i in found.trials} == {found.params["x"]}
    assert "(trials 1 and 3)" in str(found).splitlines()[0]
    assert found.luckiest.trial in (1, 3)
    assert optimizer_of(study).recommend().trials == (1, 3)


def test_values_failures_and_repeats_of_trials_are_told() -> None:
    study = study_of({0.1: [1.0, None, 1.2], 0.5: 2.0, 0.9: float("inf")})
    study.add_trial(study.trials[1])
    for state in (TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING, TrialState.WAITING):
        study.add_trial(create_trial(params={"x": 0.7}, distributions={"x": X}, state=state))
    optimizer = optimizer_of(study)
    told = [(t.params["x"], list(t.values.values()), len(t.failures)) for t in optimizer.trials]
    assert told == [
        (0.1, [1.0, 1.2], 1),
        (0.5, [2.0], 0),
        (0.9, [], 1),
        (0.5, [2.0], 0),
        (0.7, [], 1),
        (0.7, [], 1),
    ]
    assert optimizer.open == ()
    assert optimizer.observations.count.tolist() == [2, 2]


def test_a_trial_has_the_time_at_which_it_ended() -> None:
    study = study_of({0.1: [1.0, None], 0.5: 2.0})
    study.add_trial(
        create_trial(params={"x": 0.7}, distributions={"x": X}, state=TrialState.RUNNING)
    )
    optimizer, first = optimizer_of(study), study.trials[0].datetime_complete
    assert first is not None
    ended = pytest.approx(first.timestamp(), abs=0.002)
    told = [[each.time for each in trial.evaluations.values()] for trial in optimizer.trials]
    assert told[0] == [ended, ended]
    assert [len(times) for times in told] == [2, 1]
    assert None not in told[1]
    assert all(row["time"] is not None for row in optimizer.rows())


def test_the_settings_and_the_seed_are_passed_on() -> None:
    study = study_of({x: x for x in np.linspace(0, 1, 9).tolist()}, "minimize")
    optimizer = optimizer_of(study, risk=rahbo.Quantile(0.1), seed=3)
    assert optimizer.settings.risk == rahbo.Quantile(0.1)
    assert (optimizer.settings.direction, optimizer.settings.seed) == ("minimize", 3)
    assert recommend(study) == recommend(study)
    assert recommend(study, rule="best_observed", level=0.5).params == {"x": 0.0}


def test_ranges_that_changed_are_merged_and_constants_kept() -> None:
    study = optuna.create_study(direction="maximize")
    for low, high, step in ((0.0, 1.0, 0.25), (0.5, 2.0, None), (0.0, 1.5, 0.5)):
        kinds = {
            "x": FloatDistribution(low, high, step=step),
            "n": IntDistribution(2 * int(low), 4 + 2 * int(high), step=2),
            "c": CategoricalDistribution([None]),
        }
        for x in (low, (low + high) / 2 if step is None else low + step, high):
            params = {"x": x, "n": 2 + int(low), "c": None}
            study.add_trial(create_trial(params=params, distributions=kinds, value=x))
    assert repr(optimizer_of(study).settings.space.spec["x"]) == "Float(0.0, 2.0)"
    assert recommend(study).params == {"x": 2.0, "n": 2, "c": None}


def test_own_bounds_of_our_sampler_are_kept() -> None:
    study = optuna.create_study(direction="maximize", sampler=RahboSampler(seed=0))
    study.optimize(lambda t: -((t.suggest_float("x", 0, 1) - 0.4) ** 2), n_trials=20)
    assert abs(recommend(study, rule="own_round").params["x"] - 0.4) < 0.1
    assert {t.source for t in optimizer_of(study).trials} == {"design", "strategy", "user"}


def test_studies_without_an_answer_say_why() -> None:
    with pytest.raises(NotReadyError, match="no complete trial"):
        recommend(optuna.create_study())
    with pytest.raises(NotReadyError, match="no complete trial"):
        recommend(study_of({0.5: float("inf")}))
    apart = study_of({0.5: 1.0})
    apart.add_trial(create_trial(params={"y": 0.5}, distributions={"y": X}, value=1.0))
    assert recommend(apart).params in ({"x": 0.5}, {"y": 0.5})
