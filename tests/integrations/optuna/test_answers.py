"""The answer of a study whose trials have different parameters, and the ways to ask for it."""

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import rahbo
from rahbo.errors import SpaceError
from rahbo.integrations.optuna import RahboSampler, optimizer_of, recommend
from rahbo.space import Candidates

optuna.logging.set_verbosity(optuna.logging.WARNING)

MODEL = CategoricalDistribution(["svm", "rf"])
C = FloatDistribution(1e-3, 1e3, log=True)
DEPTH = IntDistribution(1, 15)
RISK = rahbo.MeanStd(1.0)
SAMPLERS = {
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "rahbo": lambda seed: RahboSampler(seed=seed),
}


def truth(params: dict) -> float:
    """At best 0.95 with a support vector machine, and 0.90 with a forest."""
    if params["model"] == "svm":
        return 0.95 - 0.03 * np.log10(params["C"]) ** 2
    return 0.90 - 0.01 * ((params["depth"] - 6) / 3) ** 2


def two_models(seed: int, sampler: str = "random", n: int = 100) -> optuna.Study:
    rng = np.random.default_rng(seed)

    def objective(trial: optuna.Trial) -> float:
        params = {"model": trial.suggest_categorical("model", ["svm", "rf"])}
        if params["model"] == "svm":
            params["C"] = trial.suggest_float("C", 1e-3, 1e3, log=True)
        else:
            params["depth"] = trial.suggest_int("depth", 1, 15)
        return float(truth(params) + 0.03 * rng.standard_normal())

    study = optuna.create_study(
        study_name=f"two models {seed}", direction="maximize", sampler=SAMPLERS[sampler](seed)
    )
    study.optimize(objective, n_trials=n)
    return study


def study_of(*told: tuple, direction: str = "maximize") -> optuna.Study:
    """A study of trials, each given by its parameters, their distributions and a value or state."""
    study = optuna.create_study(study_name="told", direction=direction)
    for params, kinds, value in told:
        done = {"state": value} if isinstance(value, TrialState) else {"value": value}
        study.add_trial(create_trial(params=params, distributions=kinds, **done))
    return study


# -- whole answers ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "n"), [("random", 100), ("tpe", 100), ("rahbo", 40)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_recommended_trial_is_whole_and_good(sampler, n, seed) -> None:
    study = two_models(seed, sampler, n)
    best = recommend(study, risk=RISK)
    ran = [trial.params for trial in study.trials]
    assert best.params in ran
    assert set(best.params) == {"model", "C"}
    assert truth(best.params) > 0.93
    assert best.mean_interval.lower < truth(best.params) < best.mean_interval.upper
    assert all(other.params in ran for other in best.runner_ups)
    assert best.p_best is not None
    assert best.p_best < 0.95


def test_it_says_which_parameters_are_missing_and_what_was_compared() -> None:
    best = recommend(two_models(0, n=30), risk=RISK)
    said = "Only the settings that were tried are compared, because some trials lack parameters: "
    assert best.scope.startswith(said + "'C' is missing in trial 0 and ")
    assert "'depth' in trial 1 and " in best.scope
    assert best.scope in str(best)
    assert "&#x27;C&#x27; is missing in trial 0" in best._repr_html_()


def test_shared_parameters_and_kinds_with_few_trials() -> None:
    rng = np.random.default_rng(0)
    told = []
    for i in range(60):
        kind, rate = ["a", "b"][i % 2], float(rng.random())
        params = {"kind": kind, "rate": rate, f"of_{kind}": float(rng.random())}
        value = (0.9 if kind == "a" else 0.8) - (rate - 0.5) ** 2 + 0.03 * rng.standard_normal()
        told.append((params, value))
    # One lucky trial of a third kind, which is hardly better than the others in truth.
    told.append(({"kind": "c", "rate": 0.4, "of_c": 0.5}, 0.93))
    kinds = {name: FloatDistribution(0.0, 1.0) for name in ("rate", "of_a", "of_b", "of_c")}
    kinds["kind"] = CategoricalDistribution(["a", "b", "c"])
    study = study_of(*((p, {n: kinds[n] for n in p}, value) for p, value in told))
    best = recommend(study, risk=RISK)
    assert set(best.params) == {"kind", "rate", "of_a"}
    assert abs(best.params["rate"] - 0.5) < 0.2


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_parameters_that_were_added_later_and_ranges_that_changed(direction) -> None:
    rng = np.random.default_rng(1)
    sign = 1.0 if direction == "minimize" else -1.0

    def objective(trial: optuna.Trial) -> float:
        late = trial.number >= 30
        x = trial.suggest_float("x", 0.0, 2.0 if late else 1.0)
        y = trial.suggest_float("y", 0.0, 1.0) if late else 0.9
        return float(sign * ((x - 1.2) ** 2 + (y - 0.2) ** 2 + 0.05 * rng.standard_normal()))

    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=80)
    best = recommend(study, risk=RISK)
    assert best.params in [trial.params for trial in study.trials]
    assert best.params["x"] > 0.9
    assert best.params["y"] < 0.5
    assert "'y' is missing in trial 0 and 29 others." in best.scope


