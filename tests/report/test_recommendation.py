"""Records in user units against the bounds they come from, and each rule by hand."""

import numpy as np
import pytest

import rahbo
from rahbo.errors import NotReadyError, SettingsError
from rahbo.observations import Observations
from rahbo.report import posterior
from rahbo.report.recommendation import (
    Interval,
    Prediction,
    Recommendation,
    RunnerUp,
    check_rule,
    choose,
    predict,
    recommendations,
)

PREDICTION = Prediction(
    {"lr": 0.012345678, "kind": "a", "n": 3},
    mean=2.0,
    mean_interval=Interval(1.0, 3.5),
    noise_std=0.5,
    noise_std_interval=Interval(0.25, 1.0),
    risk=1.75,
    risk_interval=Interval(0.0, 3.4375),
)
# Sample means 2, 3, 1 and 5; sample variances 1, 9, none and 16.
DATA = Observations.from_rounds(
    [np.array([x]) for x in (0.1, 0.2, 0.3, 0.4)],
    [[1.0, 2.0, 3.0], [0.0, 3.0, 6.0], [1.0], [1.0, 5.0, 9.0]],
)
NONE = np.full(4, np.nan)


def chosen(rule, bound=(0.0, 0.0, 0.0, 0.0), own=NONE, risk=None, data=DATA, legal=True):
    return choose(
        rule,
        data,
        bound=np.array(bound)[: data.n],
        own_bound=np.array(own)[: data.n],
        risk=risk or rahbo.MeanVariance(1.0),
        legal=np.broadcast_to(legal, data.n),
    )


# -- rules ---------------------------------------------------------------------------------------


def test_pessimistic_takes_the_largest_bound_now():
    assert chosen("pessimistic", bound=(-3.0, -1.0, -2.0, -9.0), own=(9.0, 0.0, 0.0, 0.0)) == 1


def test_own_round_takes_the_largest_bound_then_and_skips_points_never_asked():
    own = (np.nan, -5.0, -4.0, np.nan)
    assert chosen("own_round", bound=(9.0, 8.0, 1.0, 7.0), own=own) == 2


def test_own_round_needs_a_point_of_the_strategy():
    with pytest.raises(NotReadyError, match=r"own_round.*chosen by the strategy"):
        chosen("own_round")


def test_best_observed_takes_the_largest_sample_mean():
    assert chosen("best_observed") == 3


@pytest.mark.parametrize(
    ("alpha", "expected"), [(0.0, 3), (0.1, 3), (0.18, 3), (0.22, 0), (5.0, 0)]
)
def test_empirical_takes_the_largest_risk_of_the_samples(alpha, expected):
    # 2 - alpha, 3 - 9 alpha, not counted, 5 - 16 alpha: the first passes the last at 0.2, and
    # the second is never the best.
    assert chosen("empirical", risk=rahbo.MeanVariance(alpha)) == expected


def test_empirical_counts_a_single_value_only_among_single_values():
    single = Observations.from_rounds([np.array([x]) for x in (0.1, 0.2, 0.3)], [[1.0], [4.0], [2]])
    assert chosen("empirical", data=single) == 1
    lucky = Observations.from_rounds([np.array([0.1]), np.array([0.2])], [[99.0], [1.0, 2.0]])
    assert chosen("empirical", data=lucky) == 1


def test_empirical_uses_the_risk_measure_it_is_given():
    # 2 - 1, 3 - 3 and 5 - 4 at kappa = 1; then the noisy one falls behind.
    for kappa, expected in [(0.9, 3), (1.1, 0)]:
        assert chosen("empirical", risk=rahbo.MeanStd(kappa)) == expected


def test_points_that_are_not_legal_are_passed_over():
    bound = (-3.0, -1.0, -2.0, -9.0)
    assert chosen("pessimistic", bound=bound, legal=(True, False, True, True)) == 2
    assert chosen("best_observed", legal=(True, True, True, False)) == 1
    with pytest.raises(NotReadyError, match="satisfies valid="):
        chosen("pessimistic", bound=bound, legal=False)


@pytest.mark.parametrize("rule", ["luckiest", "", None])
def test_other_rules_are_named(rule):
    with pytest.raises(SettingsError, match="rule must be one of pessimistic, own_round"):
        check_rule(rule, None)


@pytest.mark.parametrize("rule", ["own_round", "best_observed"])
def test_rules_that_need_no_risk_measure_take_none(rule):
    check_rule(rule, None)
    with pytest.raises(SettingsError, match=rule):
        check_rule(rule, rahbo.MeanVariance(1.0))


# -- records -------------------------------------------------------------------------------------


def test_negating_swaps_the_ends_and_leaves_the_noise():
    negated = PREDICTION.negated()
    assert negated.mean == -2.0
    assert negated.mean_interval == (-3.5, -1.0)
    assert negated.risk_interval == (-3.4375, 0.0)
    assert negated.risk == -1.75
    assert (negated.noise_std, negated.noise_std_interval) == (0.5, (0.25, 1.0))
    assert negated.params == PREDICTION.params
    assert negated.negated() == PREDICTION


