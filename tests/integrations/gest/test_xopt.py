"""The generator in Xopt: its steps, its files, its command line."""

import random
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from gest_api.vocs import VOCS
from pydantic import ValidationError
from xopt import AsynchronousXopt, Evaluator, Xopt
from xopt.stopping_conditions import MaxEvaluationsCondition

import rahbo
from rahbo.integrations.gest import RahboGenerator
from rahbo.integrations.gest.xopt import XoptGenerator
from rahbo.policy import RandomSearch

VOCS_ = VOCS(
    variables={"x": [0.0, 2.0], "bunches": {1, 2, 3}},
    objectives={"f": "MAXIMIZE"},
    constraints={"loss": ["LESS_THAN", 2.5]},
    constants={"energy": 5.8},
)
SETTINGS = {"repeats": 2, "seed": 0, "method": rahbo.Method(strategy=RandomSearch())}
FILE = """
generator:
  name: rahbo
  risk: {type: MeanStd, kappa: 2.0}
  repeats: 2
  seed: 1
  journal: run.jsonl
  vocs:
    variables: {x: [0.0, 2.0]}
    objectives: {f: MAXIMIZE}
evaluator: {function: machine.measure}
stopping_condition: {name: MaxEvaluationsCondition, max_evaluations: 9}
xopt_dump_file: state.yaml
"""
MACHINE = """
import random
def measure(inputs):
    return {"f": -(inputs["x"] - 1.0) ** 2 + (0.05 + 0.2 * inputs["x"]) * random.gauss(0, 1)}
"""


def measure(inputs: dict) -> dict:
    """A machine whose noise depends on x."""
    x = inputs["x"]
    noise = (0.05 + 0.2 * x) * random.gauss(0, 1)
    return {"f": -((x - 1.0) ** 2) + noise, "loss": x + random.gauss(0, 0.1)}


def fragile(inputs: dict) -> dict:
    if inputs.get("_id", 0) % 4 == 2:
        raise RuntimeError("beam trip")
    return measure(inputs)


def run(generator, function=measure, n=8, **settings) -> Xopt:
    stop = MaxEvaluationsCondition(max_evaluations=n)
    evaluator = Evaluator(function=function)
    return Xopt(generator=generator, evaluator=evaluator, stopping_condition=stop, **settings)


@pytest.mark.parametrize("kind", [RahboGenerator, XoptGenerator])
def test_xopt_runs_it_with_own_points_and_failures(kind, tmp_path) -> None:
    journal = str(tmp_path / "run.jsonl")
    xopt = run(kind(vocs=VOCS_, journal=journal, **SETTINGS), fragile, strict=False)
    xopt.random_evaluate(2, seed=1)
    xopt.run()
    assert len(xopt.data) == 8
    optimizer = xopt.generator.optimizer
    assert optimizer.state.counts.trials["user"] == 2
    failures = [why for trial in optimizer.trials for why in trial.failures.values()]
    assert len(failures) == 2
    assert "beam trip" in failures[0]
    made = [each for trial in optimizer.trials for each in trial.evaluations.values()]
    assert all(each.outcomes for each in made if each.failure is None)
    optimizer.close()
    # The copy that Xopt made has written the journal.
    assert rahbo.Optimizer.resume(journal).n_evaluations == 8


def test_lists_that_an_evaluation_returns_are_measurements() -> None:
    xopt = run(
        XoptGenerator(vocs=VOCS_, **SETTINGS), lambda inputs: {"f": [1.0, 1.0], "loss": [1.0, 2.0]}
    )
    xopt.step()
    assert [dict(trial.values) for trial in xopt.generator.optimizer.trials] == [{0: 1.0, 2: 1.0}]


# AsynchronousXopt uses what pandas 3.1 deprecates.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_several_workers_take_repeats_of_a_point_at_once() -> None:
    with ThreadPoolExecutor(3) as pool:
        evaluator = Evaluator(function=measure, executor=pool, max_workers=3)
        xopt = Xopt(generator=XoptGenerator(vocs=VOCS_, **SETTINGS), evaluator=evaluator)
        xopt.step()
        xopt.step()
        assert list(xopt.data["_id"]) == [1, 2, 3, 4, 5, 6]
        assert xopt.data["x"].nunique() == 3
        asynchronous = AsynchronousXopt(
            generator=XoptGenerator(vocs=VOCS_, **SETTINGS), evaluator=evaluator
        )
        for _ in range(4):
            asynchronous.step()
        assert asynchronous.generator.optimizer.n_evaluations == len(asynchronous.data) >= 4


