"""The interface of a model of the noise variance rho^2(x), and known noise.

Notation: ``s2 (n,)`` sample variances with ``dof (n,)`` degrees of freedom each, one less than
the repeats. A noise posterior is Gaussian in a latent quantity g(x) with a monotone link
v = link(g), so a bound is link(mu +- beta * sigma) and the centre is link(mu).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from rahbo.errors import DataError, SettingsError
from rahbo.model.confidence import Confidence
from rahbo.model.gp import GP
from rahbo.model.units import UNCHANGED, Units
from rahbo.numerics import Array, Index, Registered, is_number, not_negative, unwrapped
from rahbo.space import Space

# The largest noise variance in the model's units. The largest value that can be told is 1e60, so a
# larger one drowns everything. Its square is finite, and so is it in the user's units.
LARGEST_VAR = 1e125
# The step of differences in the cube.
STEP = 1e-6

Number = TypeVar("Number", float, Array)


@dataclass(frozen=True, eq=False)
class SampleVariances:
    """Unbiased estimates of the noise variance, point by point.

    Attributes:
        X: Points, ``(n, d)``.
        s2: Estimates, ``(n,)``.
        dof: Degrees of freedom of each estimate, ``(n,)``; repeats - 1 for a sample variance.
        floor: The smallest noise variance that differs from none.
        units: Converts between the model's numbers and the user's.
        typical: The variance of the outputs, to which a noise level is compared.
        rounding: Repeats that agree show only that the noise variance is not much above this,
            because values are rounded.
    """

    X: Array
    s2: Array
    dof: Array
    floor: float
    units: Units = UNCHANGED
    typical: float = 1.0
    rounding: float = 0.0

    def to_model(self, noise_var: Number) -> Number:
        """Return noise variances of the user in the model's units, at most `LARGEST_VAR`."""
        with np.errstate(over="ignore"):
            found: Number = np.minimum(self.units.var_to_model(noise_var), LARGEST_VAR)
        return found

    def bound(self, noise_var: float) -> float:
        """Return a bound on the noise variance as the fits see it, rounded like the data."""
        return float(self.units.rounded_var(self.to_model(noise_var)))


class NoisePosterior(ABC):
    """The posterior of the noise variance at any point.

    To write your own, define `latent` and, unless g is the variance itself, `link` and
    `link_slope`. Check it with `rahbo.testing.check_noise`.

    Attributes:
        gp: The posterior of g if it is a GP, which saves time and lets g differ between points.
        is_known: Whether the variance is certain.
    """

    gp: GP | None = None
    is_known: ClassVar[bool] = False

    @abstractmethod
    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return the mean and standard deviation of g at ``X (m, d)``, each ``(m,)``."""

    def centre(self, X: Array) -> Array:
        """Return the mean of g at ``X (m, d)``, ``(m,)``."""
        return self.latent(X)[0] if self.gp is None else self.gp.predict_mean(X)

    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Return the mean, standard deviation ``(m,)`` and their gradients in x, ``(m, d)``.

        By default the gradients are central differences in the cube.
        """
        gradients = np.empty_like(X), np.empty_like(X)
        for j in range(X.shape[1]):
            above, below = X.copy(), X.copy()
            above[:, j] = np.minimum(X[:, j] + STEP, 1.0)
            below[:, j] = np.maximum(X[:, j] - STEP, 0.0)
            width = above[:, j] - below[:, j]
            ends = zip(gradients, self.latent(above), self.latent(below), strict=True)
            for gradient, high, low in ends:
                gradient[:, j] = (high - low) / width
        return *self.latent(X), *gradients

    def link(self, g: Array) -> Array:
        """Return the noise variance for the latent quantity."""
        return g

    def link_slope(self, g: Array) -> Array:
        """Return the derivative of the link."""
        return np.ones_like(g)

    def variance(self, X: Array, z: float = 0.0) -> Array:
        """Return the noise variance ``z`` posterior standard deviations from the centre, ``(m,)``.

        ucb_var = link(mu + beta sigma), lcb_var = link(mu - beta sigma)    (eq. 14, 15)
        """
        if z == 0.0:
            return self.link(self.centre(X))
        mu, sigma = self.latent(X)
        return self.link(mu + z * sigma)

    def at_data(self, z: float = 0.0) -> Array:
        """Return the noise variance ``z`` deviations from the centre at the points of ``gp``."""
        gp = self.gp
        if gp is None:
            raise SettingsError("A known noise variance has no data.")
        g = gp.y - gp.residuals
        return self.link(g if z == 0.0 else g + z * gp.spread)

    def draws(
        self, X: Array, rng: np.random.Generator, n: int, stretch: Array | float = 1.0
    ) -> Array:
        """Return joint draws of g ``(n, m)`` at ``X (m, d)``, with deviations times ``stretch``.

        Without a GP, g is above or below its mean at all points together.
        """
        if self.gp is not None:
            return self.gp.draws(X, rng, n, stretch)
        mu, sigma = self.latent(X)
        z = rng.standard_normal((n, 1)) if sigma.any() else np.zeros((n, 1))
        return np.asarray(mu + stretch * z * sigma)

    def width(self, confidence: Confidence) -> float:
        """Return the width of the band of g, in posterior standard deviations."""
        return confidence.beta(self.gp)

    def with_pending(self, X: Array, count: Index) -> NoisePosterior:
        """Return the posterior as if ``count (p,)`` repeats at ``X (p, d)`` came as expected.

        By default they teach nothing.
        """
        return self

    def given(self, gp: GP) -> NoisePosterior:
        """Return the posterior with another GP, for a model that `NoiseModel.extends` it."""
        raise NotImplementedError(f"{type(self).__name__} has no GP to replace.")

    def at_level(self, t: float) -> NoisePosterior | None:
        """Return the posterior with all variances e^t times as large, where g = log rho^2.

        None, the default, if g is something else or the level needs no alternatives: intervals then
        rest on the band of this posterior alone.
        """
        return None


