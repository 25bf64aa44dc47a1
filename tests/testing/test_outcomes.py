"""The conformance tests of constraints: the package's own keep their promises, others do not."""

from dataclasses import dataclass

import numpy as np
import pytest

import rahbo
from rahbo.errors import DataError
from rahbo.model import Constraint
from rahbo.risk import MeanStd, MeanVariance, Quantile, RiskMeasure
from rahbo.testing import check_outcome

READ = {True: 1.0, False: 0.0, "ok": 1.0, "fail": 0.0}


@dataclass(frozen=True)
class Passes(Constraint):
    """A part passes or fails, and a share of all parts must pass."""

    limit: float = 0.9

    @property
    def risk(self):
        return MeanStd(0.0)

    @property
    def described(self):
        return f"good with probability {self.limit:g}"

    @property
    def measured(self):
        return "share that passes"

    def read(self, told):
        if told not in READ:
            raise DataError(f"passes is True or False, got {told!r}.")
        return READ[told]


@dataclass(frozen=True)
class Coupled(RiskMeasure):
    """Noise counts more where the mean is low: R = f - v exp(-f) / 2."""

    def value(self, f, v):
        return f - 0.5 * v * np.exp(-f)

    def gradient(self, f, v):
        return 1.0 + 0.5 * v * np.exp(-f), -0.5 * np.exp(-f) + 0.0 * v


@dataclass(frozen=True)
class Steady(Constraint):
    """The mean less a share of the variance stays above a limit."""

    limit: float

    @property
    def risk(self):
        return Coupled()

    @property
    def described(self):
        return f"steadily above {self.limit:g}"


CASES = {
    "at most": (rahbo.AtMost(5.0), [1.0, 1.3, 0.8], [9.0, 8.8, 9.1]),
    "at least": (rahbo.AtLeast(-0.5, 0.9), [3.0, 3.2], [-2.0, -2.1]),
    "passes": (Passes(), [True, "ok"], [False, "fail"]),
    "steady": (Steady(0.0), [2.0, 1.0, 0.0], [0.0, -1.0, -2.0]),
    "some fail": (Passes(0.6), [True], [False, False, True]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_own_constraints_and_a_pass_fail_outcome_keep_their_promises(case):
    check_outcome(*case)


BROKEN = {
    "no dataclass": ({"__eq__": lambda a, b: a is b, "__hash__": object.__hash__}, "equal to it"),
    "sign": ({"sign": -1.0}, "its risk value must reach the limit"),
    "no sign": ({"sign": 2.0}, "sign must be 1 or -1"),
    "limit": ({"limit": float("nan")}, "limit must be finite|a copy must be equal"),
    "words": ({"described": "two\nlines"}, "described must be a line"),
    "sentence": ({"stated": lambda self, value: "good"}, "must contain the value"),
    "text": ({"read": lambda self, told: str(told)}, "must be finite"),
    "again": ({"read": lambda self, told: 1.0 - float(told in (True, "ok"))}, "read as itself"),
    "anything": ({"read": lambda self, told: float(told in (1.0, "ok"))}, "must raise a DataError"),
    "key": ({"read": lambda self, told: READ[told]}, "must raise a DataError, got KeyError"),
    "no risk": ({"risk": 1.0}, "must be a RiskMeasure"),
    "the other quantile": (
        {"risk": type("Up", (MeanVariance,), {"gradient": lambda s, f, v: (f, v)})(1.0)}, "slope"
    ),
    "noise seeker": (
        {"risk": type("Seeks", (Quantile,), {"weight": -1.0})(0.1)}, "must not rise with the noise"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_named(changed, says, monkeypatch):
    for name, value in changed.items():
        monkeypatch.setattr(Passes, name, value)
    one = Passes()
    if "limit" in changed:
        object.__setattr__(one, "limit", changed["limit"])
    with pytest.raises(AssertionError, match=says):
        check_outcome(one, *CASES["passes"][1:])
