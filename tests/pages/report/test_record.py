from dataclasses import dataclass

import numpy as np
import pytest

import constrained
from page_runs import run
from rahbo import ExpectedShortfall, MeanStd, MeanVariance, Method, Optimizer, Quantile
from rahbo.errors import NotReadyError
from rahbo.pages import record_of
from rahbo.pages.report import record
from rahbo.policy import GPUCB, RahboUS
from rahbo.risk import RiskMeasure


@dataclass(frozen=True)
class Mine(RiskMeasure):
    def value(self, f, v):
        return np.asarray(f) - np.asarray(v) ** 2

    def gradient(self, f, v):
        return np.ones_like(f), -2.0 * np.asarray(v)


def report(optimizer, **options):
    return record_of(optimizer, source="run", made="now", **options)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize(
    "risk", [MeanVariance(0.0), MeanVariance(3.0), MeanStd(1.0), Quantile(), ExpectedShortfall()]
)
def test_the_slider_begins_at_the_recommendation(direction, risk):
    optimizer = run(risk=risk, direction=direction)
    found = report(optimizer)
    trade, points = found.pictures.trade, found.pictures.points
    chosen = next(c.point for c in trade.choices if trade.own <= c.end)
    assert chosen == points.recommended
    assert found.frontier.evaluated[chosen].params == optimizer.recommend().params


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [RahboUS(), GPUCB()], ids=["RAHBO-US", "GP-UCB"])
@pytest.mark.parametrize("risk", [MeanVariance(3.0), MeanStd(1.0)])
def test_the_slider_begins_at_the_recommendation_of_every_strategy(strategy, risk):
    found = report(run(risk=risk, method=Method(strategy=strategy))).pictures
    chosen = next(c.point for c in found.trade.choices if found.trade.own <= c.end)
    assert chosen == found.points.recommended
    neutral = isinstance(strategy, GPUCB)
    assert found.trade.own == (0.0 if neutral else getattr(risk, "alpha", 1.0))


def test_the_slider_reports_as_the_frontier_does():
    optimizer = run(40, 2, risk=MeanVariance(1.0))
    choices = report(optimizer).pictures.trade.choices
    frontier = optimizer.frontier()
    assert [(c.start, c.end) for c in choices] == [
        pytest.approx((c.alpha_from, c.alpha_to)) for c in frontier.choices
    ]
    assert len(choices) > 1
    for chosen, choice in zip(choices, frontier.choices, strict=True):
        assert frontier.evaluated[chosen.point] == choice.prediction


def test_a_measure_of_the_user_has_no_coefficient_of_its_own():
    found = report(run(risk=Mine()))
    assert (found.pictures.trade.own, found.pictures.trade.symbol) == (None, "α")
    assert "Mine" in found.settings["risk"]


def test_points_are_in_user_units_with_their_failures():
    optimizer = run(direction="minimize")
    first = optimizer.trials[0]
    optimizer.tell_failure(first.params, "<b>broke</b>")
    optimizer.tell_failure(first.params, "")
    found = report(optimizer)
    points = found.pictures.points
    assert points.sample_mean[0] == pytest.approx(np.mean(list(first.values.values())), rel=1e-5)
    assert points.mean_lower[0] < points.mean[0] < points.mean_upper[0]
    assert points.failures[0] == 2
    there = optimizer.predict(first.params)
    assert (points.mean_lower[0], points.mean_upper[0]) == pytest.approx(
        there.mean_interval, rel=1e-5
    )
    assert found.pictures.level == there.level == 0.9
    assert found.failures == {"<b>broke</b>": 1, "no reason given": 1}
    assert points.pessimistic[0] == pytest.approx(
        optimizer.predict(first.params).pessimistic, rel=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_of_very_many_points_the_best_and_all_that_may_be_chosen_stay(monkeypatch, direction):
    optimizer = run(40, 2, direction=direction)
    whole = report(optimizer)
    monkeypatch.setattr(record, "CELLS", 30)
    found = report(optimizer)
    points = found.pictures.points
    assert points.n == 40
    assert 10 <= len(points.mean) < 40

    def said(some):
        chosen = [some.frontier.evaluated[c.point].params for c in some.pictures.trade.choices]
        return chosen, some.frontier.evaluated[some.pictures.points.recommended].params

    assert said(found) == said(whole)
    best = sorted(whole.pictures.points.pessimistic, reverse=direction == "maximize")[:10]
    assert set(best) <= set(points.pessimistic)
    at = [p.params for p in whole.frontier.evaluated].index(found.frontier.evaluated[-1].params)
    assert points.sample_mean[-1] == whole.pictures.points.sample_mean[at]


def test_settings_and_versions_are_there():
    found = report(run(), digest="abc")
    assert found.settings["seed"] == "1"
    assert found.settings["risk"] == "MeanStd(kappa=1.0)"
    assert {"rahbo", "Python", "numpy", "scipy"} <= found.versions.keys()
    assert found.digest == "abc"


def test_nothing_told_is_an_error():
    with pytest.raises(NotReadyError):
        report(Optimizer({"x": (0.0, 1.0)}))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_slider_reaches_only_points_that_keep_their_limits(monkeypatch, direction):
    optimizer = constrained.told(30, direction=direction)
    best = optimizer.recommend().params
    for cells in (record.CELLS, 10):
        monkeypatch.setattr(record, "CELLS", cells)
        found = report(optimizer)
        points, trade = found.pictures.points, found.pictures.trade
        kept = points.compliance.kept
        assert all(kept[c.point] for c in trade.choices)
        assert found.frontier.evaluated[points.recommended].params == best
        assert [p.feasible for p in found.frontier.evaluated] == kept
        assert trade.own is not None
        chosen = next(c.point for c in trade.choices if trade.own <= c.end)
        assert chosen == points.recommended
    # Of many points those that may be reported are listed first.
    assert all(kept)
    assert len(kept) < points.n == 30


def test_without_limits_there_is_no_compliance():
    assert report(run()).pictures.points.compliance is None
