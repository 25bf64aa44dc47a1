"""Outcomes with limits at the evaluated points."""

import numpy as np
import pytest

import rahbo
from constrained import told
from page_runs import run
from rahbo.pages.outcomes import compliance_of


def found_of(opt):
    return compliance_of(opt, opt.observations.X, opt.frontier().evaluated)


def test_each_point_has_the_mean_of_its_outcomes_and_whether_limits_are_kept():
    opt = told(20)
    first = opt.trials[0].params
    before = opt.trials[0].evaluations[0].outcomes["cost"]
    opt.tell(first, [1.0, 1.1], outcomes={"cost": [0.3, None]})
    opt.tell({"x": 0.5, "y": 0.5}, 1.0)
    found = found_of(opt)
    (cost,) = found.outcomes
    assert (cost.name, cost.limit) == ("cost", "at most 0.8 with probability 0.95")
    assert cost.mean[0] == pytest.approx((before + 0.3) / 2, rel=1e-5)
    assert cost.mean[-1] is None
    assert (cost.bound, cost.measured) == (0.8, "95 % quantile")
    quantiles = [p.constraints[0].quantile for p in opt.frontier().evaluated]
    assert cost.quantile == pytest.approx(quantiles, rel=1e-3, abs=1e-3)
    kept = opt.limits.kept(opt.observations.X)
    assert found.kept == kept.tolist()
    assert 0 < kept.sum() < len(kept)
    np.testing.assert_allclose(found.chance, opt.limits.chance(opt.observations.X), rtol=5e-3)


def test_several_limits_are_kept_together():
    limits = {"cost": rahbo.AtMost(0.8), "other": rahbo.AtLeast(0.0)}
    found = found_of(told(8, constraints=limits))
    assert [one.name for one in found.outcomes] == ["cost", "other"]
    assert found.outcomes[1].mean == found.outcomes[1].quantile == [None] * 8
    assert found.outcomes[1].measured == "5 % quantile"
    assert not any(found.kept)


def test_without_limits_there_is_nothing():
    assert found_of(run()) is None
