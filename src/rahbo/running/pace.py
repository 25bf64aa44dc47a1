"""How many tasks to submit before a worker is free for them.

While the loop tells values and searches the next points, evaluations end. Their workers would wait
for the loop, so tasks are put into the executor's queue ahead of need. A point that is chosen
ahead knows fewer values, so there are only as many as keep the workers busy.

Notation: ``turn`` is the time from values to the next tasks, ``evaluation`` that of one task.
"""

from __future__ import annotations

import math

# Without tasks ahead, a worker waits for a turn after each evaluation and loses at most this share
# of its time. A point chosen without one more outcome costs as much: one evaluation in thirty.
SMALL_LOSS = 0.02
# Evaluations end in bunches, so there are more tasks than those that end in a turn on average.
MARGIN = 2.0
# Means are over about this many of the latest turns and evaluations.
TURNS, EVALUATIONS = 10, 50
# In seconds, for objectives that take no time at all.
SHORTEST = 1e-6


class Pace:
    """The mean times of turns and evaluations, and what follows from them."""

    def __init__(self) -> None:
        self._turn = self._evaluation = 0.0
        self._turns = self._evaluations = 0

    def turned(self, seconds: float) -> None:
        """Take in the time of one turn that led to new tasks.

        The first turns, before any evaluation ends, are of another kind and do not count.
        """
        if not self._evaluations:
            return
        self._turns = min(self._turns + 1, TURNS)
        self._turn += (seconds - self._turn) / self._turns

    def evaluated(self, seconds: float) -> None:
        """Take in the time of one evaluation."""
        self._evaluations = min(self._evaluations + 1, EVALUATIONS)
        self._evaluation += (seconds - self._evaluation) / self._evaluations

    def at_once(self, workers: int) -> int:
        """Return how many tasks to ask for in one turn: twice as many as end meanwhile.

        n = 2 workers turn / evaluation, from 1 to ``workers``
        """
        if not self._evaluations:
            return 1
        ending = workers * self._turn / max(self._evaluation, SHORTEST)
        return max(1, math.ceil(min(workers, MARGIN * ending)))

    def ahead(self, workers: int) -> int:
        """Return how many tasks should wait in the queue: none if evaluations are long."""
        small = self._turn <= SMALL_LOSS * self._evaluation
        return 0 if small or not self._evaluations else self.at_once(workers)
