"""The style of all figures: fonts, lines, colours, and how figures are saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import offset_copy

from rahbo.numerics import Array

# The height of the labels of an axis, in points.
LABELS = 38.0
# Fonts are large for a panel, because a figure of three must be legible at half a page width.
STYLE: Mapping[str, Any] = {
    "axes.labelsize": 11,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "font.size": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
}
PANEL = (2.6, 2.3)

# Distinct in every common form of colour blindness (Okabe and Ito's palette). In grey, the dashes
# differ.
COLORS: Mapping[str, str] = {"rahbo": "#0072B2", "gpucb": "#D55E00", "rahbo-us": "#009E73"}
DASHES: Mapping[str, str] = {"rahbo": "-", "gpucb": "--", "rahbo-us": "-."}
INK, GREY = "#000000", "#666666"
# Colours for the truth, estimates, measurements, chosen points and the reported point, from the
# same palette.
TRUTH, BELIEF, DATA, CHOSEN, REPORT = INK, "#0072B2", GREY, "#E69F00", "#D55E00"
FIELD = "cividis"
# Opacity of data far from a slice, which are faint but not hidden, and of data on it.
FAINT, CLEAR = 0.07, 0.55
# Values farther from the quartiles than this multiple of the distance between them are outliers.
FAR = 5.0


@contextmanager
def styled() -> Iterator[None]:
    """Apply this style to everything drawn inside the context, and to nothing outside."""
    with style.context(dict(STYLE)):
        yield


def panels(rows: int, columns: int, **options: Any) -> tuple[Figure, np.ndarray[Any, Any]]:
    """Return a figure that is not displayed, and its axes ``(rows, columns)``."""
    size = (PANEL[0] * columns, PANEL[1] * rows + 0.35)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def fitting(text: str, most: int = 24) -> str:
    """Return a user's name as a label that is short and never read as mathematics."""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return short.replace("$", r"\$")


def interval_label(level: float) -> str:
    """Return the label of a credible interval, the same in every figure.

    >>> interval_label(0.9)
    '90 % interval'
    """
    return f"{100 * level:g} % interval"


def bulk(values: Array) -> tuple[float, float]:
    """Return the range of values without the few outliers that would squeeze the rest.

    They lie farther from the quartiles than five times the distance between them, are at most two
    or a tenth of all, and would leave less than a third of the range to the others.

    >>> bulk(np.array([1.0, 2.0, 3.0, 4.0, 5e4]))
    (1.0, 4.0)
    """
    low, first, third, high = (float(q) for q in np.quantile(values, [0.0, 0.25, 0.75, 1.0]))
    spread = third - first
    if len(values) < 5 or not (spread > 0.0 and np.isfinite(FAR * spread)):
        return low, high
    near = values[(values >= first - FAR * spread) & (values <= third + FAR * spread)]
    inner = float(near.min()), float(near.max())
    few = len(values) - len(near) <= max(2, 0.1 * len(values))
    return inner if few and high / 3.0 - low / 3.0 >= inner[1] - inner[0] else (low, high)


def legend_below(figure: Figure, axes: Iterable[Axes], columns: int = 4) -> None:
    """Draw one legend for all panels, with each label once."""
    shown: dict[str, Artist] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(shown.values()), list(shown), loc="outside lower center", ncols=columns, frameon=False
    )


def legends_under(figure: Figure, axes: Iterable[Axes], inches: float) -> None:
    """Draw the legend of each panel under it, in a room of so many inches."""
    layout = figure.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine):
        # The room is half above and half below each panel, so all are moved up by nearly a half.
        layout.set(h_pad=inches / 2.0, rect=(0.0, 0.45 * inches / figure.get_figheight(), 1.0, 1.0))
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            legend = ax.legend(
                handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0),
                bbox_transform=offset_copy(ax.transAxes, figure, y=-LABELS, units="points"),
                fontsize=7.5, borderaxespad=0.0, labelspacing=0.25, handlelength=1.5,
            )  # fmt: skip
            # A legend may be wider than its panel, which would become narrower for it.
            legend.set_in_layout(False)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and PDF; equal figures give the same bytes."""
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "pdf")]
    with styled():
        for path in paths:
            dated = {"CreationDate": None} if path.suffix == ".pdf" else {}
            figure.savefig(path, metadata=dated)
    return paths
