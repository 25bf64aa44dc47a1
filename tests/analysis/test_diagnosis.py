"""Each verdict against what it is computed from, by brute force, and on tables of every kind."""

import math
from dataclasses import replace

import numpy as np
import pytest

import presets
import rahbo
from bands import bands
from past_tables import SPACE, left_out, optimizer
from rahbo.analysis import (
    Calibration,
    Diagnosis,
    InputNoise,
    Interval,
    Prediction,
    RepeatsThatPay,
    RiskDecision,
    Unevenness,
    diagnose,
    posterior,
)
from rahbo.analysis.diagnosis import risk_gain
from rahbo.errors import NotReadyError
from rahbo.model import KnownNoise, LogNoise
from rahbo.space import Space
from run_shapes import adam_and_sgd


def page(opt):
    return diagnose(opt.state)


@pytest.fixture(scope="module")
def run():
    return optimizer(25, lambda rng: int(rng.integers(2, 6)), noise_std=lambda p: 0.3 + p["x"])


# -- over which inputs ---------------------------------------------------------------------------


def test_the_noisy_input_is_named():
    opt = optimizer(40, 5, noise_std=lambda p: math.exp(p["y"]))
    found = page(opt)
    assert found.unevenness.answer == "yes"
    x, y = found.inputs
    assert (x.name, y.name) == ("x", "y")
    assert y.share > 0.7 > 0.3 > x.share
    assert y.p_value <= 0.01
    assert found.inputs_verdict.startswith("Share of the variation of the noise: y ")
    assert found.inputs_verdict.endswith("Significant on its own: y.")


def test_a_choice_is_one_input():
    space = {"kind": ["a", "b", "c", "d"], "x": (0.0, 1.0), "flag": [True, False]}
    loud = {"a": 0.3, "b": 0.3, "c": 4.0, "d": 4.0}
    opt = optimizer(40, 5, space=space, mean=lambda p: p["x"], noise_std=lambda p: loud[p["kind"]])
    found = page(opt)
    assert [i.name for i in found.inputs] == ["kind", "x", "flag"]
    assert found.inputs[0].p_value <= 0.01
    assert found.inputs[0].share == max(i.share for i in found.inputs)


# -- does risk change the decision ---------------------------------------------------------------


@pytest.mark.parametrize("preset", [{}, presets.paper(alpha=0.4)], ids=["default", "paper"])
def test_gains_have_the_moments_of_both_posteriors(preset, monkeypatch):
    # This test depends on how draws get their tails: so many degrees of freedom are Gaussian ones,
    # and no other noise level is looked at.
    monkeypatch.setattr(posterior, "DOF", 1e6)
    monkeypatch.setattr(posterior, "plausible", lambda model: [(model, n_draws)])
    n_draws = 4000
    opt = optimizer(
        20, 5, noise_std=lambda p: 0.3 + p["x"], **{**preset, "risk": rahbo.MeanVariance(0.4)}
    )
    model, scale = opt.model, opt.model.units.scale
    X = opt.observations.X[[3, 11]]
    mu, _ = model.mean.predict(X)
    g, _ = model.noise.latent(X)
    F, G = model.mean.covariance(X), model.noise.gp.covariance(X)
    contrast = np.array([1.0, -1.0])
    mean, var = scale * contrast @ mu, scale**2 * contrast @ F @ contrast
    if preset:
        v, V = g, G
    else:
        v = np.exp(g + 0.5 * G.diagonal())
        V = np.outer(v, v) * np.expm1(G)
    mean -= 0.4 * scale**2 * contrast @ v
    var += (0.4 * scale**2) ** 2 * contrast @ V @ contrast
    gain = risk_gain(model, opt.settings.risk, X)
    assert gain.shape == (n_draws,)
    assert np.mean(gain) == pytest.approx(mean, abs=5.0 * math.sqrt(var / n_draws))
    assert np.std(gain) == pytest.approx(math.sqrt(var), rel=0.15)


def test_certain_noise_leaves_the_mean_uncertain():
    opt = optimizer(
        15,
        1,
        method=rahbo.Method(noise=KnownNoise(lambda p: 1.0 + p["x"])),
        risk=rahbo.MeanStd(1.0),
    )
    model, scale = opt.model, opt.model.units.scale
    X = opt.observations.X[[0, 1]]
    a, b = (opt.settings.space.decode(x)["x"] for x in X)
    mu, _ = model.mean.predict(X)
    expected = scale * (mu[0] - mu[1]) - (math.sqrt(1.0 + a) - math.sqrt(1.0 + b))
    gain = risk_gain(model, opt.settings.risk, X)
    low, middle, high = np.quantile(gain, [0.25, 0.5, 0.75])
    assert low < high
    assert middle == pytest.approx(expected, abs=0.15 * (high - low))


