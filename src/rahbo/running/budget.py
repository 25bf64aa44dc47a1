"""What a run may still spend, on the search and then on confirmation.

Everything follows from the trials of the run and the numbers it was started with, so that a run
that was killed goes on as if it had not been.
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
    """How long a run is.

    Attributes:
        rounds: Suggestions after the initial design, or None.
        evaluations: Calls of the objective, or None.
        confirm: Evaluations at the end that measure the leading points again. They are the last
            ones of ``evaluations``, but come on top of ``rounds``. With None they are about a
            tenth, see `confirmation.share_of`; none where repeats are not adaptive, points may
            not be measured again, or the noise is negligible.
    """

    rounds: int | None = None
    evaluations: int | None = None
    confirm: int | None = None

    def check(self, optimizer: Optimizer) -> None:
        """Refuse a confirmation that cannot be made."""
        n = self.confirm
        if n is not None and (not is_whole(n) or n < 0):
            raise SettingsError(f"confirm must be a whole number >= 0 or None, got {n!r}.")
        if n and self.evaluations is not None and n >= self.evaluations:
            raise SettingsError(
                f"confirm must be less than evaluations, of which it is the last part, got "
                f"confirm={n!r} and evaluations={self.evaluations!r}."
            )
        if n and not optimizer.settings.revisit:
            raise SettingsError(
                f"confirm={n!r} measures points again, which revisit=False and Folds forbid. "
                "Leave it out."
            )

    def left(self, trials: Iterable[Trial]) -> float:
        """Evaluations that may still be made; past results cost nothing."""
        if self.evaluations is None:
            return math.inf
        return self.evaluations - sum(_made(t) for t in trials if t.source != "user")

    def for_search(self, optimizer: Optimizer, under_way: int, asked: Container[int]) -> float:
        """Evaluations that may still be asked for to search.

        Args:
            optimizer: The run.
            under_way: Evaluations being made.
            asked: Ids of the suggestions they belong to. Others that are open were left by an
                earlier run and are not yet paid.
        """
        trials = optimizer.trials
        if self.rounds is None:
            return max(0, self.left(trials) - under_way - self.kept(optimizer))
        chosen = sum(trial.source == "strategy" for trial in trials)
        waiting = any(t.missing and t.id not in asked for t in trials if t.source != "confirm")
        return math.inf if chosen < self.rounds or waiting else 0

    def for_all(self, optimizer: Optimizer, under_way: int, asked: Container[int]) -> float:
        """Evaluations that may still be asked for, to search and to confirm."""
        if self.rounds is None:
            return max(0, self.left(optimizer.trials) - under_way)
        if self.for_search(optimizer, under_way, asked) > 0:
            return math.inf
        return max(0, self.kept(optimizer) - confirmations(optimizer.trials, asked))

    def kept(self, optimizer: Optimizer) -> int:
        """Evaluations of this budget that are for confirmation."""
        settings = optimizer.settings
        if self.confirm is not None:
            return self.confirm
        if not isinstance(settings.repeats, Adaptive) or not settings.revisit:
            return 0
        whole = self.evaluations
        if whole is None:
            searched = (t for t in optimizer.trials if t.source in ("design", "strategy"))
            whole = sum(map(_made, searched))
        # What is half told counts once it is told: else a run killed there would go on differently.
        told = [trial for trial in optimizer.trials if trial.values and not trial.missing]
        quiet = bool(told) and is_quiet(observations_of(told, settings.sign))
        return 0 if quiet else share_of(whole)


def confirmations(trials: Iterable[Trial], asked: Container[int] = ()) -> int:
    """Evaluations made to confirm since the last search, and those under way."""
    n = 0
    for trial in trials:
        if trial.source == "confirm":
            n += _made(trial) + (len(trial.missing) if trial.id in asked else 0)
        elif trial.source != "user":
            n = 0
    return n


def _made(trial: Trial) -> int:
    return len(trial.values) + len(trial.failures)
