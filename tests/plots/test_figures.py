"""Whole runs in one figure."""

import numpy as np
import pytest

import rahbo
from rahbo import plots
from rahbo.errors import NotReadyError


def told(space, n=5, **settings):
    rng = np.random.default_rng(0)
    opt = rahbo.Optimizer(space, n_initial=n, repeats=2, seed=0, **settings)
    for _ in range(n + 1):
        s = opt.ask()
        opt.tell(s, rng.standard_normal(2))
    return opt


def shown(figure):
    """The axis labels of each visible panel, without colour scales."""
    return [
        (ax.get_xlabel(), ax.get_ylabel())
        for ax in figure.axes
        if ax.get_visible() and ax.get_label() != "<colorbar>"
    ]


COMMON = [
    ("noise std", "mean"),
    ("evaluations", "risk value"),
    ("point, in order of trial", "evaluations"),
    ("predicted by the others", "sample mean"),
]


def test_one_input_gets_both_fits():
    figure = plots.overview(told({"x": (0.0, 1.0)}))
    assert shown(figure) == [("x", "value"), ("x", "noise std"), *COMMON]


def test_one_choice_gets_bars():
    figure = plots.overview(told({"c": ["u", "v", "w"]}, n=3))
    assert shown(figure)[:2] == [("c", "value"), ("c", "noise std")]


def test_two_inputs_get_maps(flat):
    found = shown(plots.overview(flat))
    assert found[:3] == [("lr", "x")] * 3
    assert found[3:] == [("share of variation", ""), *COMMON, ("nominal level", "share inside")]


def test_many_inputs_get_slices_along_those_that_matter(mixed):
    found = shown(plots.overview(mixed))
    leading = plots.sensitivity(mixed).leading()
    assert [x for x, _ in found[:6]] == leading[:3] * 2
    assert [y for _, y in found[:6]] == ["value"] * 3 + ["noise std"] * 3
    assert set(found[6]) == set(leading[:2])
    assert len(found) == 15


def test_a_list_gets_its_points(listed, tmp_path):
    figure = plots.overview(listed)
    assert shown(figure) == [("value", ""), *COMMON, ("nominal level", "share inside")]
    # Each panel has its own legend, under it and inside the figure.
    assert figure.legends == []
    figure.draw_without_rendering()
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        if ax.get_visible() and handles:
            assert [text.get_text() for text in ax.get_legend().get_texts()] == labels
            box = ax.get_legend().get_window_extent()
            assert 0.0 < box.y0 < box.y1 < ax.get_window_extent().y0
    figure.savefig(tmp_path / "list.png")
    assert (tmp_path / "list.png").read_bytes().startswith(b"\x89PNG")


def test_one_point_is_enough_and_none_is_not():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, data=[({"x": 0.5}, [1.0])], seed=0)
    assert len(shown(plots.overview(opt))) == 5
    with pytest.raises(NotReadyError):
        plots.overview(rahbo.Optimizer({"x": (0.0, 1.0)}))


def test_names_are_taken_as_they_are(tmp_path):
    space = {"$\\frac{": (0.0, 1.0), "<b>$x^$": ["$", "_", "a" * 50]}
    figure = plots.overview(told(space))
    # A dollar sign begins a formula unless it is escaped.
    assert ("\\$\\frac{", "<b>\\$x^\\$") in shown(figure)
    figure.savefig(tmp_path / "names.png")


def test_the_folder_offers_what_it_lists():
    assert sorted(plots.__all__) == plots.__all__
    assert all(callable(getattr(plots, name)) for name in plots.__all__)


@pytest.mark.slow
def test_limits_and_blocks_have_panels(limited, blocked, flat):
    def labels(figure):
        return [ax.get_ylabel() or ax.get_xlabel() for ax in figure.axes]

    assert "cost" in labels(plots.overview(limited))
    assert "effect" in labels(plots.overview(blocked))
    assert not {"cost", "effect"} & set(labels(plots.overview(flat)))
