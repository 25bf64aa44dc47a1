"""Outcomes with limits at the evaluated points, for tables and figures of a page."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rahbo.analysis import Prediction
from rahbo.numerics import Array, digits_of, rounded
from rahbo.optimizer import Optimizer


@dataclass(frozen=True)
class OutcomeColumn:
    """One outcome at the evaluated points, in its own units.

    Attributes:
        name: The name of the outcome.
        limit: What must hold of it, in words.
        bound: The limit itself.
        measured: What is compared with it, in words, such as "95 % quantile".
        mean: The mean of its values at each point; None where none was told.
        quantile: The risk value at each point that is compared with the limit; None if nothing was
            told of the outcome.
    """

    name: str
    limit: str
    bound: float
    measured: str
    mean: list[float | None]
    quantile: list[float | None]


@dataclass(frozen=True)
class Compliance:
    """Whether the evaluated points keep the limits of their outcomes.

    Attributes:
        outcomes: The outcomes that have limits.
        kept: Whether each point is sure to keep all limits.
        chance: The probability that it does.
    """

    outcomes: tuple[OutcomeColumn, ...]
    kept: list[bool]
    chance: list[float]


def compliance_of(
    optimizer: Optimizer, X: Array, points: Sequence[Prediction]
) -> Compliance | None:
    """Return whether points keep their limits; None if no outcome has a limit.

    Args:
        optimizer: The run.
        X: The points, ``(m, d)``.
        points: The prediction at each of them.
    """
    constraints = optimizer.settings.constraints
    if not constraints:
        return None
    told: dict[tuple[str, bytes], list[float]] = defaultdict(list)
    for trial in optimizer.trials:
        for each in trial.evaluations.values():
            for name, value in each.outcomes.items():
                told[name, trial.x.tobytes()].append(value)
    columns = tuple(
        OutcomeColumn(
            name,
            limit.described,
            limit.limit,
            limit.measured,
            _means([told[name, x.tobytes()] for x in X]),
            few_digits([p.constraints[j].quantile for p in points]),
        )
        for j, (name, limit) in enumerate(constraints.items())
    )
    chances = [math.prod(check.chance for check in p.constraints) for p in points]
    return Compliance(columns, [p.feasible for p in points], [rounded(c, 3) for c in chances])


def few_digits(numbers: Sequence[float]) -> list[float | None]:
    """Return numbers in few digits; None for those that are not finite."""
    digits = digits_of(numbers, few=4)
    return [rounded(number, digits) if math.isfinite(number) else None for number in numbers]


def _means(told: Sequence[Sequence[float]]) -> list[float | None]:
    # Divided first, because a sum may overflow.
    means = [math.fsum(v / len(values) for v in values) if values else None for values in told]
    digits = digits_of([mean for mean in means if mean is not None])
    return [None if mean is None else rounded(mean, digits) for mean in means]
