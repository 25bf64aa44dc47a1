"""Outcomes beside the objective: their limits, and what is believed of them."""

import numpy as np
import pytest

from rahbo.errors import SettingsError
from rahbo.model import AtLeast, AtMost, Fitting, ModelSettings, OutcomeBeliefs, Refit, outcome_of
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


def beliefs(sign=-1.0):
    return OutcomeBeliefs({"loss": Fitting(ModelSettings(), Refit(), sign)})


def test_limits_are_quantiles_in_the_sense_of_maximisation():
    assert (AtMost(5).limit, AtMost(5).probability, AtMost(5).sign) == (5.0, 0.95, -1.0)
    assert (AtLeast(5).sign, AtLeast(5, 0.9).risk.level) == (1.0, pytest.approx(0.1))
    assert AtLeast(0.5, 0.9).described == "at least 0.5 with probability 0.9"


@pytest.mark.parametrize("kind", [AtMost, AtLeast])
@pytest.mark.parametrize("limit", [np.nan, np.inf, "5", None, True])
def test_a_limit_is_a_finite_number(kind, limit):
    with pytest.raises(SettingsError, match=f"{kind.__name__} needs a finite number"):
        kind(limit)


@pytest.mark.parametrize("probability", [0.5, 1.0, 0.0, 95, np.nan, "much"])
def test_a_probability_is_above_a_half_and_below_one(probability):
    with pytest.raises(SettingsError, match=r"above 0\.5 and below 1"):
        AtMost(5.0, probability)


def test_an_outcome_takes_the_place_of_the_objective():
    told = list(outcome_of(trials(told=lambda i: i % 2 == 0), "loss"))
    assert [bool(t.values) for t in told] == [True, False] * 6
    assert told[0].values[0] == trials()[0].evaluations[0].outcomes["loss"]


def test_an_outcome_is_learned_from_the_trials_that_told_it():
    known = trials(told=lambda i: i % 2 == 0)
    model = beliefs().now(known)["loss"]
    assert model.observations.n == 6
    assert model.observations.sign == -1.0
    assert beliefs().now(trials(told=lambda i: False)) == {"loss": None}


def test_forgetting_a_trial_makes_a_new_model():
    kept, known = beliefs(), trials()
    first = kept.followed(known[:10])["loss"]
    assert kept.followed(known)["loss"] is first
    kept.forget(10)
    assert kept.followed(known)["loss"].observations.n == 12


def test_the_past_is_as_it_was_and_empty_before_the_first_value():
    known = trials(told=lambda i: i >= 4)
    past = list(beliefs().after(known, [3, 6, 12]))
    assert past[0] == {"loss": None}
    assert [p["loss"].observations.n for p in past[1:]] == [2, 8]


def test_fits_of_another_run_are_reused_only_if_learned_in_the_same_way():
    known, other = trials(), beliefs()
    other.now(known)
    mine, opposite = beliefs(), beliefs(1.0)
    for one in (mine, opposite):
        one.reuse(other.fits(), known, known)
    assert mine.beliefs["loss"].fits
    assert not opposite.beliefs["loss"].fits
