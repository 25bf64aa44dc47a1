"""Records in user units against the posteriors they come from."""

from dataclasses import replace

import numpy as np
import pytest

import presets
import rahbo
from rahbo.analysis import (
    Alternative,
    Aversion,
    Gain,
    Interval,
    Luckiest,
    Prediction,
    Recommendation,
    RunnerUp,
    choices,
    predict,
)
from rahbo.analysis.posterior import marginals
from rahbo.policy import CONFIRMED, GPUCB, Folds, RahboUS, TopTwo, pessimistic, pessimistic_values
from rahbo.space import Space
from rahbo.state import State
from rahbo.trials import Paged

PREDICTION = Prediction(
    {"lr": 0.012345678, "kind": "a", "n": 3},
    mean=2.0,
    mean_interval=Interval(1.0, 3.5),
    noise_std=0.5,
    noise_std_interval=Interval(0.25, 1.0),
    risk=1.75,
    risk_interval=Interval(0.0, 3.4375),
    level=0.95,
    pessimistic=0.25,
)


# -- records -------------------------------------------------------------------------------------


def test_negating_swaps_the_ends_and_leaves_the_noise():
    negated = PREDICTION.negated()
    assert negated.mean == -2.0
    assert negated.mean_interval == (-3.5, -1.0)
    assert negated.risk_interval == (-3.4375, 0.0)
    assert (negated.risk, negated.pessimistic, negated.level) == (-1.75, -0.25, 0.95)
    assert (negated.noise_std, negated.noise_std_interval) == (0.5, (0.25, 1.0))
    assert negated.params == PREDICTION.params
    assert negated.negated() == PREDICTION


RECOMMENDATION = Recommendation(
    **vars(PREDICTION),
    rule="empirical",
    score=1.5,
    n_evaluations=3,
    sample_mean=3.0,
    sample_std=2.0,
    gain=Gain(0.0042, 0.0213, 0.95),
    runner_ups=(
        RunnerUp({"lr": 0.02, "kind": "b", "n": 4}, 1.5, 1.25, Gain(0.125, 0.5, 0.95)),
        RunnerUp({"lr": 0.5, "kind": "a", "n": 5}, -1.25, 1.0, Gain(0.0625, 0.25, 0.95)),
    ),
    p_best=0.625,
    confirm=2,
    trials=(7, 12),
    luckiest=Luckiest(3, 0, {"lr": 0.1, "kind": "a", "n": 3}, 6.5, 1.0, 1.5, False, True, True),
    aversion=Aversion(
        2.0, 1.75, "noise std", 1.0, None,
        Alternative({"lr": 0.02, "kind": "b", "n": 4}, (5,), 3.2), True,
    ),
)  # fmt: skip


def test_a_runner_up_does_not_look_like_the_recommended_setting():
    settings = [{"f": 1e7 + 40.1234567}, {"f": 1e7 + 40.1934567}]
    other = replace(RECOMMENDATION.runner_ups[0], params=settings[1])
    found = replace(RECOMMENDATION, params=settings[0], runner_ups=(other,))
    for shown in (str(found), found._repr_html_()):
        assert "10000040.1" in shown
        assert "f=10000040.2" in shown
    assert str(other).startswith("f=10000040: ")


def test_negating_a_recommendation_leaves_its_gains():
    negated = RECOMMENDATION.negated()
    assert (negated.sample_mean, negated.sample_std, negated.mean) == (-3.0, 2.0, -2.0)
    assert (negated.score, negated.pessimistic) == (-1.5, -0.25)
    assert (negated.p_best, negated.gain) == (RECOMMENDATION.p_best, RECOMMENDATION.gain)
    assert (negated.confirm, negated.n_evaluations) == (2, 3)
    assert [(r.risk, r.score) for r in negated.runner_ups] == [(-1.5, -1.25), (1.25, -1.0)]
    assert negated.runner_ups[0].gain == RECOMMENDATION.runner_ups[0].gain
    assert negated.negated() == RECOMMENDATION


