"""Pictures of the forest problem: the data's counts, and every result of a table."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from rahbo.errors import SettingsError
from rahbo.plots.paper.forest import (
    draw_best_settings,
    draw_counts,
    draw_every_setting,
    figure_of_results,
    figure_of_timeline,
    results,
)
from rahbo.problems import Timeline, forest, sine, timeline
from rahbo.risk import MeanVariance

COUNTS = Timeline(
    3600,
    (1, 0, 2, 1),
    (5, 6, 7, 8),
    (7200, 9000, 10_800, 12_000, 13_000, 14_000),
    (1, 1, 1, 1, 0, 0),
)
ALPHAS = (0.0, 20.0, 100.0)


@pytest.fixture(scope="module")
def problem(smooth_table):
    return forest(smooth_table)


@pytest.fixture(scope="module")
def record(problem):
    return results(problem, ALPHAS)


def test_counts_are_drawn_by_hour_with_the_split():
    ax = draw_counts(COUNTS, COUNTS.fraud, Figure().subplots(), "#D55E00")
    steps = ax.patches[0].get_data()
    assert steps.values.tolist() == [1, 0, 2, 1]
    assert steps.edges.tolist() == [0, 1, 2, 3, 4]
    (split,) = ax.get_lines()
    assert split.get_xdata() == [2.0, 2.0]
    labels = {text.get_text(): text.xy[0] for text in ax.texts}
    assert list(labels) == ["training", "fold 1", "2", "3", "4", "5"]
    assert labels["training"] == 1.0
    assert labels["fold 1"] == 2.25
    # Every other fold is shaded, the training half is not.
    spans = [(p.get_x(), p.get_x() + p.get_width()) for p in ax.patches[1:]]
    np.testing.assert_allclose(spans, [(2, 2.5), (3, 10 / 3), (130 / 36, 140 / 36)])


def test_the_timeline_has_a_panel_a_class():
    figure = figure_of_timeline(timeline())
    left, right = figure.axes
    assert [ax.get_title() for ax in (left, right)] == ["non-fraud", "fraud"]
    assert left.patches[0].get_data().values.sum() == 284_315
    assert right.patches[0].get_data().values.sum() == 492
    assert left.get_xlim() == (0.0, 48.0)


def test_results_hold_every_setting_and_the_best(record, problem):
    assert len(record.every.f) == len(record.every.noise_var) == 36_000
    for alpha, best in record.best.items():
        largest = np.max(record.every.f - alpha * record.every.noise_var)
        assert best.there.f - alpha * best.there.noise_var == pytest.approx(largest)
        assert best.params == problem.optimum(MeanVariance(alpha)).params


def test_next_to_the_best_are_settings_one_step_away(record, problem):
    # The best is in a corner of the table: of 26 neighbours 7 are settings.
    for alpha, best in record.best.items():
        assert list(best.params.values()) == [100, 28, 15]
        near = [[100 - i, 28 - j, 15 - k] for i in (0, 1) for j in (0, 1) for k in (0, 1)][1:]
        X = np.array(near, dtype=float)
        assert sorted(best.around.f) == pytest.approx(sorted(problem.f(X)))
        assert sorted(best.around.noise_var) == pytest.approx(sorted(problem.noise_var(X)))
        mv = best.around.f - alpha * best.around.noise_var
        np.testing.assert_allclose(
            best.loss, best.there.f - alpha * best.there.noise_var - mv, atol=1e-12
        )
        assert np.all(best.loss >= 0)


def test_other_spaces_are_refused():
    with pytest.raises(SettingsError, match="Int parameters only"):
        results(sine(), ALPHAS)


def test_best_settings_are_marked_under_their_lines(record):
    ax = draw_best_settings(record, Figure().subplots())
    drawn = {line.get_label(): line for line in ax.get_lines()}
    low, high = ax.get_ylim()
    for alpha, best in record.best.items():
        star, near = drawn[f"best, α = {alpha:g}"], drawn[f"next to it, α = {alpha:g}"]
        np.testing.assert_array_equal(
            star.get_xydata(), [[best.there.noise_var[0], best.there.f[0]]]
        )
        np.testing.assert_array_equal(near.get_ydata(), best.around.f)
        assert star.get_color() == near.get_color()
        assert low < near.get_ydata().min()
        assert star.get_ydata()[0] < high
    slopes = [line.get_slope() for line in ax.get_lines() if hasattr(line, "get_slope")]
    assert slopes == list(ALPHAS)
    assert len({drawn[f"best, α = {alpha:g}"].get_color() for alpha in ALPHAS}) == 3
    assert len({drawn[f"best, α = {alpha:g}"].get_marker() for alpha in ALPHAS}) == 3


def test_every_setting_is_counted_once(record):
    ax = draw_every_setting(record, Figure().subplots())
    assert ax.collections[0].get_array().sum() == 36_000


def test_the_frame_on_the_left_is_what_is_on_the_right(record):
    figure = figure_of_results(record)
    left, right, _ = figure.axes
    (frame,) = left.patches
    assert right.get_xlim() == pytest.approx((frame.get_x(), frame.get_x() + frame.get_width()))
    assert right.get_ylim() == pytest.approx((frame.get_y(), frame.get_y() + frame.get_height()))
    assert len(figure.legends[0].get_texts()) == 2 * len(ALPHAS)
