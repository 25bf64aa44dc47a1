"""The study of k."""

from dataclasses import replace

import numpy as np
import pytest

from rahbo.experiments import Runs
from rahbo.plots.paper.repeats import assumptions, figure_of_repeats, repeats_study
from rahbo.problems import sine
from rahbo.risk import MeanVariance


@pytest.fixture(scope="module")
def study(experiments, finished):
    return repeats_study(experiments["repeats"], finished, "sine", 1.0)


def test_the_runs_by_k_ascending_at_equal_evaluations(study, experiments, finished):
    assert study.repeats == (2, 4)
    assert [c.x[-1] for c in study.cumulative] == [12, 12]
    # Three points of the initial design, k evaluations each.
    assert [c.x[0] for c in study.simple] == [2 * 4, 4 * 4]
    four = experiments["repeats"][0].runs_of("sine", "rahbo", 1.0, 4)
    regret = Runs.load(finished, four).cumulative_regret(MeanVariance(1.0))
    assert float(study.total[1].mean) == pytest.approx(4 * regret[:, -1].mean())


def test_the_bound_is_theorem_1_at_each_k(study):
    setup = assumptions(sine(), 1.0, 2)
    for k, bound in zip(study.repeats, study.bound, strict=True):
        theirs = replace(setup, n_repeats=k).bounds(12 // k)
        assert (theirs[-1].n_repeats, theirs[-1].rounds) == (k, 12 // k)
        assert bound == theirs[-1].corrected
    assert np.all(study.bound > [float(band.mean) for band in study.total])


def test_norms_and_noise_on_the_grid():
    setup = assumptions(sine(), 1.0, 10)
    x = 2.0 * setup.candidates[:, 0]
    f, noise_var = np.sin(2 * np.pi * x), 0.1 + 1 / (1 + np.exp(-30 * (x - 1)))
    assert setup.kernel.variance == pytest.approx(np.mean(f**2))
    K = setup.kernel(setup.candidates, setup.candidates)
    # The norm from the eigenvalues of K, those lost in rounding left out.
    values, vectors = np.linalg.eigh(K)
    use = values > 1e-9 * values[-1]
    norm = np.sqrt(np.sum((vectors.T @ f)[use] ** 2 / values[use]))
    assert setup.norm_f == pytest.approx(norm, rel=0.01)
    assert (setup.min_noise_var, setup.max_noise_var) == (noise_var.min(), noise_var.max())


def test_the_figure_shows_curves_and_both_dependences(study):
    figure = figure_of_repeats(study)
    left, middle, right = figure.axes
    for ax, curves in ((left, study.cumulative), (middle, study.simple)):
        for drawn, curve in zip(ax.get_lines(), curves, strict=True):
            np.testing.assert_array_equal(drawn.get_ydata(), curve.band.mean)
    lines = {drawn.get_label(): drawn for drawn in right.get_lines()}
    np.testing.assert_allclose(lines["Theorem 1"].get_ydata(), study.bound / study.bound[0])
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["2", "4"]
