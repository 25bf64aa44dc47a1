"""How often to evaluate a point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, is_number, is_whole
from rahbo.trials import Observations

# Repeats that agree to this share of the spread, at so many points, show no noise worth learning.
NEGLIGIBLE, QUIET_POINTS = 0.01, 4
# Values after which a setting may be used. With five, the noise std is between 0.65 and 2.4 times
# the sample std (90 %, chi-squared with 4 degrees of freedom; with two it is 0.5 to 16 times), and
# something that goes wrong one time in ten has shown itself with a probability of 0.41.
CONFIRMED = 5


class Repeats(ABC):
    """Decides how many evaluations a suggestion asks for."""

    @abstractmethod
    def initial(self, observations: Observations | None) -> int:
        """Repeats at a point of the initial design, after those observed; None for none yet."""

    @property
    @abstractmethod
    def most(self) -> int:
        """A point with so many values has all it needs."""

    @property
    def population(self) -> int | None:
        """How many values a point has in all, if it has no more than that."""
        return None

    @abstractmethod
    def wanted(self, model: MeanNoiseModel, x: Array) -> int:
        """Repeats at a point ``x (d,)`` that the strategy chose."""


@dataclass(frozen=True)
class Fixed(Repeats):
    """The same number of repeats at every point, the paper's k."""

    n_repeats: int = 5

    def __post_init__(self) -> None:
        k = self.n_repeats
        if not is_whole(k) or k < 1:
            raise SettingsError(f"repeats must be a whole number >= 1, got {k!r}.")
        object.__setattr__(self, "n_repeats", int(k))

    def initial(self, observations: Observations | None) -> int:
        """The same as everywhere."""
        return self.n_repeats

    @property
    def most(self) -> int:
        """Those of one round."""
        return self.n_repeats

    def wanted(self, model: MeanNoiseModel, x: Array) -> int:
        """The same as everywhere."""
        return self.n_repeats


@dataclass(frozen=True)
class Folds(Fixed):
    """The same folds for every point: so many values, and the same ones if asked again.

    A point that has them all is known for certain, its variance too, so it is not proposed again.
    """

    @property
    def population(self) -> int:
        """The number of folds."""
        return self.n_repeats


@dataclass(frozen=True)
class Adaptive(Repeats):
    """As many repeats as pay: what they tell of f, for what they cost.

    m = argmax log(1 + m sigma^2 / rho^2) / (setup + m)

    Without a set-up cost that is one evaluation at a time, at a new point or again at a known one,
    wherever the strategy expects most. Only the initial design is repeated: from there the noise
    is first learned.

    Attributes:
        min: Repeats at a point of the initial design; one where the noise proves negligible.
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

    def initial(self, observations: Observations | None) -> int:
        """The least, or one once the noise proves negligible."""
        return 1 if observations is not None and is_quiet(observations) else self.min

    @property
    def most(self) -> int:
        """Those of one suggestion at most."""
        return self.max

    def wanted(self, model: MeanNoiseModel, x: Array) -> int:
        """The number with the largest gain for its cost."""
        var = float(model.mean.predict(x[None])[1][0] ** 2)
        noise_var = max(float(model.noise.variance(x[None])[0]), model.min_noise_var)
        m = np.arange(1, self.max + 1)
        return int(m[np.argmax(np.log1p(m * var / noise_var) / (self.setup + m))])


def is_quiet(observations: Observations) -> bool:
    """Whether the noise is negligible: repeats agree at some points whose means all differ.

    Where means are equal too, the outcomes are few, yes or no for example, and ties are luck.
    """
    repeated = observations.count > 1
    if np.sum(repeated) < QUIET_POINTS:
        return False
    noise_std = float(np.sqrt(observations.sample_var[repeated].max()))
    means = observations.mean[repeated]
    spread = float(np.subtract(*np.quantile(means, [0.75, 0.25])))
    return len(np.unique(means)) == len(means) and noise_std <= NEGLIGIBLE * spread


def as_repeats(repeats: int | Repeats) -> Repeats:
    """A number means that many repeats at every point."""
    return repeats if isinstance(repeats, Repeats) else Fixed(repeats)
