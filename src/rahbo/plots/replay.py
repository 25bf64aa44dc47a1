"""The progress of a run: what it would have reported after each number of evaluations.

`progress` computes a record, and `draw_progress` draws the risk value of the point reported at the
time. If the truth is known, `regret_of` turns a record into a curve of regret, and `draw_regret`
draws such curves for several runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from rahbo.analysis import LEVEL, Prediction, choose, predict, told
from rahbo.errors import NotReadyError, SettingsError
from rahbo.experiments import Band
from rahbo.numerics import Array, Mask, is_whole, one_blas_thread
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import Params, run_in
from rahbo.plots.marks import draw_unsure, with_room
from rahbo.plots.regret import Curve, draw_log_curves
from rahbo.plots.style import BELIEF, COLORS, DASHES, GREY, interval_label
from rahbo.policy import limits, report_bound
from rahbo.running import Result


@dataclass(frozen=True, eq=False)
class Progress:
    """What a run would have reported at each of several times.

    Attributes:
        evaluations: The number of single evaluations until then, including failures, ``(m,)``.
        reported: The prediction at the point reported then, from the data known then.
        minimised: Whether smaller values are better.
        design_end: The number of evaluations before the strategy's first proposal; None if there
            was none.
    """

    evaluations: Array
    reported: tuple[Prediction, ...]
    minimised: bool
    design_end: int | None

    @property
    def pessimistic(self) -> Array:
        """The pessimistic value of the point reported then, ``(m,)``."""
        return np.array([p.pessimistic for p in self.reported])

    @property
    def kept(self) -> Mask:
        """Whether the point reported then was sure to keep the limits of its outcomes, ``(m,)``."""
        return np.array([p.feasible for p in self.reported])

    @property
    def ends(self) -> Array:
        """Lower and upper ends of the interval of the reported point's risk value, ``(m, 2)``."""
        return np.array([p.risk_interval for p in self.reported])


def progress(optimizer: Optimizer | Result, *, marks: int = 30) -> Progress:
    """Replay a run at some times, spread evenly over its trials: ``marks`` of them at the most.

    Nothing is learned again. Each mark uses the data and the hyperparameters that the run had at
    the time; marks before the first fit use its hyperparameters. So each mark costs one posterior.
    The end of the run is always one.
    """
    optimizer = run_in(optimizer)
    if not is_whole(marks) or marks < 1:
        raise SettingsError(f"progress(marks) needs a whole number >= 1, got {marks!r}.")
    trials, sign, space = optimizer.trials, optimizer.settings.sign, optimizer.space
    if not trials:
        raise NotReadyError("Nothing has been told yet. Call ask() and tell() first.")
    legal = space.is_valid(np.array([t.x for t in trials])) & [bool(t.n_values) for t in trials]
    if not legal.any():
        raise NotReadyError(
            "progress() needs an evaluated point that satisfies valid=, but there is none. "
            "Evaluate one."
        )
    start = int(np.argmax(legal)) + 1
    ends = np.unique(np.linspace(len(trials), start, marks).astype(int)).tolist()
    found = []
    with one_blas_thread():
        for state in optimizer.state.after(ends):
            x = told(state).observations.X[choose("pessimistic", state)]
            at, bound, kept = [space.decode(x)], report_bound(state), limits(state)
            (there,) = predict(bound, state.risk, x[None], at, LEVEL, kept)
            found.append(optimizer.in_user_sign(there))
    spent = np.cumsum([t.n_made for t in trials])
    first = next((i for i, t in enumerate(trials) if t.source == "strategy"), None)
    return Progress(
        evaluations=np.array([float(spent[end - 1]) for end in ends]),
        reported=tuple(found),
        minimised=sign < 0,
        design_end=None if first is None else int(spent[first - 1]) if first else 0,
    )


def draw_progress(record: Progress, ax: Axes) -> Axes:
    """Draw the pessimistic value of the reported point, and the interval of its risk value.

    Where no point was sure to keep the limits of its outcomes, a hollow mark stands for the one
    that violated them least.
    """
    kept = record.kept
    value, (lower, upper) = (
        np.where(kept, numbers, np.nan) for numbers in (record.pessimistic, record.ends.T)
    )
    ax.fill_between(
        record.evaluations, lower, upper, color=BELIEF, alpha=0.25, linewidth=0,
        label=interval_label(record.reported[0].level),
    )  # fmt: skip
    ax.plot(record.evaluations, value, color=BELIEF, marker=".", label="pessimistic value")
    draw_unsure(ax, record.evaluations[~kept], record.pessimistic[~kept])
    if record.design_end:
        ax.axvline(
            record.design_end, color=GREY, linewidth=1.0, linestyle=":", zorder=0,
            label="end of initial design",
        )  # fmt: skip
    _look_past_the_start(record, ax)
    ax.set_xlabel("evaluations")
    ax.set_ylabel("risk value (minimised)" if record.minimised else "risk value")
    return ax


def _look_past_the_start(record: Progress, ax: Axes) -> None:
    """Fit the axis to the time after the design, since the first points may be far worse.

    Without a design, it is fitted to all but the first quarter.
    """
    quarter = record.evaluations[len(record.evaluations) // 4]
    later = record.evaluations >= (record.design_end or quarter)
    shown = np.append(record.pessimistic[later], record.ends[later])
    ax.set_ylim(with_room(float(shown.min()), float(shown.max()), share=0.1))


def regret_of(
    record: Progress, regret: Callable[[Params], float], label: str = "reported point"
) -> Curve:
    """Return the regret of the reported point over the run.

    Args:
        record: The run.
        regret: Returns how much worse a point is than the best one, given its params. For a
            `Problem`, pass ``lambda params: problem.regret(params, risk)``.
        label: The label of the curve.
    """
    lost = np.array([float(regret(p.params)) for p in record.reported])
    none = np.full_like(lost, np.nan)
    return Curve(label, COLORS["rahbo"], DASHES["rahbo"], record.evaluations, Band(lost, none))


def draw_regret(curves: Sequence[Curve], ax: Axes) -> Axes:
    """Draw regrets by evaluation on a log scale."""
    draw_log_curves(curves, ax)
    ax.set_xlabel("evaluations")
    ax.set_ylabel("regret")
    return ax
