"""The time that a run takes: how much is left of it, and how long evaluations take.

Times are those of one call, so a run that is resumed gets its seconds anew.
"""

from __future__ import annotations

import math
from time import monotonic


class Clock:
    """Runs from the moment it is made.

    Args:
        seconds: The time that the run may take; None for no limit.

    Attributes:
        seconds: The same.
        made: The number of evaluations that have ended.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.made = 0
        self._start = monotonic()
        # When the first evaluation ended, in seconds since the start.
        self._first = 0.0
        # The total time of the evaluations whose time was measured, and their number.
        self._busy, self._measured = 0.0, 0

    def evaluated(self, seconds: float | None) -> None:
        """Count an evaluation that has ended, and the time it took if that was measured."""
        self.made += 1
        if self.made == 1:
            self._first = self.elapsed
        if seconds is not None:
            self._busy += seconds
            self._measured += 1

    @property
    def elapsed(self) -> float:
        """The seconds since the start."""
        return monotonic() - self._start

    @property
    def left(self) -> float:
        """The seconds that are left, infinite without a limit. They may be negative."""
        return math.inf if self.seconds is None else self.seconds - self.elapsed

    @property
    def is_up(self) -> bool:
        """Whether no further evaluation may start. At least one is always made."""
        return self.seconds is not None and self.made > 0 and self.left <= 0.0

    def leaves_only(self, n: int, first: int = 1) -> bool:
        """Return whether the time is just enough for ``n`` evaluations.

        That is, ``first`` other evaluations would take some of the time that the ``n`` need.
        Several evaluations may run at the same time, and there are proposals between them, so the
        time for ``n`` follows from the pace of the whole run, without what came before the first
        evaluation if that took long. A single one takes at least its mean.
        """
        if self.seconds is None or self.made == 0:
            return False
        elapsed = self.elapsed
        pace = elapsed / self.made
        mean = self._busy / self._measured if self._measured else pace
        later = (elapsed - self._first) / max(self.made - 1, 1)
        pace = min(pace, max(later, mean))
        return self.seconds - elapsed < n * pace + max(first * pace, mean)
