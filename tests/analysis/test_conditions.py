"""Recommendations under given conditions, checked against the posterior itself."""

import math

import numpy as np
import pytest

import rahbo
from rahbo.analysis import is_current, newest_times, space_for
from rahbo.analysis.conditions import Average, distinct, told_conditions
from rahbo.errors import NotReadyError, SettingsError, SpaceError

SPACE = {"x": (0.0, 1.0), "t": rahbo.Context(10.0, 35.0), "line": rahbo.Context(["a", "b"])}
TIMES = (10.0, 16.0, 22.0, 28.0, 34.0)


def truth(x, t, line):
    return 1.0 + (line == "a") - 4.0 * (x - (t - 10.0) / 25.0) ** 2


def told(direction="maximize", noise=0.05, **settings):
    opt = rahbo.Optimizer(SPACE, seed=0, direction=direction, **settings)
    rng, sign = np.random.default_rng(1), opt.settings.sign
    for x in np.linspace(0.0, 1.0, 6):
        for i, t in enumerate(TIMES):
            params = {"x": float(x), "t": t, "line": "ab"[i % 2]}
            value = truth(**params) + noise * rng.standard_normal(2)
            opt.tell(params, (sign * value).tolist())
    return opt


@pytest.fixture(scope="module")
def opt():
    return told()


def test_under_one_condition_choices_tried_anywhere_compete(opt):
    for t in (11.0, 22.5, 34.0):
        found = opt.recommend(context={"t": t, "line": "b"})
        assert found.params["t"] == t
        assert found.params["line"] == "b"
        assert abs(found.params["x"] - (t - 10.0) / 25.0) <= 0.15
        space = opt.settings.space
        X = [{"x": float(x), "t": t, "line": "b"} for x in np.linspace(0.0, 1.0, 6)]
        best = max(opt.predict(X), key=lambda p: p.pessimistic)
        assert space.encode(best.params).tolist() == space.encode(found.params).tolist()
        assert math.isclose(found.pessimistic, best.pessimistic, rel_tol=1e-9)
        assert math.isclose(found.mean, best.mean, rel_tol=1e-9)
        # Ten values were told at each choice, under five conditions.
        assert found.n_evaluations == 10


def test_the_average_is_a_linear_functional_of_the_posterior(opt):
    conditions = [{"t": 14.0, "line": "a"}, {"t": 30.0, "line": "b"}, {"t": 31.0, "line": "b"}]
    found = opt.recommend(conditions=conditions)
    assert set(found.params) == {"x"}
    model, space = opt.model, opt.settings.space
    score = []
    for x in np.linspace(0.0, 1.0, 6):
        Z = np.array([space.encode({"x": float(x), **c}) for c in conditions])
        mu, cov = model.mean.predict(Z)[0].mean(), model.mean.covariance(Z).mean()
        g, s = model.noise.latent(Z)
        v = np.maximum(model.noise.link(g + s), model.min_noise_var).mean()
        lower = model.units.to_outcome(mu - math.sqrt(cov))
        score.append(lower - math.sqrt(model.units.var_to_user(v)))
    best = int(np.argmax(score))
    assert found.params["x"] == float(np.linspace(0.0, 1.0, 6)[best])
    assert math.isclose(found.pessimistic, score[best], rel_tol=1e-6)
    each = [opt.predict({**found.params, **c}) for c in conditions]
    assert math.isclose(found.mean, np.mean([p.mean for p in each]), rel_tol=1e-9)
    total = np.mean([p.noise_std**2 for p in each])
    assert math.isclose(found.noise_std, math.sqrt(total), rel_tol=1e-9)
    for inner, centre in ((found.mean_interval, found.mean), (found.risk_interval, found.risk)):
        assert inner.lower <= centre <= inner.upper
        assert inner.upper - inner.lower < 1.0
    assert found.pessimistic <= found.risk


def test_the_variance_between_conditions_is_a_risk_if_wanted(opt):
    conditions = [{"t": t, "line": "a"} for t in (10.0, 34.0)]
    noise, total = (
        opt.recommend(conditions=conditions, risk_over_conditions=wanted)
        for wanted in (False, True)
    )
    each = [opt.predict({**total.params, **c}).mean for c in conditions]
    between = total.noise_std**2 - np.mean(
        [opt.predict({**total.params, **c}).noise_std ** 2 for c in conditions]
    )
    assert math.isclose(between, np.var(each), rel_tol=1e-6, abs_tol=1e-9)
    assert total.pessimistic < noise.pessimistic
    assert total.noise_std >= noise.noise_std
    # A setting between both optima is the same under both conditions.
    assert abs(total.params["x"] - 0.5) < 0.2


def test_without_a_condition_those_told_count(opt):
    default = opt.recommend()
    listed = opt.recommend(conditions=told_conditions(opt.settings.space, opt.trials))
    assert default == listed
    assert set(default.params) == {"x"}
    assert len(told_conditions(opt.settings.space, opt.trials)) == 30


