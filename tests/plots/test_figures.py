"""Whole runs in one figure."""

import numpy as np
import pytest

import rahbo
from rahbo import plots
from rahbo.errors import NotReadyError, SettingsError, SpaceError


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


def test_one_point_is_enough():
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, data=[({"x": 0.5}, [1.0])], seed=0)
    assert len(shown(plots.overview(opt))) == 5


RECORDS = (
    plots.overview, plots.fit_1d, plots.slices, plots.trade_off, plots.ranking, plots.effort,
    plots.progress, plots.left_out, plots.sensitivity,
)  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_run_without_values_is_refused(record):
    with pytest.raises(NotReadyError):
        record(rahbo.Optimizer({"x": (0.0, 1.0)}))


ONE_POINT = rahbo.Optimizer({"x": (0.0, 1.0)}, data=[({"x": 0.5}, [1.0, 2.0])])
ILLEGAL = rahbo.Optimizer({"x": (0.0, 1.0)}, data=[({"x": 0.1}, 1.0)], valid=lambda p: False)
ELSEWHERE = {"lr": 0.5, "x": 0.123}


@pytest.mark.parametrize(
    ("record", "error", "said"),
    [
        (lambda r: plots.overview(3), SettingsError, "an Optimizer or a Result, got int"),
        (lambda r: plots.fit_1d(r("flat")), SpaceError, "one Float or Int"),
        (lambda r: plots.fit_1d(r("listed")), SpaceError, "one Float or Int"),
        (lambda r: plots.fit_1d(told({"c": ["a", "b"]}, n=2)), SpaceError, "one Float or Int"),
        (lambda r: plots.fit_1d(ONE_POINT, n=1), SettingsError, "A slice needs a whole number"),
        (lambda r: plots.slices(r("listed")), SpaceError, r"Candidates.*ranking"),
        (lambda r: plots.fit_slice(r("flat"), "z"), SettingsError, r"\['lr', 'x'\], got 'z'"),
        (lambda r: plots.figure_of_fits({}), SettingsError, "at least one"),
        (lambda r: plots.figure_of_slices({}), SettingsError, "at least one"),
        (lambda r: plots.left_out(ONE_POINT), NotReadyError, "two evaluated points"),
        (lambda r: plots.sensitivity(r("listed")), SpaceError, "Candidates"),
        (lambda r: plots.trade_off(r("flat"), at=ELSEWHERE), SettingsError, "evaluated"),
        (lambda r: plots.ranking(r("flat"), at=ELSEWHERE), SettingsError, "evaluated"),
        (lambda r: plots.effort(r("flat"), at=ELSEWHERE), SettingsError, "evaluated"),
        (lambda r: plots.ranking(r("flat"), most=0), SettingsError, "most"),
        (lambda r: plots.progress(ILLEGAL), NotReadyError, "valid"),
        (lambda r: plots.progress(r("flat"), marks=0), SettingsError, "marks"),
        (lambda r: plots.surface(r("mixed")), SettingsError, "two inputs"),
        (lambda r: plots.surface(r("mixed"), ("lr", "lr")), SettingsError, "two inputs"),
        (lambda r: plots.surface(r("mixed"), ("lr", "no")), SettingsError, "two inputs"),
        (lambda r: plots.surface(r("flat"), n=1), SettingsError, ">= 2"),
        (lambda r: plots.surface(r("listed")), SpaceError, "Candidates"),
        (
            lambda r: plots.draw_surface(plots.surface(r("flat"), n=3), "noise", None),
            SettingsError, "quantity",
        ),
        (
            lambda r: plots.outcome_slice(r("limited"), "x", "loss"),
            SettingsError, r"The outcome must be one of \['cost'\]",
        ),
        (
            lambda r: plots.outcome_slice(
                rahbo.Optimizer(
                    {"x": (0.0, 1.0)}, data=[({"x": 0.5}, [1.0])],
                    constraints={"cost": rahbo.AtMost(1.0)},
                ), "x", "cost",
            ),
            NotReadyError, "No value of the outcome 'cost'",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(record, error, said, request):
    with pytest.raises(error, match=said):
        record(request.getfixturevalue)


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
