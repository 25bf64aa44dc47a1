"""The conversion between the user's outputs and the model's: shift, scale and sign.

Outputs come in three forms. A user's ``y`` becomes an *outcome* ``sign y``, so that larger is
better: observations and risk measures work with outcomes. The model works with standardised
numbers ``(outcome - shift) / scale``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from rahbo.model.hyperprior import Hyperprior
from rahbo.numerics import Array, Registered
from rahbo.risk import RiskMeasure
from rahbo.trials import Observations

# The model's numbers are multiples of this share of the scale, well below the smallest noise that
# differs from none. So they are the same in all units of the user: the last digits of an output
# depend on its unit, most of all under a large offset, and fits and searches would magnify them.
STEP = 2.0**-20
# Differences of so small a share of the values are due to rounding.
ROUNDING = 2.0**-50
# With a smaller scale, a variance in the model's units could overflow: the largest noise variance
# that can be set is 1e120, and the square of the scale divides it.
SMALLEST_SCALE = 1e-90

Number = TypeVar("Number", float, Array)


@dataclass(frozen=True)
class Units:
    """Converts between the numbers of the model and those of the user.

    outcome = shift + scale f, user's output = sign outcome

    Attributes:
        shift: Subtracted from outcomes.
        scale: Divides the shifted outcomes.
        sign: 1 if larger outputs are better, -1 if smaller ones are.
        step: The model's numbers are multiples of it; 0 if they are not rounded.
    """

    shift: float
    scale: float
    sign: float = 1.0
    step: float = 0.0

    def to_model(self, outcome: Array) -> Array:
        """Return outcomes in the model's units."""
        return np.asarray(self._rounded((outcome - self.shift) / self.scale))

    def to_outcome(self, f: Number) -> Number:
        """Return values of the model as outcomes."""
        return self.shift + self.scale * f

    def signed(self, outcome: Number) -> Number:
        """Return outcomes in the user's sign."""
        return self.sign * outcome

    def to_user(self, f: Number) -> Number:
        """Return values of the model in the user's units and sign."""
        return self.signed(self.to_outcome(f))

    def var_to_model(self, var: Number) -> Number:
        """Return variances of outcomes in the model's units, not rounded."""
        return var / self.scale**2

    def rounded_var(self, var: Number) -> Number:
        """Return variances in the model's units, with their roots rounded."""
        if not self.step:
            return var
        root: Number = self._rounded(np.sqrt(var))
        return root**2

    def std_to_model(self, std: Number) -> Number:
        """Return standard deviations of outcomes in the model's units."""
        return self._rounded(std / self.scale)

    def _rounded(self, number: Number) -> Number:
        if not self.step:
            return number
        found: Number = np.round(number / self.step) * self.step
        return found

    def var_to_user(self, var: Number) -> Number:
        """Return variances of the model in user units; a sign does not change them."""
        return self.scale**2 * var

    def std_to_user(self, std: Number) -> Number:
        """Return standard deviations of the model in user units."""
        return self.scale * std

    def risk_to_model(self, risk: RiskMeasure) -> RiskMeasure:
        """Return the equivalent risk measure for the model's numbers."""
        return risk.standardised(self.shift, self.scale)


UNCHANGED = Units(0.0, 1.0)


class Outputs(Registered, ABC):
    """How outputs enter the model: their units and their hyperprior.

    Attributes:
        unchanged: Whether they enter as they were told, as in the paper.
    """

    unchanged: ClassVar[bool] = False

    @abstractmethod
    def units(self, observations: Observations) -> Units:
        """Return the units in which the model sees these observations."""

    @abstractmethod
    def hyperprior(self, d: int, y: Array) -> Hyperprior:
        """Return the prior of the mean GP's hyperparameters, given its outputs."""

    def scale(self, observations: Observations) -> float:
        """Return the size of the differences between outputs."""
        return output_scale(observations)

    def have_scale(self, observations: Observations) -> bool:
        """Return whether outputs show how large a difference in the user's units is."""
        return output_spread(observations) > 0.0


@dataclass(frozen=True)
class Standardized(Outputs):
    """Outputs with zero mean and unit variance, weak hyperpriors, and a learned prior mean."""

    def units(self, observations: Observations) -> Units:
        """Return units with the mean and standard deviation of the point means."""
        shift = float(np.mean(observations.mean))
        # A second pass removes the rounding error from the mean of large values.
        shift += float(np.mean(observations.mean - shift))
        return Units(shift, self.scale(observations), observations.sign, STEP)

    def hyperprior(self, d: int, y: Array) -> Hyperprior:
        """Return a weak prior."""
        return Hyperprior.weak(d)


@dataclass(frozen=True)
class Limited(Standardized):
    """Outputs with a limit, whose distance is the scale as long as all outputs are equal.

    Attributes:
        limit: The limit, in the sense of maximisation.
    """

    limit: float

    def scale(self, observations: Observations) -> float:
        """Return the size of the differences between outputs, or their distance to the limit."""
        values = observations.values
        away = abs(float(values[0]) - self.limit)
        return away if np.ptp(values) == 0.0 and away else output_scale(observations)


@dataclass(frozen=True)
class Raw(Outputs):
    """Unchanged outputs, zero prior mean and plain marginal likelihood, as in the paper."""

    unchanged: ClassVar[bool] = True

    def units(self, observations: Observations) -> Units:
        """Return units that leave outputs unchanged."""
        return replace(UNCHANGED, sign=observations.sign)

    def have_scale(self, observations: Observations) -> bool:
        """Return True: the kernel and its prior are in the user's units."""
        return True

    def hyperprior(self, d: int, y: Array) -> Hyperprior:
        """Return a flat prior, with no lengthscale beyond the width of the cube.

        With few points the likelihood is nearly flat there. If hyperparameters are fitted only
        once, an input dropped for a small gain stays dropped. A lengthscale that is too short only
        costs time.
        """
        size = float(np.mean(y**2))
        typical = max(size, SMALLEST_SCALE**2) if size else 1.0
        return replace(Hyperprior.flat(float(np.log(typical))), longest=1.0)


def output_scale(observations: Observations) -> float:
    """Return the spread of the point means; if it is zero, that of the repeats, or 1.

    It is at least `SMALLEST_SCALE`: finer differences count as nearly none.
    """
    spread = output_spread(observations)
    return max(spread, SMALLEST_SCALE) if spread else 1.0


def output_spread(observations: Observations) -> float:
    """Return the spread of the point means; if it is zero, that of the repeats, or 0."""
    mean = observations.mean
    if np.ptp(mean) > ROUNDING * np.max(np.abs(observations.told_values)):
        return float(np.std(mean))
    return float(np.sqrt(np.nanmax(observations.sample_var, initial=0.0)))
