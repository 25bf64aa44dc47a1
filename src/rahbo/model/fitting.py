"""When hyperparameters are learned again, the fits so far, and the models they give.

A round is a trial that gave a value. A fit is a pure function of the rounds up to its stage and of
the fit before it, so fits are kept only to save time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rahbo.errors import NotReadyError, SettingsError
from rahbo.model.joint import Learned, MeanNoiseModel, ModelSettings
from rahbo.model.learning import condition, learn
from rahbo.numerics import is_number
from rahbo.trials import Trial, observations_of, valued


@dataclass(frozen=True)
class Refit:
    """When to learn hyperparameters again: each time the rounds have grown by a factor.

    The first fit uses the data known when the strategy first proposes. A factor of 1 refits every
    round. An infinite factor never refits, as in the paper's experiments.

    >>> Refit(1.5).stages(4, 20)
    [4, 6, 9, 13, 19]
    """

    growth: float = 1.1

    def __post_init__(self) -> None:
        if not (is_number(self.growth) and self.growth >= 1):
            raise SettingsError(f"Refit(growth) must be >= 1, got {self.growth!r}.")

    def stages(self, first: int, n: int) -> list[int]:
        """Return the numbers of rounds, from ``first`` up to ``n``, at which to fit."""
        stages = [first]
        while np.isfinite(self.growth):
            following = max(stages[-1] + 1, int(min(stages[-1] * self.growth, n + 1)))
            if following > n:
                break
            stages.append(following)
        return stages


@dataclass(frozen=True, eq=False)
class StageFit:
    """Hyperparameters learned at one stage of the refit schedule.

    Attributes:
        last: The id of the last trial that the fit used.
        learned: What was learned.
    """

    last: int
    learned: Learned


# The key is the number of rounds at the first fit, and the number of rounds at this one.
Fits = Mapping[tuple[int, int], StageFit]


@dataclass(frozen=True)
class Fitting:
    """How a run learns the model from its trials.

    Attributes:
        model: The settings of the two GPs.
        refit: When hyperparameters are learned again.
        sign: Multiplies user values so that larger is better.
    """

    model: ModelSettings
    refit: Refit
    sign: float

    def believe(self, trials: Iterable[Trial], fits: Fits) -> tuple[MeanNoiseModel, Fits]:
        """Return both posteriors and all fits so far.

        The result depends on the trials alone. Passing ``fits`` of the same trials saves time.
        """
        trials = list(trials)
        rounds = valued(trials)
        if not rounds:
            raise NotReadyError("Nothing has been told yet. Call ask() and tell() first.")
        fits, learned = self._learn(rounds, _first_fit(trials), fits)
        observations = observations_of(rounds, self.sign)
        return condition(self.model, observations, learned), fits

    def believed_after(
        self, trials: Sequence[Trial], fits: Fits, ends: Iterable[int]
    ) -> Iterator[MeanNoiseModel]:
        """Yield both posteriors as they were after the first ``end`` trials.

        Nothing is learned again. The hyperparameters are those that the run had at the time, or
        those of its first fit if that came later.

        Args:
            trials: All trials of the run.
            fits: The fits that `believe` returned for these trials.
            ends: Numbers of trials. At least one of the trials up to each must have a value.
        """
        first = _first_fit(list(trials))
        stages = sorted(stage for start, stage in fits if start == first)
        for end in ends:
            rounds = valued(trials[:end])
            stage = max((s for s in stages if s <= len(rounds)), default=stages[0])
            observations = observations_of(rounds, self.sign)
            yield condition(self.model, observations, fits[first, stage].learned)

    def _learn(self, rounds: list[Trial], first: int, fits: Fits) -> tuple[Fits, Learned]:
        """Learn at every stage of the schedule, each time starting from the stage before."""
        known = dict(fits)
        previous: Learned | None = None
        stages = self.refit.stages(first, len(rounds))
        for stage in stages:
            if (first, stage) not in known:
                some = rounds[:stage]
                data = observations_of(some, self.sign)
                known[first, stage] = StageFit(some[-1].id, learn(self.model, data, previous))
            previous = known[first, stage].learned
        return known, known[first, stages[-1]].learned


def fits_before(fits: Fits, trial_id: int) -> Fits:
    """Return the fits that do not depend on this trial or on later ones."""
    return {key: fit for key, fit in fits.items() if fit.last < trial_id}


def shared_fits(fits: Fits, trials: Sequence[Trial], others: Sequence[Trial]) -> Fits:
    """Return the fits of ``trials`` that are also valid for the run of ``others``.

    Both runs have the same settings. A fit is valid if it used only trials that both runs share.
    """
    pairs = zip(trials, others, strict=False)
    same = (a.is_at(b.x) and a.values == b.values for a, b in pairs)
    n_same = next((i for i, equal in enumerate(same) if not equal), min(len(trials), len(others)))
    return fits_before(fits, n_same)


def _first_fit(trials: list[Trial]) -> int:
    """Return the number of rounds known when the strategy first proposed, or now; at least 1."""
    chosen = (trial.id for trial in trials if trial.source == "strategy")
    first_chosen = next(chosen, len(trials))
    return max(1, sum(trial.id < first_chosen for trial in valued(trials)))
