"""Evaluated points: mean against noise, a ranking of the best, and the evaluations of each.

`trade_off`, `ranking` and `effort` compute records, and `draw_trade_off`, `draw_ranking` and
`draw_effort` draw them on given axes. They work for every space, including a list of candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rahbo.analysis import Prediction, short
from rahbo.errors import SettingsError
from rahbo.numerics import Array, Index, Mask
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import Params, data_of, run_in, shown_point
from rahbo.plots.marks import draw_star, draw_unsure, with_room
from rahbo.plots.style import BELIEF, CHOSEN, DATA, INK, bulk, fitting, interval_label
from rahbo.running import Result
from rahbo.trials import tallies_of

# A mean is drawn in place up to this multiple of the distance from the best within which nine
# points of ten lie.
FAR = 1.5


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Mean against noise std of the evaluated points, and which of them some alpha would report.

    Attributes:
        points: The prediction at each point, with its intervals.
        frontier: Rows of the points that some alpha would report, in order of alpha, ``(c,)``.
        alphas: The smallest alpha that would report each of them, ``(c,)``.
        reported: The row of the recommended point.
        minimised: Whether smaller values are better.
    """

    points: tuple[Prediction, ...]
    frontier: Index
    alphas: Array
    reported: int
    minimised: bool

    @property
    def mean(self) -> Array:
        """Posterior means, ``(n,)``."""
        return np.array([p.mean for p in self.points])

    @property
    def noise_std(self) -> Array:
        """Noise stds, ``(n,)``."""
        return np.array([p.noise_std for p in self.points])

    @property
    def kept(self) -> Mask:
        """Whether each point is sure to keep the limits of its outcomes, ``(n,)``."""
        return np.array([p.feasible for p in self.points])


def trade_off(optimizer: Optimizer | Result, *, at: Params | None = None) -> TradeOff:
    """Compute the record of all evaluated points that satisfy ``valid``."""
    optimizer = run_in(optimizer)
    found = optimizer.frontier()
    rows = [found.evaluated.index(choice.prediction) for choice in found.choices]
    return TradeOff(
        points=found.evaluated,
        frontier=np.array(rows),
        alphas=np.array([choice.alpha_from for choice in found.choices]),
        reported=_row(shown_point(optimizer, at), found.evaluated),
        minimised=optimizer.settings.sign < 0,
    )


def _row(at: Params, points: tuple[Prediction, ...]) -> int:
    row = next((i for i, p in enumerate(points) if p.params == at), None)
    if row is None:
        raise SettingsError(f"at= must be a point that was evaluated, got {dict(at)!r}.")
    return row


def draw_trade_off(record: TradeOff, ax: Axes) -> Axes:
    """Draw the points with their intervals, the frontier, and the recommended point.

    Points that are not sure to keep the limits of their outcomes are hollow, without intervals.
    """
    mean, noise_std, kept = record.mean, record.noise_std, record.kept
    ends = np.array([(p.mean_interval, p.noise_std_interval) for p in record.points])
    bars = np.abs(ends - np.stack([mean, noise_std], axis=1)[:, :, None]).transpose(1, 2, 0)
    if kept.any():
        ax.errorbar(
            noise_std[kept], mean[kept], *bars[:, :, kept], color=DATA, ecolor=(*(0.4,) * 3, 0.3),
            marker="o", markersize=3.5, linewidth=0.8, linestyle="none", markeredgewidth=0,
            zorder=1, label=f"evaluated points, {interval_label(record.points[0].level)}s",
        )  # fmt: skip
    draw_unsure(ax, noise_std[~kept], mean[~kept])
    ax.plot(
        noise_std[record.frontier], mean[record.frontier], "o-", color=BELIEF, markersize=5,
        linewidth=1.4, zorder=2, label="best for some α",
    )  # fmt: skip
    ax.set_xlim(*with_room(0.0, float(max(noise_std.max(), np.quantile(ends[:, 1], 0.95)))))
    low, high = with_room(*_worth_showing(record))
    for off, edge, marker in ((mean < low, low, "v"), (mean > high, high, "^")):
        if off.any():
            worse = record.minimised == (edge == high)
            ax.plot(
                noise_std[off], np.full(off.sum(), edge), marker, color=DATA, markersize=5,
                linestyle="none", clip_on=False,
                label=f"evaluated, far {'worse' if worse else 'better'}",
            )  # fmt: skip
    # The reported point can be seen even if it lies outside.
    draw_star(ax, noise_std[record.reported], float(np.clip(mean[record.reported], low, high)))
    ax.set_ylim(low, high)
    ax.set_xlabel("noise std")
    ax.set_ylabel("mean (minimised)" if record.minimised else "mean")
    return ax


