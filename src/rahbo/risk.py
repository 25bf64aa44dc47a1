"""Risk measures: what a noisy outcome is worth to someone who wants reliable results.

Notation, with every array broadcast against the others:

    f   mean of the outcome                        ``(...)``
    v   noise variance of the outcome              ``(...)``
    R   the risk-averse value R(f, v), larger is better

R rises with f and does not rise with v. The method needs nothing else: with bounds on f and v,
R(ucb_f, lcb_v) is an optimistic bound on the value and R(lcb_f, ucb_v) a pessimistic one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rahbo.errors import DataError, SettingsError
from rahbo.numerics import Array, Registered, is_real_number

__all__ = [
    "DEFAULT_RISK",
    "RISKS",
    "ExpectedShortfall",
    "MeanStd",
    "MeanVariance",
    "Penalty",
    "Quantile",
    "RiskMeasure",
    "StdPenalty",
]

# The slope of sqrt(v) is infinite at v = 0. An optimiser multiplies it by the slope of a clipped
# variance, which is zero there. With the floor the product is 0, without it nan.
_SLOPE_FLOOR_VAR = 1e-24

# What the weight of a risk measure multiplies.
Penalty = Literal["noise variance", "noise std"]


def _arrays(f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Return f and v as float64 arrays of one shape."""
    mean, var = np.broadcast_arrays(np.asarray(f, np.float64), np.asarray(v, np.float64))
    return mean, var


def _number(owner: str, name: str, value: object) -> float:
    """Return a setting as a plain float; raise an error unless it is a finite number."""
    number = math.nan
    if is_real_number(value):
        with suppress(OverflowError):  # whole numbers may be too large for a float
            number = float(value)
    if not math.isfinite(number):
        raise SettingsError(
            f"{owner} needs a finite number for {name}, got {value!r}. Pass a number such as 1.0."
        )
    return number


def _non_negative(owner: str, name: str, value: object) -> float:
    """Return a weight on the noise; raise an error if it is negative."""
    number = _number(owner, name, value)
    if number < 0.0:
        raise SettingsError(
            f"{owner} needs {name} >= 0, got {value!r}. A negative weight would reward noise; "
            f"pass {name}=0.0 to ignore it."
        )
    return number


def _level(owner: str, value: object, upper: float) -> float:
    """Return a tail probability; raise an error unless it is between 0 and ``upper``."""
    number = _number(owner, "level", value)
    if not 0.0 < number < upper:
        raise SettingsError(
            f"{owner} needs 0 < level < {upper:g}, got {value!r}. The level is the share of worst "
            f"outcomes, a probability: 0.05 means the worst 5 %."
        )
    return number


