"""The width of a confidence band: mu(x) +- beta * sigma(x).

This follows the paper, eq. 7: beta multiplies the standard deviation. In libraries that write
mu + sqrt(beta) * sigma, beta is what is beta**2 here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model.gp import GP
from rahbo.numerics import Registered, is_number, not_negative


class Confidence(Registered, ABC):
    """A rule that gives beta for a posterior."""

    @abstractmethod
    def beta(self, gp: GP | None) -> float:
        """Return the width of the band around ``gp``, in posterior standard deviations.

        It is None for a noise posterior that is not a GP.
        """


@dataclass(frozen=True)
class ConstantBeta(Confidence):
    """A constant width; the paper's experiments use 2."""

    value: float = 2.0

    def __post_init__(self) -> None:
        not_negative("beta", self.value)

    def beta(self, gp: GP | None) -> float:
        """Return the constant."""
        return float(self.value)


@dataclass(frozen=True)
class Lemma1Beta(Confidence):
    """The width at which the band holds at all points and times with probability 1 - delta.

    beta_t = sqrt(2 ln(det(lam Sigma + K)^(1/2) / (delta det(lam Sigma)^(1/2)))) + sqrt(lam) B

    This is Lemma 1, with determinants over the t - 1 observations that mu_{t-1} uses. As printed,
    with t of them, beta_t would depend on the point it is used to choose. The lemma needs a kernel
    fixed in advance and sub-Gaussian noise with the given variances. With fitted kernels, or on
    sample variances of Gaussian noise, the width is a heuristic.

    Attributes:
        norm: A bound B on the RKHS norm of the function under the kernel kappa.
        delta: The probability that the band fails at some point at some time.
    """

    norm: float
    delta: float = 0.1

    def __post_init__(self) -> None:
        not_negative("Lemma1Beta(norm)", self.norm)
        if not (is_number(self.delta) and 0 < self.delta < 1):
            raise SettingsError(
                f"Lemma1Beta(delta) must be between 0 and 1, got {self.delta!r}. It is the "
                "probability that the band fails: pass one such as 0.1."
            )

    def beta(self, gp: GP | None) -> float:
        """Return beta_t after the observations of ``gp``."""
        if gp is None:
            raise SettingsError("Lemma1Beta needs a GP. Pass a number for beta_noise.")
        return lemma1_beta(gp.information_gain, self.norm, self.delta, gp.lam)


def lemma1_beta(information_gain: float, norm: float, delta: float, lam: float) -> float:
    """Return Lemma 1's beta, given the information gain of the observations.

    beta = sqrt(2 ln(1 / delta) + 2 I) + sqrt(lam) B

    with I = 1/2 ln(det(lam Sigma + K) / det(lam Sigma)). With the maximum information gain
    gamma_T in place of I this is the data-independent bound of A.1.2, which prints gamma_T
    where 2 gamma_T is needed.
    """
    return float(np.sqrt(2.0 * np.log(1.0 / delta) + 2.0 * information_gain) + np.sqrt(lam) * norm)


def as_confidence(beta: float | Confidence, name: str = "beta") -> Confidence:
    """Return a `Confidence`; a number means a constant width."""
    if isinstance(beta, Confidence):
        return beta
    if not is_number(beta):
        raise SettingsError(
            f"{name} must be a number or a Confidence such as Lemma1Beta, got {beta!r}."
        )
    return ConstantBeta(float(beta))
