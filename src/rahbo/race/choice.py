"""Which entrant of a race to run next, and whether the race is decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rahbo.numerics import Array, Index, Mask
from rahbo.race.evidence import Pairs, Tally, pairs_of

# Runs of each entrant before anything is called.
FIRST = 5


@dataclass(frozen=True)
class Rule:
    """When a race is decided.

    Attributes:
        level: The error rate: 1 less the wanted probability.
        indifferent: Differences of at most this size do not matter.
        incumbent: The number of the entrant that the others must beat; None to look for the best.
    """

    level: float
    indifferent: float = 0.0
    incumbent: int | None = None

    def focus(self, tally: Tally) -> Index:
        """Return the entrant that the others are compared with: the leader, or the incumbent."""
        if self.incumbent is not None:
            return np.full(len(tally.counts), self.incumbent)
        return np.asarray(tally.means.argmax(axis=1))

    def level_of_pair(self, entrants: int) -> float:
        """Return the error rate of one comparison.

        The leader is called only if it beats every other entrant, so the comparison with the
        strongest of them decides, and more entrants make a wrong call less likely (Gutmann and
        Maymin 1987, for one look). A challenger has to beat the incumbent only, and the more try,
        the likelier one is lucky.
        """
        return self.level if self.incumbent is None else self.level / (entrants - 1)


@dataclass(frozen=True, eq=False)
class State:
    """What is known of each race. Arrays over entrants have the shape ``(R, k)``.

    Attributes:
        focus: The entrant that the others are compared with.
        pairs: The comparisons.
        beaten: The others that are worse than the entrant in focus.
        better: The others that are better.
        close: The others that are not better by more than what is indifferent.
    """

    focus: Index
    pairs: Pairs
    beaten: Mask
    better: Mask
    close: Mask

    def decided(self, rule: Rule) -> Mask:
        """Return which races are decided, ``(R,)``."""
        settled = self.close if rule.indifferent or rule.incumbent is not None else self.beaten
        done = np.asarray(settled.all(axis=1))
        return done | self.better.any(axis=1) if rule.incumbent is not None else done


def state_of(tally: Tally, rule: Rule, pairs: Pairs | None = None) -> State:
    """Judge races by their values.

    Args:
        tally: The values.
        rule: When a race is decided.
        pairs: The comparisons, if they are known.
    """
    focus = rule.focus(tally)
    pairs = pairs or pairs_of(tally, focus)
    level = rule.level_of_pair(tally.counts.shape[1])
    needed = pairs.thresholds(level)
    beaten, better = pairs.z > needed, pairs.z < -needed
    close = beaten.copy()
    if rule.indifferent:
        close |= pairs.bounds(level)[0] >= -rule.indifferent
    own = np.arange(tally.counts.shape[1]) == focus[:, None]
    return State(focus, pairs, beaten | own, better & ~own, close | own)


def next_entrant(tally: Tally, state: State) -> Index:
    """Return the entrant of each race whose next value decides most, ``(R,)``.

    Of the entrant in focus and the other that is hardest to tell from it (Jourdan et al. 2022),
    that is the one with the larger share in the error of their difference. The variances are drawn
    to their mean: few values of skewed noise say little about them, and an entrant that looks quiet
    by luck must not be left with the values it has.
    """
    pairs, rows = state.pairs, np.arange(len(tally.counts))
    # The logarithm keeps an entrant that was unlucky at first from being left behind (EB-TCI).
    cost = pairs.z**2 / 2.0 + np.log(tally.counts)
    challenger = np.asarray(np.where(state.close, np.inf, cost).argmin(axis=1))
    var = tally.variances
    var = np.where(var.max(axis=1, keepdims=True) > 0.0, var + var.mean(axis=1, keepdims=True), 1.0)
    share = var / tally.counts**2
    share = np.where(pairs.matched[rows, challenger][:, None], 1.0 / tally.counts, share)
    first = share[rows, state.focus] > share[rows, challenger]
    return np.asarray(np.where(first, state.focus, challenger))


def runner_up(tally: Tally, first: Index) -> Index:
    """Return the best entrant beside the given one in each race, ``(R,)``."""
    own = np.arange(tally.counts.shape[1]) == first[:, None]
    return np.asarray(np.where(own, -np.inf, tally.means).argmax(axis=1))


def lead_of(tally: Tally, first: Index) -> tuple[Array, Index]:
    """Return the lead of the given entrants over the second ``(R,)``, and who that is ``(2, R)``.

    Who looks second best is so by luck in part. So it is picked by one half of the values, and its
    mean taken from the other half, and the other way round.
    """
    rows, n = np.arange(len(first)), tally.counts
    half = tally.halves / np.maximum(np.stack([np.ceil(n / 2.0), np.floor(n / 2.0)]), 1.0)
    own = np.arange(n.shape[1]) == first[:, None]
    picked = np.stack([np.where(own, -np.inf, part).argmax(axis=1) for part in half])
    seconds = (half[1][rows, picked[0]] + half[0][rows, picked[1]]) / 2.0
    if n.shape[1] == 2:
        seconds = tally.means[rows, picked[0]]
    return tally.means[rows, first] - seconds, picked
