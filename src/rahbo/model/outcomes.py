"""Outcomes beside the objective: what must hold of each, and what is believed of it.

A constraint says that an outcome, noise included, keeps a limit with a given probability. With y
the outcome in the sense of maximisation (negated for `AtMost`) and L the limit in the same sense:
    P(y >= L) >= probability,  that is  Quantile(1 - probability) of y >= L
Each outcome has a mean and a noise model of its own, which learn from the evaluations that told it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rahbo.errors import SettingsError
from rahbo.model.fitting import Beliefs, Fits, Fitting, shared_fits
from rahbo.model.joint import MeanNoiseModel
from rahbo.numerics import is_number
from rahbo.risk import Quantile
from rahbo.trials import Evaluation, Evaluations, Trial, valued

# What is believed of each outcome, by name; None until a value of it was told.
Models = Mapping[str, MeanNoiseModel | None]


@dataclass(frozen=True)
class Constraint(ABC):
    """A limit that an outcome, noise included, keeps with some probability.

    Attributes:
        limit: The limit, in the units of the outcome.
        probability: The probability with which a single evaluation keeps the limit, above 0.5 and
            below 1.
    """

    limit: float
    probability: float = 0.95
    sign: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not (is_number(self.limit) and math.isfinite(self.limit)):
            raise SettingsError(f"{owner} needs a finite number as its limit, got {self.limit!r}.")
        if not (is_number(self.probability) and 0.5 < self.probability < 1.0):
            raise SettingsError(
                f"{owner} needs a probability above 0.5 and below 1, such as 0.95, got "
                f"{self.probability!r}."
            )
        object.__setattr__(self, "limit", float(self.limit))
        object.__setattr__(self, "probability", float(self.probability))

    @property
    def risk(self) -> Quantile:
        """The quantile of the outcome, in the sense of maximisation, that must keep the limit."""
        return Quantile(1.0 - self.probability)

    @property
    @abstractmethod
    def described(self) -> str:
        """The constraint in words."""


@dataclass(frozen=True)
class AtMost(Constraint):
    """An outcome must not exceed a limit.

    P(outcome <= limit) >= probability

    Args:
        limit: The limit, in the units of the outcome.
        probability: The probability with which a single evaluation keeps the limit, noise
            included; above 0.5 and below 1. It assumes Gaussian outcomes.

    >>> AtMost(5.0).described
    'at most 5 with probability 0.95'
    """

    sign: ClassVar[float] = -1.0

    @property
    def described(self) -> str:
        """The constraint in words."""
        return f"at most {self.limit:g} with probability {self.probability:g}"


@dataclass(frozen=True)
class AtLeast(Constraint):
    """An outcome must not fall below a limit.

    P(outcome >= limit) >= probability

    Args:
        limit: The limit, in the units of the outcome.
        probability: The probability with which a single evaluation keeps the limit, noise
            included; above 0.5 and below 1. It assumes Gaussian outcomes.
    """

    @property
    def described(self) -> str:
        """The constraint in words."""
        return f"at least {self.limit:g} with probability {self.probability:g}"


def outcome_of(trials: Iterable[Trial], name: str) -> Iterator[Trial]:
    """Yield each trial with the values of an outcome in place of those of the objective."""
    for trial in trials:
        told = trial.evaluations.items()
        kept = {i: Evaluation(e.outcomes[name]) for i, e in told if name in e.outcomes}
        yield replace(trial, evaluations=Evaluations().with_told(kept))


class OutcomeBeliefs:
    """What is believed of each outcome of a run that grows.

    Args:
        fittings: How the model of each outcome is learned, by the outcome's name.

    Attributes:
        fittings: The same.
        beliefs: The posteriors of each outcome, kept to save time.
    """

    def __init__(self, fittings: Mapping[str, Fitting]) -> None:
        self.fittings = fittings
        self.beliefs = {name: Beliefs(fitting) for name, fitting in fittings.items()}

    def now(self, trials: Iterable[Trial]) -> Models:
        """Return the posteriors given all trials, to report by."""
        told = {name for name in self.beliefs if _is_told(trials, name)}
        return {
            name: kept.now(outcome_of(trials, name)) if name in told else None
            for name, kept in self.beliefs.items()
        }

    def followed(self, trials: Iterable[Trial]) -> Models:
        """Return nearly the same posteriors at a fraction of the cost, to propose by."""
        told = {name for name in self.beliefs if _is_told(trials, name)}
        return {
            name: kept.followed(outcome_of(trials, name)) if name in told else None
            for name, kept in self.beliefs.items()
        }

    def after(self, trials: Sequence[Trial], ends: Sequence[int]) -> Iterator[Models]:
        """Yield the posteriors as they were after the first ``end`` trials, for each end."""
        past = {name: self._past(trials, name, ends) for name in self.beliefs}
        for _ in ends:
            yield {name: next(models) for name, models in past.items()}

    def _past(
        self, trials: Sequence[Trial], name: str, ends: Sequence[int]
    ) -> Iterator[MeanNoiseModel | None]:
        told = list(outcome_of(trials, name))
        known = [end for end in ends if valued(told[:end])]
        models = self.fittings[name].believed_after(told, self.beliefs[name].fits, known)
        for end in ends:
            yield next(models) if end in known else None

    def forget(self, trial_id: int) -> None:
        """Drop what depends on this trial or on later ones."""
        for kept in self.beliefs.values():
            kept.forget(trial_id)

    def fits(self) -> Mapping[str, tuple[Fitting, Fits]]:
        """Return the fits of each outcome so far, and how they were made."""
        return {name: (self.fittings[name], kept.fits) for name, kept in self.beliefs.items()}

    def reuse(
        self,
        theirs: Mapping[str, tuple[Fitting, Fits]],
        trials: Sequence[Trial],
        others: Sequence[Trial],
    ) -> None:
        """Take over fits of outcomes that another run learned in the same way.

        Args:
            theirs: The fits of the other run.
            trials: Its trials.
            others: The trials of this run.
        """
        for name, kept in self.beliefs.items():
            if name in theirs and theirs[name][0] == self.fittings[name]:
                kept.reuse(shared_fits(theirs[name][1], trials, others))


def _is_told(trials: Iterable[Trial], name: str) -> bool:
    return any(name in e.outcomes for trial in trials for e in trial.evaluations.values())
