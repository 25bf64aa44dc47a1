"""Columns by risk coefficient: their records against the files, and what is drawn of them."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from rahbo.plots.paper.alphas import (
    AlphaOutcome,
    Points,
    draw_best,
    draw_reported,
    draw_shares,
    figure_of_regrets_by_alpha,
    figure_of_reported,
    figure_of_tried,
    outcomes,
)
from rahbo.plots.regret import regret_curves
from rahbo.plots.style import COLORS


@pytest.fixture(scope="module")
def found(experiments, finished):
    return outcomes(experiments["sine"][0], finished, "sine", 3, ("pessimistic", "best_observed"))


def rounds_of(folder, case):
    return [json.loads(line) for line in (folder / f"{case.key}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("method", ["rahbo", "gpucb", "rahbo-us"])
def test_outcomes_are_what_the_records_say(method, found, experiments, finished):
    assert [o.alpha for o in found] == [0.5, 1.0]
    for o in found:
        cases = experiments["sine"][0].runs_of("sine", method, o.alpha, 3)
        # Three points of the initial design, three rounds that count, perhaps more that do not.
        runs = [rounds_of(finished.folder, case)[3:6] for case in cases]
        for quantity in ("f", "noise_var"):
            tried = [r["tried"][quantity] for run in runs for r in run]
            np.testing.assert_array_equal(getattr(o.tried[method], quantity), tried)
            for rule in ("pessimistic", "best_observed"):
                last = [run[-1]["reported"][rule][quantity] for run in runs]
                np.testing.assert_array_equal(getattr(o.reported[rule][method], quantity), last)


def test_the_best_point_has_the_largest_mean_variance(found):
    x = np.linspace(0.0, 2.0, 20001)
    f, noise_var = np.sin(2 * np.pi * x), 0.1 + 1 / (1 + np.exp(-30 * (x - 1)))
    for o in found:
        largest = np.max(f - o.alpha * noise_var)
        assert o.best.f - o.alpha * o.best.noise_var == pytest.approx(largest, abs=1e-6)


def test_shares_are_of_each_methods_own_points():
    ax = Figure().subplots()
    few, many = np.array([0.1, 0.9]), np.array([0.1, 0.2, 0.3, 0.9])
    bins = np.array([0.0, 0.5, 1.0])
    assert draw_shares({"rahbo": few, "gpucb": many}, bins, ax) is ax
    named = {p.get_label(): p for p in ax.patches if not p.get_label().startswith("_")}
    assert named["RAHBO"].get_data().values.tolist() == [0.5, 0.5]
    assert named["GP-UCB"].get_data().values.tolist() == [0.75, 0.25]


def test_tried_points_share_bins_along_a_row_that_hold_all(found):
    figure = figure_of_tried(found)
    axes = np.array(figure.axes).reshape(2, 2)
    assert [ax.get_title() for ax in axes[0]] == ["α = 0.5", "α = 1"]
    for row, quantity in zip(axes, ("f", "noise_var"), strict=True):
        edges = [tuple(p.get_data().edges) for ax in row for p in ax.patches]
        assert len(set(edges)) == 1
        everything = [getattr(p, quantity) for o in found for p in o.tried.values()]
        assert edges[0][0] <= np.concatenate(everything).min()
        assert edges[0][-1] >= np.concatenate(everything).max()
        for ax, o in zip(row, found, strict=True):
            assert [p.get_data().values.sum() for p in ax.patches] == pytest.approx([1.0] * 6)
            (mark,) = ax.get_lines()
            assert mark.get_xdata() == pytest.approx([getattr(o.best, quantity)[0]] * 2)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(labels) == ["GP-UCB", "RAHBO", "RAHBO-US", "best point"]


def test_reported_points_have_bars_of_one_standard_deviation():
    points = Points(np.array([1.0, 3.0, 5.0]), np.array([0.2, 0.4, 0.6]))
    ax = draw_reported({"gpucb": points}, Figure().subplots())
    seeds, mean = ax.get_lines()[:2]
    assert seeds.get_xydata().tolist() == [[0.2, 1.0], [0.4, 3.0], [0.6, 5.0]]
    np.testing.assert_allclose(mean.get_xydata(), [[0.4, 3.0]])
    assert {line.get_color() for line in (seeds, mean)} == {COLORS["gpucb"]}
    (bars,) = ax.containers
    across, along = (bar.get_segments()[0] for bar in bars.lines[2])
    np.testing.assert_allclose(across, [[0.2, 3.0], [0.6, 3.0]])
    np.testing.assert_allclose(along, [[0.4, 1.0], [0.4, 5.0]])


def test_a_single_seed_has_no_bars():
    one = Points(np.array([1.0]), np.array([0.2]))
    ax = draw_reported({"rahbo": one}, Figure().subplots())
    (bars,) = ax.containers
    assert (bars.has_xerr, bars.has_yerr) == (False, False)


def test_the_line_through_the_best_point_has_the_slope_alpha():
    best = Points(np.array([0.9]), np.array([0.1]))
    ax = draw_best(AlphaOutcome(2.0, best, {}, {}), Figure().subplots())
    line, star = ax.get_lines()
    assert star.get_xydata().tolist() == [[0.1, 0.9]]
    assert line.get_xy1() == (0.1, 0.9)
    assert line.get_slope() == 2.0


def test_reported_points_have_a_row_a_rule(found):
    figure = figure_of_reported(found)
    axes = np.array(figure.axes).reshape(2, 2)
    assert axes[0, 0].get_ylabel().startswith("largest lower bound")
    assert axes[1, 0].get_ylabel().startswith("best observed")
    for row, rule in zip(axes, ("pessimistic", "best_observed"), strict=True):
        for ax, o in zip(row, found, strict=True):
            drawn = ax.get_lines()
            assert drawn[0].get_ydata().tolist() == o.reported[rule]["rahbo"].f.tolist()
    assert {ax.get_ylim() for ax in axes.flat} == {axes[0, 0].get_ylim()}


def test_on_a_table_empirical_reports_are_by_the_alpha_of_the_panel(experiments, finished):
    e = experiments["forest"][0]
    for o in outcomes(e, finished, "smooth-forest", 5, ("empirical",)):
        for method, points in o.reported["empirical"].items():
            for i, case in enumerate(e.runs_of("smooth-forest", method, o.alpha, 5)):
                # Four points of the initial design and three rounds that count.
                tried = [r["tried"] for r in rounds_of(finished.folder, case)[:7]]
                best = max(tried, key=lambda there: there["f"] - o.alpha * there["noise_var"])
                assert (points.f[i], points.noise_var[i]) == (best["f"], best["noise_var"])


@pytest.mark.parametrize("n", [2, 4])
def test_legends_are_no_wider_than_their_figure(found, n):
    figure = figure_of_reported((found * 2)[:n])
    figure.draw_without_rendering()
    legend, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert whole.x0 <= legend.x0
    assert legend.x1 <= whole.x1


def test_regrets_share_a_scale_along_a_row_that_shows_all(experiments, finished):
    e = experiments["sine"][0]
    curves = {alpha: regret_curves(e, finished, "sine", alpha, 3) for alpha in e.alphas}
    figure = figure_of_regrets_by_alpha(curves, ("cumulative", "simple"))
    axes = np.array(figure.axes).reshape(2, 2)
    assert [ax.get_title() for ax in axes[0]] == ["α = 0.5", "α = 1"]
    for row, kind in zip(axes, ("cumulative", "simple"), strict=True):
        low, high = row[0].get_ylim()
        assert row[1].get_ylim() == (low, high)
        for ax, of_alpha in zip(row, curves.values(), strict=True):
            for drawn, curve in zip(ax.get_lines(), of_alpha[kind], strict=True):
                np.testing.assert_array_equal(drawn.get_ydata(), curve.band.mean)
                assert low <= curve.band.mean.min()
                assert curve.band.mean.max() <= high
    assert axes[0, 0].get_ylim()[0] == 0.0
    assert (axes[0, 0].get_yscale(), axes[1, 0].get_yscale()) == ("linear", "log")
