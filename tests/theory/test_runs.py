"""Bounds of finished runs: they bound the regret realised, and refuse runs outside the theory."""

import math
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from bands import bands
from rahbo import Candidates, MeanStd, MeanVariance, Method, Optimizer
from rahbo.errors import DataError, NotReadyError, RahboError, SettingsError
from rahbo.model import (
    RBF,
    DirectNoise,
    KnownNoise,
    Lemma1Beta,
    LogNoise,
    Matern52,
    Raw,
    Refit,
    Standardized,
)
from rahbo.policy import GPUCB, Rahbo, TopTwo
from rahbo.theory import information_gain, regret_bound, run_gains

KERNEL, NOISE_KERNEL = RBF([0.2]), RBF([0.4], 0.25)
CENTRES = np.array([[0.15], [0.5], [0.8]])
F_WEIGHTS, NOISE_WEIGHTS = np.array([0.9, -0.7, 1.1]), np.array([0.1, 0.3, 1.2])
NORM_F = float(np.sqrt(F_WEIGHTS @ KERNEL(CENTRES, CENTRES) @ F_WEIGHTS))
NORM_NOISE = float(np.sqrt(NOISE_WEIGHTS @ NOISE_KERNEL(CENTRES, CENTRES) @ NOISE_WEIGHTS))
ROWS = [{"x": float(x)} for x in np.linspace(0.0, 1.0, 41)]
ALPHA, DELTA, K = 2.0, 0.1, 4


def f(x):
    return float(KERNEL(np.array([[x]]), CENTRES)[0] @ F_WEIGHTS)


def noise_var(x):
    return float(NOISE_KERNEL(np.array([[x]]), CENTRES)[0] @ NOISE_WEIGHTS)


GRID_NOISE = [noise_var(row["x"]) for row in ROWS]
LOWEST, HIGHEST = min(GRID_NOISE), max(GRID_NOISE)
NORMS = {"norm_f": NORM_F, "norm_noise": NORM_NOISE, "delta": DELTA}
LIMITS = {"min_noise_var": LOWEST, "max_noise_var": HIGHEST}
MV_BEST = max(f(row["x"]) - ALPHA * noise_var(row["x"]) for row in ROWS)

BASE = {
    "risk": MeanVariance(ALPHA),
    "repeats": K,
    "strategy": Rahbo(),
    "n_initial": 3,
    "kernel": KERNEL,
    "beta": Lemma1Beta(NORM_F, DELTA),
    "outputs": Raw(),
    "refit": Refit(math.inf),
    "seed": 3,
}
KNOWN = {**BASE, "noise": KnownNoise(lambda p: noise_var(p["x"]))}
LEARNED = {
    **BASE,
    "noise": DirectNoise(NOISE_KERNEL, max_noise_var=HIGHEST, kurtosis=1.8),
    "beta_noise": Lemma1Beta(NORM_NOISE, DELTA),
    "max_noise_var": HIGHEST,
}


def with_method(settings):
    """The same settings, with those that are parts of a method in one."""
    names = {part.name for part in fields(Method)}
    parts = {name: value for name, value in settings.items() if name in names}
    rest = {name: value for name, value in settings.items() if name not in names}
    return {**rest, "method": Method(**parts)}


def finished(settings, rounds, seed=0):
    """A run on the grid with uniform, so strictly sub-Gaussian, noise."""
    rng = np.random.default_rng(seed)
    opt = Optimizer(Candidates(ROWS), **with_method(settings))
    for _ in range(BASE["n_initial"] + rounds):
        s = opt.ask()
        half_width = math.sqrt(3.0 * noise_var(s.params["x"]))
        opt.tell(s, f(s.params["x"]) + rng.uniform(-half_width, half_width, s.repeats))
    return opt


def realised_regret(opt):
    """R_T over the rounds that the strategy chose, k-weighted."""
    chosen = [t.params["x"] for t in opt.trials if t.source == "strategy"]
    return K * sum(MV_BEST - f(x) + ALPHA * noise_var(x) for x in chosen)


@pytest.fixture(scope="module")
def known():
    return finished(KNOWN, 30)


@pytest.fixture(scope="module")
def learned():
    return finished(LEARNED, 30)


