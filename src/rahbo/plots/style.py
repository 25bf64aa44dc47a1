"""One look for all figures: type, lines, colours, and how figures are saved."""

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

# Large for the size of a panel: a figure of three must be legible at half the width of a page.
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

# Told apart in every common form of colour blindness (Okabe and Ito's palette), and by their
# dashes in grey.
COLORS: Mapping[str, str] = {"rahbo": "#0072B2", "gpucb": "#D55E00", "rahbo-us": "#009E73"}
DASHES: Mapping[str, str] = {"rahbo": "-", "gpucb": "--", "rahbo-us": "-."}
INK, GREY = "#000000", "#666666"
# What a run believes, what it measured, where it went and what it reports; of the same palette.
TRUTH, BELIEF, DATA, CHOSEN, REPORT = INK, "#0072B2", GREY, "#E69F00", "#D55E00"
FIELD = "cividis"


@contextmanager
def styled() -> Iterator[None]:
    """Everything drawn inside has this look; nothing outside has."""
    with style.context(dict(STYLE)):
        yield


def panels(rows: int, columns: int, **options: Any) -> tuple[Figure, np.ndarray[Any, Any]]:
    """A figure that is shown nowhere, and its axes ``(rows, columns)``."""
    size = (PANEL[0] * columns, PANEL[1] * rows + 0.35)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def fitting(text: str, most: int = 24) -> str:
    """A name of the user's as a label: not too long, and never taken for mathematics."""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return short.replace("$", r"\$")


def interval_label(level: float) -> str:
    """What a credible interval is called, in every figure alike.

    >>> interval_label(0.9)
    '90 % interval'
    """
    return f"{100 * level:g} % interval"


def legend_below(figure: Figure, axes: Iterable[Axes], columns: int = 4) -> None:
    """One legend for all panels, of what is shown in some of them, each label once."""
    shown: dict[str, Artist] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=columns)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write PNG and PDF beside each other; figures drawn alike give the same bytes."""
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "pdf")]
    with styled():
        for path in paths:
            dated = {"CreationDate": None} if path.suffix == ".pdf" else {}
            figure.savefig(path, metadata=dated)
    return paths
