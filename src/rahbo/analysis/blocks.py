"""What is known of blocks: how much they differ, and the effect of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from rahbo.analysis.posterior import Interval
from rahbo.model import Effects, MeanNoiseModel
from rahbo.numerics import Justified

# Of many blocks, so many are printed.
SHOWN = 12


@dataclass(frozen=True)
class BlockEffects:
    """How much blocks differ, in user units.

    An effect is what the values of a block have in common beside the mean of their settings. The
    effects are measured from the mean over all blocks of a given set, or else from that over all
    values.

    Attributes:
        std: The standard deviation between blocks.
        std_interval: Its interval.
        effects: The effect of each block.
        effect_stds: The standard deviation of what is unknown about each effect.
        level: Probability of the intervals.
    """

    std: float
    std_interval: Interval
    effects: Mapping[str, float]
    effect_stds: Mapping[str, float]
    level: float

    @classmethod
    def of(cls, model: MeanNoiseModel, level: float) -> BlockEffects | None:
        """Return what a model knows of blocks; None if values belong to fewer than two.

        One block alone shows nothing of how much blocks differ.
        """
        known, units = model.blocks, model.units
        if known is None or len(known.names) < 2:
            return None
        tails = np.array([0.5 * (1.0 - level), 0.5, 0.5 * (1.0 + level)])
        low, middle, high = units.std_to_user(known.std_quantiles(tails)).tolist()
        effects = units.std_to_user(known.mean).tolist()
        unknown = units.std_to_user(_stds(known)).tolist()
        return cls(
            middle,
            Interval(low, high),
            dict(zip(known.names, effects, strict=True)),
            dict(zip(known.names, unknown, strict=True)),
            float(level),
        )

    @property
    def intervals(self) -> dict[str, Interval]:
        """The interval of the effect of each block."""
        width = float(ndtri(0.5 * (1.0 + self.level)))
        return {
            name: Interval(effect - width * std, effect + width * std)
            for (name, effect), std in zip(
                self.effects.items(), self.effect_stds.values(), strict=True
            )
        }

    def negated(self) -> BlockEffects:
        """Return the record of the negated objective."""
        return replace(self, effects={name: -effect for name, effect in self.effects.items()})

    @property
    def summary(self) -> str:
        """The standard deviation between blocks in one line."""
        std, low, high = self.std_interval.texts(self.std)
        return (
            f"block std  {std:>12}   {100 * self.level:g} % interval [{low}, {high}] between "
            f"{len(self.effects)} blocks"
        )

    def __str__(self) -> str:
        rows = [
            f"{name}: {_signed(effect, self.effect_stds[name])}"
            for name, effect in list(self.effects.items())[:SHOWN]
        ]
        more = len(self.effects) - len(rows)
        return "\n".join([self.summary, *rows, *([f"and {more} more"] if more else [])])


def _signed(effect: float, std: float) -> str:
    """Return an effect with its sign and its standard deviation, in as many decimals."""
    show = Justified.by(effect, (effect - std, effect + std))
    return f"{'-' if effect < 0.0 else '+'}{show.text(abs(effect))} ± {show.text(std)}"


def _stds(effects: Effects) -> np.ndarray:
    return np.sqrt(np.maximum(effects.covariance.diagonal(), 0.0))