def test_the_printed_record():
    lines = str(PREDICTION).splitlines()
    assert lines[0] == "lr=0.0123457, kind=a, n=3"
    assert lines[1].split() == ["mean", "2.0", "95", "%", "interval", "[1.0,", "3.5]"]
    assert lines[2].split() == ["noise", "std", "0.50", "95", "%", "interval", "[0.25,", "1.00]"]
    assert lines[3].split() == ["risk", "value", "1.8", "95", "%", "interval", "[0.0,", "3.4]"]
    assert lines[4].split() == ["pessimistic", "0.2"]
    printed = str(RECOMMENDATION).splitlines()
    assert printed[0] == f"{lines[0]}   (trials 7 and 12)"
    assert printed[1:5] == lines[1:]
    assert " ".join(printed[5].split()) == (
        "score 1.5 risk value of its own measurements, decided the choice"
    )
    assert printed[6].split() == ["measured", "3", "times"]
    assert (
        printed[7:11]
        == list(RECOMMENDATION.sentences)
        == [
            "With 95 % probability no other setting is better by more than 0.021 (expected gain "
            "0.0042). It is the best of the list with probability 0.62.",
            "Trial 3 promised 6.5; expect 1.0 ± 1.5 there.",
            "The noise takes 0.2 off 2.0. From 3.2 standard deviations on it would be lr=0.02, "
            "kind=b, n=4.",
            "Measure this setting 2 more times before you rely on it.",
        ]
    )
    assert printed[11] == (
        "runner-up  lr=0.02, kind=b, n=4: risk value of its own measurements 1.2 (recommended "
        "1.5), risk value 1.5, expected gain 0.12, at most 0.5 (95 %)"
    )
    assert len(printed) == 13


def test_what_does_not_apply_is_not_printed():
    usual = replace(
        RECOMMENDATION, rule="pessimistic", p_best=None, confirm=0, runner_ups=(), luckiest=None,
        aversion=None,
    )  # fmt: skip
    printed = str(usual).splitlines()
    assert printed[4].split() == ["pessimistic", "0.2", "decided", "the", "choice"]
    assert printed[5].split() == ["measured", "3", "times"]
    assert len(printed) == 7
    assert usual.advice == ""
    once = replace(usual, confirm=1, n_evaluations=1)
    assert once.advice == "Measure this setting once more before you rely on it."
    assert str(once).splitlines()[5].split() == ["measured", "1", "time"]


# -- what is recommended -------------------------------------------------------------------------


def three_points(means=(0.0, 1.0, 1.1), spread=0.4, k=9, **settings):
    rng = np.random.default_rng(2)
    rows = rahbo.Candidates([{"x": float(i)} for i in range(len(means))])
    data = [({"x": float(i)}, m + spread * rng.standard_normal(k)) for i, m in enumerate(means)]
    return rahbo.Optimizer(rows, seed=0, data=data, **settings)


def test_what_was_measured_is_part_of_the_record():
    opt = three_points((5.0, 0.0, 0.0))
    opt.tell({"x": 0.0}, 4.75)
    data = opt.observations
    found = opt.recommend()
    assert (found.rule, found.n_evaluations, found.params) == ("pessimistic", 10, {"x": 0.0})
    assert found.sample_mean == data.mean[0]
    assert found.sample_std == pytest.approx(np.std(data.repeats(0), ddof=1))
    single = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=[({"x": 0.5}, 1.5)])
    found = single.recommend()
    assert (found.sample_mean, found.sample_std, found.n_evaluations) == (1.5, None, 1)
    assert (found.p_best, found.runner_ups) == (None, ())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("rule", ["pessimistic", "best_observed", "empirical"])
def test_the_recommendation_heads_the_order_of_its_runner_ups(direction, rule):
    sign = 1.0 if direction == "maximize" else -1.0
    means = sign * np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5])
    opt = three_points(means, spread=0.6, direction=direction)
    found = opt.recommend(rule=rule)
    ranked = [sign * score for score in (found.score, *(r.score for r in found.runner_ups))]
    assert len(ranked) == 4
    assert ranked == sorted(ranked, reverse=True)
    assert found.params not in [r.params for r in found.runner_ups]
    for other in found.runner_ups:
        there = opt.predict(other.params)
        assert other.risk == pytest.approx(there.risk)
        assert 0.0 < other.gain.bound <= found.gain.bound
        assert 0.0 < other.gain.expected <= found.gain.expected
        if rule == "pessimistic":
            assert other.score == pytest.approx(there.pessimistic)
    if rule == "pessimistic":
        assert found.score == found.pessimistic
    if rule == "best_observed":
        assert found.score == found.sample_mean