def test_a_file_of_xopt_holds_the_settings(tmp_path) -> None:
    settings = {"risk": rahbo.MeanStd(2.0), "repeats": rahbo.Adaptive(), "n_initial": 4}
    text = run(XoptGenerator(vocs=VOCS_, seed=3, probability=0.9, **settings)).yaml()
    record = yaml.safe_load(text)["generator"]
    assert (record["name"], record["risk"]) == ("rahbo", {"type": "MeanStd", "kappa": 2.0})
    found = Xopt.from_yaml(text).generator.optimizer.settings
    assert (found.risk, found.repeats, found.n_initial, found.seed) == (*settings.values(), 3)
    assert found.constraints == {"loss": rahbo.AtMost(2.5, 0.9)}


@pytest.mark.parametrize(
    "risk", [{"type": "Luck"}, {"type": "MeanStd", "gamma": 1}, {"alpha": 1.0}, {"code": "mine"}]
)
def test_a_setting_that_a_file_cannot_hold_is_refused(risk) -> None:
    with pytest.raises(ValidationError, match="is not a setting of rahbo"):
        XoptGenerator(vocs=VOCS_, risk=risk)


def test_a_dumped_run_continues_with_its_journal(tmp_path) -> None:
    xopt = run(XoptGenerator(vocs=VOCS_, journal=str(tmp_path / "run.jsonl"), **SETTINGS), n=7)
    xopt.random_evaluate(2, seed=1)
    xopt.run()
    before = [trial.values for trial in xopt.generator.optimizer.trials]
    xopt.generator.finalize()
    text = xopt.yaml()
    again = Xopt.from_yaml(text.replace("max_evaluations: 7", "max_evaluations: 9"))
    # Xopt's file rounds to ten decimals, and the journal does not.
    assert [trial.values for trial in again.generator.optimizer.trials] == before
    again.run()
    assert list(again.data["_id"])[-3:] == [5, 6, 7]
    assert again.generator.optimizer.n_evaluations == 9


def test_former_keywords_say_where_they_went():
    with pytest.raises(ValueError, match=r"does not take strategy=.* method=rahbo.Method"):
        XoptGenerator(vocs=VOCS(variables={"x": [0, 1]}, objectives={"f": "MAXIMIZE"}), strategy=1)


def test_a_dumped_run_without_a_journal_continues_with_past_results() -> None:
    xopt = run(XoptGenerator(vocs=VOCS_, **SETTINGS), n=4)
    xopt.run()
    again = Xopt.from_yaml(xopt.yaml())
    assert again.generator.optimizer.state.counts.evaluations == {"user": 4}
    assert again.generator.optimizer.observations.n == 2


def test_its_own_file_runs_from_the_command_line_and_goes_on(tmp_path, monkeypatch) -> None:
    (tmp_path / "machine.py").write_text(MACHINE, "utf-8")
    (tmp_path / "run.yaml").write_text(FILE, "utf-8")
    monkeypatch.chdir(tmp_path)
    # In this process, because a new one takes seconds to import Xopt.
    monkeypatch.setattr(sys, "path", [*sys.path])
    for n, file in ((9, "run.yaml"), (12, "state.yaml")):
        stop = ["--override", f"stopping_condition.max_evaluations={n}"]
        monkeypatch.setattr(sys, "argv", ["gest", file, *stop])
        runpy.run_module("rahbo.integrations.gest", run_name="__main__")
        optimizer = rahbo.Optimizer.resume(tmp_path / "run.jsonl")
        assert optimizer.n_evaluations == n
        assert optimizer.settings.risk == rahbo.MeanStd(2.0)
        optimizer.close()
    monkeypatch.delitem(sys.modules, "machine")
