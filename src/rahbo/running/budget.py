"""What a run may still spend, on the search and then on confirmation.

Except for time, everything follows from the trials of the run and the numbers it was started with,
so a run that was killed continues as if nothing had happened.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from rahbo.errors import SettingsError
from rahbo.numerics import is_whole
from rahbo.optimizer import Optimizer
from rahbo.policy import Repeating, is_quiet, share_of
from rahbo.trials import Counts, Trial, attempts_at, observations_of, repetition_of


@dataclass(frozen=True)
class Budget:
    """The length of a run.

    Attributes:
        rounds: Suggestions after the initial design, or None.
        evaluations: Calls of the objective, or None.
        confirm: Evaluations at the end that measure the leading points again. They are the last
            part of ``evaluations``, but come on top of ``rounds``. None means about a tenth, see
            `confirmation.share_of`, or 0 if repeats are not adaptive, points may not be measured
            again, conditions are given, the noise is negligible, or repeats are not noise.
        seconds: The time that the run may take, or None. See `Clock` for what is left of it.
    """

    rounds: int | None = None
    evaluations: int | None = None
    confirm: int | None = None
    seconds: float | None = None

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
        if n and not Repeating.of(optimizer.settings).confirmed:
            raise SettingsError(
                f"confirm={n!r} measures points again, which revisit=False, Folds and "
                "noise_std=0 forbid. Leave it out."
            )

    def left(self, counts: Counts) -> float:
        """Return how many evaluations may still be made; past results cost nothing."""
        if self.evaluations is None:
            return math.inf
        return self.evaluations - counts.made("design", "strategy", "confirm")

    def for_search(
        self,
        optimizer: Optimizer,
        under_way: int,
        asked: Container[int],
        enough: float = math.inf,
    ) -> float:
        """Return how many evaluations the search may still ask for.

        Args:
            optimizer: The run.
            under_way: The number of evaluations under way.
            asked: Ids of the suggestions they belong to. Other open suggestions were left by an
                earlier run and are not yet paid for.
            enough: From this number on, fewer than there are may be returned. It saves time.
        """
        if self.rounds is None:
            left = self.left(optimizer.state.counts) - under_way
            at_least = left - self._most_kept(optimizer)
            return at_least if at_least >= enough else max(0, left - self.reserved(optimizer))
        waiting = any(trial.source != "confirm" for trial in open_trials(optimizer, asked))
        return math.inf if self.rounds_left(optimizer) > 0 or waiting else 0

    def rounds_left(self, optimizer: Optimizer) -> float:
        """Return how many suggestions the search may still make, whatever they cost."""
        if self.rounds is None:
            return math.inf
        return self.rounds - optimizer.state.counts.trials.get("strategy", 0)

    def for_all(self, optimizer: Optimizer, under_way: int, asked: Container[int]) -> float:
        """Return how many evaluations may still be asked for, to search and to confirm."""
        if self.rounds is None:
            return max(0, self.left(optimizer.state.counts) - under_way)
        if self.for_search(optimizer, under_way, asked) > 0:
            return math.inf
        return max(0, self.reserved(optimizer) - confirmations(optimizer.trials, asked))

    def reserved(self, optimizer: Optimizer) -> int:
        """Return how many evaluations the search must leave: none while no point can take them."""
        kept = self.kept(optimizer)
        return 0 if kept and all_complete(optimizer) else kept

    def kept(self, optimizer: Optimizer) -> int:
        """Return how many evaluations of this budget are reserved for confirmation."""
        most = self._most_kept(optimizer)
        if self.confirm is not None or most == 0:
            return most
        # Leave out trials that are only partly told: a run killed there must continue the same.
        told = [trial for trial in optimizer.trials if trial.n_values and not trial.n_missing]
        settings = optimizer.settings
        quiet = bool(told) and is_quiet(observations_of(told, settings.sign))
        return most if Repeating.of(settings, repetition_of(told)).confirmed and not quiet else 0

    def _most_kept(self, optimizer: Optimizer) -> int:
        """Return how many evaluations are reserved unless the noise is negligible."""
        settings = optimizer.settings
        if self.confirm is not None:
            return self.confirm
        if not (settings.repeats.is_open and Repeating.of(settings).confirmed):
            return 0
        if settings.space.conditions:
            # A point would be confirmed for the present conditions alone.
            return 0
        made = optimizer.state.counts.made("design", "strategy")
        return share_of(made if self.evaluations is None else self.evaluations)


def open_trials(optimizer: Optimizer, asked: Container[int] = ()) -> list[Trial]:
    """Return the trials with missing repeats, except those in ``asked``."""
    return [trial for trial in optimizer.state.open if trial.id not in asked]


def all_complete(optimizer: Optimizer) -> bool:
    """Return whether every told point was tried, or will be, as often as there are blocks.

    Then no point can be confirmed. In a space with conditions that depends on the next condition,
    which is not known here, so False is returned.
    """
    settings, trials = optimizer.settings, optimizer.trials
    if not settings.blocks or settings.space.conditions:
        return False
    # As in `Budget.kept`, trials that are only partly told are left out.
    told = {t.x.tobytes(): t.x for t in trials if t.n_values and not t.n_missing}
    if not told:
        return False
    X = np.array(list(told.values()))
    tried, under_way = attempts_at(X[settings.space.is_valid(X)], trials)
    return bool((tried + under_way >= len(settings.blocks)).all())


def confirmations(trials: Sequence[Trial], asked: Container[int] = ()) -> int:
    """Return how many confirming evaluations were made since the last search or are under way."""
    n = 0
    for trial in reversed(trials):
        if trial.source in ("design", "strategy"):
            break
        if trial.source == "confirm":
            n += trial.n_made + (trial.n_missing if trial.id in asked else 0)
    return n
