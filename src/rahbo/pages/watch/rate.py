"""How fast a run goes, and how long it will take.

A journal need not hold times, so the page notes when the file was written each time that the number
of evaluations has grown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# How many looks are remembered. Older ones say little of the rate now.
MOST_LOOKS = 50
# If nothing came for longer than so many evaluations usually take, and for some seconds, the run
# has no rate any more.
STANDSTILL, AT_LEAST = 5.0, 10.0


class Seen(NamedTuple):
    """When a journal was last written, in seconds since 1970, and its number of evaluations."""

    written: float
    n: int


def noted(seen: Sequence[Seen], now: Seen) -> list[Seen]:
    """Return what was seen with another look, if the number of evaluations has changed.

    If it has fallen, this is another run.
    """
    if seen and now.n < seen[-1].n:
        return [now]
    if seen and now.n == seen[-1].n:
        return list(seen)
    return [*seen, now][-MOST_LOOKS:]


def rate_of(seen: Sequence[Seen], now: float) -> float | None:
    """Return the evaluations a second; None if it is not known yet, or the run stands still.

    >>> rate_of([Seen(100.0, 10), Seen(110.0, 30)], now=111.0)
    2.0
    """
    if len(seen) < 2:
        return None
    first, last = seen[0], seen[-1]
    took = last.written - first.written
    if took <= 0.0:
        return None
    rate = (last.n - first.n) / took
    return rate if now - last.written <= STANDSTILL / rate + AT_LEAST else None


def time_left(rate: float | None, n: int, budget: int | None) -> float | None:
    """Return in how many seconds the budget will be spent; None if that cannot be said.

    >>> time_left(2.0, 30, 100)
    35.0
    """
    if rate is None or budget is None or n >= budget:
        return None
    return (budget - n) / rate
