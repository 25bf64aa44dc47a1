import json
import threading

import pytest

import constrained
import rahbo
from page_runs import blocked
from processes_left import wait_for
from rahbo.pages import Live
from rahbo.pages.escape import embedded
from rahbo.pages.watch import live as module

SPACE = {"x": (0.0, 1.0)}


def begun(path, **settings):
    opt = rahbo.Optimizer(SPACE, repeats=2, seed=0, n_initial=4, journal=path, **settings)
    for i in range(4):
        suggestion = opt.ask()
        x = suggestion.params["x"]
        opt.tell(suggestion, [x, x + 0.1 * (i + 1)])
    return opt


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


def fitted(path, *options):
    """A live page after its first fit."""
    live = Live(path, *options)
    live.run()
    live.fit()
    return live


def test_the_run_and_what_is_new_of_it(path):
    opt = begun(path)
    live = Live(path)
    run = live.run()
    assert (run["n_evaluations"], run["n_failures"], run["n_open"]) == (8, 0, 0)
    assert (run["first"], len(run["values"]), run["model"]) == (0, 8, 0)
    suggestion = opt.ask()
    opt.tell(suggestion, 0.25, repeat=0)
    opt.tell_failure(suggestion, "beam trip", repeat=1)
    opt.ask()
    run = live.run(run["epoch"], 8)
    assert (run["first"], run["values"]) == (8, [(4, 0, 0.25), (4, 1, None)])
    assert run["n_failures"] == 1
    assert run["failures"][0]["reason"] == "beam trip"
    assert run["newest"][1]["value"] == 0.25
    assert [(o["id"], o["told"], o["missing"]) for o in run["open"]] == [(5, 0, 2)]
    assert live.run(run["epoch"] + 1, 8)["first"] == 0
    json.loads(embedded(run))
    opt.close()


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_what_is_believed_is_what_the_optimizer_reports(path, direction):
    opt = begun(path, direction=direction)
    live = fitted(path)
    model, found = live.model(), opt.recommend()
    assert model["version"] == live.run()["model"] == 1
    shown = model["recommendation"]
    assert shown["known"][2] == ("risk value", found.risk, *found.risk_interval)
    assert (shown["pessimistic"], shown["level"]) == (found.pessimistic, 0.9)
    assert shown["certainty"].startswith(str(found.gain))
    assert [(r["score"], r["bound"]) for r in shown["runner_ups"]] == [
        (r.score, r.gain.bound) for r in found.runner_ups
    ]
    assert shown["trials"] == found.tried_in
    assert shown["compared"] == [tuple(one)[1:] for one in found.compared]
    chosen = model["points"][model["chosen"]]
    assert chosen[:3] == pytest.approx([found.mean, *found.mean_interval], rel=1e-5)
    assert chosen[3:6] == pytest.approx([found.noise_std, *found.noise_std_interval], rel=1e-5)
    assert [point[6] for point in model["points"]] == [2, 2, 2, 2]
    assert [number for number, _ in model["best"]] == [2, 4, 6, 8]
    assert model["best"][-1][1] == pytest.approx(found.pessimistic)
    opt.close()


def test_a_later_fit_is_the_one_of_all_data(path):
    opt = begun(path)
    live = fitted(path)
    for _ in range(3):
        suggestion = opt.ask()
        opt.tell(suggestion, [suggestion.params["x"]] * 2)
    live.run()
    live.fit()
    assert live.model()["recommendation"]["certainty"].startswith(str(opt.recommend().gain))
    assert live.model()["n_evaluations"] == 14
    opt.close()


def test_another_measure_of_risk(path):
    opt, risk = begun(path), rahbo.MeanVariance(100.0)
    live = fitted(path, risk)
    found, usual = opt.recommend(risk=risk), opt.recommend()
    assert found.risk != usual.risk
    assert live.model()["recommendation"]["known"][2][1] == found.risk
    opt.close()


class Doubting(rahbo.MeanVariance):
    """Code that no journal holds."""


def test_a_run_with_code_says_what_to_do(path):
    begun(path, risk=Doubting(1.0)).close()
    live = Live(path)
    assert "Doubting" in dict(live.run()["settings"])["risk"]
    live.fit()
    assert live.model()["problem"].startswith("The run was begun with ")
    assert "--alpha" in live.model()["problem"]
    assert "recommendation" in fitted(path, rahbo.MeanVariance(1.0)).model()


