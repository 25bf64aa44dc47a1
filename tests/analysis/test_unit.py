"""Whether alpha suits the unit of the objective."""

import re

import numpy as np
import pytest

import presets
import rahbo
from rahbo.pages import record_of, report_page
from rahbo.policy import GPUCB


def told(alpha=1.0, *, scale=1.0, even=False, seed=0, n=25, **settings):
    """A run on 400x + noise of std 10 + 50x; 0.9 in place of it where ``scale`` is small."""
    rng = np.random.default_rng(seed)
    data = []
    for x in rng.random(n):
        std = 30.0 if even else 10.0 + 50.0 * x
        data.append(({"x": float(x)}, scale * (400.0 * x + std * rng.standard_normal(4))))
    settings = {"risk": rahbo.MeanVariance(alpha), **settings}
    return rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, data=data, **settings)


def said(opt, **other):
    return opt.recommend(**other).unsuited


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("seed", range(3))
def test_an_alpha_for_another_unit_is_noticed(seed, direction):
    large = said(told(1.0, seed=seed, direction=direction))
    assert re.search(r"alpha times the variance is [1-9]\d times the spread", large)
    assert "the noise decides almost alone" in large
    assert "lower it, or use MeanStd" in large
    small = said(told(1.0, scale=1e-5, seed=seed, direction=direction))
    assert re.search(r"alpha times the variance is only 0\.000[1-9]\d? times the spread", small)
    assert "the noise hardly counts" in small
    assert "raise it" in small


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_whether_it_suits_does_not_depend_on_the_unit(scale):
    for alpha, suits in ((2e-5, False), (1e-3, True), (0.1, True), (1.0, False)):
        assert (said(told(alpha / scale, scale=scale)) == "") is suits


def test_little_is_said_where_all_settings_are_equally_noisy():
    runs = [told(1e-9, even=True, seed=seed, n=n) for seed in range(12) for n in (4, 25)]
    # Chance makes one of these 24 look uneven.
    assert sum(said(opt) != "" for opt in runs) <= 1


def test_nothing_is_said_where_alpha_has_no_unit_or_no_effect():
    for settings in (
        {"risk": rahbo.MeanStd(1e6)}, {"risk": rahbo.Quantile(1e-4)},
        {"method": rahbo.Method(strategy=GPUCB())}, {"risk": rahbo.MeanVariance(0.0)},
        presets.paper(1.0), presets.paper(1e-9),
    ):  # fmt: skip
        assert said(told(**settings)) == ""
    assert said(told(1.0), risk=rahbo.MeanStd(1.0)) == ""
    assert said(told(1e-3), risk=rahbo.MeanVariance(1.0)) != ""


def test_equal_or_few_values_are_no_reason():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, risk=rahbo.MeanVariance(1e9), seed=0)
    opt.tell({"x": 0.5}, [1.0, 2.0])
    assert said(opt) == ""
    for x in (0.1, 0.9):
        opt.tell({"x": x}, [1.5, 1.5])
    assert np.isfinite(opt.recommend().mean)


def test_it_is_said_wherever_the_recommendation_is_shown():
    opt = told(1.0)
    found = opt.recommend()
    assert found.unsuited in str(found)
    assert "Alpha has a unit" in found._repr_html_()
    page = report_page(record_of(opt, source="run", made="today"))
    assert found.unsuited.split(",")[0] in page
    assert found.unsuited == found.negated().unsuited
    assert "unit" not in str(told(1e-3).recommend())