RECOMMENDATION = Recommendation(
    **vars(PREDICTION),
    level=0.95,
    p_best=0.625,
    runner_ups=(
        RunnerUp({"lr": 0.02, "kind": "b", "n": 4}, 1.5, 0.25),
        RunnerUp({"lr": 0.5, "kind": "a", "n": 5}, -1.25, 0.125),
    ),
    rule="empirical",
    n_evaluations=3,
    sample_mean=3.0,
    sample_std=2.0,
)


def test_negating_a_recommendation_leaves_its_probabilities():
    negated = RECOMMENDATION.negated()
    assert (negated.sample_mean, negated.sample_std, negated.mean) == (-3.0, 2.0, -2.0)
    assert (negated.p_best, negated.level, negated.n_evaluations) == (0.625, 0.95, 3)
    assert [(r.risk, r.p_best) for r in negated.runner_ups] == [(-1.5, 0.25), (1.25, 0.125)]
    assert negated.negated() == RECOMMENDATION


def test_the_printed_record():
    lines = str(PREDICTION).splitlines()
    assert lines[0] == "lr=0.0123457, kind=a, n=3"
    assert lines[1].split() == ["mean", "2", "[1,", "3.5]"]
    assert lines[2].split() == ["noise", "std", "0.5", "[0.25,", "1]"]
    assert lines[3].split() == ["risk", "value", "1.75", "[0,", "3.4375]"]
    printed = str(RECOMMENDATION).splitlines()
    assert printed[:3] == lines[:3]
    assert printed[3] == f"{lines[3]}   at 95 %"
    assert printed[4].split() == ["P(best)", "0.62", "of", "the", "evaluated", "points"]
    assert printed[5].split() == ["evaluated", "3", "times"]
    assert printed[6] == "runner-up  lr=0.02, kind=b, n=4: risk value 1.5, P(best) 0.25"
    assert len(printed) == 8


# -- recommendations -----------------------------------------------------------------------------


def reported(opt, rules=("pessimistic",), bound=None, **changed):
    n = opt.observations.n
    arguments = {
        "space": opt.settings.space,
        "bound": np.zeros(n) if bound is None else np.array(bound),
        "own_bound": np.full(n, np.nan),
        "level": 0.9,
        "seed": 5,
    }
    risk = opt.settings.risk
    return recommendations(list(rules), opt.observations, opt.model, risk, **arguments | changed)


def three_points(means=(0.0, 1.0, 1.1), spread=0.4, **settings):
    rng = np.random.default_rng(2)
    rows = rahbo.Candidates([{"x": float(i)} for i in range(len(means))])
    data = [({"x": float(i)}, m + spread * rng.standard_normal(9)) for i, m in enumerate(means)]
    return rahbo.Optimizer(rows, seed=0, data=data, **settings)


def test_what_was_measured_is_part_of_the_record():
    opt = three_points()
    opt.tell({"x": 0.0}, 0.25)
    data = opt.observations
    found = reported(opt, bound=(1.0, 0.0, 0.0))["pessimistic"]
    assert (found.rule, found.n_evaluations, found.params) == ("pessimistic", 10, {"x": 0.0})
    assert found.sample_mean == data.mean[0]
    assert found.sample_std == pytest.approx(np.std(data.repeats(0), ddof=1))
    single = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=[({"x": 0.5}, 1.5)])
    found = single.recommend()
    assert (found.sample_mean, found.sample_std, found.n_evaluations) == (1.5, None, 1)
    assert (found.p_best, found.runner_ups) == (1.0, ())


def test_centres_are_those_of_a_prediction():
    opt = three_points()
    for i in range(3):
        found = reported(opt, bound=np.eye(3)[i])["pessimistic"]
        centre = opt.predict({"x": float(i)})
        for name in ("params", "mean", "noise_std", "risk"):
            assert getattr(found, name) == pytest.approx(getattr(centre, name))


def test_probabilities_are_shares_of_the_draws_and_sum_to_one():
    opt = three_points()
    draws = posterior.joint_posterior(
        opt.model, opt.settings.risk, opt.observations.X, np.arange(3), seed=5
    )
    shares = np.bincount(np.argmax(draws.risk, axis=1), minlength=3) / posterior.DRAWS
    for i in range(3):
        found = reported(opt, bound=np.eye(3)[i])["pessimistic"]
        assert found.p_best == shares[i]
        others = {r.params["x"]: r.p_best for r in found.runner_ups}
        assert others == {float(j): shares[j] for j in range(3) if j != i and shares[j] > 0}
        assert found.mean_interval == pytest.approx(np.quantile(draws.f[:, i], [0.05, 0.95]))
        assert found.noise_std_interval == pytest.approx(
            np.quantile(draws.noise_std[:, i], [0.05, 0.95])
        )
        assert found.risk_interval == pytest.approx(np.quantile(draws.risk[:, i], [0.05, 0.95]))


