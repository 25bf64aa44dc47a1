"""Marks that several figures share: measurements, a belief with its band, the reported point."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from rahbo.numerics import Array
from rahbo.plots.inputs import Input
from rahbo.plots.style import BELIEF, CLEAR, DATA, FAINT, GREY, REPORT, interval_label


def draw_values(
    ax: Axes, x: Array, y: Array, near: Array, label: str = "single evaluations", marker: str = "."
) -> None:
    """Draw measurements, fainter with their distance from the line."""
    color = np.tile(to_rgba(DATA), (len(x), 1))
    color[:, 3] = FAINT + (CLEAR - FAINT) * near
    ax.scatter(x, y, s=22 if marker == "." else 14, c=color, marker=marker, linewidths=0, zorder=1)
    # The legend shows a mark as clear as those on the line.
    ax.plot([], [], marker, color=DATA, alpha=CLEAR, markeredgewidth=0, label=label)


def draw_belief(
    ax: Axes, axis: Input, x: Array, curve: tuple[Array, Array, Array], level: float,
    labels: tuple[str, str] = ("posterior", "posterior"), linewidth: float | None = 1.8,
) -> None:  # fmt: skip
    """Draw a line with a band, or error bars for choices.

    Args:
        ax: The axes to draw on.
        axis: The input along the horizontal axis.
        x: Places on it, ``(m,)``.
        curve: The centre there, and the lower and the upper end of its interval.
        level: The probability of the interval.
        labels: What the line is called, and the bars.
        linewidth: The width of the line; None is that of the style.
    """
    centre, lower, upper = curve
    known = interval_label(level)
    if axis.choices:
        bars = np.maximum((centre - lower, upper - centre), 0.0)
        ax.errorbar(
            x, centre, bars, color=BELIEF, marker="o", markersize=5, capsize=4, linestyle="none",
            zorder=3, label=f"{labels[1]}, {known}",
        )  # fmt: skip
        ax.set_xlim(-0.5, len(x) - 0.5)
        return
    ax.fill_between(x, lower, upper, color=BELIEF, alpha=0.25, linewidth=0, zorder=2, label=known)
    ax.plot(x, centre, color=BELIEF, linewidth=linewidth, zorder=3, label=labels[0])


def draw_star(ax: Axes, x: float, y: float, size: float = 13.0, zorder: float = 4.0) -> None:
    """Draw the reported point."""
    ax.plot(
        [x], [y], "*", color=REPORT, markersize=size, markeredgecolor="white", zorder=zorder,
        label="reported point",
    )  # fmt: skip


def draw_unsure(ax: Axes, x: Array, y: Array) -> None:
    """Draw points that are not sure to keep the limits of their outcomes, as hollow marks."""
    if len(x):
        ax.plot(
            x, y, "o", color=GREY, markersize=4.5, markerfacecolor="none", markeredgewidth=0.8,
            alpha=0.8, zorder=3, label="not sure to keep limits",
        )  # fmt: skip


def with_room(low: float, high: float, share: float = 0.08) -> tuple[float, float]:
    """Return the ends of an axis that shows a range and some room on either side."""
    room = share * (high - low) or 0.5
    return low - room, high + room