def test_minimising_is_maximising_the_negated(opt):
    other = told("minimize")
    conditions = [{"t": 20.0, "line": "a"}, {"t": 30.0, "line": "b"}]
    for asked in ({"context": conditions[0]}, {"conditions": conditions}):
        up, down = opt.recommend(**asked), other.recommend(**asked)
        assert up.params == down.params
        assert up.mean == -down.mean
        assert up.mean_interval == down.mean_interval.negated()
        assert up.pessimistic == -down.pessimistic


def test_many_conditions_are_thinned_and_rivals_are_named():
    rng = np.random.default_rng(3)
    opt = told(noise=0.5)
    conditions = [{"t": float(rng.uniform(10, 35)), "line": "a"} for _ in range(200)]
    found = opt.recommend(conditions=conditions)
    assert found.gain.expected > 0.0
    assert found.runner_ups
    assert all(set(other.params) == {"x"} for other in found.runner_ups)
    assert all(other.score <= found.score for other in found.runner_ups)


def test_a_choice_for_all_conditions_is_valid_under_each():
    opt = told(valid=lambda p: p["x"] * 25.0 + 10.0 <= p["t"] + 6.0)
    context = {"t": 34.0, "line": "a"}
    assert opt.recommend(context=context).params["x"] > 0.7
    cold = {"t": 10.0, "line": "a"}
    assert opt.recommend(conditions=[context, cold]).params["x"] <= 0.24
    opt = told(valid=lambda p: p["t"] > 9.0)
    with pytest.raises(NotReadyError, match=r"satisfies valid="):
        opt.recommend(conditions=[context, {"t": 5.0, "line": "a"}])


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"context": {"t": 20.0}}, r"missing \['line'\]"),
        ({"context": {"t": 20.0, "line": "a", "x": 0.5}}, r"unknown \['x'\]"),
        ({"context": {"t": math.nan, "line": "a"}}, r"must be a number"),
        ({"context": 20.0}, r"context must be a dict"),
        ({"conditions": []}, r"at least one dict"),
        ({"conditions": {"t": 20.0, "line": "a"}}, r"must be a list of dicts"),
        ({"conditions": [{"t": 20.0}]}, r"missing \['line'\]"),
        ({"conditions": 3}, r"must be a list of dicts"),
        ({"rule": "best_observed"}, r"different conditions"),
        (
            {"context": {"t": 20.0, "line": "a"}, "risk_over_conditions": True},
            r"Pass one of them",
        ),
    ],
)
def test_what_does_not_fit_is_refused(opt, asked, problem):
    with pytest.raises((SpaceError, SettingsError), match=problem):
        opt.recommend(**asked)


def test_a_counted_time_is_filled_in_and_a_clock_is_asked_for():
    counted = rahbo.Optimizer({"x": (0.0, 1.0), "time": rahbo.Time(10.0)}).settings.space
    assert space_for(counted, None, 3.0).decode([0.5, 0.0])["time"] == 3.0
    assert space_for(counted, {"time": 4.5}, 3.0).decode([0.5, 0.0])["time"] == 4.5
    clock = rahbo.Optimizer({"x": (0.0, 1.0), "h": rahbo.Time(8.0, "hours")}).settings.space
    with pytest.raises(SpaceError, match=r"Pass context= with \['h'\]"):
        space_for(clock, None, 3.0)


def test_the_newest_time_is_now():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "h": rahbo.Time(8.0, "hours")}, seed=0)
    for hour in range(12):
        for x in (0.1, 0.5, 0.9):
            # The best choice moves from 0.1 to 0.9.
            opt.tell({"x": x, "h": float(hour)}, -((x - 0.1 - 0.8 * hour / 11.0) ** 2))
    assert newest_times(opt.settings.space, opt.trials) == {"h": 11.0}
    assert opt.recommend().params == {"x": 0.9, "h": 11.0}
    assert opt.recommend(context={"h": 0.0}).params["x"] == 0.1


def test_a_trial_is_current_if_its_conditions_are_those_of_now():
    space = {**SPACE, "time": rahbo.Time(10.0), "h": rahbo.Time(1.0, "hours")}
    opt = rahbo.Optimizer(space, seed=0)
    opt.ask(context={"t": 20.0, "line": "a", "h": 1.0})
    (trial,), own = opt.trials, opt.settings.space
    now = {"t": 20.0, "line": "a", "h": 1.0, "time": 7.0}
    assert is_current(trial, own, own.at(now))
    for other in ({"t": 20.1}, {"line": "b"}, {"h": 1.5}):
        assert not is_current(trial, own, own.at({**now, **other}))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_recommendation_for_many_conditions_says_how_much_blocks_differ(direction):
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "t": rahbo.Context(0.0, 1.0)}, direction=direction)
    for i in range(6):
        opt.tell({"x": i / 5, "t": (i % 3) / 2}, [0.0, 1.0], block=["a", "b"])
    assert opt.recommend().blocks == opt.recommend(context={"t": 0.5}).blocks == opt.blocks
    assert opt.blocks.effects["a"] < 0.0 < opt.blocks.effects["b"]