def test_trials_that_failed_or_were_pruned_are_never_recommended() -> None:
    rng = np.random.default_rng(2)
    kinds = {"model": CategoricalDistribution(["svm", "rf", "nn"]), "C": C, "depth": DEPTH}

    def of(**params: object) -> tuple:
        return params, {name: kinds[name] for name in params}

    told = []
    for i in range(40):
        c, depth = float(10 ** rng.uniform(-3, 3)), int(rng.integers(1, 16))
        which = of(model="svm", C=c) if i % 2 else of(model="rf", depth=depth)
        told.append((*which, truth(which[0]) + 0.02 * rng.standard_normal()))
    # It failed before it had its other parameter, or always.
    told += [(*of(model="svm"), TrialState.FAIL), (*of(model="nn"), TrialState.PRUNED)]
    told += [(*of(model="svm", C=1.0), TrialState.FAIL)] * 3
    study = study_of(*told)
    best = recommend(study, risk=RISK)
    assert set(best.params) == {"model", "C"}
    assert best.params["C"] != 1.0
    optimizer = optimizer_of(study)
    assert [len(trial.failures) for trial in optimizer.trials] == [0] * 40 + [1] * 3


def test_a_failed_trial_takes_no_parameter_from_the_answer() -> None:
    fixed = FloatDistribution(2.0, 2.0)
    whole = {"x": FloatDistribution(0.0, 1.0), "fixed": fixed}
    told = [({"x": x, "fixed": 2.0}, whole, x) for x in (0.1, 0.4, 0.7, 0.9)]
    study = study_of(*told, ({"x": 0.9}, {"x": whole["x"]}, TrialState.FAIL))
    assert recommend(study, rule="best_observed").params == {"x": 0.9, "fixed": 2.0}
    assert recommend(study).scope == ""


def test_settings_that_differ_in_a_fixed_parameter_are_two() -> None:
    x, flag = FloatDistribution(0.0, 1.0), FloatDistribution(1.0, 1.0)
    several = [({"x": x_}, {"x": x}, x_) for x_ in (0.1, 0.3, 0.6)]
    study = study_of(*several, ({"x": 0.6, "flag": 1.0}, {"x": x, "flag": flag}, 0.9))
    assert optimizer_of(study).observations.n == 4
    assert recommend(study, rule="best_observed").params == {"x": 0.6, "flag": 1.0}


# -- the optimizer behind it -----------------------------------------------------------------


def test_the_optimizer_knows_the_list_of_what_was_tried() -> None:
    study = two_models(0, n=30)
    optimizer = optimizer_of(study, risk=RISK)
    spec = optimizer.settings.space.spec
    assert isinstance(spec, Candidates)
    assert {frozenset(row) for row in spec.rows} == {frozenset({"model", "C", "depth"})}
    for trial, row in zip(study.trials, (t.params for t in optimizer.trials), strict=True):
        assert {n: v for n, v in row.items() if v is not None} == trial.params
    best = optimizer.recommend()
    assert best.scope == recommend(study, risk=RISK).scope
    assert {n: v for n, v in best.params.items() if v is not None} in [
        trial.params for trial in study.trials
    ]
    assert optimizer.frontier().choices
    assert str(optimizer.diagnose())


def test_studies_with_one_set_of_parameters_say_nothing_of_it() -> None:
    study = study_of(*(({"x": x}, {"x": FloatDistribution(0, 1)}, x) for x in (0.1, 0.5, 0.8)))
    assert recommend(study).scope == optimizer_of(study).recommend().scope == ""
    assert not isinstance(optimizer_of(study).settings.space.spec, Candidates)


def test_a_parameter_must_vary() -> None:
    one = FloatDistribution(2.0, 2.0)
    with pytest.raises(SpaceError, match="must have a parameter that takes more than one value"):
        recommend(study_of(({"x": 2.0}, {"x": one}, 1.0), ({"x": 2.0}, {"x": one}, 2.0)))


def test_settings_that_differ_in_their_numbers_only_a_little_are_no_runners_up() -> None:
    rng = np.random.default_rng(0)

    def objective(trial):
        svm = trial.suggest_categorical("model", ["svm", "rf"]) == "svm"
        x = trial.suggest_float("C", 0.0, 1.0) if svm else trial.suggest_float("depth", 0.0, 1.0)
        return -((x - 0.5) ** 2) + 0.02 * rng.standard_normal()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=60)
    found = recommend(study)
    name = "C" if found.params["model"] == "svm" else "depth"
    for other in found.runner_ups:
        if other.params["model"] == found.params["model"]:
            assert abs(other.params[name] - found.params[name]) > 0.05
