"""Outcomes beside the objective: what must hold of each, and what is believed of it.

A constraint says that a risk measure R of an outcome y reaches a limit L, both in the sense of
maximisation (negated for `AtMost`):
    R(mean of y, noise variance of y) >= L
`AtMost` and `AtLeast` keep a limit with a given probability, noise included, so R is a quantile:
    P(y >= L) >= probability,  that is  Quantile(1 - probability) of y >= L
Each outcome has a mean and a noise model of its own, which learn from the evaluations that told it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rahbo.errors import SettingsError
from rahbo.model.joint import MeanNoiseModel
from rahbo.model.units import Limited, Outputs
from rahbo.numerics import Registered, is_number
from rahbo.risk import Quantile, RiskMeasure
from rahbo.trials import Evaluation, Evaluations, Trial

# What is believed of each outcome, by name; None until a value of it was told.
Models = Mapping[str, MeanNoiseModel | None]


class Constraint(Registered, ABC):
    """What must hold of an outcome beside the objective.

    To write your own, make a frozen dataclass with a ``limit``, `risk` and `described`, and test
    it with `rahbo.testing.check_outcome`.

    Attributes:
        limit: What the risk measure must reach, in the units of the outcome.
        sign: 1 if larger outcomes are better, -1 if smaller ones are.
    """

    limit: float
    sign: ClassVar[float] = 1.0

    @property
    @abstractmethod
    def risk(self) -> RiskMeasure:
        """What of the outcome must reach the limit, in the sense of maximisation."""

    @property
    @abstractmethod
    def described(self) -> str:
        """What the outcome must be, in words, such as "at most 5 with probability 0.95"."""

    @property
    def measured(self) -> str:
        """What of the outcome must reach the limit in a few words, such as "95 % quantile"."""
        return "risk value"

    def stated(self, value: str) -> str:
        """Return a sentence without a full stop: the risk measure of the outcome is ``value``."""
        return f"Its {self.measured} is {value}"

    def read(self, told: Any) -> Any:
        """Return a told value as a finite number. What is a number already must stay the same.

        Raises:
            DataError: It is not a value of this outcome.
        """
        return told

    @property
    def outputs(self) -> Outputs:
        """How values enter the model of the outcome: their units and their hyperprior."""
        return Limited(self.sign * self.limit)


@dataclass(frozen=True)
class Bound(Constraint):
    """A limit that an outcome, noise included, keeps with some probability.

    Attributes:
        limit: The limit, in the units of the outcome.
        probability: The probability with which a single evaluation keeps the limit, above 0.5 and
            below 1.
    """

    limit: float
    probability: float = 0.95
    side: ClassVar[str]

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
    def described(self) -> str:
        """The constraint in words."""
        return f"{self.side} {self.limit:g} with probability {self.probability:g}"

    @property
    def measured(self) -> str:
        """Which quantile must reach the limit: the upper one of an outcome to keep small."""
        level = self.probability if self.sign < 0 else 1.0 - self.probability
        return f"{100 * level:g} % quantile"

    def stated(self, value: str) -> str:
        """Return what a single value keeps with the probability of the limit."""
        return f"With this probability a single value is {self.side} {value}"


@dataclass(frozen=True)
class AtMost(Bound):
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
    side: ClassVar[str] = "at most"


@dataclass(frozen=True)
class AtLeast(Bound):
    """An outcome must not fall below a limit.

    P(outcome >= limit) >= probability

    Args:
        limit: The limit, in the units of the outcome.
        probability: The probability with which a single evaluation keeps the limit, noise
            included; above 0.5 and below 1. It assumes Gaussian outcomes.
    """

    side: ClassVar[str] = "at least"


def outcome_of(trials: Iterable[Trial], name: str) -> Iterator[Trial]:
    """Yield each trial with the values of an outcome in place of those of the objective."""
    for trial in trials:
        told = trial.evaluations.items()
        kept = {i: Evaluation(e.outcomes[name]) for i, e in told if name in e.outcomes}
        yield replace(trial, evaluations=Evaluations().with_told(kept))
