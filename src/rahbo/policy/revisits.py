"""How often points may be measured, after what their repeats have shown."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rahbo.policy.blocks import complete_points
from rahbo.policy.domain import is_listed
from rahbo.policy.repeats import CONFIRMED, Repeats
from rahbo.state import State, kept
from rahbo.trials import Repetition, provided_points

if TYPE_CHECKING:
    from rahbo.settings import Settings

# Of a given set of blocks, the most in which the recommended point is evaluated to confirm it.
MOST_CONFIRMED = 10


@dataclass(frozen=True)
class Repeating:
    """How often points may be measured.

    Attributes:
        repeats: How often a point is evaluated.
        n_blocks: The number of blocks of a given set; 0 if there is none.
        again: Whether the space allows that a point is proposed again.
        repetition: What shows that repeats are not noise; None if nothing does.
        in_doubt: Whether a few more repeats will show it.
    """

    repeats: Repeats
    n_blocks: int
    again: bool
    repetition: Repetition | None = None
    in_doubt: bool = False

    @classmethod
    def of(cls, settings: Settings, repetition: Repetition | None = None) -> Repeating:
        """Return how often points may be measured, given what shows that repeats are not noise.

        The number of repeats changes only if the user left it open.
        """
        found = cls(settings.repeats, len(settings.blocks or ()), settings.space.revisit)
        if settings.noise.is_zero:
            repetition = Repetition(1, is_known=True)
        if repetition is None:
            return found
        repeats, n = settings.repeats, repetition.n_values
        if not repeats.is_open or found.n_blocks:
            return found if repetition.lacking else replace(found, repetition=repetition)
        if repetition.lacking:
            return replace(found, in_doubt=True)
        return replace(found, repeats=repeats.at_most(n), repetition=repetition)

    @property
    def is_spared(self) -> bool:
        """Whether points are not measured again because repeats would teach nothing."""
        return self.repeats.is_open and not self.n_blocks and self.repetition is not None

    @property
    def revisit(self) -> bool:
        """Whether a point that has all its repeats may be proposed again."""
        may = self.again and self.repeats.population is None and not self.n_blocks
        return may and not self.is_spared

    @property
    def most(self) -> int:
        """The number of values after which a point needs no more."""
        return self.n_blocks or self.repeats.most

    @property
    def confirmed(self) -> int:
        """The number of values after which a point may be used; 0 if it cannot be confirmed.

        A point of a given set of blocks is confirmed by evaluating it in all of them, or in ten.
        """
        if self.n_blocks:
            return min(self.n_blocks, MOST_CONFIRMED)
        return CONFIRMED if self.revisit and self.repetition is None else 0


@kept
def repeating(state: State) -> Repeating:
    """Return how often points may be measured now."""
    return Repeating.of(state.settings, state.repetition)


@kept
def excluded(state: State) -> Set[bytes]:
    """Return the points that may not be proposed, as bytes.

    Without revisits these are the points that have, or will get, all their repeats. If only
    repeats are left, and all that speaks against them is that they teach nothing, none is
    excluded, so that a list is exhausted only where the user said so.
    """
    how, trials = repeating(state), state.trials.values()
    if how.n_blocks:
        return complete_points(trials, how.n_blocks)
    return set() if how.revisit or has_all(state) else provided_points(trials, how.most)


@kept
def has_all(state: State) -> bool:
    """Return whether only repeats are left, which would teach nothing."""
    how, space = repeating(state), state.space
    if not (how.is_spared and how.again and is_listed(space)):
        return False
    given = provided_points(state.trials.values(), how.most)
    return all(x.tobytes() in given for x in space.enumerate())
