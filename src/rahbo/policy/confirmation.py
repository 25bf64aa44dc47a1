"""Which points to measure again before a setting is used.

Nobody should use a setting that was measured once: a single value does not show how much worse the
next one may be. So the last part of a budget measures the point that would be recommended, one
evaluation at a time. If a bad value puts another point in the lead, that point is measured next.

Notation: ``n`` evaluated points that satisfy ``valid``; every array is ``(n,)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rahbo.errors import NotReadyError, SettingsError
from rahbo.model import as_told
from rahbo.numerics import Array, Index, Mask, is_whole
from rahbo.policy.acquisition import pessimistic_values, report_bound
from rahbo.policy.conditions import placed
from rahbo.policy.constraints import limits
from rahbo.policy.repeats import CONFIRMED
from rahbo.policy.revisits import Repeating
from rahbo.policy.screening import values
from rahbo.state import State
from rahbo.trials import MOST_REPEATS, attempts_at

# The share of a budget that is reserved for confirmation, and the smallest budget with such a
# share. At 30 evaluations the minimum, CONFIRMED, is a sixth; the search needs all of a smaller
# budget.
SHARE, SMALLEST_BUDGET = 0.1, 30
# Of thousands of points, the most that compete for the recommendation.
CONTENDERS = 512


def share_of(evaluations: int) -> int:
    """Return how many evaluations of a budget are reserved for confirmation.

    >>> [share_of(n) for n in (29, 30, 100, 200)]
    [0, 5, 10, 20]
    """
    if evaluations < SMALLEST_BUDGET:
        return 0
    return max(CONFIRMED, round(SHARE * evaluations))


@dataclass(frozen=True, eq=False)
class Contest:
    """The evaluated points that compete for the recommendation.

    Attributes:
        reported: The lower bound that the strategy reports by, at each point.
        tried: The number of values and failures at each point. Failures count, so that a failing
            point is not retried for ever.
        under_way: The number of evaluations asked for and not yet told.
        wanted: The number of values after which a point may be used.
        most: The number of values that a point can have; None if it can have any.
    """

    reported: Array
    tried: Index
    under_way: Index
    wanted: int = CONFIRMED
    most: int | None = None

    def among(self, chosen: Mask) -> Contest:
        """Return the contest between some of the points."""
        return replace(
            self,
            reported=self.reported[chosen],
            tried=self.tried[chosen],
            under_way=self.under_way[chosen],
        )

    @property
    def unconfirmed(self) -> int:
        """How many measurements the recommended point lacks, those under way not counted."""
        return max(0, self.wanted - int(self.tried[np.argmax(self.reported)]))

    def again(self, n: int) -> dict[int, int]:
        """Return which points to measure again and how often, in the order of measurement.

        Evaluations made at the same time cannot react to each other. So those that the leading
        point does not need go to the next points in line, which may take the lead.
        """
        if not is_whole(n) or n < 1:
            raise SettingsError(f"confirm(n) needs a whole number >= 1, got {n!r}.")
        if n > MOST_REPEATS:
            raise SettingsError(
                f"confirm(n) needs a whole number up to {MOST_REPEATS}, got {n!r}. Ask for fewer."
            )
        line = np.argsort(-self.reported, kind="stable")
        expected, chosen = self.under_way.copy(), dict[int, int]()
        left = int(n)
        while left > 0:
            if self.most is not None:
                room = (self.tried + expected < self.most)[line]
                if not room.any():
                    break
                lacking = (self.tried + expected < self.wanted)[line] & room
                point = int(line[np.argmax(lacking if lacking.any() else room)])
                expected[point] += 1
                chosen[point] = chosen.get(point, 0) + 1
                left -= 1
                continue
            # The first point in line that lacks values or has nothing under way; if there is none,
            # the leading point gets all that is left.
            wanting = ((self.tried + expected < self.wanted) | (expected == 0))[line]
            point, more = int(line[np.argmax(wanting)]), 1 if wanting.any() else left
            expected[point] += more
            chosen[point] = chosen.get(point, 0) + more
            left -= more
        return chosen


def contest_of(state: State) -> tuple[Array, Contest]:
    """Return the points ``(n, d)`` that may be recommended, and the contest between them."""
    how, space, model = Repeating.of(state.settings), state.space, state.model
    if not how.confirmed:
        raise SettingsError(
            "Points can be confirmed only if they may be measured again, which revisit=False, "
            "Folds and noise_std=0 forbid."
        )
    bound, known = report_bound(state), limits(state)
    X = as_told(model.observations).X
    if space.conditions:
        X = placed(space, X)
    legal = space.is_valid(X)
    if not legal.any():
        raise NotReadyError("No point can be confirmed: none that was told satisfies valid=.")
    if len(X) == model.observations.n:
        reported = pessimistic_values(bound, X)[2][legal]
        X = X[legal]
    else:
        # What is reported lies below the centre, which is much cheaper.
        X = X[legal]
        X = X[np.argsort(-values(bound.widened(0.0), X), kind="stable")[:CONTENDERS]]
        reported = pessimistic_values(bound, X)[2]
    tried, under_way = attempts_at(X, state.trials.values())
    if known is not None:
        reported = known.ranked(reported, X, tried)
    if not how.n_blocks:
        return X, Contest(reported, tried, under_way)
    return X, Contest(reported, tried, under_way, how.confirmed, how.most)
