"""What the luckiest trial promised, and what a new value at its setting can be expected to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rahbo.analysis.blocks import BlockEffects
from rahbo.analysis.posterior import LEVEL, central_interval, centre, new_values
from rahbo.analysis.reportable import told
from rahbo.model import output_scale
from rahbo.numerics import Array, Justified
from rahbo.policy import NEGLIGIBLE, limits
from rahbo.state import State
from rahbo.trials import Trial, valued

# The probability of being within one standard deviation of a normal distribution's mean.
ONE_STD = 0.6827


@dataclass(frozen=True)
class Luckiest:
    """The best single value, and what to expect of a new one at the same setting.

    Attributes:
        trial: The trial that gave the value; of several, one at the recommended setting, or else
            the first.
        repeat: The repeat index of the value in its trial.
        params: The setting.
        value: The value.
        expected: The mean that the model predicts there.
        spread: One new value is within this of the expectation with a probability of about 68 %. It
            includes the noise, the differences between blocks, and what is unknown about both and
            about the mean.
        is_recommended: Whether the setting is the recommended one.
        keeps_limits: Whether the setting is sure to keep the limits of outcomes.
        is_luck: Whether the value promised more than the setting keeps: it is better than the
            expectation by more than ``spread``, and by more than 1 % of the spread of the means.
    """

    trial: int
    repeat: int
    params: dict[str, Any]
    value: float
    expected: float
    spread: float
    is_recommended: bool
    keeps_limits: bool
    is_luck: bool

    def negated(self) -> Luckiest:
        """Return the record of the negated objective."""
        return replace(self, value=-self.value, expected=-self.expected)

    def sentence(self, numbered: str) -> str:
        """Return what was promised and what to expect; empty if the value was no luck.

        Args:
            numbered: What trials are called: ``"trial"`` or ``"row"``.
        """
        if not self.is_luck:
            return ""
        ends = (self.expected - self.spread, self.expected + self.spread)
        show = Justified.by(self.expected, ends)
        numbers = f"{show.text(self.value)}; expect {show.text(self.expected)} ± "
        numbers += show.text(self.spread)
        if self.is_recommended:
            return f"Its luckiest value promised {numbers}."
        said = f"{numbered.capitalize()} {self.trial} promised {numbers} there"
        return (
            f"{said}." if self.keeps_limits else f"{said}, and it is not sure to keep its limits."
        )


def luckiest_of(state: State, recommended: tuple[int, ...]) -> Luckiest | None:
    """Return the luckiest trial, in the sense of maximisation; None if none satisfies ``valid``.

    Args:
        state: What the run knows.
        recommended: The trials of the recommended setting.
    """
    sign = told(state).observations.sign
    trials = valued(state.trials.values())
    trials = [t for t, ok in zip(trials, _valid(state, trials), strict=True) if ok]
    best = [(sign * max(sign * v for v in t.values.values()), t) for t in trials]
    if not best:
        return None
    # Of equal values, one at the recommended setting, or else the first.
    value, trial = max(best, key=lambda one: (sign * one[0], one[1].id in recommended, -one[1].id))
    repeat = next(i for i, told in trial.values.items() if told == value)
    expected, spread = fresh_value(state, trial.x)
    beyond = sign * value - expected
    is_luck = beyond > spread and beyond > NEGLIGIBLE * output_scale(told(state).observations)
    known = limits(state)
    kept = known is None or bool(known.kept(trial.x[None])[0])
    return Luckiest(
        trial.id, repeat, dict(trial.params), sign * value, expected, spread,
        trial.id in recommended, kept, is_luck,
    )  # fmt: skip


def _valid(state: State, trials: list[Trial]) -> list[bool]:
    if not trials:
        return []
    return [bool(ok) for ok in state.space.is_valid(np.array([t.x for t in trials]))]


def fresh_value(state: State, x: Array) -> tuple[float, float]:
    """Return the expectation of one new value at ``x (d,)``, and how far it may be from it.

    That is the further end of the interval that contains it with a probability of 68 %.
    """
    blocks = BlockEffects.of(state.model, LEVEL)
    drawn = new_values(state.model, x, 0.0 if blocks is None else blocks.std**2)
    expected = float(centre(state.model, x[None])[0][0])
    return expected, float(np.max(np.abs(central_interval(drawn, ONE_STD) - expected)))
