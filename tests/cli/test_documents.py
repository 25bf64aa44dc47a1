"""Records as strict JSON."""

import json
import math
from dataclasses import dataclass

import numpy as np

import constrained
import rahbo
from rahbo.analysis import Interval
from rahbo.cli.documents import about, document, json_value


def not_json(literal):
    raise AssertionError(literal)


def optimizer():
    space = {"x": (0.0, 1.0), "c": ["a", 'b"\x1b']}
    opt = rahbo.Optimizer(space, seed=3, risk=rahbo.Quantile(0.1), direction="minimize")
    for x in (0.1, 0.4, 0.5, 0.9):
        opt.tell({"x": x, "c": "a"}, [x**2, x**2 + 0.1])
    opt.tell({"x": 0.6, "c": 'b"\x1b'}, 5.0)
    opt.tell_failure({"x": 0.2, "c": "a"}, "broken")
    return opt


def test_every_report_is_strict_json_with_the_names_of_its_fields():
    opt = optimizer()
    text = document(
        recommendation=opt.recommend(), frontier=opt.frontier(), diagnosis=opt.diagnose(),
        about=about(opt),
    )  # fmt: skip
    found = json.loads(text, parse_constant=not_json)
    assert found["recommendation"]["params"]["x"] == opt.recommend().params["x"]
    assert found["recommendation"]["mean_interval"].keys() == {"lower", "upper"}
    assert found["recommendation"]["trials"] == list(opt.recommend().trials)
    assert found["recommendation"]["luckiest"]["trial"] == opt.recommend().luckiest.trial
    assert found["recommendation"]["sentences"] == list(opt.recommend().sentences)
    assert found["frontier"]["choices"][-1]["alpha_to"] is None
    assert len(found["frontier"]["evaluated"]) == 5
    assert found["diagnosis"]["decision"]["verdict"] == opt.diagnose().decision.verdict
    assert found["diagnosis"]["inputs_verdict"]
    assert found["about"] == {
        "direction": "minimize",
        "risk": {"measure": "Quantile", "level": 0.1},
        "seed": 3,
        "n_points": 5,
        "n_evaluations": 10,
        "n_failures": 1,
    }


def test_values_become_plain():
    @dataclass
    class Odd:
        a: object

    assert json_value(Odd((np.float64("nan"), math.inf, np.int64(3), None, True))) == {
        "a": [None, None, 3, None, True]
    }
    assert json_value({"i": Interval(0.0, math.inf), 1: {2}}) == {
        "i": {"lower": 0.0, "upper": None},
        "1": "{2}",
    }


def test_limits_and_warnings_are_written_only_where_there_are_some():
    free = json.loads(document(found=optimizer().recommend(), all=optimizer().frontier()))
    assert not {"constraints", "warning", "blocks"} & free["found"].keys()
    assert not {"reportable", "warning"} & free["all"].keys()
    opt = constrained.told(12, constraints={"cost": rahbo.AtMost(-1.0)})
    bound = json.loads(document(found=opt.recommend(), all=opt.frontier()))
    assert bound["found"]["warning"] == bound["all"]["warning"] == opt.recommend().warning
    (check,) = bound["found"]["constraints"]
    assert check["constraint"]["described"] == "at most -1 with probability 0.95"
    assert check["kept"] is False
    assert sum(bound["all"]["reportable"]) == 1
