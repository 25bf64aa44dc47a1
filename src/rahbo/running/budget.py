"""What a run may still spend, on the search and then on confirmation.

Everything follows from the trials of the run and the numbers it was started with, so a run that
was killed continues as if nothing had happened.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass

from rahbo.errors import SettingsError
from rahbo.numerics import is_whole
from rahbo.optimizer import Optimizer
from rahbo.policy import Adaptive, is_quiet, share_of
from rahbo.trials import Trial, observations_of


@dataclass(frozen=True)
class Budget:
    """The length of a run.

    Attributes:
        rounds: Suggestions after the initial design, or None.
        evaluations: Calls of the objective, or None.
        confirm: Evaluations at the end that measure the leading points again. They are the last
            part of ``evaluations``, but come on top of ``rounds``. None means about a tenth, see
            `confirmation.share_of`, or 0 if repeats are not adaptive, points may not be measured
            again, or the noise is negligible.
    """

    rounds: int | None = None
    evaluations: int | None = None
    confirm: int | None = None

    def check(self, optimizer: Optimizer) -> None:
        """Raise an error for a confirmation that is not possible."""
        n = self.confirm
        if n is not None and (not is_whole(n) or n < 0):
            raise SettingsError(f"confirm must be a whole number >= 0 or None, got {n!r}.")
        if n and self.evaluations is not None and n >= self.evaluations:
            raise SettingsError(
                f"confirm must be less than evaluations, which include it, got confirm={n!r} and "
                f"evaluations={self.evaluations!r}."
            )
        if n and not optimizer.settings.revisit:
            raise SettingsError(
                f"confirm={n!r} measures points again, which revisit=False and Folds forbid. "
                "Leave it out."
            )

    def left(self, trials: Iterable[Trial]) -> float:
        """Return how many evaluations may still be made; past results cost nothing."""
        if self.evaluations is None:
            return math.inf
        return self.evaluations - sum(_made(t) for t in trials if t.source != "user")

    def for_search(self, optimizer: Optimizer, under_way: int, asked: Container[int]) -> float:
        """Return how many evaluations the search may still ask for.

        Args:
            optimizer: The run.
            under_way: The number of evaluations under way.
            asked: Ids of the suggestions they belong to. Other open suggestions were left by an
                earlier run and are not yet paid for.
        """
        trials = optimizer.trials
        if self.rounds is None:
            return max(0, self.left(trials) - under_way - self.kept(optimizer))
        chosen = sum(trial.source == "strategy" for trial in trials)
        waiting = any(t.missing and t.id not in asked for t in trials if t.source != "confirm")
        return math.inf if chosen < self.rounds or waiting else 0

    def paid_in_full(self, optimizer: Optimizer, under_way: int, asked: Container[int]) -> int:
        """Return for how many new suggestions of the search all repeats are certainly paid.

        The arguments are those of `for_search`. No suggestion of an earlier run may be open.
        """
        if self.rounds is None:
            room = self.for_search(optimizer, under_way, asked)
            return int(room) // optimizer.settings.repeats.most
        return self.rounds - sum(trial.source == "strategy" for trial in optimizer.trials)

    def for_all(self, optimizer: Optimizer, under_way: int, asked: Container[int]) -> float:
        """Return how many evaluations may still be asked for, to search and to confirm."""
        if self.rounds is None:
            return max(0, self.left(optimizer.trials) - under_way)
        if self.for_search(optimizer, under_way, asked) > 0:
            return math.inf
        return max(0, self.kept(optimizer) - confirmations(optimizer.trials, asked))

    def kept(self, optimizer: Optimizer) -> int:
        """Return how many evaluations of this budget are reserved for confirmation."""
        settings = optimizer.settings
        if self.confirm is not None:
            return self.confirm
        if not isinstance(settings.repeats, Adaptive) or not settings.revisit:
            return 0
        whole = self.evaluations
        if whole is None:
            searched = (t for t in optimizer.trials if t.source in ("design", "strategy"))
            whole = sum(map(_made, searched))
        # Leave out trials that are only partly told: a run killed there must continue the same.
        told = [trial for trial in optimizer.trials if trial.values and not trial.missing]
        quiet = bool(told) and is_quiet(observations_of(told, settings.sign))
        return 0 if quiet else share_of(whole)


def confirmations(trials: Iterable[Trial], asked: Container[int] = ()) -> int:
    """Return how many confirming evaluations were made since the last search or are under way."""
    n = 0
    for trial in trials:
        if trial.source == "confirm":
            n += _made(trial) + (len(trial.missing) if trial.id in asked else 0)
        elif trial.source != "user":
            n = 0
    return n


def _made(trial: Trial) -> int:
    return len(trial.values) + len(trial.failures)