def test_the_best_has_the_probability_and_runner_ups_come_in_order():
    opt = three_points((0.0, 1.0, 1.1, 5.0), spread=0.2)
    found = opt.recommend()
    assert found.params == {"x": 3.0}
    assert found.p_best > 0.95
    opt = three_points((1.0, 1.1, 1.2, 1.3, 1.4, 1.5), spread=0.6)
    found = opt.recommend(rule="best_observed")
    chances = [r.p_best for r in found.runner_ups]
    assert len(chances) == 3
    assert chances == sorted(chances, reverse=True)
    assert found.params not in [r.params for r in found.runner_ups]
    for other in found.runner_ups:
        assert other.risk == pytest.approx(opt.predict(other.params).risk)


def test_a_point_that_is_not_legal_is_no_rival():
    opt = three_points((0.0, 5.0, 1.0), spread=0.2, valid=lambda p: p["x"] != 1.0)
    found = opt.recommend()
    assert found.params == {"x": 2.0}
    assert found.p_best > 0.95
    assert {"x": 1.0} not in [r.params for r in found.runner_ups]


def test_a_reported_point_beyond_the_leading_ones_is_drawn_with_them(monkeypatch):
    monkeypatch.setattr(posterior, "LEADING", 2)
    opt = three_points((0.0, 2.0, 2.1), spread=0.2)
    found = reported(opt, ("pessimistic", "best_observed"), bound=(1.0, 0.0, 0.0))
    assert found["pessimistic"].params == {"x": 0.0}
    assert found["pessimistic"].p_best < 0.1
    assert len(found["pessimistic"].runner_ups) == 2
    alone = reported(opt, ("best_observed",))
    assert alone["best_observed"] == found["best_observed"]


def test_the_draws_depend_on_the_seed_alone():
    opt = three_points()
    assert reported(opt) == reported(opt)
    other = reported(opt, seed=6)["pessimistic"]
    first = reported(opt)["pessimistic"]
    assert other.risk_interval != first.risk_interval
    assert other.risk_interval == pytest.approx(first.risk_interval, abs=0.2)


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


PRESETS = {"default": {}, "paper": rahbo.paper_preset()}
RISKS = {
    "mean-variance": (rahbo.MeanVariance(0.3), lambda f, v: f - 0.3 * v),
    "mean-std": (rahbo.MeanStd(2.0), lambda f, v: f - 2.0 * np.sqrt(v)),
    "quantile": (rahbo.Quantile(0.05), lambda f, v: f - 1.6448536269514722 * np.sqrt(v)),
}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize(("risk", "formula"), RISKS.values(), ids=RISKS)
def test_predictions_are_the_bounds_in_user_units(preset, risk, formula, rng):
    opt = run(preset, risk)
    model, units = opt.model, opt.model.learned
    X = rng.random((9, 2))
    mu, sigma = model.mean.predict(X)
    g, spread = model.noise.latent(X)
    floor, width = model.min_noise_var, 1 if preset == {} else 2
    records = predict(model, risk, X, [{"i": i} for i in range(9)])
    for i, record in enumerate(records):
        assert record.params == {"i": i}
        lower, mean, upper = (
            units.shift + units.scale * (mu[i] + z * sigma[i]) for z in (-width, 0, width)
        )
        assert record.mean == pytest.approx(mean)
        assert record.mean_interval == pytest.approx((lower, upper))
        quiet, centre, loud = (
            units.scale**2 * max(float(model.noise.link(g[i] + z * spread[i])), floor)
            for z in (-width, 0, width)
        )
        assert record.noise_std == pytest.approx(np.sqrt(centre))
        assert record.noise_std_interval == pytest.approx((np.sqrt(quiet), np.sqrt(loud)))
        assert record.risk == pytest.approx(formula(mean, centre))
        if not (isinstance(risk, rahbo.MeanVariance) and quiet <= units.scale**2 * floor):
            expected = (formula(lower, loud), formula(upper, quiet))
            assert record.risk_interval == pytest.approx(expected)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize("risk", [risk for risk, _ in RISKS.values()], ids=RISKS)
def test_every_interval_holds_its_centre(preset, risk, rng):
    opt = run(preset, risk)
    for record in predict(opt.model, risk, rng.random((200, 2)), [{}] * 200):
        for centre, (lower, upper) in [
            (record.mean, record.mean_interval),
            (record.noise_std, record.noise_std_interval),
            (record.risk, record.risk_interval),
        ]:
            assert lower <= centre <= upper


def test_in_the_paper_preset_the_optimistic_end_takes_the_noise_bound_unclipped(rng):
    risk = rahbo.MeanVariance(0.3)
    opt = run(PRESETS["paper"], risk)
    b = opt.model.belief(X := rng.random((400, 2)))
    negative = np.flatnonzero(b.noise_lower < 0.0)
    assert len(negative) > 0
    records = predict(opt.model, risk, X, [{}] * 400)
    for i in negative[:5]:
        assert records[i].risk_interval.upper == pytest.approx(
            b.f_upper[i] - 0.3 * b.noise_lower[i]
        )
        assert records[i].noise_std_interval.lower >= 0.0
