"""The course of one race: which run is wanted next, and when the race is over.

The course depends on the values alone, not on when they arrive. A run is named by its entrant and
its number, and its value is used when the race comes to it. Runs that are made ahead, at the same
time as others, wait for that. So a race is the same with any number of jobs, and after it was
interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from rahbo.numerics import Array
from rahbo.race.choice import FIRST, Rule, State, next_entrant, state_of
from rahbo.race.evidence import Pairs, Tally, pairs_of
from rahbo.race.matching import matched_pairs

# Failures in a row after which an entrant is out, unless most of its runs gave a value.
MOST_FAILURES = 3

End = Literal["decided", "budget", "failed"]


class Course:
    """One race.

    Args:
        entrants: How many entrants there are.
        rule: When the race is decided.
        evaluations: How many runs the race may use.
        sign: 1 if larger values are better, -1 if smaller ones are.
        matched: Whether runs with the same number share their seed.

    Attributes:
        values: The values in use, by the number of their run, for each entrant; with the sign.
        failures: The reasons of the failures in use, by the number of their run, for each entrant.
        runs: How many runs are in use.
        ended: How the race ended; None while it goes on.
        entrants: The entrants that are not out, by number.
        state: What is known, over ``entrants``; None before each has its first values.
        tally: The values in use, as moments, over all entrants.
    """

    def __init__(
        self, entrants: int, rule: Rule, evaluations: int, sign: float = 1.0, matched: bool = False
    ) -> None:
        self.values: list[dict[int, float]] = [{} for _ in range(entrants)]
        self.failures: list[dict[int, str]] = [{} for _ in range(entrants)]
        self.runs = 0
        self.ended: End | None = None
        self.entrants = list(range(entrants))
        self.state: State | None = None
        self.tally = Tally.empty(1, entrants)
        self.rule = rule
        self._evaluations, self._sign, self._matched = evaluations, sign, matched
        self._arrived: dict[tuple[int, int], float | str] = {}
        self._in_a_row = [0] * entrants
        self._next = 0

    def offer(self, entrant: int, number: int, outcome: float | str) -> None:
        """Give the value of a run, or the reason why it has none, and go on as far as possible."""
        self._arrived.setdefault((entrant, number), outcome)
        while self.ended is None and self._run_of(self._next) in self._arrived:
            run = self._run_of(self._next)
            self._use(*run, self._arrived[run])
            self._judge()

    def fill(self, values: Sequence[Sequence[float | None]]) -> None:
        """Use values that were measured outside a race; None stands for a failure."""
        for entrant, own in enumerate(values):
            for number, value in enumerate(own):
                self._use(entrant, number, "no value" if value is None else value)
        self.entrants = [e for e, own in enumerate(self.values) if len(own) >= FIRST]
        self._judge()
        if self.ended == "decided":
            # The values did not end when the lead was large, so there is no bias to correct.
            self.ended = "budget"

    def known(self, entrant: int, number: int) -> bool:
        """Return whether the outcome of a run is known already."""
        return (entrant, number) in self._arrived

    def out_for_failures(self, entrant: int) -> bool:
        """Return whether an entrant is out because its runs failed."""
        return entrant not in self.entrants and self._in_a_row[entrant] >= MOST_FAILURES

    @property
    def not_compared(self) -> list[int]:
        """The entrants that are left out although they gave values, or were hardly tried.

        An entrant whose runs all fail is not among them: it has lost.
        """
        return [
            e
            for e, own in enumerate(self.values)
            if e not in self.entrants and (own or not self.out_for_failures(e))
        ]

    @property
    def ahead(self) -> int:
        """How many outcomes are known that the race has not come to."""
        return len(self._arrived) - self.runs

    def _run_of(self, entrant: int) -> tuple[int, int]:
        return entrant, len(self.values[entrant]) + len(self.failures[entrant])

    def _use(self, entrant: int, number: int, outcome: float | str) -> None:
        self.runs += 1
        if isinstance(outcome, str):
            self.failures[entrant][number] = outcome
            self._in_a_row[entrant] += 1
            self._put_out_if_failing(entrant)
            return
        self._in_a_row[entrant] = 0
        value = self._sign * outcome
        self.values[entrant][number] = value
        self.tally.add(np.array([0]), np.array([entrant]), np.array([value]))

    def _put_out_if_failing(self, entrant: int) -> None:
        values, failures = len(self.values[entrant]), len(self.failures[entrant])
        failing = values < FIRST or failures > values
        if failing and self._in_a_row[entrant] >= MOST_FAILURES and entrant in self.entrants:
            self.entrants.remove(entrant)

    def _judge(self) -> None:
        """Decide who runs next, or that the race is over."""
        self.state = None
        out = self.rule.incumbent is not None and self.rule.incumbent not in self.entrants
        if len(self.entrants) < 2 or out:
            self.ended = "failed"
            return
        short = [e for e in self.entrants if len(self.values[e]) < FIRST]
        if not short:
            self.state = self._known_now()
            if self.state.decided(self._rule_left())[0]:
                self.ended = "decided"
                return
            self._next = self.entrants[int(next_entrant(self.tally_left(), self.state)[0])]
        else:
            self._next = min(short, key=lambda e: self._run_of(e)[1])
        if self.runs >= self._evaluations:
            self.ended = "budget"

    def tally_left(self) -> Tally:
        """Return the moments of the entrants that are not out."""
        return self.tally.of(self.entrants)

    def _rule_left(self) -> Rule:
        incumbent = self.rule.incumbent
        if incumbent is None:
            return self.rule
        return replace(self.rule, incumbent=self.entrants.index(incumbent))

    def _known_now(self) -> State:
        tally, rule = self.tally_left(), self._rule_left()
        return state_of(tally, rule, self.pairs_with(int(rule.focus(tally)[0])))

    def pairs_with(self, place: int) -> Pairs:
        """Compare an entrant, by its place among those not out, with the others."""
        pairs = pairs_of(self.tally_left(), np.array([place]))
        if not self._matched:
            return pairs
        return matched_pairs(pairs, [self.values[e] for e in self.entrants], place)

    def wanted(self, n: int, under_way: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
        """Return up to ``n`` runs to start now: the next one, then those that are likely to follow.

        Args:
            n: How many.
            under_way: The runs that were started already.
        """
        found: list[tuple[int, int]] = []
        taken = {*under_way, *self._arrived}
        counts = np.array([[self._run_of(e)[1] for e in self.entrants]], float)
        entrant = self._next
        # Without an end, a race might look ahead to where it never comes.
        for _ in range(len(taken) + n):
            if self.ended is not None or len(found) == n:
                break
            at = self.entrants.index(entrant)
            run = entrant, int(counts[0, at])
            if run not in taken:
                found.append(run)
            counts[0, at] += 1.0
            entrant = self.entrants[self._likely(counts)]
        return found

    def _likely(self, counts: Array) -> int:
        """Return the place of the entrant that runs next if no new value changes the picture."""
        if self.state is None:
            return int(counts.argmin())
        return int(next_entrant(replace(self.tally_left(), counts=counts), self.state)[0])