def risky(alpha):
    """The mean rises with x, and the noise rises faster."""
    return optimizer(
        30,
        8,
        mean=lambda p: 3.0 * p["x"],
        noise_std=lambda p: 0.2 * math.exp(1.5 * p["x"]),
        risk=rahbo.MeanVariance(alpha),
    )


def test_risk_that_changes_the_decision():
    opt = risky(2.0)
    found = page(opt).decision
    assert found.answer == "yes"
    assert found.risk_averse.params == opt.recommend().params
    assert found.risk_neutral.params == opt.recommend(risk=rahbo.MeanVariance(0.0)).params
    assert found.risk_averse.params["x"] < found.risk_neutral.params["x"]
    assert 0.0 < found.gain_interval.lower < found.gain < found.gain_interval.upper
    assert found.probability >= 0.95
    assert found.risk_averse.risk == pytest.approx(opt.recommend().risk)
    gain = risk_gain(opt.model, opt.settings.risk, np.array([
        opt.settings.space.encode(p.params) for p in (found.risk_averse, found.risk_neutral)
    ]))  # fmt: skip
    assert found.gain == np.median(gain)
    assert found.verdict.startswith("Yes: the mean alone would pick a different point")


def test_a_quieter_optimiser_with_few_trials_is_no_reason_to_say_no():
    # It may be better by the risk measure, but too little is known of it to recommend it.
    told = page(adam_and_sgd(np.random.default_rng([8, 7]), 8, gap=0.01)).decision
    assert told.answer == "cannot tell"
    assert told.risk_averse.params == told.risk_neutral.params == {"opt": "adam"}
    assert told.rival.params == {"opt": "sgd"}
    assert 0.1 < told.probability < 0.95
    assert told.verdict.startswith("Cannot tell yet: opt=sgd has a worse mean")


def test_a_better_mean_that_risk_speaks_against_counts_as_a_change():
    # Both pessimistic bounds choose the quiet setting, since little is known of the noisy one.
    rng = np.random.default_rng(0)
    noise = [(z - z.mean()) / z.std() for z in map(rng.standard_normal, (40, 6, 30))]
    data = [
        ({"c": name}, m + s * z)
        for name, m, s, z in zip("abc", (1.0, 1.4, 0.0), (0.05, 0.8, 0.3), noise, strict=True)
    ]
    rows = rahbo.Candidates([{"c": name} for name in "abc"])
    opt = rahbo.Optimizer(rows, seed=0, data=data, risk=rahbo.MeanStd(1.0))
    found, told = opt.recommend(), page(opt).decision
    assert found.params == opt.recommend(risk=rahbo.MeanStd(0.0)).params == {"c": "a"}
    assert opt.predict({"c": "b"}).mean > found.mean
    assert told.answer != "no"
    assert told.risk_neutral.params == {"c": "b"}
    assert "Any reasonable aversion" not in str(found)


def test_without_aversion_the_decision_is_the_same():
    found = page(risky(0.0)).decision
    assert found.answer == "no"
    assert found.risk_averse == found.risk_neutral
    assert (found.gain, found.gain_interval, found.probability) == (0.0, (0.0, 0.0), 0.0)
    assert found.verdict.startswith("No:")


def test_a_gain_within_the_noise_cannot_be_told():
    # Equal means, and hardly any repeats: the quieter looking point leads by chance.
    opt = optimizer(12, 2, seed=2, mean=lambda p: 0.1 * p["x"], risk=rahbo.MeanVariance(1.0))
    found = page(opt).decision
    assert found.risk_averse.params != found.risk_neutral.params
    assert found.answer == "cannot tell"
    assert found.probability < 0.95
    assert found.verdict.startswith("Cannot tell yet")


def test_a_minimised_objective_is_the_maximised_one_with_signs_changed():
    up = risky(2.0)
    seen = up.observations
    rows = [(up.settings.space.decode(x), -seen.repeats(i)) for i, x in enumerate(seen.X)]
    down = rahbo.Optimizer(
        SPACE, seed=0, data=rows, risk=rahbo.MeanVariance(2.0), direction="minimize"
    )
    assert page(down) == page(up)
    user = page(down).negated()
    assert user.decision.risk_averse.mean == pytest.approx(down.recommend().mean)
    assert user.decision.risk_neutral.risk == -page(up).decision.risk_neutral.risk
    assert user.decision.gain == page(up).decision.gain > 0.0
    assert str(user) == str(page(up))
    assert user.negated() == page(up)


