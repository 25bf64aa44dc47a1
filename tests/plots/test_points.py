"""Evaluated points."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import rahbo
from rahbo.plots import draw_effort, draw_ranking, draw_trade_off, effort, ranking, trade_off


def line(ax, label):
    return next(found for found in ax.lines if found.get_label() == label)


@pytest.mark.parametrize("run", ["flat", "mixed", "listed"])
def test_the_trade_off_is_that_of_the_frontier(run, request):
    opt = request.getfixturevalue(run)
    record, found = trade_off(opt), opt.frontier()
    assert record.points == found.evaluated
    assert [record.points[i] for i in record.frontier] == [c.prediction for c in found.choices]
    assert record.alphas.tolist() == [c.alpha_from for c in found.choices]
    assert record.points[record.reported].params == opt.recommend().params
    assert record.minimised == (opt.settings.direction == "minimize")


@pytest.mark.parametrize("run", ["flat", "mixed", "listed"])
def test_points_frontier_and_report_are_drawn(run, request):
    opt = request.getfixturevalue(run)
    record, ax = trade_off(opt), Figure().subplots()
    assert draw_trade_off(record, ax) is ax
    (bars,) = ax.containers
    np.testing.assert_array_equal(bars.lines[0].get_xdata(), record.noise_std)
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), record.mean)
    across, up = (np.array(collection.get_segments()) for collection in bars.lines[2])
    intervals = [p.noise_std_interval for p in record.points]
    np.testing.assert_allclose(across[:, :, 0], intervals)
    np.testing.assert_allclose(up[:, :, 1], [p.mean_interval for p in record.points])
    hull = line(ax, "best for some α")
    np.testing.assert_array_equal(hull.get_ydata(), record.mean[record.frontier])
    star = line(ax, "reported point")
    assert star.get_xdata() == [record.noise_std[record.reported]]
    assert ("minimised" in ax.get_ylabel()) == record.minimised


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize(("place", "value", "said"), [(0.0, -100.0, "worse"), (0.5, 5e4, "better")])
def test_what_is_far_from_the_others_stands_at_the_edge(direction, place, value, said):
    sign = 1.0 if direction == "maximize" else -1.0
    x = np.linspace(0.0, 1.0, 15)
    y = np.where(x == place, value, x)
    data = [({"x": float(a)}, [sign * b, sign * b + 0.1]) for a, b in zip(x, y, strict=True)]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, direction=direction, data=data, seed=0)
    record = trade_off(opt)
    ax = draw_trade_off(record, Figure().subplots())
    low, high = ax.get_ylim()
    edge = line(ax, f"evaluated, far {said}").get_ydata()
    below = (sign > 0.0) == (said == "worse")
    far = record.mean < low if below else record.mean > high
    assert far.sum() == len(edge) >= 1
    assert set(edge) == {low if below else high}
    # The model draws the neighbours of a peak up a little.
    assert high - low < abs(value) / 10.0
    assert low <= line(ax, "reported point").get_ydata()[0] <= high


@pytest.mark.parametrize("run", ["flat", "mixed", "listed"])
def test_the_ranking_is_by_the_pessimistic_value(run, request):
    opt = request.getfixturevalue(run)
    record = ranking(opt, most=4)
    assert len(record.points) == 4
    everything = opt.frontier().evaluated
    if opt.settings.direction == "maximize":
        best = sorted(everything, key=lambda p: -p.pessimistic)[:4]
    else:
        best = sorted(everything, key=lambda p: p.pessimistic)[:4]
    assert [p.params for p in record.points] == [p.params for p in best]
    assert record.reported == 0
    for point, values in zip(record.points, record.repeats, strict=True):
        told = [v for t in opt.trials if t.params == point.params for v in t.values.values()]
        np.testing.assert_allclose(np.sort(values), np.sort(told))


def test_a_ranking_shows_repeats_means_and_risks_under_the_values_of_the_inputs(listed):
    record, ax = ranking(listed, most=3), Figure().subplots()
    assert draw_ranking(record, ax) is ax
    for row, values in enumerate(record.repeats):
        np.testing.assert_array_equal(ax.lines[row].get_xdata(), values)
        assert set(ax.lines[row].get_ydata()) == {row}
    means, risks = ax.containers
    np.testing.assert_array_equal(means.lines[0].get_xdata(), [p.mean for p in record.points])
    np.testing.assert_array_equal(risks.lines[0].get_xdata(), [p.risk for p in record.points])
    first = record.points[0].params
    assert ax.get_yticklabels()[0].get_text() == f"{first['solvent']}, {first['t']:g}"
    assert ax.get_title(loc="right") == "solvent, t"


def test_a_ranking_may_leave_out_the_point_that_is_marked(flat):
    worst = ranking(flat, most=100).points[-1].params
    record = ranking(flat, at=worst, most=2)
    assert record.reported is None
    ax = draw_ranking(record, Figure().subplots())
    assert "reported point" not in ax.get_legend_handles_labels()[1]


@pytest.mark.parametrize("run", ["flat", "mixed", "listed"])
def test_the_effort_counts_what_was_told_and_what_failed(run, request):
    opt = request.getfixturevalue(run)
    record = effort(opt)
    assert record.values.sum() + record.failures.sum() == opt.n_evaluations
    assert record.failures.sum() == (2 if run == "mixed" else 0)
    order = list(dict.fromkeys(tuple(t.params.items()) for t in opt.trials))
    for point, values, chosen in zip(order, record.values, record.chosen, strict=True):
        here = [t for t in opt.trials if tuple(t.params.items()) == point]
        assert values == sum(len(t.values) for t in here)
        assert chosen == any(t.source == "strategy" for t in here)
    assert dict(order[record.reported]) == opt.recommend().params


def test_bars_stand_for_the_effort(mixed):
    record = effort(mixed)
    ax = draw_effort(record, Figure().subplots())
    heights = {c.get_label(): [bar.get_height() for bar in c] for c in ax.containers}
    assert heights["initial or told"] == record.values[~record.chosen].tolist()
    assert heights["chosen by the strategy"] == record.values[record.chosen].tolist()
    assert heights["failed"] == [1, 1]
    assert line(ax, "reported point").get_xdata() == [record.reported + 1]


def test_points_that_may_break_a_limit_are_hollow(limited, impossible):
    record = trade_off(limited)
    ax = draw_trade_off(record, Figure().subplots())
    hollow = line(ax, "not sure to keep limits")
    np.testing.assert_array_equal(hollow.get_ydata(), record.mean[~record.kept])
    assert hollow.get_markerfacecolor() == "none"
    (bars,) = ax.containers
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), record.mean[record.kept])
    assert record.kept[record.frontier].all()
    record = trade_off(impossible)
    ax = draw_trade_off(record, Figure().subplots())
    assert not record.kept.any()
    assert ax.containers == []


def test_only_points_that_may_be_reported_are_ranked(limited, impossible):
    found = ranking(limited, most=100)
    assert all(p.feasible for p in found.points)
    assert len(found.points) == len(limited.frontier().candidates)
    assert found.reported == 0
    assert len(ranking(impossible).points) == 1


def test_values_are_ranked_less_the_effects_of_their_blocks(blocked):
    (first, *_) = ranking(blocked).repeats
    assert np.ptp(first) < 0.5
