"""Which trials of a run lack repeats, and which of them were handed out.

An interrupt may fall between any two steps here. What is derived from the trials stays right: a
trial counts as open if it lacks repeats, and only candidates for that are remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from rahbo.numerics import SharedLock
from rahbo.trials.trial import Suggestion, Trial


class Ledger:
    """The trials of a run by id, and who has them.

    Args:
        trials: The trials. Each change is written there.

    Attributes:
        trials: The trials.
        lock: Held by whoever looks at the trials or changes them.
    """

    def __init__(self, trials: MutableMapping[int, Trial]) -> None:
        self.lock = SharedLock()
        self.trials = trials
        # Every trial that lacks repeats is among these.
        self._unsettled = {trial.id for trial in trials.values() if trial.n_missing}
        self._handed_out: set[int] = set()

    def copied(self) -> Ledger:
        """Return a ledger of the same trials, which are no longer written anywhere."""
        other = Ledger(dict(self.trials))
        other._handed_out = set(self._handed_out)
        return other

    def record(self, trial: Trial) -> Trial:
        """Keep a new trial, or a new state of one, and return it."""
        self._unsettled.add(trial.id)
        self.trials[trial.id] = trial
        if not trial.n_missing:
            self._unsettled.discard(trial.id)
        return trial

    def missing(self) -> list[Trial]:
        """Return the trials with missing repeats, oldest first."""
        found = [self.trials[i] for i in sorted(self._unsettled) if i in self.trials]
        return [trial for trial in found if trial.n_missing]

    def waiting(self) -> Trial | None:
        """Return the oldest trial with missing repeats that was not handed out."""
        return next((t for t in self.missing() if t.id not in self._handed_out), None)

    def hand_out(self, trials: Iterator[Trial]) -> list[Suggestion]:
        """Return suggestions that no other call returns. An interrupted call hands out none.

        Args:
            trials: Yields the trials to hand out, while the lock is held.
        """
        given: list[Suggestion] = []
        try:
            with self.lock.here():
                for trial in trials:
                    given.append(trial.suggestion)
                    self._handed_out.add(trial.id)
        except BaseException:
            self._handed_out.difference_update([suggestion.id for suggestion in given])
            raise
        return given
