"""Outcomes beside the objective: their limits, and what is believed of them."""

import numpy as np
import pytest

from rahbo.model import AtLeast, AtMost, outcome_of
from rahbo.trials import Evaluation, Trial


def trials(n=12, told=lambda i: True):
    rng, found = np.random.default_rng(0), []
    for i in range(n):
        x = rng.random(2)
        loss = {"loss": float(x.sum() + 0.05 * rng.standard_normal())}
        trial = Trial(i, {}, x, 1, "design" if i < 6 else "strategy")
        given = Evaluation(float(-x[0]), outcomes=loss if told(i) else {})
        found.append(trial.with_told({0: given}))
    return found


def test_limits_are_quantiles_in_the_sense_of_maximisation():
    assert (AtMost(5).limit, AtMost(5).probability, AtMost(5).sign) == (5.0, 0.95, -1.0)
    assert (AtLeast(5).sign, AtLeast(5, 0.9).risk.level) == (1.0, pytest.approx(0.1))
    assert AtLeast(0.5, 0.9).described == "at least 0.5 with probability 0.9"


def test_an_outcome_takes_the_place_of_the_objective():
    told = list(outcome_of(trials(told=lambda i: i % 2 == 0), "loss"))
    assert [bool(t.values) for t in told] == [True, False] * 6
    assert told[0].values[0] == trials()[0].evaluations[0].outcomes["loss"]
