"""A run over its evaluations: every value, and what could have been reported at the time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rahbo.numerics import one_blas_thread
from rahbo.optimizer import Optimizer
from rahbo.trials import valued

# Values and failures shown at most, and times at which the model is asked; each of those costs a
# posterior, so there are fewer of them where posteriors are of many points.
MOST, TIMES, FEWEST, MANY = 4000, 24, 8, 300


@dataclass(frozen=True)
class History:
    """What came when, in user units.

    Attributes:
        number: The number of each evaluation that gave a value, from 1.
        value: That value.
        failed: The numbers of those that gave none.
        n: All evaluations; more than are listed where they are many.
        best_at: After so many evaluations
        best: the best pessimistic value of a point evaluated by then was this.
    """

    number: list[int]
    value: list[float]
    failed: list[int]
    n: int
    best_at: list[int]
    best: list[float]


def history_of(optimizer: Optimizer) -> History:
    """The history of a run, in the order of its trials.

    The pessimistic values are those that the run had at the time, see
    `Optimizer.snapshots_after`.
    """
    number, value, failed, spent = [], [], [], []
    n = 0
    for trial in optimizer.trials:
        for repeat in sorted(trial.values.keys() | trial.failures.keys()):
            n += 1
            if repeat in trial.values:
                number.append(n)
                value.append(float(f"{trial.values[repeat]:.6g}"))
            else:
                failed.append(n)
        if trial.values:
            spent.append(n)
    best_at, best = _best(optimizer, spent)
    shown = _some(len(number), MOST)
    return History(
        [number[i] for i in shown],
        [value[i] for i in shown],
        [failed[i] for i in _some(len(failed), MOST)],
        n,
        best_at,
        best,
    )


def _best(optimizer: Optimizer, spent: list[int]) -> tuple[list[int], list[float]]:
    """The best pessimistic value after some of the rounds, which had ``spent`` evaluations."""
    rounds = valued(optimizer.trials)
    times = int(np.clip(TIMES * (MANY / optimizer.observations.n) ** 2, FEWEST, TIMES))
    shown = _some(len(rounds), times)
    ends = [rounds[i].id + 1 for i in shown]
    at, best = [], []
    with one_blas_thread():
        past = optimizer.snapshots_after(ends)
        for i, known in zip(shown, past, strict=True):
            if known.legal.any():
                at.append(spent[i])
                best.append(float(optimizer.settings.sign * np.max(known.pessimistic[known.legal])))
    return at, best


def _some(n: int, most: int) -> list[int]:
    """All of ``n`` indices, or ``most`` of them with the first and the last."""
    found: list[int] = np.unique(np.linspace(0, n - 1, most).astype(int)).tolist()
    return found if n > most else list(range(n))
