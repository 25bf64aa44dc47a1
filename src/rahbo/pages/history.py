"""The history of a run: every value, and the best pessimistic value at the time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rahbo.analysis import best_pessimistic
from rahbo.numerics import digits_of, one_blas_thread, rounded
from rahbo.optimizer import Optimizer
from rahbo.trials import valued

# The most values and failures shown, and the number of times at which the model is asked: TIMES up
# to MANY points, then fewer, but at least FEWEST, since each needs a posterior of all points.
MOST, TIMES, FEWEST, MANY = 4000, 24, 8, 300


@dataclass(frozen=True)
class History:
    """The evaluations of a run in order, in user units.

    Attributes:
        number: The number of each evaluation that gave a value, counted from 1.
        value: The value of each of these evaluations.
        failed: The numbers of the evaluations that failed.
        n: The number of all evaluations. A long run lists only some of them.
        best_at: The numbers of evaluations after which ``best`` is computed.
        best: The best pessimistic value of the points evaluated until then.
    """

    number: list[int]
    value: list[float]
    failed: list[int]
    n: int
    best_at: list[int]
    best: list[float]


def history_of(optimizer: Optimizer) -> History:
    """Return the history of a run, in the order of its trials.

    The pessimistic values use the data that the run had at the time, see
    `State.after`.
    """
    number, value, failed, spent = [], [], [], []
    n = 0
    for trial in optimizer.trials:
        for told in trial.evaluations.values():
            n += 1
            if told.value is None:
                failed.append(n)
            else:
                number.append(n)
                value.append(told.value)
        if trial.n_values:
            spent.append(n)
    best_at, best = _best(optimizer, spent)
    shown = _some(len(number), MOST)
    digits = digits_of(value, best)
    return History(
        [number[i] for i in shown],
        [rounded(value[i], digits) for i in shown],
        [failed[i] for i in _some(len(failed), MOST)],
        n,
        best_at,
        best,
    )


def _best(optimizer: Optimizer, spent: list[int]) -> tuple[list[int], list[float]]:
    """Return the best pessimistic value after some rounds; ``spent`` counts evaluations."""
    rounds = valued(optimizer.trials)
    times = int(np.clip(TIMES * (MANY / optimizer.observations.n) ** 2, FEWEST, TIMES))
    shown = _some(len(rounds), times)
    ends = [rounds[i].id + 1 for i in shown]
    at, best = [], []
    with one_blas_thread():
        past = optimizer.state.after(ends)
        for i, state in zip(shown, past, strict=True):
            best_then = best_pessimistic(state)
            if best_then is not None:
                at.append(spent[i])
                best.append(state.model.units.signed(best_then))
    return at, best


def _some(n: int, most: int) -> list[int]:
    """Return all ``n`` indices, or at most ``most`` of them including the first and the last."""
    found: list[int] = np.unique(np.linspace(0, n - 1, most).astype(int)).tolist()
    return found if n > most else list(range(n))
