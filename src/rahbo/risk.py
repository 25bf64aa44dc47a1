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
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rahbo.errors import DataError, SettingsError
from rahbo.numerics import Array, Mask, Registered, is_real_number

__all__ = [
    "DEFAULT_RISK",
    "RISKS",
    "ExpectedShortfall",
    "MeanStd",
    "MeanVariance",
    "Quantile",
    "RiskMeasure",
    "check_monotone",
]

# The slope of sqrt(v) is infinite at v = 0. An optimiser multiplies it by the slope of a clipped
# variance, which is zero there. With the floor the product is 0, without it nan.
_SLOPE_FLOOR_VAR = 1e-24


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

    To write your own, make a frozen dataclass with `value` and `gradient`, and test it with
    `check_monotone`.
    """

    allows_negative_variance: ClassVar[bool] = False
    """Whether R accepts v < 0, such as a negative lower bound. If not, the caller clips v."""

    @abstractmethod
    def value(self, f: ArrayLike, v: ArrayLike) -> Array:
        """Return R(f, v) in the broadcast shape of f and v."""

    @abstractmethod
    def gradient(self, f: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return (dR/df, dR/dv), each in the broadcast shape of f and v."""

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _non_negative("MeanVariance", "alpha", self.alpha))

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


class _StdPenalty(RiskMeasure):
    """The mean minus a multiple of the noise standard deviation: R = f - weight·sqrt(v)."""

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


@dataclass(frozen=True)
class MeanStd(_StdPenalty):
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
class Quantile(_StdPenalty):
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


@dataclass(frozen=True)
class ExpectedShortfall(_StdPenalty):
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


DEFAULT_RISK: RiskMeasure = MeanStd(1.0)
"""The risk measure of every run that names none. Its weight has no units, so neither has it."""

RISKS: dict[str, Callable[[float], RiskMeasure]] = {
    "alpha": MeanVariance,
    "kappa": MeanStd,
    "quantile": Quantile,
    "shortfall": ExpectedShortfall,
}
"""The risk measures by the name that their number has on the command line and in forms."""


def check_monotone(
    risk: RiskMeasure,
    *,
    means: tuple[float, float] = (-3.0, 3.0),
    variances: tuple[float, float] = (0.0, 4.0),
    n: int = 21,
) -> None:
    """Check on a grid that your own risk measure is valid.

    It must rise with the mean, must not rise with the noise variance, and must return its own
    gradient (compared with central differences). A grid is evidence, not proof: pass the ranges
    you use.

    Args:
        risk: The measure to check.
        means: Lowest and highest mean on the grid.
        variances: Lowest (at least 0) and highest noise variance on the grid. If the measure
            allows negative variances, their negatives are checked too.
        n: Grid points along each axis.

    Raises:
        SettingsError: The measure fails; the message says where.
    """
    low, high = variances
    if n < 2 or not means[0] < means[1] or not 0.0 <= low < high:
        raise SettingsError(
            f"check_monotone() needs n >= 2, rising means and 0 <= rising variances, got n={n!r}, "
            f"means={means!r}, variances={variances!r}. Correct the ranges."
        )
    # Evenly spaced in the standard deviation, to cover small variances, where slopes are steep.
    v_axis = np.linspace(math.sqrt(low), math.sqrt(high), n) ** 2
    if risk.allows_negative_variance:
        v_axis = np.unique(np.concatenate([-v_axis, v_axis]))
    f, v = np.meshgrid(np.linspace(*means, n), v_axis, indexing="ij")
    value = _evaluated(risk, "value", risk.value(f, v), f, v)
    rounding = 16.0 * float(np.finfo(np.float64).eps * np.max(np.abs(value)))
    _refuse_where(np.diff(value, axis=0) <= 0.0, risk, "value does not rise with the mean", f, v)
    rises = np.diff(value, axis=1) > rounding
    _refuse_where(rises, risk, "value rises with the noise variance", f, v)
    _check_gradient(risk, f, v, rounding)


def _evaluated(risk: RiskMeasure, what: str, result: Array, f: Array, v: Array) -> Array:
    """Return what a measure computed, after checking that it is finite and has the right shape."""
    out = np.asarray(result, np.float64)
    if out.shape != f.shape:
        raise SettingsError(
            f"{risk!r}: {what} must have the broadcast shape of f and v, {f.shape}, got "
            f"{out.shape}. Compute it element by element."
        )
    _refuse_where(~np.isfinite(out), risk, f"{what} is not finite", f, v)
    return out


def _check_gradient(risk: RiskMeasure, f: Array, v: Array, rounding: float) -> None:
    """Compare the claimed gradient with central differences."""
    df, dv = risk.gradient(f, v)
    df = _evaluated(risk, "dR/df", df, f, v)
    dv = _evaluated(risk, "dR/dv", dv, f, v)
    h = 1e-5 * (1.0 + np.abs(f))
    slope = _central(lambda step: risk.value(f + step, v), h)
    _refuse_where(_differs(df, slope, rounding / h), risk, "dR/df is not the slope in f", f, v)
    # A step relative to v does not cross v = 0, where no central difference exists.
    inside = v != 0.0
    f, v, dv = f[inside], v[inside], dv[inside]
    h = 1e-4 * np.abs(v)
    slope = _central(lambda step: risk.value(f, v + step), h)
    _refuse_where(_differs(dv, slope, rounding / h), risk, "dR/dv is not the slope in v", f, v)


def _central(along: Callable[[Array], Array], h: Array) -> Array:
    """Return the central difference of a function of the step."""
    return np.asarray((along(h) - along(-h)) / (2.0 * h))


def _differs(claimed: Array, slope: Array, noise: Array) -> Mask:
    """Return where a claimed slope differs from the measured one by more than rounding explains."""
    size = np.maximum(np.abs(claimed), np.abs(slope))
    return np.asarray(np.abs(claimed - slope) > 1e-4 * size + noise)


def _refuse_where(bad: Mask, risk: RiskMeasure, why: str, f: Array, v: Array) -> None:
    """Raise an error for the first grid point marked bad."""
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise SettingsError(
            f"{risk!r}: {why} at f={float(f[at]):g}, v={float(v[at]):g}. A risk measure must rise "
            f"with the mean, must not rise with the noise variance, and must return its own "
            f"gradient. Correct value() or gradient()."
        )
