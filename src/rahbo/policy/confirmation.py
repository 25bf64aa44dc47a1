"""Which points to measure again before a setting is used.

Nobody should use a setting that was measured once: a single value does not show how far the next
one may fall. So the last part of a budget measures the point that would be recommended, one
evaluation at a time. A bad surprise there puts another point in the lead, which is then measured
in turn.

Notation: ``n`` evaluated points that satisfy ``valid``; every array is ``(n,)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rahbo.errors import SettingsError
from rahbo.numerics import Array, Index, is_whole
from rahbo.policy.repeats import CONFIRMED

# The share of a budget that is kept for confirmation, and the budget from which on it is. At 30
# evaluations the least, CONFIRMED, is a sixth; a smaller budget is needed for the search.
SHARE, SMALLEST_BUDGET = 0.1, 30


def share_of(evaluations: int) -> int:
    """How many of so many evaluations are kept for confirmation.

    >>> [share_of(n) for n in (29, 30, 100, 200)]
    [0, 5, 10, 20]
    """
    if evaluations < SMALLEST_BUDGET:
        return 0
    return max(CONFIRMED, round(SHARE * evaluations))


@dataclass(frozen=True, eq=False)
class Contest:
    """The evaluated points between which a recommendation is decided.

    Attributes:
        reported: The lower bound by which the strategy reports.
        tried: Values told at each point, and failures, so that a failing point is not retried
            forever.
        under_way: Evaluations asked for and not told yet.
    """

    reported: Array
    tried: Index
    under_way: Index

    @property
    def unconfirmed(self) -> int:
        """Values that the point to recommend lacks, those under way not counted."""
        return max(0, CONFIRMED - int(self.tried[np.argmax(self.reported)]))

    def again(self, n: int) -> dict[int, int]:
        """How often to measure which points again, in the order in which they come up.

        Evaluations made at the same time know nothing of each other. So what the leading point
        does not need of them goes to the next point in line, where a surprise would lead.
        """
        if not is_whole(n) or n < 1:
            raise SettingsError(f"confirm(n) needs a whole number >= 1, got {n!r}.")
        expected, chosen = self.under_way.copy(), dict[int, int]()
        for _ in range(n):
            point = self._next(expected)
            expected[point] += 1
            chosen[point] = chosen.get(point, 0) + 1
        return chosen

    def _next(self, expected: Index) -> int:
        """The first in line that lacks values, or that nothing is under way for."""
        line = np.argsort(-self.reported, kind="stable")
        wanting = (self.tried + expected < CONFIRMED) | (expected == 0)
        return int(line[np.argmax(wanting[line])])