def _worth_showing(record: TradeOff) -> tuple[float, float]:
    """Return the range of means, without the few that are far from all others."""
    sign = -1.0 if record.minimised else 1.0
    mean = sign * record.mean
    best = bulk(mean)[1]
    worst = best - FAR * (best - float(np.quantile(mean, 0.1)))
    worst = min(max(worst, float(mean.min())), float(mean[record.frontier].min()))
    low, high = sorted((sign * worst, sign * best))
    return low, high


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best evaluated points by their pessimistic value, best first.

    If outcomes have limits, only points that may be reported are listed.

    Attributes:
        points: The prediction at each point.
        repeats: All values told at each point, less the effects of their blocks.
        reported: The row of the recommended point; None if it is not listed.
    """

    points: tuple[Prediction, ...]
    repeats: tuple[Array, ...]
    reported: int | None


def ranking(optimizer: Optimizer | Result, *, at: Params | None = None, most: int = 10) -> Ranking:
    """Compute the record of the best evaluated points, ``most`` at the most."""
    optimizer = run_in(optimizer)
    if most < 1:
        raise SettingsError(f"ranking(most) needs a whole number >= 1, got {most!r}.")
    sign, space = optimizer.settings.sign, optimizer.settings.space
    found = optimizer.frontier()
    points = found.evaluated
    worst = sign * np.array([p.pessimistic for p in points])
    may = np.isin(np.arange(len(points)), found.candidates)
    best = np.lexsort((-worst, ~may))[: min(most, may.sum())].tolist()
    told = data_of(optimizer)
    place = {x.tobytes(): i for i, x in enumerate(told.X)}
    repeats = [told.repeats(place[space.encode(points[i].params).tobytes()]) for i in best]
    marked = _row(shown_point(optimizer, at), points)
    return Ranking(
        tuple(points[i] for i in best),
        tuple(sign * values for values in repeats),
        best.index(marked) if marked in best else None,
    )


def draw_ranking(record: Ranking, ax: Axes) -> Axes:
    """Draw each point on its own line: its repeats, its mean and its risk value."""
    y = np.arange(len(record.points))
    for row, values in enumerate(record.repeats):
        ax.plot(
            values, np.full(len(values), row), ".", color=DATA, alpha=0.55, markersize=5,
            markeredgewidth=0, zorder=1, label="single evaluations" if row == 0 else None,
        )  # fmt: skip
    known = interval_label(record.points[0].level)
    for name, interval, shift, color, marker, label in (
        ("mean", "mean_interval", -0.16, BELIEF, "o", f"mean and its {known}"),
        ("risk", "risk_interval", 0.16, CHOSEN, "s", f"risk value and its {known}"),
    ):
        centre = np.array([getattr(p, name) for p in record.points])
        ends = np.array([getattr(p, interval) for p in record.points]).T
        ax.errorbar(
            centre, y + shift, xerr=np.abs(ends - centre), color=color, marker=marker,
            markersize=4, linewidth=1.3, linestyle="none", zorder=2, label=label,
        )  # fmt: skip
    if record.reported is not None:
        draw_star(ax, record.points[record.reported].mean, record.reported - 0.16)
    names = list(record.points[0].params)
    named = [", ".join(map(short, p.params.values())) for p in record.points]
    ax.set_yticks(y, [fitting(text, 16) for text in named])
    ax.invert_yaxis()
    ax.set_xlabel("value")
    ax.set_title(fitting(", ".join(names), 30), loc="right")
    return ax


@dataclass(frozen=True, eq=False)
class Effort:
    """The evaluations of each distinct point, in the order in which the points were first tried.

    Attributes:
        values: The number of values told, ``(n,)``.
        failures: The number of failed evaluations, ``(n,)``.
        chosen: Whether the strategy chose the point at any time, ``(n,)``.
        reported: The row of the recommended point.
    """

    values: Index
    failures: Index
    chosen: Mask
    reported: int


def effort(optimizer: Optimizer | Result, *, at: Params | None = None) -> Effort:
    """Compute the record of all points that were tried."""
    optimizer = run_in(optimizer)
    marked = optimizer.settings.space.encode(shown_point(optimizer, at)).tobytes()
    X, values, failures = tallies_of(optimizer.trials)
    rows = {x.tobytes(): i for i, x in enumerate(X)}
    if marked not in rows:
        raise SettingsError(f"at= must be a point that was evaluated, got {at!r}.")
    tried = {t.x.tobytes() for t in optimizer.trials if t.source == "strategy"}
    chosen = np.array([key in tried for key in rows], dtype=bool)
    return Effort(values, failures, chosen, rows[marked])


def draw_effort(record: Effort, ax: Axes) -> Axes:
    """Draw a bar for each point: its values, with its failures on top."""
    x = np.arange(1, len(record.values) + 1)
    # With many points, gaps would be as wide as the bars, so there are none.
    width = 0.8 if len(x) < 60 else 1.0
    for rows, color, label in (
        (~record.chosen, DATA, "initial or told"),
        (record.chosen, CHOSEN, "chosen by the strategy"),
    ):
        if rows.any():
            ax.bar(x[rows], record.values[rows], width, color=color, label=label)
    failed = record.failures > 0
    if failed.any():
        ax.bar(
            x[failed], record.failures[failed], width, bottom=record.values[failed],
            color=INK, label="failed",
        )  # fmt: skip
    total = record.values + record.failures
    highest = 1.2 * float(total.max())
    # Above its bar, by about the size of the star.
    draw_star(ax, float(x[record.reported]), float(total[record.reported]) + 0.06 * highest)
    ax.set_ylim(0.0, highest)
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.set_xlabel("point, in order of trial")
    ax.set_ylabel("evaluations")
    return ax
