"""What a setting of a test problem promised, and what it truly gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rahbo.problems.base import Problem
from rahbo.risk import RiskMeasure


@dataclass(frozen=True)
class Promise:
    """A setting that someone may settle on, and the truth about it.

    Attributes:
        x: The setting of a problem with one parameter.
        promised: The value it is thought to give.
        mean: The value it gives on average.
        noise_std: The standard deviation of single values.
    """

    x: float
    promised: float
    mean: float
    noise_std: float

    @classmethod
    def of(cls, problem: Problem, x: float, promised: float) -> Promise:
        """Return what a problem with one parameter truly gives where something was promised."""
        X = np.array([[x]])
        mean, noise_std = float(problem.f(X)[0]), float(np.sqrt(problem.noise_var(X)[0]))
        return cls(float(x), float(promised), mean, noise_std)

    def risk_value(self, risk: RiskMeasure) -> float:
        """Return the true risk value."""
        return float(risk.value(np.array([self.mean]), np.array([self.noise_std**2]))[0])
