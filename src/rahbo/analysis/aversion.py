"""What the noise costs at a setting, and what another aversion to noise would choose.

Notation: for point i, ``l`` the mean and ``p`` the noise that the strategy reports by, each
``(n,)`` in user units and in the sense of maximisation: the variance for mean-variance, the
standard deviation for the other measures. The pessimistic value of a point is a line in its weight
w >= 0,
    l_i - w p_i
so the points reported for some w are those on the upper envelope of these lines, each on an
interval of weights that is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rahbo.analysis.reportable import not_noise, told
from rahbo.analysis.rivals import are_alike
from rahbo.analysis.wording import brief_beside
from rahbo.model import output_scale
from rahbo.numerics import Array, Index, Justified
from rahbo.policy import NEGLIGIBLE, RiskBound, report_bound
from rahbo.risk import Penalty, RiskMeasure
from rahbo.state import State

# An aversion is reasonable up to so many standard deviations.
STRONGEST = 10.0
Decode = Callable[[Array], dict[str, Any]]


@dataclass(frozen=True)
class Alternative:
    """The setting that another aversion would choose.

    Attributes:
        params: The setting.
        trials: The trials that gave its values.
        weight: The weight of the noise where the choice changes.
    """

    params: dict[str, Any]
    trials: tuple[int, ...]
    weight: float


@dataclass(frozen=True)
class Aversion:
    """What the noise costs, and what another aversion to it would choose.

    Attributes:
        certain: What the risk value would be without noise.
        risk: The risk value.
        penalty: What the weight of the noise multiplies; None for a measure without a weight.
        weight: The weight of the noise by which the setting was chosen: alpha, or the number of
            standard deviations. It is 0 for a strategy that ignores the noise.
        less: The setting that a smaller weight would choose; None if it is the same or alike.
        more: The setting that a larger weight would choose, up to ten standard deviations.
        robust: Whether there is a choice, and every reasonable weight makes this one. Then no other
            setting has a better mean and a worse risk value either.
    """

    certain: float
    risk: float
    penalty: Penalty | None
    weight: float | None
    less: Alternative | None
    more: Alternative | None
    robust: bool

    def negated(self) -> Aversion:
        """Return the record of the negated objective."""
        return replace(self, certain=-self.certain, risk=-self.risk)

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """What smaller and larger weights would choose, where it differs."""
        return tuple(one for one in (self.less, self.more) if one is not None)

    def sentence(self, digits: Justified, shown: Sequence[str]) -> str:
        """Return what the noise costs, with the alternatives given as texts."""
        cost, said = self.certain - self.risk, []
        if cost:
            change = ("takes", "off") if cost > 0.0 else ("adds", "to")
            size = digits.of_size(abs(cost))
            said.append(f"The noise {change[0]} {size} {change[1]} {digits.text(self.certain)}.")
        texts = iter(shown)
        parts = [
            f"{word} {self._weight(one.weight)}{on} it would be {next(texts)}"
            for word, one, on in (("below", self.less, ""), ("from", self.more, " on"))
            if one is not None
        ]
        if parts:
            both = ", and ".join(parts)
            said.append(f"{both[0].upper()}{both[1:]}.")
        elif self.robust:
            said.append("Any reasonable aversion to noise leads to this choice.")
        return " ".join(said)

    def _weight(self, weight: float) -> str:
        """Return a weight in words, in enough digits to differ from that of the run."""
        number = brief_beside(weight, math.nan if self.weight is None else self.weight)
        if self.penalty == "noise variance":
            return f"alpha = {number}"
        return f"{number} standard deviation{'' if number == '1' else 's'}"


def aversion_of(
    state: State,
    chosen: int,
    rows: Index,
    worst: Sequence[Array] | Array,
    here: tuple[float, float],
    decode: Decode,
    settled: bool,
) -> Aversion | None:
    """Return what the noise costs at a point, in the sense of maximisation.

    None if the noise is negligible, or not shown by the values.

    Args:
        state: What the run knows.
        chosen: The index of the point.
        rows: The points among which another aversion would choose.
        worst: The pessimistic mean and noise variance of every point, each ``(n,)``. Only those of
            the rows are used.
        here: The mean and noise standard deviation of the point, at the centre of the posterior.
        decode: Returns the parameters of a point.
        settled: Whether no other point has a better mean and a worse risk value.
    """
    mean, noise_std = here
    if not_noise(state) or noise_std <= NEGLIGIBLE * output_scale(told(state).observations):
        return None
    certain, risk = state.risk.value(np.full(2, mean), np.array([0.0, noise_std**2])).tolist()
    penalty, weight = penalty_of(report_bound(state), state.risk)
    less, more = None, None
    if weight is not None:
        p = worst[1] if penalty == "noise variance" else np.sqrt(worst[1])
        line = envelope(worst[0][rows], p[rows])
        choices = [(int(rows[i]), start, end) for i, start, end in line]
        less, more = _neighbours(state, chosen, choices, weight, decode)
        # A variance is worth one standard deviation for each standard deviation of the noise.
        unit = noise_std if penalty == "noise variance" else 1.0
        if more is not None and more.weight * unit > max(STRONGEST, weight * unit):
            more = None
    same = less is None and more is None and penalty is not None
    robust = same and settled and len(rows) > 1
    return Aversion(certain, risk, penalty, weight, less, more, robust)


def _neighbours(
    state: State,
    chosen: int,
    choices: Sequence[tuple[int, float, float]],
    weight: float,
    decode: Decode,
) -> tuple[Alternative | None, Alternative | None]:
    """Return the next choices that are not alike at smaller and at larger weights."""
    X = told(state).observations.X
    other = ~are_alike(state, X[[i for i, _, _ in choices]], X[chosen])
    rivals = [choice for choice, is_other in zip(choices, other, strict=True) if is_other]
    below = [(i, end) for i, _, end in rivals if end <= weight]
    above = [(i, start) for i, start, _ in rivals if start >= weight]
    less, more = (
        None
        if found is None
        else Alternative(decode(X[found[0]]), told(state).trials_at(X[found[0]]), found[1])
        for found in (next(reversed(below), None), next(iter(above), None))
    )
    return less, more


def penalty_of(bound: RiskBound, risk: RiskMeasure) -> tuple[Penalty | None, float | None]:
    """Return what a risk measure multiplies by its weight, and the weight that the run reports by.

    Both are None for a measure without a weight. The weight is 0 for a strategy that reports by the
    mean alone.
    """
    neutral = risk.weight is not None and bound.risk.weight == 0.0
    return risk.penalty, 0.0 if neutral else risk.weight


def envelope(lower: Array, noise_upper: Array) -> list[tuple[int, float, float]]:
    """Return the lines ``lower - alpha * noise_upper`` that are largest for some alpha >= 0.

    Args:
        lower: Value of each line at alpha = 0, ``(n,)``.
        noise_upper: How fast each line falls, ``(n,)``, not negative.

    Returns:
        The index of each such line and the ends of its interval, in order of alpha.
    """
    # At alpha = 0 the largest mean wins, and among equal means the quietest. Then come ever
    # quieter lines.
    hull: list[int] = []
    starts: list[float] = []
    for i in np.lexsort((noise_upper, -lower)):
        if hull and noise_upper[i] >= noise_upper[hull[-1]]:
            continue
        start = 0.0
        while hull:
            j = hull[-1]
            start = float((lower[j] - lower[i]) / (noise_upper[j] - noise_upper[i]))
            if start > starts[-1]:
                break
            hull.pop()
            starts.pop()
        hull.append(int(i))
        starts.append(start if len(hull) > 1 else 0.0)
    ends = pairwise([*starts, math.inf])
    return [(i, start, end) for i, (start, end) in zip(hull, ends, strict=True)]
