"""From the trials of a run to what is believed: the data, hyperparameters, and both posteriors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rahbo.errors import NotReadyError
from rahbo.ledger import Trial, observations_of, outcomes_of
from rahbo.model.joint import Learned, MeanNoiseModel
from rahbo.observations import Observations
from rahbo.policy.feasibility import Success
from rahbo.policy.search import Domain
from rahbo.settings import Settings


@dataclass(frozen=True, eq=False)
class Fit:
    """Hyperparameters learned at one stage of the refit schedule.

    Attributes:
        last: The id of the last trial they were learned from.
        learned: What was learned.
    """

    last: int
    learned: Learned


# By the rounds of the first fit and those of this one.
Fits = Mapping[tuple[int, int], Fit]


def valued(trials: Iterable[Trial]) -> list[Trial]:
    """The rounds: trials that gave a value, in order."""
    return [trial for trial in trials if trial.values]


def believe(
    trials: Iterable[Trial], settings: Settings, fits: Fits
) -> tuple[Observations, MeanNoiseModel, Fits]:
    """The data in the sense of maximisation, both posteriors, and the fits that led to them.

    A function of trials and settings alone: ``fits`` of the same trials only save the time of
    learning them again.
    """
    trials = list(trials)
    rounds = valued(trials)
    if not rounds:
        raise NotReadyError("Nothing has been told yet. Call ask() and tell() first.")
    fits, learned = _learn(rounds, _first_fit(trials), settings, fits)
    observations = observations_of(rounds, settings.sign)
    return observations, settings.model.condition(observations, learned), fits


def believed_after(
    trials: Sequence[Trial], settings: Settings, fits: Fits, ends: Iterable[int]
) -> Iterator[tuple[Observations, MeanNoiseModel]]:
    """The data and both posteriors after the first so many trials, with nothing learned again.

    The hyperparameters are those of the run at the time; before its first fit, those of that.

    Args:
        trials: Those of the run.
        settings: Its settings.
        fits: What `believe` gave for all these trials.
        ends: Numbers of trials, each with a value among them.
    """
    first = _first_fit(list(trials))
    stages = sorted(stage for start, stage in fits if start == first)
    for end in ends:
        rounds = valued(trials[:end])
        stage = max((s for s in stages if s <= len(rounds)), default=stages[0])
        observations = observations_of(rounds, settings.sign)
        yield observations, settings.model.condition(observations, fits[first, stage].learned)


def whole_domain(trials: Iterable[Trial], observations: Observations, settings: Settings) -> Domain:
    """Where the best setting may lie: a point that has its repeats may be it, none is left out.

    Where evaluations failed before, the chance of success is part of it: what cannot be evaluated
    is not a rival.
    """
    success = Success.learn(*outcomes_of(trials))
    return Domain(settings.space, observations.best_first(), frozenset(), success)


def fits_before(fits: Fits, trial: Trial) -> Fits:
    """Those that a change of the trial leaves as they are."""
    return {key: fit for key, fit in fits.items() if fit.last < trial.id}


def _first_fit(trials: list[Trial]) -> int:
    """Rounds known when the strategy first proposed, or now; at least one."""
    chosen = (trial.id for trial in trials if trial.source == "strategy")
    first_chosen = next(chosen, len(trials))
    return max(1, sum(trial.id < first_chosen for trial in valued(trials)))


def _learn(rounds: list[Trial], first: int, settings: Settings, fits: Fits) -> tuple[Fits, Learned]:
    """The fits of all stages of the refit schedule, each started from the one before."""
    known = dict(fits)
    previous: Learned | None = None
    stages = settings.refit.stages(first, len(rounds))
    for stage in stages:
        if (first, stage) not in known:
            some = rounds[:stage]
            data = observations_of(some, settings.sign)
            known[first, stage] = Fit(some[-1].id, settings.model.learn(data, previous))
        previous = known[first, stage].learned
    return known, known[first, stages[-1]].learned
