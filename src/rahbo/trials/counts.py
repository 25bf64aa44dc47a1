"""How many trials and evaluations a run has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rahbo.trials.trial import Source, Trial


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
            made[trial.source] += trial.evaluations.n
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
