"""Whether the model can be trusted: how well it predicts each point from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betaincinv, ndtr

from rahbo.analysis.posterior import Interval
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array

CalibrationAnswer = Literal["calibrated", "too narrow", "too wide", "cannot tell"]

# The nominal band, the level of the interval of its coverage, and the points to speak of it.
BAND, COVERAGE_LEVEL, MIN_RESIDUALS = 0.9, 0.95, 20


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The sample mean of each point, and its prediction from the other points, each ``(n,)``.

    Attributes:
        measured: The sample means.
        predicted: The predictions from the other points.
        std: The standard deviation of the difference, including the noise of the sample mean.
    """

    measured: Array
    predicted: Array
    std: Array

    @property
    def standardised(self) -> Array:
        """The differences in units of their standard deviation, ``(n,)``."""
        return np.asarray((self.measured - self.predicted) / self.std)

    @property
    def levels(self) -> Array:
        """The level of the smallest central band that contains each sample mean, ``(n,)``."""
        return np.asarray(2.0 * ndtr(np.abs(self.standardised)) - 1.0)

    def inside(self, level: float) -> float:
        """Return the share of points inside their band of a nominal level."""
        return float(np.mean(self.levels <= level))


@dataclass(frozen=True)
class Calibration:
    """Whether the model's bands of the mean cover what they promise, leaving each point out.

    Attributes:
        answer: Depends on whether the interval of ``inside`` contains 0.9.
        inside: Share of the sample means inside the nominal 90 % band predicted from the others.
        inside_interval: 95 % interval of ``inside`` (Clopper and Pearson's, which takes the points
            as independent).
        rms: Root mean square of the standardised residuals; 1 if calibrated.
        n_points: Number of points, each left out in turn.
    """

    answer: CalibrationAnswer
    inside: float
    inside_interval: Interval
    rms: float
    n_points: int

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.n_points == 1:
            return "Cannot tell: there is only one point."
        low, high = self.inside_interval
        found = (
            f"{100 * self.inside:.0f} % of {self.n_points:,} points (95 % interval "
            f"[{100 * low:.0f} %, {100 * high:.0f} %]) lie in the 90 % band that the model "
            "predicts from the other points. The RMS standardised residual is "
            f"{self.rms:.2f}, ideally 1"
        )
        words = {
            "calibrated": f"Yes, as far as the data show: {found}.",
            "too narrow": f"No, its bands are too narrow: {found}. Trust its intervals less.",
            "too wide": (
                f"Its bands are wider than necessary: {found}. They use the upper bound on the "
                "noise, to be safe."
            ),
            "cannot tell": f"Cannot tell yet: {found}.",
        }
        return words[self.answer]


def left_out_of(model: MeanNoiseModel) -> LeftOut:
    """Leave out each point in turn, with the hyperparameters of all data. In user units."""
    residual, var = model.mean.leave_one_out()
    units, mean = model.units, model.observations.mean
    predicted = units.to_user(units.to_model(mean) - residual)
    return LeftOut(units.signed(mean), predicted, units.std_to_user(np.sqrt(var)))


def calibration_of(model: MeanNoiseModel, differ: bool) -> Calibration:
    """Judge the model by its predictions of points that were left out.

    Args:
        model: What is believed.
        differ: Whether there are values that differ. If not, nothing can be told.
    """
    record = left_out_of(model)
    n, hits = len(record.levels), int(np.sum(record.levels <= BAND))
    tail = (1.0 - COVERAGE_LEVEL) / 2.0
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1.0 - tail)) if hits < n else 1.0
    answer: CalibrationAnswer = "calibrated" if n >= MIN_RESIDUALS else "cannot tell"
    if not differ:
        answer = "cannot tell"
    elif high < BAND:
        answer = "too narrow"
    elif low > BAND:
        answer = "too wide"
    rms = float(np.sqrt(np.mean(record.standardised**2)))
    return Calibration(answer, hits / n, Interval(low, high), rms, n)