def test_the_leader_is_the_first_though_another_may_well_be_better():
    # What was measured once and looks better is behind what is known for certain.
    rng = np.random.default_rng(1)
    rows = rahbo.Candidates([{"x": float(i)} for i in range(3)])
    data = [
        ({"x": 0.0}, 1.0 + 0.3 * rng.standard_normal(40)),
        ({"x": 1.0}, -3.0 + 0.3 * rng.standard_normal(40)),
        ({"x": 2.0}, [1.3]),
    ]
    found = rahbo.Optimizer(rows, seed=0, data=data, noise_std=0.5).recommend()
    assert found.params == {"x": 0.0}
    (other,) = found.runner_ups
    assert other.params == {"x": 2.0}
    assert other.score < found.score
    assert other.risk > found.risk
    assert found.p_best < 0.5
    assert other.gain.expected == pytest.approx(found.gain.expected, rel=0.05)


def test_settings_that_are_surely_worse_are_no_runner_ups():
    found = three_points((0.0, 1.0, 1.1, 9.0), spread=0.2).recommend()
    assert found.params == {"x": 3.0}
    assert found.runner_ups == ()
    assert found.gain.bound == 0.0
    assert found.p_best > 0.9


def test_a_setting_that_is_not_legal_is_no_rival():
    valid = {"valid": lambda p: p["x"] != 1.0}
    found = three_points((0.0, 9.0, 1.0), spread=0.1, **valid).recommend()
    assert found.params == {"x": 2.0}
    assert {"x": 1.0} not in [r.params for r in found.runner_ups]
    assert found.gain.bound < 1.0
    anywhere = three_points((0.0, 9.0, 1.0), spread=0.1).recommend(rule="best_observed")
    assert anywhere.params == {"x": 1.0}


def test_on_a_continuum_no_setting_has_a_probability_to_be_the_best():
    opt = run(PRESETS["default"], rahbo.MeanVariance(0.3))
    found = opt.recommend()
    assert found.p_best is None
    assert "P(best)" not in str(found)
    assert found.gain.bound > 0.0


def test_settings_never_tried_count_on_a_list():
    means = (0.0, 1.0, 2.0)
    opt = three_points(means, spread=0.1)
    data = [(t.params, list(t.values.values())) for t in opt.trials]
    rows = rahbo.Candidates([{"x": float(i)} for i in range(9)])
    wider = rahbo.Optimizer(rows, seed=0, data=data)
    assert opt.recommend().p_best > 0.9 > wider.recommend().p_best
    assert opt.recommend().gain.bound == 0.0 < wider.recommend().gain.bound


def test_the_record_depends_on_the_seed_alone():
    opt, again = three_points(), three_points()
    assert opt.recommend() == again.recommend()


def test_choices_are_those_of_each_rule():
    opt = run(PRESETS["default"], rahbo.MeanVariance(0.3))
    observations, space = opt.observations, opt.space
    found = choices(opt.state)
    assert list(found) == ["pessimistic", "best_observed", "empirical"]
    for rule, i in found.items():
        assert space.decode(observations.X[i]) == opt.recommend(rule=rule).params
    chosen = [replace(t, own_bound=1.0) if t.is_at(observations.X[4]) else t for t in opt.trials]
    known = State(opt.settings, Paged.of({t.id: t for t in chosen}))
    assert choices(known)["own_round"] == 4
    other = space.decode(observations.X[4])["x"]
    elsewhere = Space.of(space.spec, valid=lambda p: abs(p["x"] - other) > 1e-9)
    outside = replace(known, settings=replace(known.settings, space=elsewhere))
    assert "own_round" not in choices(outside)


# -- how often to measure it again ---------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4, 5, 9])
def test_a_noisy_setting_needs_some_values_of_its_own(k):
    found = three_points((0.0, 1.0, 5.0), k=k).recommend()
    assert found.confirm == max(0, CONFIRMED - k)
    assert ("Measure this setting" in str(found)) == (found.confirm > 0)