def known_in(opt, space):
    """What a run knows in another space of the same parameters."""
    known = opt.state
    return replace(known, settings=replace(known.settings, space=space))


def test_one_valid_point_is_no_choice():
    opt = risky(2.0)
    only = opt.settings.space.decode(opt.observations.X[0])
    space = Space.of(SPACE, valid=lambda p: p == only)
    found = diagnose(known_in(opt, space)).decision
    assert found.answer == "cannot tell"
    assert found.verdict.startswith("Cannot tell: there is only one point")


def test_points_that_are_not_valid_do_not_count():
    opt = risky(2.0)
    space = Space.of(SPACE, valid=lambda p: p["x"] > 1.0)
    found = diagnose(known_in(opt, space))
    assert found.decision.risk_averse.params["x"] > 1.0
    nowhere = Space.of(SPACE, valid=lambda p: False)
    with pytest.raises(NotReadyError, match="satisfies valid="):
        diagnose(known_in(opt, nowhere))


# -- repeats -------------------------------------------------------------------------------------


def test_repeats_halve_what_the_other_points_leave_unknown(run):
    model, observations = run.model, run.observations
    records = run.predict([run.settings.space.decode(x) for x in observations.X])
    best = max(r.pessimistic for r in records)
    b, units = bands(model, observations.X), model.units
    top = run.settings.risk.value(
        units.shift + units.scale * b.f_upper, units.scale**2 * b.noise_lower
    )
    leading = [i for i in range(len(records)) if top[i] >= best]
    unit = model.units.scale**2
    ratios = [
        records[i].noise_std ** 2 / (unit * left_out(model, observations, i)[1]) for i in leading
    ]
    found = page(run).repeats
    assert found.n_leading == len(leading)
    assert found.noise_ratio == pytest.approx(np.median(ratios), rel=1e-4)
    assert found.n_repeats == max(2, math.ceil(np.median(ratios)))
    assert found.noise_std == pytest.approx(
        math.sqrt(np.median([records[i].noise_std ** 2 for i in leading]))
    )


def test_quiet_noise_needs_no_repeats_and_loud_noise_many():
    def repeats(std, risk):
        opt = optimizer(
            30, 3, mean=lambda p: math.sin(9.0 * p["x"]), noise_std=lambda p: std, risk=risk
        )
        return page(opt).repeats.n_repeats

    assert repeats(0.001, rahbo.MeanVariance(0.0)) == 1
    # The risk measure looks at the noise, which one value does not show.
    assert repeats(0.001, rahbo.MeanVariance(1.0)) == 2
    assert repeats(0.001, rahbo.Quantile(0.05)) == 2
    assert repeats(3.0, rahbo.MeanVariance(0.0)) > 3


# -- tables of every kind ------------------------------------------------------------------------


def candidates():
    rows = [{"a": i % 5, "b": "pq"[i % 2], "c": 0.1 * i} for i in range(20)]
    return rahbo.Candidates(rows)


TABLES = {
    "repeated": lambda: optimizer(20, 4),
    "single values": lambda: optimizer(30, 1),
    "mixed": lambda: optimizer(30, lambda rng: int(rng.integers(1, 5))),
    "one value": lambda: optimizer(1, 1),
    "one point": lambda: optimizer(1, 5),
    "two points": lambda: optimizer(2, 2),
    "no noise": lambda: optimizer(20, 3, noise_std=lambda p: 0.0),
    "constant": lambda: optimizer(20, 3, mean=lambda p: 7.0, noise_std=lambda p: 0.0),
    "constant singles": lambda: optimizer(20, 1, mean=lambda p: 7.0, noise_std=lambda p: 0.0),
    "candidates": lambda: optimizer(
        30, 2, space=candidates(), mean=lambda p: p["c"], noise_std=lambda p: 1.0 + p["a"]
    ),
    "paper preset": lambda: optimizer(20, 10, **presets.paper()),
    "known noise": lambda: optimizer(20, 1, method=rahbo.Method(noise=KnownNoise(1.0))),
    "log noise": lambda: optimizer(
        20, 2, method=rahbo.Method(noise=LogNoise()), risk=rahbo.ExpectedShortfall(0.1)
    ),
}
TITLES = [
    "Is the noise uneven?",
    "Over which inputs?",
    "Does risk change the decision?",
    "How many repeats are worth their cost?",
    "Is the model calibrated?",
]


