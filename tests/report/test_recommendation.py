"""Records in user units against the bounds they come from, and each rule by hand."""

import numpy as np
import pytest

import rahbo
from rahbo.errors import NotReadyError, SettingsError
from rahbo.observations import Observations
from rahbo.report.recommendation import (
    Interval,
    Prediction,
    Recommendation,
    check_rule,
    choose,
    predict,
    recommendation,
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


def test_a_recommendation_adds_what_was_measured():
    record = recommendation(PREDICTION, "empirical", DATA, 1)
    assert isinstance(record, Recommendation)
    assert (record.rule, record.n_evaluations) == ("empirical", 3)
    assert (record.sample_mean, record.sample_std) == (3.0, 3.0)
    for name in vars(PREDICTION):
        assert getattr(record, name) == getattr(PREDICTION, name)
    negated = record.negated()
    assert isinstance(negated, Recommendation)
    assert (negated.sample_mean, negated.sample_std, negated.mean) == (-3.0, 3.0, -2.0)
    assert negated.negated() == record


def test_a_single_value_has_no_sample_deviation():
    record = recommendation(PREDICTION, "pessimistic", DATA, 2)
    assert record.sample_std is None
    assert record.negated().sample_std is None
    assert (record.n_evaluations, record.sample_mean) == (1, 1.0)


def test_the_printed_record():
    lines = str(PREDICTION).splitlines()
    assert lines[0] == "lr=0.0123457, kind=a, n=3"
    assert lines[1].split() == ["mean", "2", "[1,", "3.5]"]
    assert lines[2].split() == ["noise", "std", "0.5", "[0.25,", "1]"]
    assert lines[3].split() == ["risk", "value", "1.75", "[0,", "3.4375]"]
    printed = str(recommendation(PREDICTION, "empirical", DATA, 1)).splitlines()
    assert printed[:4] == lines
    assert printed[4].split() == ["evaluated", "3", "times"]


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
    floor = model.min_noise_var
    records = predict(model, risk, X, [{"i": i} for i in range(9)])
    for i, record in enumerate(records):
        assert record.params == {"i": i}
        lower, mean, upper = (
            units.shift + units.scale * (mu[i] + z * sigma[i]) for z in (-2, 0, 2)
        )
        assert record.mean == pytest.approx(mean)
        assert record.mean_interval == pytest.approx((lower, upper))
        quiet, centre, loud = (
            units.scale**2 * max(float(model.noise.link(g[i] + z * spread[i])), floor)
            for z in (-2, 0, 2)
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