def earlier(opt, settings):
    """The run as it stood before its last round."""
    return Optimizer(Candidates(ROWS), **with_method(settings), trials=opt.trials[:-1])


def all_rounds(opt):
    return np.array([t.x for t in opt.trials])


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_bound_of_known_noise_holds(seed, lam):
    opt = finished({**KNOWN, "lam": lam}, 20, seed)
    bound = regret_bound(opt, NORM_F, None, DELTA, **LIMITS)
    assert bound.rounds == 20
    assert bound.probability == 1 - DELTA
    assert 0.0 < realised_regret(opt) <= bound.corrected


def test_bound_of_known_noise_from_its_parts(known):
    bound = regret_bound(known, NORM_F, None, DELTA, **LIMITS)
    X = all_rounds(known)
    v = np.array([noise_var(t.params["x"]) for t in known.trials]) / K
    # What the strategy's rounds add to the initial design.
    gain = information_gain(KERNEL, X, v) - information_gain(KERNEL, X[:3], v[:3])
    beta = math.sqrt(2 * math.log(10) + 2 * information_gain(KERNEL, X[:-1], v[:-1])) + NORM_F
    expected = 2 * K * beta * math.sqrt(2 * 30 * gain / math.log(1 + K / HIGHEST))
    assert bound.corrected == pytest.approx(expected, rel=1e-9)
    assert bound.mean.beta.corrected == pytest.approx(earlier(known, KNOWN).model.beta, rel=1e-9)
    assert bound.mean.beta.printed == pytest.approx(known.model.beta, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bound_of_learned_noise_holds(seed):
    opt = finished(LEARNED, 20, seed)
    bound = regret_bound(opt, **NORMS, **LIMITS)
    assert bound.rounds == 20
    assert bound.probability == pytest.approx(1 - 2 * DELTA)
    assert 0.0 < realised_regret(opt) <= bound.corrected
    # The print loses Step 2's factor; its beta counts one observation more.
    assert bound.printed < bound.corrected


def test_bound_of_learned_noise_is_above_every_width_of_the_run(learned):
    bound = regret_bound(learned, **NORMS, **LIMITS)
    assert bound.noise is not None
    before = earlier(learned, LEARNED).model
    assert bound.noise.beta.corrected == pytest.approx(before.beta_noise, rel=1e-9)
    assert bound.mean.beta.corrected >= before.beta
    R2 = HIGHEST**2 * (1.8 / K - (K - 3) / (K * (K - 1)))
    assert bound.noise.noise_var == pytest.approx(R2, rel=1e-12)
    assert bound.mean.noise_var == pytest.approx(HIGHEST / K, rel=1e-12)
    X = all_rounds(learned)
    Gamma = information_gain(NOISE_KERNEL, X, R2) - information_gain(NOISE_KERNEL, X[:3], R2)
    assert bound.noise.gain == pytest.approx(Gamma, rel=1e-9)
    assert bound.noise.prior_var == 0.25


def test_step_2_holds_round_by_round(learned):
    # The widths that the regret is bounded by, summed as the run went.
    bound = regret_bound(learned, **NORMS, **LIMITS)
    total = 0.0
    for i, trial in enumerate(learned.trials):
        if trial.source == "strategy":
            run = Optimizer(Candidates(ROWS), **with_method(LEARNED), trials=learned.trials[:i])
            b = bands(run.model, trial.x[None])
            total += K * (b.f_upper - b.f_lower + ALPHA * (b.noise_upper - b.noise_lower))[0]
    assert realised_regret(learned) <= total <= bound.corrected


def test_gains_of_a_known_run_are_those_of_its_merged_model(known):
    gains = run_gains(known, HIGHEST)
    assert len(np.unique(all_rounds(known))) < len(known.trials)
    assert gains.gamma == pytest.approx(known.model.mean.information_gain, rel=1e-9)
    even = information_gain(KERNEL, all_rounds(known), HIGHEST / K)
    assert gains.gamma_hat == pytest.approx(even, rel=1e-9)
    assert gains.gamma_noise is None


def test_gains_of_a_learned_run(learned):
    gains = run_gains(learned, HIGHEST)
    X = all_rounds(learned)
    assert gains.gamma is None
    assert gains.gamma_hat == pytest.approx(information_gain(KERNEL, X, HIGHEST / K), rel=1e-9)
    R2 = HIGHEST**2 * (1.8 / K - (K - 3) / (K * (K - 1)))
    assert gains.gamma_noise == pytest.approx(information_gain(NOISE_KERNEL, X, R2), rel=1e-9)


def test_gain_does_not_depend_on_the_units_of_outputs():
    settings = {**KNOWN, "outputs": Standardized(), "beta": 2.0}
    opt = finished(settings, 2)
    unit = opt.model.units.scale**2
    expected = information_gain(KERNEL, all_rounds(opt), HIGHEST / K / unit)
    assert run_gains(opt, HIGHEST).gamma_hat == pytest.approx(expected, rel=1e-9)


REFUSED = [
    ({"noise": LogNoise(NOISE_KERNEL)}, "DirectNoise"),
    ({"risk": MeanStd(1.0)}, "MeanVariance"),
    ({"refit": Refit(1.1)}, "Refit"),
    ({"outputs": Standardized()}, "Raw"),
    ({"strategy": GPUCB()}, "Rahbo"),
    ({"strategy": TopTwo()}, "Rahbo"),
    ({"kernel": Matern52}, "fixed in advance"),
    ({"noise": DirectNoise(max_noise_var=HIGHEST)}, "fixed in advance"),
    ({"noise": DirectNoise(NOISE_KERNEL)}, "Assumption 2"),
    ({"noise": DirectNoise(NOISE_KERNEL, max_noise_var=0.5 * HIGHEST)}, "Assumption 2"),
    ({"max_noise_var": None}, "truncated"),
    ({"beta": 2.0}, "beta=Lemma1Beta"),
    ({"beta": Lemma1Beta(0.5 * NORM_F, DELTA)}, "norm >="),
    ({"beta": Lemma1Beta(NORM_F, 2 * DELTA)}, "delta <="),
    ({"beta_noise": 2.0}, "beta_noise=Lemma1Beta"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[m + str(i) for i, (_, m) in
                                                              enumerate(REFUSED)])  # fmt: skip
def test_runs_outside_the_theory_are_refused(change, message):
    opt = finished({**LEARNED, **change}, 1)
    with pytest.raises(SettingsError, match=message) as caught:
        regret_bound(opt, **NORMS, **LIMITS)
    assert isinstance(caught.value, RahboError)


def lacking_repeats():
    opt = finished(KNOWN, 1)
    s = opt.ask()
    opt.tell(s, [0.1, 0.2])
    opt.tell_failure(s, "beam trip")
    return opt


KNOWN_CUT_OFF = {**KNOWN, "max_noise_var": 0.9 * HIGHEST}


@pytest.mark.parametrize(
    ("run", "limits", "error", "said"),
    [
        (lambda: finished(LEARNED, 1), {}, SettingsError, "norm_noise"),
        (lambda: finished(KNOWN, 1), {"max_noise_var": 0.5 * HIGHEST}, SettingsError, "lie betw"),
        (lambda: finished(KNOWN, 1), {"min_noise_var": 0.99 * HIGHEST}, SettingsError, "lie betw"),
        (lambda: finished(KNOWN_CUT_OFF, 1), {}, SettingsError, "truncate known noise"),
        (
            lambda: Optimizer(Candidates(ROWS, revisit=False), **with_method(KNOWN)),
            {},
            SettingsError,
            "revisit",
        ),
        (lambda: finished(KNOWN, 0), {}, NotReadyError, "strategy chose"),
        (lacking_repeats, {}, DataError, "4 values in every round"),
    ],
)
def test_runs_and_limits_that_do_not_fit_are_refused(run, limits, error, said):
    with pytest.raises(error, match=said):
        regret_bound(run(), NORM_F, None, DELTA, **(LIMITS | limits))


PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


def test_example_of_the_theory_page_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(block, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    assert "with probability 0.90" in printed
    assert "risk value" in printed


def test_names_on_the_theory_page_exist():
    names = set(re.findall(r"`(rahbo(?:\.\w+)+)`", PAGE.read_text("utf-8")))
    assert len(names) > 30
    for name in sorted(names):
        assert pkgutil.resolve_name(name) is not None
