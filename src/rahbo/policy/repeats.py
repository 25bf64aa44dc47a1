"""How often to evaluate a point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, Registered, is_number, is_whole
from rahbo.trials import MOST_REPEATS, Observations

# If repeats at this many points agree to within this share of the spread, the noise is negligible.
NEGLIGIBLE, QUIET_POINTS = 0.01, 4
# Values after which a setting may be used. With five, the noise std is between 0.65 and 2.4 times
# the sample std (90 %, chi-squared with 4 degrees of freedom; with two it is 0.5 to 16 times). A
# fault that occurs one time in ten has shown itself with a probability of 0.41.
CONFIRMED = 5


class Repeats(Registered, ABC):
    """Decides how many evaluations a suggestion asks for.

    To write your own, make a frozen dataclass, and check it with `rahbo.testing.check_repeats`.

    Attributes:
        is_open: Whether the run may ask for fewer repeats than the rule wants, by `at_most`, and
            keep some evaluations to confirm what it recommends.
    """

    is_open: ClassVar[bool] = False

    @abstractmethod
    def initial(self, observations: Observations | None) -> int:
        """Return the repeats at the next point of the initial design, given the data so far."""

    @property
    @abstractmethod
    def most(self) -> int:
        """The number of values after which a point needs no more."""

    @property
    def population(self) -> int | None:
        """How many values exist at a point, if their number is finite; else None."""
        return None

    @abstractmethod
    def wanted(self, model: MeanNoiseModel, x: Array) -> int:
        """Return the repeats at a point ``x (d,)`` that the strategy chose."""

    def at_most(self, n: int) -> Repeats:
        """Return the rule with no more than ``n`` repeats, which an open number must allow."""
        return self


@dataclass(frozen=True)
class Fixed(Repeats):
    """The same number of repeats at every point, the paper's k."""

    n_repeats: int = 5

    def __post_init__(self) -> None:
        k = self.n_repeats
        if not is_whole(k) or k < 1:
            raise SettingsError(f"repeats must be a whole number >= 1, got {k!r}.")
        _check_most("repeats", k)
        object.__setattr__(self, "n_repeats", int(k))

    def initial(self, observations: Observations | None) -> int:
        """Return the fixed number."""
        return self.n_repeats

    @property
    def most(self) -> int:
        """The fixed number."""
        return self.n_repeats

    def wanted(self, model: MeanNoiseModel, x: Array) -> int:
        """Return the fixed number."""
        return self.n_repeats


@dataclass(frozen=True)
class Folds(Fixed):
    """The same folds at every point: a fixed number of values, and the same ones if asked again.

    When a point has all of them, its mean and variance are known exactly, and it is not proposed
    again.
    """

    @property
    def population(self) -> int:
        """The number of folds."""
        return self.n_repeats


@dataclass(frozen=True)
class Adaptive(Repeats):
    """As many repeats as pay: the most information about f for its cost.

    m = argmax log(1 + m sigma^2 / rho^2) / (setup + m)

    Without a set-up cost that is one evaluation at a time, at a new or a known point, wherever the
    strategy expects most. Then only points of the initial design are repeated at once, so that the
    noise can be learned.

    Attributes:
        min: Repeats at a point of the initial design, or 1 once the noise proves negligible.
        max: Largest number of repeats in one suggestion.
        setup: The cost of setting up a point, in evaluations.
    """

    is_open: ClassVar[bool] = True

    min: int = 2
    max: int = 10
    setup: float = 0.0

    def __post_init__(self) -> None:
        for name in ("min", "max"):
            k = getattr(self, name)
            if not is_whole(k) or k < 1:
                raise SettingsError(f"Adaptive needs a whole number >= 1 for {name}, got {k!r}.")
            _check_most(f"Adaptive({name})", k)
        if self.min > self.max:
            raise SettingsError(f"Adaptive needs min <= max, got {self.min!r} > {self.max!r}.")
        if not (is_number(self.setup) and 0 <= self.setup < np.inf):
            raise SettingsError(f"Adaptive needs a number >= 0 for setup, got {self.setup!r}.")

    def initial(self, observations: Observations | None) -> int:
        """Return ``min``, or 1 once the noise proves negligible."""
        return 1 if observations is not None and is_quiet(observations) else self.min

    @property
    def most(self) -> int:
        """The largest number of repeats in one suggestion."""
        return self.max

    def wanted(self, model: MeanNoiseModel, x: Array) -> int:
        """Return the number with the largest gain for its cost."""
        if self.setup == 0.0:
            return 1
        var = model.mean.predict(x[None])[1] ** 2
        noise_var = np.maximum(model.noise.variance(x[None]), model.min_noise_var)
        m = np.arange(1, self.max + 1)
        return int(m[np.argmax(np.log1p(m * (var / noise_var)) / (self.setup + m))])

    def at_most(self, n: int) -> Adaptive:
        """Return the rule with lower limits."""
        return replace(self, min=min(self.min, n), max=min(self.max, n))


def _check_most(name: str, k: int) -> None:
    if k > MOST_REPEATS:
        raise SettingsError(
            f"{name} must be at most {MOST_REPEATS}, got {k!r}. Ask for fewer; you may tell more."
        )


def is_quiet(observations: Observations) -> bool:
    """Return whether the noise is negligible: repeats agree at points whose means all differ.

    If some means are equal too, the outcome has few values, such as yes and no, and repeats agree
    by chance.
    """
    repeated = observations.count > 1
    if np.sum(repeated) < QUIET_POINTS:
        return False
    noise_std = float(np.sqrt(observations.sample_var[repeated].max()))
    means = observations.mean[repeated]
    spread = float(np.subtract(*np.quantile(means, [0.75, 0.25])))
    return len(np.unique(means)) == len(means) and noise_std <= NEGLIGIBLE * spread


def as_repeats(repeats: int | Repeats) -> Repeats:
    """Return a `Repeats`; an int means that many repeats at every point."""
    return repeats if isinstance(repeats, Repeats) else Fixed(repeats)