class RiskMeasure(Registered, ABC):
    """A value R(f, v) that rises with the mean f and does not rise with the noise variance v.

    To write your own, make a frozen dataclass with `value` and `gradient`, and check it with
    `rahbo.testing.check_risk`. If R is the mean less a multiple of the noise standard deviation,
    derive it from `StdPenalty`, which needs the multiple alone.
    """

    allows_negative_variance: ClassVar[bool] = False
    """Whether R accepts v < 0, such as a negative lower bound. If not, the caller clips v."""

    penalty: ClassVar[Penalty | None] = None
    """What `weight` multiplies if R = f - weight·penalty; None if R has another form."""

    @property
    def weight(self) -> float | None:
        """The multiple of the penalty that is taken off the mean; None without a penalty."""
        return None

    @abstractmethod
    def value(self, f: ArrayLike, v: ArrayLike) -> Array:
        """Return R(f, v) in the broadcast shape of f and v."""

    @abstractmethod
    def gradient(self, f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return (dR/df, dR/dv), each in the broadcast shape of f and v."""

    def std_gradient(self, f: ArrayLike, noise_std: ArrayLike) -> tuple[Array, Array]:
        """Return (dR/df, dR/dsqrt(v)) at the noise standard deviation sqrt(v)."""
        mean, std = _arrays(f, noise_std)
        df, dv = self.gradient(mean, std**2)
        return df, np.asarray(2.0 * std * dv)

    def standardised(self, shift: float, scale: float) -> RiskMeasure:
        """Return the equivalent measure R' for standardised outcomes (y - shift)/scale.

        R(shift + scale·f, scale²·v) = shift + scale·R'(f, v)

        Args:
            shift: Subtracted from the outcomes, in user units.
            scale: Divides the shifted outcomes; positive.

        Returns:
            A measure of the standardised mean and noise variance.
        """
        _check_units(shift, scale)
        return _Standardised(self, shift, scale)

    def in_words(self, minimised: bool) -> str:
        """Return the measure in words; empty if it is described by its class and fields."""
        return ""


def _check_units(shift: float, scale: float) -> None:
    """Raise an error for a shift or scale that cannot standardise."""
    _number("standardised()", "shift", shift)
    if _number("standardised()", "scale", scale) <= 0.0:
        raise SettingsError(
            f"standardised() needs scale > 0, got {scale!r}. Pass the outcomes' standard "
            f"deviation, or 1.0 when they are all equal."
        )


@dataclass(frozen=True)
class _Standardised(RiskMeasure):
    """Any measure in standardised units."""

    risk: RiskMeasure
    shift: float
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "allows_negative_variance", self.risk.allows_negative_variance)

    def value(self, f: ArrayLike, v: ArrayLike) -> Array:
        mean, var = self._user_units(f, v)
        return np.asarray((self.risk.value(mean, var) - self.shift) / self.scale)

    def gradient(self, f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        df, dv = self.risk.gradient(*self._user_units(f, v))
        return df, np.asarray(self.scale * dv)

    def _user_units(self, f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        mean, var = _arrays(f, v)
        return np.asarray(self.shift + self.scale * mean), np.asarray(self.scale**2 * var)


@dataclass(frozen=True)
class MeanVariance(RiskMeasure):
    """The mean minus a multiple of the noise variance; the paper's objective.

    MV = f - alpha·v    (eq. 2)

    It is linear, so a negative lower bound on the variance is used unclipped, as in Algorithm 1.

    Args:
        alpha: Risk coefficient, at least 0, in units of 1/outcome; 0 means plain optimisation of
            the mean.
    """

    alpha: float = 1.0
    allows_negative_variance: ClassVar[bool] = True
    penalty: ClassVar[Penalty | None] = "noise variance"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _non_negative("MeanVariance", "alpha", self.alpha))

    @property
    def weight(self) -> float:
        """Alpha."""
        return self.alpha

    def value(self, f: ArrayLike, v: ArrayLike) -> Array:
        """Return f - alpha·v."""
        mean, var = _arrays(f, v)
        return np.asarray(mean - self.alpha * var)

    def gradient(self, f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return (1, -alpha), each in the broadcast shape of f and v."""
        mean, _ = _arrays(f, v)
        return np.ones_like(mean), np.full_like(mean, -self.alpha)

    def standardised(self, shift: float, scale: float) -> RiskMeasure:
        """Return the mean-variance measure of (y - shift)/scale.

        shift + scale·f - alpha·scale²·v = shift + scale·(f - (alpha·scale)·v)
        """
        _check_units(shift, scale)
        return MeanVariance(self.alpha * scale)

    def in_words(self, minimised: bool) -> str:
        """Return the formula in words.

        >>> MeanVariance(2.0).in_words(minimised=False)
        'mean − 2 × noise variance'
        """
        return _less(minimised, self.alpha, "noise variance") if self.alpha else "the mean"


def _less(minimised: bool, weight: float, of: str) -> str:
    return f"mean {'+' if minimised else '−'} {weight:g} × {of}"


class StdPenalty(RiskMeasure):
    """The mean minus a multiple of the noise standard deviation: R = f - weight·sqrt(v)."""

    penalty: ClassVar[Penalty | None] = "noise std"

    @property
    @abstractmethod
    def weight(self) -> float:
        """How many noise standard deviations are taken off the mean."""

    def value(self, f: ArrayLike, v: ArrayLike) -> Array:
        """Return f - weight·sqrt(v); v must not be negative."""
        mean, var = self._checked(f, v)
        return np.asarray(mean - self.weight * np.sqrt(var))

    def gradient(self, f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return (1, -weight/(2·sqrt(v))), with v at least 1e-24 so that the slope is finite.

        The true slope at v = 0 is infinite. An optimiser multiplies it by the slope of a clipped
        variance, which is zero there, and must get 0 rather than nan.
        """
        mean, var = self._checked(f, v)
        slope = -0.5 * self.weight / np.sqrt(np.maximum(var, _SLOPE_FLOOR_VAR))
        return np.ones_like(mean), np.asarray(slope)

    def std_gradient(self, f: ArrayLike, noise_std: ArrayLike) -> tuple[Array, Array]:
        """Return (1, -weight), each in the broadcast shape of f and the standard deviation."""
        mean, _ = _arrays(f, noise_std)
        return np.ones_like(mean), np.full_like(mean, -self.weight)

    def standardised(self, shift: float, scale: float) -> RiskMeasure:
        """Return this measure unchanged, because standard deviations scale like means."""
        _check_units(shift, scale)
        return self

    def _checked(self, f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        mean, var = _arrays(f, v)
        if np.any(var < 0.0):
            raise DataError(
                f"{type(self).__name__} needs noise variances >= 0, got {float(var.min())!r}. "
                f"Clip a lower bound on the variance before passing it."
            )
        return mean, var

    def in_words(self, minimised: bool) -> str:
        """Return the formula in words."""
        return _less(minimised, self.weight, "noise standard deviation")


@dataclass(frozen=True)
class MeanStd(StdPenalty):
    """The mean minus a multiple of the noise standard deviation.

    R = f - kappa·sqrt(v)

    Args:
        kappa: Weight of the standard deviation, at least 0, without units.
    """

    kappa: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kappa", _non_negative("MeanStd", "kappa", self.kappa))

    @property
    def weight(self) -> float:
        """How many noise standard deviations are taken off the mean."""
        return self.kappa


@dataclass(frozen=True)
class Quantile(StdPenalty):
    """A lower quantile of the outcome, assuming Gaussian outcomes.

    R = f + z·sqrt(v), z = Phi^-1(level)

    A share `level` of the outcomes falls below it. If the tails are heavier than a Gaussian's,
    more outcomes do.

    Args:
        level: Tail probability, 0 < level < 0.5; at 0.5 or above, noise would not count as a loss.
    """

    level: float = 0.05

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", _level("Quantile", self.level, 0.5))

    @property
    def weight(self) -> float:
        """How many noise standard deviations are taken off the mean."""
        return -float(ndtri(self.level))

    def in_words(self, minimised: bool) -> str:
        """Return which value of the outcome it is."""
        beyond = "exceed" if minimised else "fall short of"
        return f"the value that {100 * self.level:.3g} % of the outcomes {beyond}"


@dataclass(frozen=True)
class ExpectedShortfall(StdPenalty):
    """The mean of the worst share `level` of the outcomes, assuming Gaussian outcomes.

    R = f - sqrt(v)·phi(z)/level, z = Phi^-1(level)

    If the tails are heavier than a Gaussian's, the worst outcomes are worse on average.

    Args:
        level: Tail probability, 0 < level < 1; towards 1 the measure becomes the mean.
    """

    level: float = 0.05

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", _level("ExpectedShortfall", self.level, 1.0))

    @property
    def weight(self) -> float:
        """How many noise standard deviations are taken off the mean."""
        z = float(ndtri(self.level))
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / self.level

    def in_words(self, minimised: bool) -> str:
        """Return which outcomes it is the mean of."""
        return f"the mean of the worst {100 * self.level:.3g} % of the outcomes"


DEFAULT_RISK: RiskMeasure = MeanStd(1.0)
"""The risk measure of every run that names none. Its weight has no units, so neither has it."""

RISKS: dict[str, Callable[[float], RiskMeasure]] = {
    "alpha": MeanVariance,
    "kappa": MeanStd,
    "quantile": Quantile,
    "shortfall": ExpectedShortfall,
}
"""The risk measures by the name that their number has on the command line and in forms."""
