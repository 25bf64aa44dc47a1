"""Maps over two inputs."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure

import rahbo
from rahbo.plots import draw_surface, figure_of_surface, surface
from rahbo.policy import GPUCB, RahboUS, optimistic


def hoped(opt, params, risk=None):
    """The optimistic bound that the strategy works with, in user units."""
    units, X = opt.model.units, opt.settings.space.encode(params)[None]
    bound = optimistic(opt.model, risk or opt.settings.risk).value(X)[0]
    return opt.settings.sign * (units.shift + units.scale * bound)


def test_both_posteriors_are_those_of_predict(flat):
    record = surface(flat, n=5)
    assert [i.name for i in record.inputs] == ["lr", "x"]
    np.testing.assert_allclose(record.x1, np.geomspace(1e-4, 1.0, 5))
    for i, j in [(0, 0), (1, 3), (4, 2)]:
        there = flat.predict({"lr": float(record.x1[j]), "x": float(record.x2[i])})
        np.testing.assert_allclose(record.mean[i, j], there.mean)
        np.testing.assert_allclose(record.noise_std[i, j], there.noise_std)
        np.testing.assert_allclose(record.acquisition[i, j], hoped(flat, there.params))
    report = flat.recommend()
    assert record.reported == (report.params["lr"], report.params["x"])
    told = {(t.params["lr"], t.params["x"]) for t in flat.trials}
    assert {tuple(p) for p in record.points.tolist()} == told
    assert record.count.sum() == flat.n_evaluations
    np.testing.assert_allclose(record.nearness, 1.0)


def test_pairs_of_many_inputs_go_through_the_recommendation(mixed):
    record = surface(mixed, ("kind", "depth"), n=9)
    assert record.mean.shape == (5, 3)
    best = mixed.recommend().params
    there = mixed.predict({**best, "kind": "c", "depth": 2})
    np.testing.assert_allclose(record.mean[1, 2], there.mean)
    # In a run that minimises, the acquisition is small where it is good.
    np.testing.assert_allclose(record.acquisition[1, 2], hoped(mixed, there.params))
    assert record.acquisition[1, 2] < there.risk
    assert record.reported == ("abc".index(best["kind"]), best["depth"])
    assert record.nearness.min() < 0.99
    elsewhere = surface(mixed, ("kind", "depth"), at={**best, "lr": 0.5})
    np.testing.assert_allclose(
        elsewhere.mean[0, 0], mixed.predict({**best, "lr": 0.5, "kind": "a", "depth": 1}).mean
    )


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        (GPUCB(), "optimistic mean"),
        (RahboUS(learning_rounds=1), "noise uncertainty"),
        (RahboUS(learning_rounds=0), "optimistic value"),
    ],
)
def test_the_acquisition_is_that_of_the_strategy(strategy, name):
    data = [({"x": x, "y": 1.0 - x}, [x, x + 0.1]) for x in (0.1, 0.5, 0.8)]
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    opt = rahbo.Optimizer(
        space, method=rahbo.Method(strategy=strategy), data=data, n_initial=3, seed=0
    )
    record = surface(opt, n=3)
    assert record.acquisition_name == name
    centre = opt.predict({"x": 0.5, "y": 0.5})
    value = record.acquisition[1, 1]
    if name == "optimistic mean":
        expected = hoped(opt, centre.params, rahbo.MeanVariance(0.0))
        np.testing.assert_allclose(value, expected)
    elif name == "noise uncertainty":
        np.testing.assert_allclose(value, opt.model.noise.latent(np.full((1, 2), 0.5))[1][0])
    else:
        upper = hoped(opt, centre.params, rahbo.MeanVariance(0.0))
        np.testing.assert_allclose(value, opt.settings.risk.value(upper, centre.noise_std**2))
    opt.ask()
    assert not np.allclose(surface(opt, n=3).acquisition, record.acquisition)


def test_what_is_forbidden_is_left_blank():
    data = [({"x": x, "y": x}, x) for x in (0.1, 0.3, 0.4)]
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    opt = rahbo.Optimizer(space, valid=lambda p: p["x"] + p["y"] < 0.9, data=data, seed=0)
    record = surface(opt, n=3)
    blank = np.isnan(record.mean)
    assert blank.tolist() == [[False, False, True], [False, True, True], [True, True, True]]
    assert np.array_equal(blank, np.isnan(record.noise_std))
    assert np.all(np.isfinite(record.limits("mean")))


@pytest.mark.parametrize("quantity", ["mean", "noise_std", "acquisition"])
def test_maps_show_the_record(flat, quantity):
    record = surface(flat, n=7)
    figure = Figure()
    ax = figure.subplots()
    assert draw_surface(record, quantity, ax) is ax
    (mesh,) = [c for c in ax.collections if isinstance(c, QuadMesh)]
    np.testing.assert_array_equal(mesh.get_array(), getattr(record, quantity))
    assert mesh.get_clim() == record.limits(quantity)
    (points,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    np.testing.assert_array_equal(points.get_offsets(), record.points)
    star = next(line for line in ax.lines if line.get_label() == "reported point")
    assert (star.get_xdata()[0], star.get_ydata()[0]) == record.reported
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert ax.get_title() == record.title(quantity)
    assert len(figure.axes) == 2


@pytest.mark.parametrize("minimised", [False, True])
def test_a_steep_border_does_not_hide_the_rest(flat, minimised):
    field = np.linspace(0.0, -1.0, 25).reshape(5, 5)
    field[0, 0] = 50.0 if minimised else -50.0
    if minimised:
        field = np.abs(field)
    record = replace(surface(flat, n=5), mean=field, noise_std=np.abs(field), minimised=minimised)
    low, high = record.limits("mean")
    assert high - low < 2.0
    assert record.limits("noise_std") == (np.abs(field).min(), 50.0)
    ax = draw_surface(record, "mean", Figure().subplots())
    assert ax.collections[0].colorbar.extend == ("max" if minimised else "min")


def test_the_figure_has_three_maps(mixed, tmp_path):
    figure = figure_of_surface(surface(mixed, ("x", "kind"), n=5))
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == ["mean", "noise std", "optimistic value"]
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["a", "b", "c"]
    figure.savefig(tmp_path / "maps.png")


def test_noise_that_hardly_differs_does_not_get_all_colours(flat):
    names = flat.settings.space.names
    field = np.linspace(0.00257, 0.0026, 9).reshape(3, 3)
    record = replace(surface(flat, (names[0], names[1]), n=3), noise_std=field)
    low, high = record.limits("noise_std")
    assert high - low == pytest.approx(0.25 * 0.0026)
    assert low < 0.00257 < 0.0026 < high