@dataclass(frozen=True, eq=False)
class KnownPosterior(NoisePosterior):
    """A known noise variance, to which the bounds collapse (Section 3.2)."""

    is_known: ClassVar[bool] = True

    function: Callable[[Array], Array]

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return the known variance and zero."""
        return self.function(X), np.zeros(len(X))

    def width(self, confidence: Confidence) -> float:
        """Return 0."""
        return 0.0


class NoiseModel(Registered, ABC):
    """Settings of a noise model; `learn` and `condition` are pure functions of data.

    To write your own, make a frozen dataclass with `condition`, and with `learn` if it has
    hyperparameters. Check it with `rahbo.testing.check_noise`.

    Attributes:
        takes_residuals: Whether the model can use estimates with less than one degree of freedom,
            which single evaluations give. It may then have to `condition` on no data.
        is_known: Whether nothing is learned: `condition` needs neither data nor hyperparameters.
        extends: Whether later rounds extend a posterior: if there is a GP, by `targets`. By default
            each round conditions on all data again.
    """

    takes_residuals: ClassVar[bool] = False
    is_known: ClassVar[bool] = False
    extends: ClassVar[bool] = False

    @property
    def is_zero(self) -> bool:
        """Whether there is no noise at all, so that no value is worth repeating."""
        return False

    def learn(self, data: SampleVariances, previous: Any = None) -> Any:
        """Return hyperparameters learned from data, starting from an earlier result.

        They may be of any kind, but not None. By default there are none.
        """
        return ()

    def scaled(self, hyperparameters: Any, factor: float) -> Any:
        """Return what was learned as a start for learning from ``factor`` times as many points."""
        return hyperparameters

    @abstractmethod
    def condition(
        self, data: SampleVariances, hyperparameters: Any, near: NoisePosterior | None = None
    ) -> NoisePosterior:
        """Return the posterior for hyperparameters that `learn` returned.

        A posterior ``near`` it, given other estimates at the same points, saves time.
        """

    def targets(
        self, data: SampleVariances, expected: Array, covariance: Array
    ) -> tuple[Array, Array]:
        """Return Gaussian targets and error variances that stand for sample variances, ``(p,)``.

        Args:
            data: Sample variances at p points.
            expected: What other data let expect of g there, ``(p,)``.
            covariance: The covariance of g there, ``(p, p)``.
        """
        raise NotImplementedError(f"{type(self).__name__} extends no posterior.")

    def known_var(self, X: Array) -> Array | None:
        """Return a known noise variance at ``X (m, d)`` in user units; None if it is learned."""
        return None

    def bind(self, space: Space) -> NoiseModel:
        """Return the model for a given space."""
        return self


@dataclass(frozen=True, repr=False)
class Squared:
    """The square of a function of the parameters that gives a standard deviation."""

    noise_std: Callable[[dict[str, object]], float]

    def __call__(self, params: dict[str, object]) -> float:
        """Return the variance."""
        found = unwrapped(self.noise_std(params))
        if not is_number(found):
            raise TypeError(f"noise_std must return a number, got {found!r}")
        return not_negative("noise_std", found) ** 2

    def __repr__(self) -> str:
        return repr(self.noise_std)


@dataclass(frozen=True)
class KnownNoise(NoiseModel):
    """A noise variance known in advance (Section 3.2, eq. 9).

    Attributes:
        noise_var: A function of the parameters (a dict in user units), a number if the noise is
            the same everywhere, or, for a list of candidates, one variance per row, in order.
    """

    is_known: ClassVar[bool] = True

    noise_var: Callable[[dict[str, object]], float] | float | Sequence[float]

    def __post_init__(self) -> None:
        if isinstance(self.noise_var, np.ndarray):
            # Arrays do not compare as a whole.
            object.__setattr__(self, "noise_var", self.noise_var.tolist())
        known = self.noise_var
        if isinstance(known, Sequence) and not isinstance(known, str):
            for value in known:
                not_negative("KnownNoise(noise_var)", value)
        elif is_number(known):
            not_negative("KnownNoise(noise_var)", known)
        elif not callable(known):
            raise SettingsError(
                "KnownNoise needs a function of the parameters, a number, or one variance for each "
                f"candidate, got {known!r}."
            )

    @property
    def is_zero(self) -> bool:
        """Whether the noise is given as 0 everywhere."""
        return not (callable(self.noise_var) or np.any(np.asarray(self.noise_var)))

    @classmethod
    def of_std(
        cls, noise_std: Callable[[dict[str, object]], float] | float | Sequence[float]
    ) -> KnownNoise:
        """Return the model of a known standard deviation, given in one of the same ways."""
        if callable(noise_std):
            return cls(Squared(noise_std))
        if isinstance(noise_std, Sequence):
            return cls(tuple(std * std for std in noise_std))
        return cls(noise_std * noise_std)

    def bind(self, space: Space) -> CubeNoise:
        """Return the model on the unit cube."""
        if callable(self.noise_var):
            function = self.noise_var
            return CubeNoise(lambda X: np.array([_known(function, space.decode(x)) for x in X]))
        if not isinstance(self.noise_var, Sequence):
            constant = float(self.noise_var)
            return CubeNoise(lambda X: np.full(len(X), constant))
        finite = np.isfinite(space.size)
        rows = replace(space, valid=None).enumerate() if finite else np.empty((0, space.d))
        if len(rows) != len(self.noise_var):
            raise SettingsError(
                f"Known noise needs one number for each of the {len(rows)} candidates, got "
                f"{len(self.noise_var)}. Correct the list, or pass a function of the parameters."
            )
        table = {x.tobytes(): float(v) for x, v in zip(rows, self.noise_var, strict=True)}
        return CubeNoise(lambda X: np.array([table[x.tobytes()] for x in space.snap(X)]))

    def condition(
        self, data: SampleVariances, hyperparameters: Any, near: NoisePosterior | None = None
    ) -> NoisePosterior:
        """Raise an error, because the space decides the arguments of the function."""
        raise SettingsError("KnownNoise works on parameters. Call bind(space) first.")


@dataclass(frozen=True)
class CubeNoise(NoiseModel):
    """A known noise variance as a function of points of the unit cube, in user units."""

    is_known: ClassVar[bool] = True
    extends: ClassVar[bool] = True

    function: Callable[[Array], Array]

    def known_var(self, X: Array) -> Array:
        """Return the values of the function."""
        return self.function(X)

    def condition(
        self, data: SampleVariances, hyperparameters: Any, near: NoisePosterior | None = None
    ) -> NoisePosterior:
        """Return the known posterior."""

        def internal(X: Array) -> Array:
            v = np.asarray(self.function(X), dtype=float)
            if v.shape != (len(X),) or not np.all(np.isfinite(v) & (v >= 0)):
                raise DataError(
                    "The known noise variance must be a finite number >= 0 at every point, "
                    f"got {v!r}."
                )
            return np.maximum(data.to_model(v), data.floor)

        return KnownPosterior(internal)


def _known(function: Callable[[dict[str, object]], float], params: dict[str, object]) -> float:
    try:
        found = unwrapped(function(params))
    except Exception as error:
        raise DataError(
            "The known noise must be a number at every point. It is asked for with the parameters "
            f"as a dict, but {function!r} raised {error!r} at {params!r}."
        ) from error
    if not is_number(found):
        raise DataError(
            f"The known noise must be a number at every point, but {function!r} gave {found!r} at "
            f"{params!r}. Return a float."
        )
    return float(found)
