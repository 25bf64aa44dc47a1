"""Which trials of a run lack repeats, which of them were handed out, and how many there are.

An interrupt may fall between any two steps here. What is derived from the trials stays right: a
trial counts as open if it lacks repeats, and only candidates for that are remembered. What is kept
up to date is forgotten before a change and remembered after it. So an interrupted change costs
time: everything is counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

from rahbo.numerics import Array, SharedLock
from rahbo.trials.repetition import Repetition, repetition_of
from rahbo.trials.trial import Source, Suggestion, Trial, params_by_point


@dataclass(frozen=True)
class Counts:
    """How many trials and evaluations a run has.

    Attributes:
        trials: Trials by their source.
        evaluations: Values and failures told, by the source of their trials.
    """

    trials: Mapping[Source, int]
    evaluations: Mapping[Source, int]

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Counts:
        """Return the counts of these trials."""
        number: Counter[Source] = Counter()
        made: Counter[Source] = Counter()
        for trial in trials:
            number[trial.source] += 1
            made[trial.source] += trial.n_made
        return cls(number, made)

    def after(self, old: Trial | None, new: Trial) -> Counts:
        """Return the counts after a trial changed, or was opened if it was None before."""
        number, made = Counter(self.trials), Counter(self.evaluations)
        if old is None:
            number[new.source] += 1
        made[new.source] += new.n_made - (0 if old is None else old.n_made)
        return Counts(number, made)

    def made(self, *sources: Source) -> int:
        """Return how many evaluations trials of these sources have; without any, all trials."""
        return sum(self.evaluations.get(s, 0) for s in sources or self.evaluations)


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
        self._counts: Counts | None = None
        self._params: dict[bytes, dict[str, Any]] | None = None
        # What was found, in a tuple of one; None before it is looked for.
        self._repetition: tuple[Repetition | None] | None = None

    def copied(self) -> Ledger:
        """Return a ledger of the same trials, which are no longer written anywhere."""
        other = Ledger(dict(self.trials))
        other._handed_out = set(self._handed_out)
        return other

    def record(self, trial: Trial) -> Trial:
        """Keep a new trial, or a new state of one, and return it."""
        counts, params, old = self._counts, self._params, self.trials.get(trial.id)
        self._counts = self._params = self._repetition = None
        self._unsettled.add(trial.id)
        self.trials[trial.id] = trial
        if not trial.n_missing:
            self._unsettled.discard(trial.id)
        if counts is not None:
            self._counts = counts.after(old, trial)
        if params is not None:
            params.setdefault(trial.x.tobytes(), trial.params)
            self._params = params
        return trial

    def open(
        self,
        x: Array,
        params: dict[str, Any],
        repeats: int,
        source: Source,
        own_bound: float | None,
        blocks: tuple[str, ...] = (),
    ) -> Trial:
        """Keep a new trial of the point ``x (d,)``, with the next number, and return it."""
        opened = Trial(len(self.trials), params, x, repeats, source, own_bound=own_bound)
        return self.record(replace(opened, blocks=blocks) if blocks else opened)

    @property
    def counts(self) -> Counts:
        """How many trials and evaluations there are."""
        if self._counts is None:
            self._counts = Counts.of(self.trials.values())
        return self._counts

    @property
    def repetition(self) -> Repetition | None:
        """What shows that repeats are not noise; None if nothing does."""
        if self._repetition is None:
            self._repetition = (repetition_of(self.trials.values()),)
        return self._repetition[0]

    def params(self) -> dict[bytes, dict[str, Any]]:
        """Return the parameters of the first trial at each point, by the bytes of the point."""
        if self._params is None:
            self._params = params_by_point(self.trials.values())
        return dict(self._params)

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
