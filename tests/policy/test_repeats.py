"""How often to evaluate a point."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

import rahbo
from rahbo.errors import ExhaustedError
from rahbo.model.variance import KnownPosterior
from rahbo.policy import Adaptive, Fixed, Folds, as_repeats
from rahbo.trials import MOST_REPEATS, Observations


def test_a_number_means_that_many_repeats():
    assert as_repeats(7) == Fixed(7)
    assert as_repeats(7).n_repeats == 7


def test_a_record_is_taken_as_it_is():
    fixed = Fixed(3)
    assert as_repeats(fixed) is fixed


def test_five_repeats_by_default_and_one_at_least():
    assert Fixed().n_repeats == 5
    assert Fixed(1).n_repeats == 1


def test_settings_are_frozen_values():
    assert len({Fixed(2), Fixed(2), Fixed(3)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Fixed(2).n_repeats = 4


# Adaptive


def model_with(sigma, noise_var):
    """A model that believes the same of every point."""
    noise = KnownPosterior(lambda X: np.full(len(X), noise_var))
    mean = SimpleNamespace(predict=lambda X: (np.zeros(len(X)), np.full(len(X), sigma)))
    return SimpleNamespace(mean=mean, noise=noise, beta_noise=0.0, min_noise_var=1e-12)


X0 = np.array([0.5])


def observed(means, spread, repeats=2):
    """Points of given means, whose repeats differ by ``spread``."""
    X = np.linspace(0.0, 1.0, len(means))[:, None]
    values = [[m + spread * i for i in range(repeats)] for m in means]
    return Observations.from_rounds(list(X), values)


def test_the_design_is_repeated_and_later_points_get_one_look_at_a_time():
    repeats = Adaptive(min=3, max=8)
    assert (repeats.initial(None), repeats.most) == (3, 8)
    assert repeats.initial(observed([0.0, 1.0, 2.0], 0.5)) == 3
    model = model_with(1.0, 1.0)
    assert repeats.wanted(model, X0) == 1


def test_repeats_that_agree_end_the_repeats_of_the_design():
    means = [0.0, 1.0, 2.0, 3.0, 4.0]
    assert Adaptive().initial(observed(means, 0.0)) == 1
    assert Adaptive().initial(observed(means, 0.028)) == 1
    assert Adaptive().initial(observed(means, 0.029)) == 2
    # Few points may tie by chance, as may outcomes of few kinds; single values show no noise.
    assert Adaptive().initial(observed(means[:3], 0.0)) == 2
    assert Adaptive().initial(observed([0.0, 1.0, 1.0, 0.0, 0.5], 0.0)) == 2
    assert Adaptive().initial(observed(means, 0.0, repeats=1)) == 2


def test_a_quiet_objective_is_not_repeated():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=0)
    for _ in range(12):
        s = opt.ask()
        y = math.sin(5 * s.params["x"]) + s.params["y"]
        opt.tell(s, [y, y + 1e-6][: s.repeats])
    assert [t.n_requested for t in opt.trials] == [2] * 4 + [1] * 8


def test_an_objective_without_noise_is_repeated_until_that_shows():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=0)
    for _ in range(16):
        s = opt.ask()
        opt.tell(s, [math.sin(5 * s.params["x"]) + s.params["y"]] * s.repeats)
    assert [t.n_requested for t in opt.trials] == [2] * 4 + [1] * 2 + [2] * 4 + [1] * 6


@pytest.mark.parametrize("setup", [0.0, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("noise_var", [0.1, 1.0, 30.0])
def test_repeats_gain_the_most_for_their_cost(setup, noise_var):
    wanted = Adaptive(min=1, max=20, setup=setup).wanted(model_with(1.0, noise_var), X0)
    gain = [math.log(1.0 + m / noise_var) / (setup + m) for m in range(1, 21)]
    assert gain[wanted - 1] == max(gain)


def test_nothing_is_repeated_where_nothing_is_left_to_learn():
    assert Adaptive(min=1, max=20, setup=2.0).wanted(model_with(0.0, 1.0), X0) == 1


def test_what_is_costly_to_set_up_and_noisy_is_repeated_more():
    def wanted(setup, noise_var):
        return Adaptive(min=1, max=50, setup=setup).wanted(model_with(1.0, noise_var), X0)

    assert wanted(0.0, 4.0) == 1
    assert wanted(1.0, 4.0) < wanted(10.0, 4.0) < wanted(10.0, 100.0)


@pytest.mark.slow
def test_the_most_repeats_can_be_asked_for():
    for repeats in (MOST_REPEATS, Adaptive(MOST_REPEATS, MOST_REPEATS, setup=1e9)):
        opt = rahbo.Optimizer({"x": (0.0, 1.0)}, repeats=repeats, n_initial=1, seed=0)
        opt.tell({"x": 0.5}, [1.0, 2.0])
        assert opt.ask().repeats == MOST_REPEATS


@pytest.mark.slow
def test_a_run_spends_what_it_asks_for_and_goes_on_from_its_trials():
    def run(opt, rounds):
        for _ in range(rounds):
            s = opt.ask()
            rng = np.random.default_rng(s.id)
            x = s.params["x"]
            opt.tell(s, list(math.sin(6 * x) + 0.3 * x * rng.standard_normal(s.repeats)))
        return opt

    settings = {"repeats": Adaptive(min=2, max=5, setup=1.0), "seed": 3}
    whole = run(rahbo.Optimizer({"x": (0.0, 1.0)}, **settings), 14)
    asked = [t.n_requested for t in whole.trials]
    assert asked[:6] == [2] * 6
    assert all(1 <= m <= 5 for m in asked)
    half = run(rahbo.Optimizer({"x": (0.0, 1.0)}, **settings), 7)
    rest = run(rahbo.Optimizer({"x": (0.0, 1.0)}, trials=half.trials, **settings), 7)
    assert [t.params for t in rest.trials] == [t.params for t in whole.trials]
    assert [t.n_requested for t in rest.trials] == asked


def test_folds_end_with_what_a_point_has():
    table = {i: [0.1 * i, 0.2 * i, 0.5, 0.1] for i in range(6)}
    opt = rahbo.Optimizer({"i": rahbo.Int(0, 5)}, repeats=Folds(4), n_initial=3, seed=0)
    seen = []
    for _ in table:
        suggestion = opt.ask()
        assert suggestion.repeats == 4
        seen.append(suggestion.params["i"])
        opt.tell(suggestion, table[suggestion.params["i"]])
    with pytest.raises(ExhaustedError, match="Folds"):
        opt.ask()
    assert sorted(seen) == list(range(6))
    best = max(table, key=lambda i: np.mean(table[i]) - np.std(table[i], ddof=1))
    reported = opt.recommend()
    assert reported.params["i"] == best
    assert reported.mean == pytest.approx(np.mean(table[best]), abs=1e-3)
    assert reported.risk_interval.upper - reported.risk_interval.lower < 0.05


def test_a_failed_fold_may_be_tried_again_and_only_that_one():
    opt = rahbo.Optimizer({"i": rahbo.Int(0, 1)}, repeats=Folds(3), n_initial=1, seed=0)
    first = opt.ask()
    opt.tell(first, [1.0, 1.1])
    opt.tell_failure(first, "no convergence")
    later = [opt.ask(), opt.ask()]
    assert {(s.params["i"], s.repeats) for s in later} == {
        (first.params["i"], 1),
        (1 - first.params["i"], 3),
    }