def test_what_needs_no_confirmation_asks_for_none():
    assert three_points((0.0, 1.0, 5.0), k=2, noise_std=0.2**0.5).recommend().confirm == 0
    assert three_points((0.0, 1.0, 5.0), k=2, spread=1e-4).recommend().confirm == 0
    assert three_points((0.0, 1.0, 5.0), k=2, repeats=Folds(2)).recommend().confirm == 0
    rng = np.random.default_rng(0)
    rows = rahbo.Candidates([{"x": 0.0}, {"x": 1.0}], revisit=False)
    data = [({"x": x}, x + rng.standard_normal(2)) for x in (0.0, 1.0)]
    assert rahbo.Optimizer(rows, data=data, seed=0).recommend().confirm == 0


# -- predictions ---------------------------------------------------------------------------------


def run(preset, risk):
    rng = np.random.default_rng(4)
    data = [
        (
            {"x": float(x), "y": float(y)},
            list(100.0 + 20.0 * np.sin(5 * x + y) + (1.0 + 8.0 * y) * rng.standard_normal(5)),
        )
        for x, y in rng.random((14, 2))
    ]
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    return rahbo.Optimizer(space, seed=0, **{**preset, "risk": risk}, data=data)


PRESETS = {"default": {}, "paper": presets.paper()}
RISKS = {
    "mean-variance": (rahbo.MeanVariance(0.3), lambda f, v: f - 0.3 * v),
    "mean-std": (rahbo.MeanStd(2.0), lambda f, v: f - 2.0 * np.sqrt(v)),
    "quantile": (rahbo.Quantile(0.05), lambda f, v: f - 1.6448536269514722 * np.sqrt(v)),
}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize(("risk", "formula"), RISKS.values(), ids=RISKS)
def test_predictions_are_the_intervals_in_user_units(preset, risk, formula, rng):
    opt = run(preset, risk)
    X = rng.random((9, 2))
    bound = pessimistic(opt.model, risk)
    records = predict(bound, risk, X, [{"i": i} for i in range(9)], 0.8)
    found, worst = marginals(opt.model, risk, X, 0.8), pessimistic_values(bound, X)[2]
    for i, record in enumerate(records):
        assert (record.params, record.level) == ({"i": i}, 0.8)
        for name in ("mean", "noise_std", "risk"):
            lower, middle, upper = getattr(found, name)[i]
            assert getattr(record, name) == middle
            assert getattr(record, f"{name}_interval") == (lower, upper)
        assert record.risk == pytest.approx(formula(record.mean, record.noise_std**2))
        assert record.pessimistic == worst[i]
        assert record.pessimistic <= record.risk


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize(
    "strategy", [TopTwo(), RahboUS(2), GPUCB()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize(("alpha", "min_noise_var"), [(0.0, None), (1.0, 4.0), (5.0, 60.0)])
def test_every_record_says_the_same_of_a_setting(direction, strategy, level, alpha, min_noise_var):
    opt = run(
        {
            "direction": direction,
            "method": rahbo.Method(strategy=strategy, min_noise_var=min_noise_var),
        },
        rahbo.MeanVariance(alpha),
    )
    best, front = opt.recommend(level=level), opt.frontier(level=level)
    there = next(p for p in front.evaluated if p.params == best.params)
    told = opt.predict(best.params, level=level)
    of_many = opt.predict([p.params for p in front.evaluated], level=level)
    fields = [name for name in vars(told) if name != "params"]
    for record in (there, told, next(p for p in of_many if p.params == best.params)):
        for name in fields:
            assert getattr(record, name) == pytest.approx(getattr(best, name), rel=1e-8), name
    for record in (best, *front.evaluated):
        assert record.level == level
        assert record.mean_interval.lower <= record.mean <= record.mean_interval.upper
        assert (
            record.noise_std_interval.lower <= record.noise_std <= record.noise_std_interval.upper
        )
        assert record.risk_interval.lower <= record.risk <= record.risk_interval.upper
    # The frontier at the alpha that the strategy goes by names the recommended setting.
    assert front.at(front.alpha).prediction.params == best.params
    for other in (0.0, 0.1, 1.0, 20.0):
        named = opt.recommend(risk=rahbo.MeanVariance(other)).params
        assert front.at(other).prediction.params == named
