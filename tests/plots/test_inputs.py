"""Inputs as axes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import rahbo
from rahbo import plots
from rahbo.errors import SpaceError
from rahbo.plots.inputs import Input, nearness, predictions, run_in


def test_grids_hold_legal_values_on_the_scale_of_the_input():
    np.testing.assert_allclose(Input("a", rahbo.Float(0.0, 2.0)).grid(3), [0.0, 1.0, 2.0])
    np.testing.assert_allclose(Input("a", rahbo.Float(0.01, 1.0, log=True)).grid(3), [0.01, 0.1, 1])
    assert Input("a", rahbo.Int(1, 4)).grid(50).tolist() == [1, 2, 3, 4]
    assert Input("a", rahbo.Categorical(["u", "v", None])).grid(2).tolist() == [0, 1, 2]


def test_places_and_values_are_each_others_inverse():
    kind = Input("c", rahbo.Categorical(["u", True, None]))
    params = [{"c": None}, {"c": "u"}, {"c": True}]
    places = kind.places(params)
    assert places.tolist() == [2, 0, 1]
    assert [kind.value(place) for place in places] == [None, "u", True]
    assert Input("x", rahbo.Int(1, 9)).places([{"x": 4}]).tolist() == [4.0]


def test_axes_are_named_and_scaled():
    ax = Figure().subplots()
    Input("lr", rahbo.Float(0.01, 1.0, log=True)).label(ax.yaxis)
    Input("a kind of $ and $", rahbo.Categorical(["x" * 40, "v", "$w$"])).label(ax.xaxis)
    assert (ax.get_yscale(), ax.get_xscale(), ax.get_ylabel()) == ("log", "linear", "lr")
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["x" * 11 + "…", "v", r"\$w\$"]
    # Drawn as it is, not as mathematics.
    ax.get_figure().canvas.draw()
    assert ax.get_xlabel() == r"a kind of \$ and \$"


def test_a_result_is_drawn_as_its_optimizer():
    result = rahbo.maximize(lambda x: x, {"x": (0.0, 1.0)}, evaluations=8, seed=0)
    assert run_in(result) is run_in(result.optimizer) is result.optimizer
    for record in (plots.trade_off, plots.ranking, plots.effort, plots.progress, plots.left_out,
                   plots.sensitivity, plots.slices, plots.fit_1d):  # fmt: skip
        assert type(record(result)) is type(record(result.optimizer))


def test_predictions_say_what_is_legal():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, valid=lambda p: p["x"] < 0.6, data=[({"x": 0.5}, 1.0)])
    found, legal = predictions(opt, [{"x": 0.5}, {"x": 0.7}])
    assert legal.tolist() == [True, False]
    assert found == opt.predict([{"x": 0.5}, {"x": 0.7}])
    with pytest.raises(SpaceError, match="valid="):
        predictions(opt, [{"x": 0.7}, {"x": 0.9}])


def test_nearness_is_the_correlation_with_the_foot_on_the_slice(flat):
    kernel, at = flat.model.mean.kernel, {"lr": 0.01, "x": 0.25}
    near = nearness(flat, kernel, at, ["x"])
    X = flat.observations.X
    foot = X.copy()
    foot[:, 0] = flat.settings.space.encode(at)[0]
    expected = np.diag(kernel(X, foot)) / kernel.variance
    np.testing.assert_allclose(near, expected)
    assert near.min() < 0.9
    np.testing.assert_allclose(nearness(flat, kernel, at, ["x", "lr"]), 1.0)
    # Rounding must not exceed the range of a colour.
    assert nearness(flat, kernel, at, ["x", "lr"]).max() <= 1.0
