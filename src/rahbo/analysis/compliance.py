"""Whether outcomes keep their limits, as records for the user."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rahbo.analysis.posterior import Interval, marginals
from rahbo.model import Constraint
from rahbo.numerics import Array, Justified, percent
from rahbo.policy import KEPT, Limit, Limits


@dataclass(frozen=True)
class ConstraintCheck:
    """Whether an outcome keeps its limit at one setting, in user units.

    Attributes:
        name: The name of the outcome.
        constraint: What must hold.
        quantile: What must reach the limit: for `AtMost` and `AtLeast` the value that the outcome,
            noise included, keeps with the probability of the constraint; otherwise the risk value
            of the constraint. NaN if nothing was told of the outcome.
        interval: Credible interval of the same.
        pessimistic: Its pessimistic bound, which decides.
        chance: The probability that the limit is kept as the constraint demands.
        kept: Whether the pessimistic bound keeps the limit.
        level: Probability of the interval.
    """

    name: str
    constraint: Constraint
    quantile: float
    interval: Interval
    pessimistic: float
    chance: float
    kept: bool
    level: float

    @property
    def digits(self) -> Justified:
        """How to write the quantile and its bounds."""
        return Justified.by(self.quantile, self.interval)

    @property
    def verdict(self) -> str:
        """What must hold of the outcome, and whether it does."""
        found = "kept" if self.kept else "NOT SURE TO BE KEPT"
        demanded = self.constraint.described
        if math.isnan(self.quantile):
            return f"{self.name}: {demanded}, NOT KNOWN, as no value of it was told"
        return f"{self.name}: {demanded}, {found} ({percent(self.chance)} sure)"

    def __str__(self) -> str:
        if math.isnan(self.quantile):
            return self.verdict
        show = self.digits
        ends = ", ".join(show.text(end) for end in self.interval)
        verdict = self.verdict.removeprefix(f"{self.name}: ")
        return (
            f"{self.name:<11}{show.text(self.quantile):>12}   "
            f"{100 * self.level:g} % interval [{ends}], pessimistic "
            f"{show.text(self.pessimistic)}: {verdict}"
        )


def warning(constraints: Sequence[ConstraintCheck]) -> str:
    """Return what to know of a reported setting that may break a limit; empty if it keeps all."""
    broken = ", ".join(check.name for check in constraints if not check.kept)
    if not broken:
        return ""
    if all(math.isnan(check.quantile) for check in constraints if not check.kept):
        return f"Whether any setting keeps its limits is not known ({broken})."
    return (
        f"No evaluated setting is sure to keep its limits ({broken}). This one violates them least."
    )


def checks(limits: Limits | None, X: Array, level: float) -> list[tuple[ConstraintCheck, ...]]:
    """Return what is known of each outcome with a limit, for each of ``X (m, d)``.

    Args:
        limits: The limits; None if there are none.
        X: The settings.
        level: Probability of the intervals.
    """
    each = [] if limits is None else [_checked(limit, X, level) for limit in limits.each]
    return [tuple(of_one[i] for of_one in each) for i in range(len(X))]


def _checked(limit: Limit, X: Array, level: float) -> list[ConstraintCheck]:
    constraint, room, chance = limit.constraint, limit.room(X), Limits([limit]).chance(X)
    middle, worst = limit.quantile(X), limit.quantile(X, KEPT)
    ends = np.full((len(X), 3), np.nan)
    if limit.model is not None:
        ends = constraint.sign * marginals(limit.model, constraint.risk, X, level).risk
    ends = np.sort(ends[:, [0, 2]], axis=1)
    return [
        ConstraintCheck(
            limit.name,
            constraint,
            quantile=float(middle[i]),
            interval=Interval(float(ends[i, 0]), float(ends[i, 1])),
            pessimistic=float(worst[i]),
            chance=float(chance[i]),
            kept=bool(room[i] >= KEPT),
            level=float(level),
        )
        for i in range(len(X))
    ]
