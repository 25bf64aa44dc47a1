"""Other evaluated settings that could still be better, each in a region or category of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rahbo.analysis.gain import Gain, Prospects
from rahbo.analysis.posterior import centre
from rahbo.analysis.reportable import legal, told
from rahbo.analysis.rules import SCORES, Rule
from rahbo.analysis.wording import in_one_line, scores_told_apart, settings_told_apart
from rahbo.numerics import Array, Justified, Mask, brief
from rahbo.state import State

RUNNER_UPS = 3
# Settings whose means, and whose noise, have at least this prior correlation lie in one region.
ALIKE = 0.9


def are_alike(state: State, X: Array, x: Array) -> Mask:
    """Return which of ``X (m, d)`` are nearly the same setting as ``x (d,)``.

    They are in the same categories, and according to the learned lengthscales hardly anything
    distinguishes their means or their noise. Different rows of a list are never alike.
    """
    listed = told(state).space.listed
    alike = np.asarray((X[:, listed] == x[listed]).all(axis=1))
    for gp in (state.model.mean, state.model.noise.gp):
        if gp is not None:
            alike &= gp.kernel.are_beside(X, x, ALIKE)
    return np.asarray(alike | (x == X).all(axis=1))


def bolder(state: State, i: int) -> int | None:
    """Return the point with the best mean, if risk is what speaks for point ``i`` instead.

    It may be reported, is not alike, and has the better mean and the worse risk value, each at the
    centre of the posterior.
    """
    X, rows = told(state).observations.X, np.flatnonzero(legal(state))
    f, v = centre(state.model, X[rows])
    best, here = int(np.argmax(f)), int(np.flatnonzero(rows == i)[0])
    R = state.risk.value(f, v)
    decides = f[best] > f[here] and R[best] < R[here]
    if not decides or are_alike(state, X[rows[[best]]], X[i])[0]:
        return None
    return int(rows[best])


@dataclass(frozen=True)
class RunnerUp:
    """Another evaluated setting that could still be better.

    Attributes:
        params: The setting.
        risk: Risk measure of the mean and the central noise estimate.
        score: The value that the rule compares; never better than the recommended setting's.
        gain: By how much the setting may be better.
        trials: The trials that gave its values.
    """

    params: dict[str, Any]
    risk: float
    score: float
    gain: Gain
    trials: tuple[int, ...] = ()

    def negated(self) -> RunnerUp:
        """Return the record of the negated objective."""
        return replace(self, risk=-self.risk, score=-self.score)

    def __str__(self) -> str:
        (shown,) = settings_told_apart([self.params])
        return f"{in_one_line(shown)}: risk value {brief(self.risk, 5)}, {self.gain.of_one}"

    def line(self, digits: Justified, shown: Mapping[str, str], rule: Rule, winner: float) -> str:
        """Return the setting in one line with what decided against it.

        Args:
            digits: How risk values are written.
            shown: The setting as texts.
            rule: The rule that decided.
            winner: The score of the recommended setting.
        """
        own, best = scores_told_apart(digits, self.score, winner)
        return (
            f"{in_one_line(shown)}: {SCORES[rule]} {own} (recommended {best}), "
            f"risk value {digits.text(self.risk)}, {self.gain.of_one}"
        )


def runner_ups_of(
    state: State, score: Array, i: int, found: Prospects, level: float
) -> tuple[RunnerUp, ...]:
    """Return evaluated points that could still be better than point ``i``, best score first.

    They are not alike, neither with point ``i`` nor with each other.
    """
    X = told(state).observations.X
    over = found.over(X[i])
    column = {x.tobytes(): k for k, x in enumerate(found.X)}
    drawn = {j: over[:, column[x.tobytes()]] for j, x in enumerate(X) if x.tobytes() in column}
    open_still = [
        int(j)
        for j in np.argsort(-score, kind="stable")
        if j in drawn and not math.isnan(score[j]) and np.mean(drawn[j] > 0.0) > 1.0 - level
    ]
    rows = set_apart(state, X, open_still, i)
    value = state.risk.value(*centre(state.model, X[rows]))
    return tuple(
        RunnerUp(
            told(state).space.decode(X[j]), float(v), float(score[j]), Gain.of(drawn[j], level),
            told(state).trials_at(X[j]),
        )
        for j, v in zip(rows, value, strict=True)
    )  # fmt: skip


def set_apart(state: State, X: Array, rows: Sequence[int], first: int) -> list[int]:
    """Return the first few of some rows of ``X (n, d)`` that are not alike.

    They are alike neither with the row ``first`` nor with each other.
    """
    left, kept = np.array(rows, dtype=np.intp), list[int]()
    left = left[~are_alike(state, X[left], X[first])]
    while len(left) and len(kept) < RUNNER_UPS:
        kept.append(int(left[0]))
        left = left[~are_alike(state, X[left], X[left[0]])]
    return kept
