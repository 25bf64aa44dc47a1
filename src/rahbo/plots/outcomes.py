"""An outcome with a limit along one input, and the effects of blocks.

`outcome_slice` computes a record of one outcome, and `draw_outcome` draws it with its limit.
`draw_blocks` draws the effects of blocks, the record of which is `Optimizer.blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from rahbo.analysis import BlockEffects, ConstraintCheck
from rahbo.errors import NotReadyError, SettingsError
from rahbo.model import Constraint
from rahbo.numerics import Array
from rahbo.optimizer import Optimizer
from rahbo.plots.inputs import (
    Input,
    Params,
    check_size,
    input_named,
    nearness,
    predictions,
    run_in,
    shown_point,
)
from rahbo.plots.marks import draw_belief, draw_star, draw_values
from rahbo.plots.style import BELIEF, DATA, INK, fitting, interval_label
from rahbo.policy import limits
from rahbo.running import Result

# The most blocks drawn: those with the largest and the smallest effects.
MOST_BLOCKS = 30


@dataclass(frozen=True, eq=False)
class OutcomeSlice:
    """The risk value of an outcome along one input, and the values behind it.

    Attributes:
        input: The input.
        outcome: The name of the outcome.
        constraint: What must hold of it.
        x: The grid at which the quantile is given, ``(m,)``; choices are at 0, 1, 2 and so on.
        quantile: What must reach the limit, ``(m,)``: a quantile for `AtMost` and `AtLeast`. Like
            its interval, it is NaN where ``valid`` forbids the point.
        lower: Lower end of its credible interval, ``(m,)``.
        upper: Upper end of its credible interval, ``(m,)``.
        repeat_x: The place of every value of the outcome, ``(N,)``.
        repeat_y: Every value of the outcome, ``(N,)``.
        repeat_nearness: How near each value is to the line, from 0 to 1, ``(N,)``.
        reported: The point that the line goes through, by default the recommended one.
        reported_quantile: The quantile at this point.
        level: The probability of the interval.
    """

    input: Input
    outcome: str
    constraint: Constraint
    x: Array
    quantile: Array
    lower: Array
    upper: Array
    repeat_x: Array
    repeat_y: Array
    repeat_nearness: Array
    reported: float
    reported_quantile: float
    level: float


def outcome_slice(
    optimizer: Optimizer | Result, name: str, outcome: str, *,
    at: Params | None = None, n: int = 101,
) -> OutcomeSlice:  # fmt: skip
    """Compute the record of an outcome along one input, all others fixed.

    Args:
        optimizer: The run, with at least one value of the outcome told.
        name: The input.
        outcome: The outcome, one of those that ``constraints`` names.
        at: A point of the line; by default the recommended one.
        n: The number of grid points, at least 2; an input of few values has one per value.

    Raises:
        SpaceError: The space is a list of candidates.
        NotReadyError: No value of the outcome has been told yet.
    """
    optimizer = run_in(optimizer)
    axis = input_named(optimizer, name)
    check_size("A slice", n)
    kept = limits(optimizer.state)
    known = {} if kept is None else {one.name: one for one in kept.each}
    if outcome not in known:
        raise SettingsError(f"The outcome must be one of {list(known)}, got {outcome!r}.")
    model = known[outcome].model
    if model is None:
        raise NotReadyError(f"No value of the outcome {outcome!r} has been told yet.")
    at = shown_point(optimizer, at)
    x = axis.grid(n)
    there, legal = predictions(optimizer, [{**at, name: axis.value(v)} for v in x.tolist()])
    checks = [_check(p.constraints, outcome) for p in (*there, optimizer.predict(at))]
    curves = np.array([[check.quantile, *check.interval] for check in checks[:-1]]).T
    curves[:, ~legal] = np.nan
    quantile, lower, upper = curves
    places = nearness(optimizer, model.mean.kernel, at, [name]).tolist()
    near = dict(zip((x.tobytes() for x in optimizer.observations.X), places, strict=True))
    told = [
        (trial, each.outcomes[outcome])
        for trial in optimizer.trials
        for each in trial.evaluations.values()
        if outcome in each.outcomes
    ]
    return OutcomeSlice(
        axis,
        outcome,
        known[outcome].constraint,
        x,
        quantile,
        lower,
        upper,
        repeat_x=axis.places([trial.params for trial, _ in told]),
        repeat_y=np.array([value for _, value in told]),
        repeat_nearness=np.array([near[trial.x.tobytes()] for trial, _ in told]),
        reported=float(axis.places([at])[0]),
        reported_quantile=checks[-1].quantile,
        level=checks[-1].level,
    )


def draw_outcome(record: OutcomeSlice, ax: Axes) -> Axes:
    """Draw an outcome: all its values, the quantile with its band, and the limit."""
    draw_values(ax, record.repeat_x, record.repeat_y, record.repeat_nearness)
    curve = record.quantile, record.lower, record.upper
    measured = record.constraint.measured
    labels = f"{measured} of the outcome", measured
    draw_belief(ax, record.input, record.x, curve, record.level, labels, linewidth=None)
    ax.axhline(
        record.constraint.limit, color=INK, linestyle="--", linewidth=1.2, zorder=4, label="limit"
    )
    draw_star(ax, record.reported, record.reported_quantile, size=16.0, zorder=6.0)
    record.input.label(ax.xaxis)
    ax.set_ylabel(fitting(record.outcome))
    return ax


def draw_blocks(record: BlockEffects, ax: Axes) -> Axes:
    """Draw the effect of each block with its interval, the largest first."""
    rows = sorted(record.effects, key=lambda name: -record.effects[name])
    if len(rows) > MOST_BLOCKS:
        rows = rows[: MOST_BLOCKS // 2] + rows[-MOST_BLOCKS // 2 :]
    effects, ends = np.array([record.effects[name] for name in rows]), record.intervals
    bars = np.abs(np.array([ends[name] for name in rows]).T - effects)
    ax.axvline(0.0, color=DATA, linewidth=1.0, linestyle=":", zorder=0)
    ax.errorbar(
        effects, np.arange(len(rows)), xerr=bars, color=BELIEF, marker="o", markersize=4,
        linewidth=1.3, linestyle="none", label=f"effect of a block, {interval_label(record.level)}",
    )  # fmt: skip
    ax.set_yticks(np.arange(len(rows)), [fitting(name, 16) for name in rows])
    ax.invert_yaxis()
    ax.set_xlabel("effect")
    ax.set_title(f"std between blocks {record.std:.3g}", loc="right")
    return ax


def _check(constraints: tuple[ConstraintCheck, ...], outcome: str) -> ConstraintCheck:
    return next(check for check in constraints if check.name == outcome)
