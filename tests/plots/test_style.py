"""The style of figures."""

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb

from rahbo.experiments.spec import METHODS
from rahbo.plots import styled
from rahbo.plots.style import (
    COLORS,
    DASHES,
    STYLE,
    bulk,
    fitting,
    legend_below,
    panels,
    save,
)


def test_the_style_holds_inside_and_leaves_nothing_behind():
    before = dict(mpl.rcParams)
    with styled():
        assert {key: mpl.rcParams[key] for key in STYLE} == dict(STYLE)
    assert dict(mpl.rcParams) == before


def test_every_method_has_a_colour_and_dashes_of_its_own():
    assert set(METHODS) == set(COLORS) == set(DASHES)
    assert len({to_rgb(color) for color in COLORS.values()}) == len(METHODS)
    assert len(set(DASHES.values())) == len(METHODS)


def test_panels_have_no_box_and_one_legend_with_each_label_once():
    with styled():
        figure, axes = panels(1, 2)
    assert axes.shape == (1, 2)
    for ax in axes.flat:
        assert not ax.spines["top"].get_visible()
        assert not ax.spines["right"].get_visible()
        ax.plot([0, 1], label="both")
    axes[0, 1].plot([1, 0], label="one")
    legend_below(figure, axes[0])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["both", "one"]


def test_saving_gives_png_and_pdf_the_same_each_time(tmp_path):
    def saved(folder):
        folder.mkdir()
        with styled():
            figure, axes = panels(1, 1)
            axes[0, 0].plot([0, 1])
        # The name contains a dot, which does not begin a suffix.
        return save(figure, folder / "alpha0.5")

    first, second = saved(tmp_path / "a"), saved(tmp_path / "b")
    assert [path.name for path in first] == ["alpha0.5.png", "alpha0.5.pdf"]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert first[1].read_bytes().startswith(b"%PDF")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_names_are_shortened_and_never_mathematics():
    assert fitting("lr") == "lr"
    assert fitting("a" * 30) == "a" * 23 + "…"
    assert fitting("$x$", 3) == r"\$x\$"


def test_the_bulk_leaves_out_one_outlier_and_nothing_ordinary(rng):
    ordinary = rng.standard_normal(30)
    assert bulk(np.append(ordinary, -1e5)) == (ordinary.min(), ordinary.max())
    for values in (ordinary, np.repeat([0.0, 1e5], 10), np.ones(5), np.array([1.0, 1e9])):
        assert bulk(values) == (values.min(), values.max())
