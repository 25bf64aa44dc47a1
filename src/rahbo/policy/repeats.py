"""How often to evaluate a point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rahbo.arrays import Array
from rahbo.checks import is_number, is_whole
from rahbo.errors import SettingsError
from rahbo.model.joint import MeanNoiseModel

# Noise whose upper bound is this share of what is left to learn needs no second look.
NEGLIGIBLE = 0.01


class Repeats(ABC):
    """Decides how many evaluations a suggestion asks for."""

    @property
    @abstractmethod
    def first(self) -> int:
        """Repeats at a point of the initial design."""

    @property
    @abstractmethod
    def most(self) -> int:
        """A point with so many values has all it needs."""

    @abstractmethod
    def wanted(self, model: MeanNoiseModel, x: Array, count: int) -> int:
        """Repeats at a point ``x (d,)`` that the strategy chose and that has ``count`` values."""


@dataclass(frozen=True)
class Fixed(Repeats):
    """The same number of repeats at every point, the paper's k."""

    n_repeats: int = 5

    def __post_init__(self) -> None:
        k = self.n_repeats
        if not is_whole(k) or k < 1:
            raise SettingsError(f"repeats must be a whole number >= 1, got {k!r}.")
        object.__setattr__(self, "n_repeats", int(k))

    @property
    def first(self) -> int:
        """The same as everywhere."""
        return self.n_repeats

    @property
    def most(self) -> int:
        """Those of one round."""
        return self.n_repeats

    def wanted(self, model: MeanNoiseModel, x: Array, count: int) -> int:
        """The same as everywhere."""
        return self.n_repeats


@dataclass(frozen=True)
class Adaptive(Repeats):
    """As many repeats as pay: what they tell of f, for what they cost.

    m = argmax log(1 + m sigma^2 / rho^2) / (setup + m)

    A new point gets ``min`` at least, which its noise is learned from; a known one may get a
    single further evaluation, and only as long as the strategy prefers it to all others. Where
    the noise is negligible one evaluation is enough.

    Attributes:
        min: Repeats at a new point, at least.
        max: Repeats in one suggestion, at most.
        setup: What setting up a point costs, in evaluations.
    """

    min: int = 2
    max: int = 10
    setup: float = 0.0

    def __post_init__(self) -> None:
        for name in ("min", "max"):
            k = getattr(self, name)
            if not is_whole(k) or k < 1:
                raise SettingsError(f"Adaptive needs a whole number >= 1 for {name}, got {k!r}.")
        if self.min > self.max:
            raise SettingsError(f"Adaptive needs min <= max, got {self.min!r} > {self.max!r}.")
        if not (is_number(self.setup) and 0 <= self.setup < np.inf):
            raise SettingsError(f"Adaptive needs a number >= 0 for setup, got {self.setup!r}.")

    @property
    def first(self) -> int:
        """The least, for all points of the design."""
        return self.min

    @property
    def most(self) -> int:
        """Those of one suggestion at most."""
        return self.max

    def wanted(self, model: MeanNoiseModel, x: Array, count: int) -> int:
        """The number with the largest gain for its cost."""
        var = float(model.mean.predict(x[None])[1][0] ** 2)
        noise_var, upper = (
            max(float(model.noise.variance(x[None], z)[0]), model.min_noise_var)
            for z in (0.0, model.beta_noise)
        )
        least = 1 if upper <= NEGLIGIBLE * var else max(1, self.min - count)
        m = np.arange(least, self.max + 1)
        return int(m[np.argmax(np.log1p(m * var / noise_var) / (self.setup + m))])


def as_repeats(repeats: int | Repeats) -> Repeats:
    """A number means that many repeats at every point."""
    return repeats if isinstance(repeats, Repeats) else Fixed(repeats)