def test_nothing_told_and_nothing_there(path):
    live = Live(path)
    live.fit()
    assert "There is no file" in live.run()["problem"]
    assert "recommendation" not in live.model()
    rahbo.Optimizer(SPACE, seed=0, journal=path).close()
    assert live.run()["problem"] == ""
    live.fit()
    assert "There are no values yet" in live.model()["problem"]


def test_long_texts_are_cut(path):
    opt = rahbo.Optimizer({"k": ["a" * 10_000, "b"]}, seed=0, repeats=1, journal=path)
    opt.tell_failure({"k": "a" * 10_000}, "why " * 10_000)
    live = Live(path)
    assert len(embedded(live.run())) < 5000
    opt.close()


def test_of_many_parameters_whole_ones_are_shown_and_the_rest_is_counted(path):
    opt = rahbo.Optimizer({f"knob_{i}": (0.0, 1.0) for i in range(30)}, seed=0, journal=path)
    opt.tell({f"knob_{i}": 0.123456 for i in range(30)}, 1.0)
    shown, more = Live(path).run()["newest"][0]["params"].split(" and ")
    pairs = shown.split(", ")
    assert pairs == [f"knob_{i} = 0.123456" for i in range(len(pairs))]
    assert len(pairs) > 10
    assert more == f"{30 - len(pairs)} more"
    opt.close()


class Slow(rahbo.MeanVariance):
    """A measure that is not told before it may be."""

    entered, leave = threading.Event(), threading.Event()

    def value(self, f, v):
        self.entered.set()
        self.leave.wait(30)
        return super().value(f, v)


def test_a_fit_blocks_no_reader_and_follows_the_run(path):
    opt = begun(path)
    live = Live(path, Slow(1.0), pause=0.01)
    live.start()
    live.run()
    assert Slow.entered.wait(30)
    opt.tell({"x": 0.5}, 1.0)
    run = live.run()
    assert (run["n_evaluations"], run["fitting"], run["model"]) == (9, True, 0)
    Slow.leave.set()
    wait_for(lambda: live.run() and live.model().get("n_evaluations") == 9)
    assert "recommendation" in live.model()
    opt.close()


@pytest.mark.slow
def test_limits_are_shown_with_the_newest_outcomes(path):
    opt = constrained.told(20, journal=path)
    opt.tell({"x": 0.1, "y": 0.1}, 0.2)
    live = Live(path)
    run = live.run()
    assert run["outcomes"] == ["cost"]
    assert [row["outcomes"] for row in run["newest"][:2]] == [
        [None],
        [opt.trials[-2].evaluations[0].outcomes["cost"]],
    ]
    assert ("constraints", str(constrained.LIMITS)) in run["settings"]
    live.fit()
    model, found = live.model(), opt.recommend()
    (check,) = found.constraints
    assert model["recommendation"]["limits"] == [
        ("cost", check.constraint.described, check.quantile, *check.interval, check.pessimistic,
         check.chance, True)
    ]  # fmt: skip
    kept = opt.limits.kept(opt.observations.X)
    assert [point[8] for point in model["points"]] == kept.tolist()
    assert not all(kept)
    assert model["best"][-1][1] == pytest.approx(found.pessimistic)
    json.loads(embedded(model))
    opt.close()


def test_no_setting_that_keeps_its_limits_is_said(path):
    opt = constrained.told(8, journal=path, constraints={"cost": rahbo.AtMost(-1.0)})
    live = fitted(path)
    model = live.model()
    assert model["recommendation"]["certainty"].startswith("No evaluated setting is sure to keep")
    assert model["best"] == []
    assert model["recommendation"]["limits"][0][-1] is False
    opt.close()


def test_blocks_are_shown_with_their_effects(path):
    opt = blocked(journal=path)
    live = Live(path)
    run = live.run()
    assert [row["block"] for row in run["newest"][:2]] == ["tuesday", "monday"]
    live.fit()
    shown, found = live.model()["recommendation"], opt.recommend().blocks
    assert shown["blocks"]["said"].startswith("2 blocks differ")
    assert {row[0]: row[1] for row in shown["blocks"]["effects"]} == found.effects
    assert shown["limits"] == []
    opt.close()


def test_without_limits_and_blocks_nothing_more_is_shown(path):
    opt = begun(path)
    live = fitted(path)
    run, model = live.run(), live.model()
    assert run["outcomes"] == []
    assert {name for name, _ in run["settings"]} == set(module.SHOWN_SETTINGS)
    assert (model["recommendation"]["limits"], model["recommendation"]["blocks"]) == ([], None)
    assert {len(point) for point in model["points"]} == {8}
    opt.close()
