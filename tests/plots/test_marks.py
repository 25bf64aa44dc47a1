"""Marks that several figures share."""

import numpy as np
from matplotlib.figure import Figure

from rahbo import Categorical, Float
from rahbo.plots.inputs import Input
from rahbo.plots.marks import draw_belief, draw_star, draw_unsure, draw_values, with_room

X = np.array([0.0, 1.0])
CURVE = X + 1.0, X, X + 3.0


def test_a_number_has_a_band_and_choices_have_bars():
    line, bars = Figure().subplots(), Figure().subplots()
    draw_belief(line, Input("x", Float(0.0, 1.0)), X, CURVE, 0.9)
    assert {tuple(v) for v in line.collections[0].get_paths()[0].vertices.tolist()} >= {
        (0.0, 0.0), (0.0, 3.0), (1.0, 1.0), (1.0, 4.0)
    }  # fmt: skip
    assert line.get_legend_handles_labels()[1] == ["90 % interval", "posterior"]
    draw_belief(bars, Input("c", Categorical(["a", "b"])), X, CURVE, 0.9)
    (container,) = bars.containers
    ends = np.array(container.lines[2][0].get_segments())[:, :, 1]
    np.testing.assert_array_equal(ends, np.column_stack(CURVE[1:]))
    assert bars.get_legend_handles_labels()[1] == ["posterior, 90 % interval"]


def test_values_fade_with_their_distance():
    ax = Figure().subplots()
    draw_values(ax, X, X, np.array([0.0, 1.0]))
    faint, clear = ax.collections[0].get_facecolors()[:, 3]
    assert 0.0 < faint < clear == ax.lines[0].get_alpha()


def test_points_are_marked_and_none_has_no_label():
    ax = Figure().subplots()
    draw_unsure(ax, X[:0], X[:0])
    assert ax.get_legend_handles_labels() == ([], [])
    draw_unsure(ax, X, X)
    draw_star(ax, 0.5, 2.0)
    assert ax.lines[0].get_markerfacecolor() == "none"
    assert ax.lines[1].get_xydata().tolist() == [[0.5, 2.0]]


def test_an_axis_has_room_even_for_one_value():
    assert with_room(0.0, 10.0, 0.1) == (-1.0, 11.0)
    assert with_room(2.0, 2.0) == (1.5, 2.5)
