"""Calibration against points left out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

import presets
import rahbo
from past_tables import left_out, optimizer
from rahbo.analysis.calibration import calibration_of
from rahbo.model import GP, KnownNoise


@pytest.mark.parametrize("settings", [{}, presets.paper(alpha=0.1)], ids=["default", "paper"])
def test_calibration_is_that_of_points_left_out(settings):
    opt = optimizer(24, 4, noise_std=lambda p: 0.3 + p["x"], **settings)
    model, observations = opt.model, opt.observations
    z = []
    for i in range(observations.n):
        r, var, noise_var = left_out(model, observations, i)
        z.append(r / math.sqrt(var + noise_var))
    found = opt.diagnose().calibration
    hits = int(np.sum(np.abs(z) <= 1.6448536269514722))
    assert found.n_points == 24
    assert found.inside == hits / 24
    assert found.rms == pytest.approx(np.sqrt(np.mean(np.square(z))), rel=1e-5)
    expected = binomtest(hits, 24).proportion_ci(0.95, method="exact")
    assert found.inside_interval == pytest.approx((expected.low, expected.high))


def with_noise_bound(opt, factor):
    """The model with all the noise of the mean GP multiplied."""
    model, observations = opt.model, opt.observations
    gp = model.mean
    noise_var = gp.noise_var
    y = (observations.mean - model.units.shift) / model.units.scale
    gp = GP.condition(gp.kernel, gp.X, y, factor * noise_var, prior_mean=gp.prior_mean)
    return replace(model, mean=gp)


@pytest.mark.parametrize(
    ("factor", "answer"), [(0.02, "too narrow"), (1.0, "calibrated"), (20.0, "too wide")]
)
def test_bands_that_are_too_narrow_or_too_wide_are_told(factor, answer):
    opt = optimizer(
        60,
        5,
        mean=lambda p: p["x"],
        noise_std=lambda p: 2.0,
        method=rahbo.Method(noise=KnownNoise(4.0)),
    )
    model = with_noise_bound(opt, factor)
    found = calibration_of(model, differ=True)
    assert found.answer == answer
    assert (found.rms > 2.0) == (answer == "too narrow")


def test_few_points_do_not_calibrate():
    found = optimizer(10, 3).diagnose().calibration
    assert found.answer == "cannot tell"
    assert found.verdict.startswith("Cannot tell yet")