@pytest.mark.slow
@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_any_table_has_a_page(make):
    opt = make()
    before = opt.observations.values.copy()
    found = page(opt)
    assert found == page(opt)
    assert (opt.observations.values == before).all()
    lines = str(found).splitlines()
    assert [line for line in lines if not line.startswith("  ")] == TITLES
    assert max(map(len, lines)) <= 90
    assert "nan" not in str(found)
    assert found.unevenness.variance_ratio >= 1.0
    assert all(0.0 <= i.share < 2.0 for i in found.inputs)
    lower, upper = found.decision.gain_interval
    assert lower <= found.decision.gain <= upper
    says_nothing = opt.observations.n == 1 or np.ptp(opt.observations.values) == 0.0
    if says_nothing:
        assert found.repeats.n_repeats is None
        assert str(found).count("\n  Cannot tell") == 4
        assert found.decision.risk_averse == found.decision.risk_neutral
    else:
        assert 1 <= found.repeats.n_repeats <= 100
        assert "only one point" not in str(found)
    assert found.repeats.n_leading >= 1
    low, high = found.calibration.inside_interval
    assert 0.0 <= low <= found.calibration.inside <= high <= 1.0


def test_the_printed_page():
    bold, careful = (
        Prediction(
            {"x": x},
            m,
            Interval(m - 1, m + 1),
            s,
            Interval(0.8 * s, 1.5 * s),
            m,
            Interval(m - 1, m + 1),
            0.9,
            m - 1,
        )
        for x, m, s in ((1.0, 5.0, 2.0), (0.2, 4.0, 0.5))
    )
    found = Diagnosis(
        Unevenness("yes", 0.001, 16.0, Interval(0.5, 2.0), 4.0, "repeats", 30),
        (InputNoise("lr", 0.2, 0.3), InputNoise("depth", 0.85, 0.001)),
        RiskDecision("yes", careful, bold, 2.75, Interval(1.5, 4.0), 0.99, uneven=True),
        RepeatsThatPay(7, 6.6, 1.1, 3, confirm=4),
        Calibration("too narrow", 0.6, Interval(0.4, 0.77), 1.8, 30),
    )
    text = " ".join(str(found).split())
    assert "Yes (p = 0.001 from the repeats of 30 points)" in text
    assert "noise std ranges from 0.5 to 2 " in text
    assert "depth 85 %, lr 20 %. Significant on its own: depth." in text
    assert (
        "noise std of 2.00 instead of 0.50. The gain in risk value is 2.8 (90 % interval " in text
    )
    assert "interval [1.5, 4.0])." in text
    assert "About 7 at a new point. At the 3 leading points," in text
    assert "Measure the recommended point 4 more times before you rely on it." in text
    assert "too narrow: 60 % of 30 points (95 % interval [40 %, 77 %])" in text
    hard = replace(found.unevenness, answer="cannot tell", p_value=0.3, detectable_ratio=203.0)
    assert "differ by a factor of 200 or more" in hard.verdict
    assert "one value is less than 0.01 times" in replace(found.repeats, noise_ratio=1e-8).verdict
    even = replace(found, unevenness=replace(found.unevenness, answer="no", p_value=0.4))
    assert "No answer" in even.inputs_verdict
    from_residuals = replace(found, unevenness=replace(found.unevenness, source="residuals"))
    assert from_residuals.inputs_verdict.endswith("depth.")
    idle = tuple(InputNoise(f"knob {i}", 0.004, 0.9) for i in range(3))
    many = replace(found, inputs=found.inputs + idle).inputs_verdict
    assert "depth 85 %, lr 20 %, each of the other 3 less than 1 %. Significant" in many
    few = replace(found, inputs=found.inputs + idle[:2]).inputs_verdict
    assert "lr 20 %, knob 0 0 %, knob 1 0 %. Significant" in few


def test_a_point_that_the_others_predict_exactly_gives_a_finite_ratio():
    # The lengthscale makes all points one, and the noise is far above the spread of the values.
    settings = {"method": rahbo.Method(kernel=rahbo.model.RBF([1e6], 1e-6), noise=KnownNoise(1e9))}
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, **settings)
    for x in (0.1, 0.4, 0.8):
        opt.tell({"x": x}, [x, 2.0 * x])
    assert math.isfinite(page(opt).repeats.noise_ratio)
