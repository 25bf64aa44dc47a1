"""Curves of regret, and their panels."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from rahbo.experiments import Band, Runs
from rahbo.plots.regret import (
    LINEAR,
    Curve,
    draw_curves,
    draw_kind,
    draw_log_curves,
    figure_of_regrets,
    regret_curves,
)
from rahbo.risk import MeanVariance

X = np.array([1.0, 2.0, 3.0])


def curve(mean, error):
    return Curve("A", "#0072B2", "-", X, Band(np.array(mean), np.array(error)))


@pytest.fixture(scope="module")
def curves(experiments, finished):
    return regret_curves(experiments["sine"][0], finished, "sine", 0.5, 3)


def test_curves_are_the_metrics_of_the_records(curves, experiments, finished):
    assert set(curves) == {"cumulative", "simple", "suboptimality", "empirical", "evaluations"}
    labels = ["RAHBO", "GP-UCB", "RAHBO-US", "RAHBO-US as published"]
    assert [c.label for c in curves["simple"]] == labels
    cases = experiments["sine"][0].runs_of("sine", "rahbo-us", 0.5, 3)
    runs, risk = Runs.load(finished, cases), MeanVariance(0.5)
    counted, published = curves["cumulative"][2:]
    np.testing.assert_array_equal(counted.band.mean, runs.cumulative_regret(risk).mean(axis=0))
    later = runs.without_learning().cumulative_regret(risk).mean(axis=0)
    np.testing.assert_array_equal(published.band.mean, later)
    assert np.all(np.isnan(published.band.two_se))
    assert counted.x.tolist() == [1, 2, 3]
    assert curves["evaluations"][0].band.mean.tolist() == [12, 15, 18]
    reported = runs.simple_regret(risk, "empirical").mean(axis=0)
    np.testing.assert_array_equal(curves["empirical"][2].band.mean, reported)


def test_only_evaluations_and_sums_are_on_a_linear_scale(curves):
    scales = {kind: draw_kind(kind, curves[kind], Figure().subplots()) for kind in curves}
    assert {kind for kind, ax in scales.items() if ax.get_yscale() == "linear"} == LINEAR


def test_a_band_is_two_errors_about_the_mean():
    ax = Figure().subplots()
    assert draw_curves([curve([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])], ax) is ax
    (line,), (band,) = ax.get_lines(), ax.collections
    np.testing.assert_array_equal(line.get_ydata(), [1, 2, 3])
    edges = {tuple(v) for v in band.get_paths()[0].vertices.tolist()}
    assert {(1.0, 0.5), (1.0, 1.5), (3.0, 2.5), (3.0, 3.5)} <= edges


def test_an_unknown_error_draws_no_band():
    ax = draw_curves([curve([1.0, 2.0, 3.0], [np.nan] * 3)], Figure().subplots())
    assert len(ax.collections) == 0


def test_a_log_panel_shows_every_mean_and_no_nonsense_below():
    means = [1.0, 0.1, 1e-3]
    ax = draw_log_curves([curve(means, [0.5, 0.5, 0.5])], Figure().subplots())
    low, high = ax.get_ylim()
    assert ax.get_yscale() == "log"
    assert 1e-4 < low < 1e-3
    assert 1.5 < high < 3.0
    low, high = draw_log_curves([curve([0.0] * 3, [0.0] * 3)], Figure().subplots()).get_ylim()
    assert 0 < low < high


def test_the_figure_has_a_panel_a_kind(curves):
    figure = figure_of_regrets(curves, ("cumulative", "suboptimality"))
    left, right = figure.axes
    assert left.get_ylabel() == "cumulative MV regret"
    assert "$f$" in right.get_ylabel()
    assert (left.get_yscale(), right.get_yscale()) == ("linear", "log")
    assert len(figure.legends[0].get_texts()) == 4