def alternating(n):
    """Tell ``n`` results on two lines in turn, whose best choices are 0.2 and 0.8."""
    rng = np.random.default_rng(0)
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "line": rahbo.Context(["a", "b"])}, seed=0)
    for i in range(n):
        x = float(rng.choice(np.linspace(0.0, 1.0, 6)))
        best = 0.8 if i % 2 else 0.2
        opt.tell({"x": x, "line": "ab"[i % 2]}, 0.1 - (x - best) ** 2)
    return opt


def test_conditions_that_alternate_are_all_averaged_over():
    # Every second of 127 is what an evenly spaced choice of 64 would keep.
    opt = alternating(127)
    both = [{"line": line} for line in "ab"]
    found, equal = opt.recommend(), opt.recommend(conditions=both)
    each = [opt.predict({**found.params, **c}).mean for c in both]
    assert math.isclose(found.mean, (64 * each[0] + 63 * each[1]) / 127, rel_tol=1e-9)
    assert math.isclose(found.gain.expected, equal.gain.expected, abs_tol=0.02)


def test_equal_conditions_are_weights(opt):
    a, b = {"t": 14.0, "line": "a"}, {"t": 30.0, "line": "b"}
    for total in (False, True):
        thrice, many = (
            opt.recommend(conditions=[a] * n + [b] * 3 * n, risk_over_conditions=total)
            for n in (1, 100)
        )
        assert thrice == many
        first, second = (opt.predict({**thrice.params, **c}) for c in (a, b))
        mean = (first.mean + 3.0 * second.mean) / 4.0
        between = ((first.mean - mean) ** 2 + 3.0 * (second.mean - mean) ** 2) / 4.0
        noise = (first.noise_std**2 + 3.0 * second.noise_std**2) / 4.0
        assert math.isclose(thrice.mean, mean, rel_tol=1e-9)
        assert math.isclose(thrice.noise_std**2, noise + total * between, rel_tol=1e-9)


def test_of_too_many_conditions_a_sample_keeps_the_weights(opt):
    space = opt.settings.space
    listed = [{"t": 10.0 + i / 10, "line": "ab"[i % 2]} for i in range(128)]
    listed += [{"t": 30.0, "line": "a"}] * 127
    slices, weights = distinct([space.at(c) for c in listed])
    average = Average(opt.state, slices, weights, total=False)
    for most in (64, 16):
        few = average.thinned(most)
        assert len(few.slices) <= most
        assert math.isclose(few.weights.sum(), 1.0)
        lines = [at.decode(np.zeros(at.d))["line"] for at in few.slices]
        share = sum(w for w, line in zip(few.weights, lines, strict=True) if line == "a")
        assert 0.6 < share < 0.9
        assert abs(few.weights.max() - 0.5) <= 1.0 / most


def test_a_time_that_was_only_asked_for_is_not_now():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "h": rahbo.Time(8.0, "hours")}, seed=0)
    first = opt.ask(context={"h": 2.0})
    assert newest_times(opt.settings.space, opt.trials) == {"h": 2.0}
    opt.tell(first, [1.0] * first.repeats)
    wrong = opt.ask(context={"h": 600.0})
    assert opt.recommend().params["h"] == 2.0
    opt.cancel(wrong)
    assert newest_times(opt.settings.space, opt.trials) == {"h": 2.0}


def test_a_list_of_one_condition_is_that_condition(opt):
    context = {"t": 22.5, "line": "b"}
    under = opt.recommend(context=context)
    assert opt.recommend(conditions=[context]) == under
    assert opt.recommend(conditions=[context] * 3, risk_over_conditions=True) == under


def test_values_told_under_other_conditions_confirm_nothing(opt):
    # Ten values were told at each choice, two of them under each of five conditions.
    here, other = (opt.recommend(context={"t": t, "line": "a"}) for t in (22.0, 23.0))
    assert (here.n_evaluations, here.n_elsewhere, here.confirm) == (10, 8, 3)
    assert (other.n_evaluations, other.n_elsewhere, other.confirm) == (10, 10, 5)
    assert "10   times, 8 of them under other conditions" in str(here)
    assert "10   times, under other conditions" in str(other)
    assert "Measure this setting 5 more times" in str(other)
    assert opt.recommend().n_elsewhere == 0


def test_values_told_a_moment_ago_confirm_but_old_ones_do_not():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "h": rahbo.Time(8.0, "hours")}, seed=0)
    rng = np.random.default_rng(0)
    for hour in (0.0, 6.4, 7.0):
        for x in (0.1, 0.5, 0.9):
            opt.tell({"x": x, "h": hour}, list(rng.normal(-x, 0.5, 2)))
    found = opt.recommend()
    assert (found.n_evaluations, found.n_elsewhere, found.confirm) == (6, 2, 1)
