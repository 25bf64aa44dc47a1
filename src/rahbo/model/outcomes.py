"""Outcomes beside the objective: what must hold of each, and what is believed of it.

A constraint says that an outcome, noise included, keeps a limit with a given probability. With y
the outcome in the sense of maximisation (negated for `AtMost`) and L the limit in the same sense:
    P(y >= L) >= probability,  that is  Quantile(1 - probability) of y >= L
Each outcome has a mean and a noise model of its own, which learn from the evaluations that told it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rahbo.errors import SettingsError
from rahbo.model.joint import MeanNoiseModel
from rahbo.numerics import Registered, is_number
from rahbo.risk import Quantile
from rahbo.trials import Evaluation, Evaluations, Trial

# What is believed of each outcome, by name; None until a value of it was told.
Models = Mapping[str, MeanNoiseModel | None]


@dataclass(frozen=True)
class Constraint(Registered, ABC):
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
