"""Records of the synthetic problems, and their pictures."""

import numpy as np
import pytest

from rahbo.errors import SpaceError
from rahbo.plots.paper.landscapes import (
    BRANIN_MAXIMA,
    figure_of_acquired,
    figure_of_line,
    figure_of_plane,
    line,
    plane,
)
from rahbo.problems import branin, sine


def test_a_line_holds_truth_and_evaluations():
    record = line(sine(), n=5, repeats=4000)
    np.testing.assert_allclose(record.f, np.sin(2 * np.pi * record.x), atol=1e-12)
    assert record.points.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    np.testing.assert_allclose(record.values.mean(axis=1), 0.0, atol=0.07)
    sample_var = record.values.var(axis=1, ddof=1)
    np.testing.assert_allclose(sample_var, [0.1, 0.1, 0.6, 1.1, 1.1], rtol=0.1)


def test_the_picture_of_a_line_shows_it():
    record = line(sine(), n=4, repeats=3)
    left, right = figure_of_line(record).axes
    (points, truth), (variances, noise) = left.get_lines(), right.get_lines()
    np.testing.assert_array_equal(points.get_ydata(), record.values.ravel())
    np.testing.assert_array_equal(points.get_xdata(), np.repeat(record.points, 3))
    np.testing.assert_array_equal(truth.get_ydata(), record.f)
    np.testing.assert_allclose(variances.get_ydata(), np.var(record.values, axis=1, ddof=1))
    np.testing.assert_array_equal(noise.get_ydata(), record.noise_var)


def test_the_marks_are_the_maxima_of_branin():
    problem = branin()
    maxima = np.array(list(BRANIN_MAXIMA.values()))
    np.testing.assert_allclose(problem.f(maxima), -0.397887, atol=1e-5)
    a, b, c = problem.noise_var(maxima)
    assert a > b > c


def test_a_plane_has_rows_along_the_second_parameter():
    problem = branin()
    record = plane(problem, BRANIN_MAXIMA, n=7)
    there = np.array([[record.x1[2], record.x2[5]]])
    assert record.f[5, 2] == problem.f(there)[0]
    assert record.noise_var[5, 2] == problem.noise_var(there)[0]
    eps = (record.noisy - record.f) / np.sqrt(record.noise_var)
    np.testing.assert_allclose(eps, np.random.default_rng(0).standard_normal((7, 7)))


def test_the_picture_of_a_plane_shares_one_scale_and_marks_the_maxima():
    record = plane(branin(), BRANIN_MAXIMA, n=11)
    figure = figure_of_plane(record, -20.0)
    shown = [ax for ax in figure.axes if ax.get_title()]
    assert len(shown) == 3
    meshes = [ax.collections[0] for ax in shown]
    assert meshes[0].get_clim() == meshes[2].get_clim() == (-20.0, record.noisy.max())
    np.testing.assert_array_equal(meshes[1].get_array(), record.noise_var)
    for ax in shown:
        assert [text.get_text() for text in ax.texts] == ["A", "B", "C"]
        assert ax.get_xlabel() == "$x_{1}$"


def test_histograms_are_shares_of_rounds():
    quiet, noisy = np.full((2, 5), 0.2), np.array([[0.2, 1.4], [1.4, 1.4]])
    figure = figure_of_acquired(
        {"one": {"rahbo": quiet, "gpucb": noisy}}, "noise variance", {"A": 1.5}
    )
    (ax,) = figure.axes
    heights = [[round(p.get_height(), 9) for p in bars if p.get_height()] for bars in ax.containers]
    assert heights[:2] == [[1.0], [0.25, 0.75]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["RAHBO", "GP-UCB"]
    assert (ax.get_title(), ax.texts[0].get_text()) == ("one", "A")


def test_other_spaces_are_refused():
    with pytest.raises(SpaceError, match="1 parameters"):
        line(branin())
    with pytest.raises(SpaceError, match="2 parameters"):
        plane(sine(), {})
