"""Records of one-parameter runs, and what is drawn from them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import rahbo
from rahbo.plots import (
    draw_fit_1d,
    draw_noise_1d,
    draw_noise_std_1d,
    figure_of_fits,
    figure_of_slices,
    fit_1d,
    fit_slice,
    slices,
)


def told(space, direction="maximize"):
    """A run with known values at each suggestion."""
    opt = rahbo.Optimizer(space, direction=direction, n_initial=4, repeats=3, seed=3)
    rng = np.random.default_rng(0)
    for _ in range(6):
        s = opt.ask()
        (value,) = s.params.values()
        opt.tell(s, np.sin(value) + 0.1 * rng.standard_normal(3))
    return opt


@pytest.fixture(scope="module")
def opt():
    return told({"x": (0.0, 4.0)})


def test_the_data_are_those_told(opt):
    fit = fit_1d(opt)
    everything = sorted((t.params["x"], v) for t in opt.trials for v in t.values.values())
    drawn = sorted(zip(fit.repeat_x.tolist(), fit.repeat_y.tolist(), strict=True))
    assert drawn == everything
    assert fit.chosen.tolist() == [t.params["x"] for t in opt.trials if t.source == "strategy"]
    assert len(fit.chosen) == 2
    first = opt.trials[0]
    at = fit.points == first.params["x"]
    np.testing.assert_allclose(fit.sample_var[at], np.var(list(first.values.values()), ddof=1))
    report = opt.recommend()
    assert fit.reported == report.params["x"]
    np.testing.assert_allclose(fit.reported_mean, report.mean)


@pytest.mark.parametrize(
    ("draw", "curve", "reported"),
    [(draw_fit_1d, "mean", "reported_mean"), (draw_noise_1d, "noise_var", "reported_noise_var")],
)
def test_drawing_returns_the_axes_with_everything_on_them(opt, draw, curve, reported):
    fit = fit_1d(opt, n=21)
    ax = Figure().subplots()
    assert draw(fit, ax, truth=np.cos) is ax
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["posterior"].get_ydata(), getattr(fit, curve))
    np.testing.assert_array_equal(lines["truth"].get_ydata(), np.cos(fit.x))
    star = lines["reported point"]
    assert star.get_xdata() == [fit.reported]
    assert star.get_ydata() == [getattr(fit, reported)]
    assert ax.get_xlabel() == "x"
    assert "truth" not in draw(fit, Figure().subplots()).get_legend_handles_labels()[1]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_figures_hold_a_column_a_run_and_can_be_saved(opt, n, tmp_path):
    fit = fit_1d(opt, n=21)
    figure = figure_of_fits({f"run {i}": fit for i in range(n)}, mean=np.sin, noise_var=np.cos)
    assert len(figure.axes) == 2 * n
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == [f"run {i}" for i in range(n)]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(labels) == len(set(labels)) == 7
    figure.savefig(tmp_path / "fits.png")
    assert (tmp_path / "fits.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("run", ["flat", "mixed"])
def test_slices_go_through_the_recommendation(run, request):
    opt = request.getfixturevalue(run)
    best = opt.recommend()
    found = slices(opt, n=7)
    assert list(found) == list(opt.settings.space.names)
    for name, fit in found.items():
        assert fit.input.value(fit.reported) == best.params[name]
        np.testing.assert_allclose(fit.reported_mean, best.mean)
        for i, x in enumerate(fit.x.tolist()):
            there = opt.predict({**best.params, name: fit.input.value(x)})
            np.testing.assert_allclose(fit.mean[i], there.mean)
            np.testing.assert_allclose((fit.mean_lower[i], fit.mean_upper[i]), there.mean_interval)
            np.testing.assert_allclose(fit.noise_var[i], there.noise_std**2)
            ends = fit.noise_var_lower[i], fit.noise_var_upper[i]
            np.testing.assert_allclose(ends, np.square(there.noise_std_interval))
        told = sorted(v for t in opt.trials for v in t.values.values())
        np.testing.assert_allclose(np.sort(fit.repeat_y), told)


def test_a_slice_may_go_through_any_point(flat):
    fit = fit_slice(flat, "x", at={"lr": 0.5, "x": 0.2}, n=3)
    np.testing.assert_allclose(fit.mean[2], flat.predict({"lr": 0.5, "x": 1.0}).mean)
    assert fit.reported == 0.2


def test_what_is_forbidden_is_left_blank():
    data = [({"x": x}, [x, x]) for x in (0.1, 0.4)]
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, valid=lambda p: p["x"] < 0.6, data=data, seed=0)
    fit = fit_1d(opt, n=3)
    for curve in (fit.mean, fit.mean_upper, fit.noise_var, fit.noise_var_lower):
        assert np.isnan(curve).tolist() == [False, False, True]
    draw_noise_std_1d(fit, draw_fit_1d(fit, Figure().subplots()))


def test_the_noise_std_is_the_root_of_the_variance(opt):
    fit = fit_1d(opt, n=11)
    ax = draw_noise_std_1d(fit, Figure().subplots(), truth=np.exp)
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_allclose(lines["posterior"].get_ydata() ** 2, fit.noise_var)
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 1] ** 2, fit.sample_var)
    np.testing.assert_allclose(lines["reported point"].get_ydata()[0] ** 2, fit.reported_noise_var)
    assert ax.get_ylim()[0] == 0.0
    assert ax.get_ylabel() == "noise std"


def test_slices_are_drawn_below_each_other_in_fours(mixed, flat):
    figure = figure_of_slices(slices(mixed, n=5))
    assert len(figure.axes) == 8
    assert [ax.get_xlabel() for ax in figure.axes[:4]] == ["lr", "depth", "kind", "x"]
    assert [ax.get_ylabel() for ax in figure.axes] == ["value", "", "", "", "noise std", "", "", ""]
    one = fit_slice(flat, "x", n=5)
    five = figure_of_slices({str(i): one for i in range(5)})
    assert [ax.get_visible() for ax in five.axes[8:12]] == [True, False, False, False]


def test_values_are_shown_less_the_effects_of_their_blocks(blocked):
    fit = fit_1d(blocked)
    # As told, the two values of each point differ by about one.
    assert np.ptp(fit.repeat_y.reshape(-1, 2), axis=1).max() < 0.5
    assert np.sqrt(fit.sample_var).max() < 0.4
