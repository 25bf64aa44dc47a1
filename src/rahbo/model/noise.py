"""The model of the noise variance rho^2(x), learned from sample variances.

Notation: ``s2 (n,)`` sample variances from ``count (n,)`` repeats each, nu = count - 1. A noise
posterior is Gaussian in a latent quantity g(x) with a monotone link v = link(g):
    DirectNoise: v = g, the paper's GP on s^2 (eq. 12 to 15)
    LogNoise:    v = exp(g), positive by construction
so a bound is link(mu +- beta * sigma) and the centre is link(mu), for every model alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import polygamma, psi

from rahbo.arrays import Array, Index
from rahbo.checks import is_number
from rahbo.errors import DataError, SettingsError
from rahbo.model.gp import GP, Evidence, Hyperparameters, Hyperprior, fit
from rahbo.model.kernels import Kernel, Matern52
from rahbo.space import Space

# Sample variances below this share of the pooled one come from ties, not from quiet points.
TIED = 1e-6
TIED_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class SampleVariances:
    """Sample variances of the points that have at least two repeats.

    Attributes:
        X: ``(n, d)``.
        s2: ``(n,)``.
        count: Repeats behind each, ``(n,)``.
        floor: The smallest noise variance told apart from none.
        unit: User variance per unit of ``s2``, the square of the output scale.
    """

    X: Array
    s2: Array
    count: Index
    floor: float
    unit: float = 1.0


class NoisePosterior(ABC):
    """What is believed of the noise variance at any point.

    Attributes:
        gp: The posterior of g; None where the noise is certain.
    """

    gp: GP | None

    @abstractmethod
    def latent(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of g at ``X (m, d)``, each ``(m,)``."""

    @abstractmethod
    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation ``(m,)`` and their gradients in x, ``(m, d)``."""

    def link(self, g: Array) -> Array:
        """Noise variance from the latent quantity."""
        return g

    def link_slope(self, g: Array) -> Array:
        """Derivative of the link."""
        return np.ones_like(g)

    def variance(self, X: Array, z: float = 0.0) -> Array:
        """Noise variance ``z`` posterior standard deviations from the centre, ``(m,)``.

        ucb_var = link(mu + beta sigma), lcb_var = link(mu - beta sigma)    (eq. 14, 15)
        """
        mu, sigma = self.latent(X)
        return self.link(mu + z * sigma)

    @abstractmethod
    def with_pending(self, X: Array, count: Index) -> NoisePosterior:
        """The posterior once ``count (p,)`` repeats arrive at ``X (p, d)`` as expected."""


@dataclass(frozen=True, eq=False)
class DirectPosterior(NoisePosterior):
    """A GP on s^2 itself; ``eta_var`` gives the variance of s^2 for a repeat count."""

    gp: GP
    eta_var: Callable[[Index], Array]

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of rho^2."""
        return self.gp.predict(X)

    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation and gradients."""
        return self.gp.predict_with_gradient(X)

    def with_pending(self, X: Array, count: Index) -> NoisePosterior:
        """Condition on pending repeats; single evaluations carry no variance."""
        use = count > 1
        return replace(self, gp=self.gp.with_pending(X[use], self.eta_var(count[use])))


@dataclass(frozen=True, eq=False)
class LogPosterior(DirectPosterior):
    """A GP on log s^2."""

    def link(self, g: Array) -> Array:
        """Noise variance; the exponent is kept inside the range of floats."""
        return np.exp(np.clip(g, -650.0, 650.0))

    def link_slope(self, g: Array) -> Array:
        """Derivative of the link, the variance itself."""
        return self.link(g)


@dataclass(frozen=True, eq=False)
class KnownPosterior(NoisePosterior):
    """A noise variance that is certain: the bounds collapse to it (Section 3.2)."""

    function: Callable[[Array], Array]
    gp: None = None

    def latent(self, X: Array) -> tuple[Array, Array]:
        """The known variance and zero."""
        return self.function(X), np.zeros(len(X))

    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """The known variance, zero and central differences inside the cube."""
        v, zero = self.latent(X)
        gradient = np.empty_like(X)
        for j in range(X.shape[1]):
            above, below = X.copy(), X.copy()
            above[:, j] = np.minimum(X[:, j] + 1e-6, 1.0)
            below[:, j] = np.maximum(X[:, j] - 1e-6, 0.0)
            width = above[:, j] - below[:, j]
            gradient[:, j] = (self.function(above) - self.function(below)) / width
        return v, zero, gradient, np.zeros_like(X)

    def with_pending(self, X: Array, count: Index) -> NoisePosterior:
        """Nothing to learn."""
        return self


class NoiseModel(ABC):
    """Settings of a noise model; `learn` and `condition` are pure functions of data."""

    @abstractmethod
    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Hyperparameters from data, starting at those of an earlier fit."""

    @abstractmethod
    def condition(
        self, data: SampleVariances, hyperparameters: Hyperparameters | None
    ) -> NoisePosterior:
        """The posterior for given hyperparameters."""

    def bind(self, space: Space) -> NoiseModel:
        """The same model, once the space is known."""
        return self


@dataclass(frozen=True)
class LogNoise(NoiseModel):
    """A GP on the log noise variance, from the logs of the sample variances.

    log s^2 = log rho^2 + psi(nu/2) - log(nu/2) + error,  Var[error] = psi_1(nu/2)

    for Gaussian outcomes: shift and variance depend on the count alone, so unequal counts need
    no further care.

    Attributes:
        kernel: A kernel class, learned from data, or a kernel, taken as it is.
        lam: The regulariser lambda.
    """

    kernel: type[Kernel] | Kernel = Matern52
    lam: float = 1.0

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Fit the GP on log s^2 under a weak hyperprior."""
        g, error_var = self._targets(data)
        centre = float(np.average(g, weights=1.0 / error_var))
        prior = Hyperprior.weak(data.X.shape[1], mean=centre)
        return fit(Evidence(self.kernel, data.X, g, error_var, None, self.lam, prior), previous)

    def condition(
        self, data: SampleVariances, hyperparameters: Hyperparameters | None
    ) -> NoisePosterior:
        """The posterior of log rho^2."""
        g, error_var = self._targets(data)
        return LogPosterior(
            _posterior(data.X, g, error_var, self.lam, hyperparameters), self._error_var
        )

    def _targets(self, data: SampleVariances) -> tuple[Array, Array]:
        half_nu = 0.5 * (data.count - 1)
        g = np.log(np.maximum(_untied(data), data.floor)) - psi(half_nu) + np.log(half_nu)
        return g, self._error_var(data.count)

    @staticmethod
    def _error_var(count: Index) -> Array:
        return np.asarray(polygamma(1, 0.5 * (count - 1)))


@dataclass(frozen=True)
class DirectNoise(NoiseModel):
    """The paper's GP on s^2 (eq. 12 to 15): zero prior mean, marginal likelihood.

    The noise of s^2 is `sample_variance_var` at the upper bound of rho^2 where that is given, as
    in the paper's analysis. Without it one level is learned from the data, as in the paper's
    experiments, within a factor of ten of what Gaussian outcomes would give, and scaled by
    1 / (count - 1) where counts differ.

    Attributes:
        kernel: A kernel class, learned from data, or a kernel, taken as it is.
        max_noise_var: The upper bound of rho^2, or None to learn the noise of s^2.
        kurtosis: Of the noise; 3 if Gaussian, at most 3 if strictly sub-Gaussian.
        lam: The regulariser lambda.
    """

    kernel: type[Kernel] | Kernel = Matern52
    max_noise_var: float | None = None
    kurtosis: float = 3.0
    lam: float = 1.0

    def __post_init__(self) -> None:
        if self.max_noise_var is not None and not self.max_noise_var > 0:
            raise SettingsError(f"max_noise_var must be positive, got {self.max_noise_var!r}.")
        if not self.kurtosis >= 1:
            raise SettingsError(f"A kurtosis is at least 1, got {self.kurtosis!r}.")

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Fit the GP on s^2 by marginal likelihood."""
        noise_var, weights = self._eta(data)
        typical = float(np.mean(data.s2**2)) or 1.0
        # Ten points fit any noise level, none included, so the level is sought around the one
        # that Gaussian outcomes would give: weights 1 / (count - 1) times 2 rho^4.
        prior = replace(
            Hyperprior.flat(float(np.log(typical))),
            log_noise=float(np.log(2.0 * typical)),
            log_noise_reach=float(np.log(10.0)),
        )
        evidence = Evidence(self.kernel, data.X, data.s2, noise_var, weights, self.lam, prior)
        return fit(evidence, previous)

    def condition(
        self, data: SampleVariances, hyperparameters: Hyperparameters | None
    ) -> NoisePosterior:
        """The posterior of rho^2."""
        scale = 0.0 if hyperparameters is None else hyperparameters.noise_scale

        def eta_var(count: Index) -> Array:
            if self.max_noise_var is None:
                return np.maximum(scale / (count - 1), data.floor**2)
            bound = self.max_noise_var / data.unit
            return np.maximum(sample_variance_var(bound, count, self.kurtosis), data.floor**2)

        gp = _posterior(data.X, data.s2, eta_var(data.count), self.lam, hyperparameters)
        return DirectPosterior(gp, eta_var)

    def _eta(self, data: SampleVariances) -> tuple[Array, Array | None]:
        floor = np.full(len(data.s2), data.floor**2)
        if self.max_noise_var is None:
            return floor, 1.0 / (data.count - 1)
        bound = self.max_noise_var / data.unit
        return np.maximum(sample_variance_var(bound, data.count, self.kurtosis), floor), None


@dataclass(frozen=True)
class KnownNoise(NoiseModel):
    """A noise variance known in advance (Section 3.2, eq. 9).

    Attributes:
        noise_var: A function of the parameters (a dict in user units), a number if the noise is
            the same everywhere, or, for a list of candidates, one variance a row in the order of
            the rows.
    """

    noise_var: Callable[[dict[str, object]], float] | float | Sequence[float]

    def bind(self, space: Space) -> NoiseModel:
        """The model on the unit cube."""
        if callable(self.noise_var):
            function = self.noise_var
            return CubeNoise(lambda X: np.array([_known(function, space.decode(x)) for x in X]))
        if is_number(self.noise_var):
            constant = float(self.noise_var)
            return CubeNoise(lambda X: np.full(len(X), constant))
        finite = np.isfinite(space.size)
        rows = replace(space, valid=None).enumerate() if finite else np.empty((0, space.d))
        if not isinstance(self.noise_var, Sequence | np.ndarray):
            raise SettingsError(
                "KnownNoise needs a function of the parameters, a number, or one variance a "
                f"candidate, got {self.noise_var!r}."
            )
        if len(rows) != len(self.noise_var):
            raise SettingsError(
                f"KnownNoise got {len(self.noise_var)} variances for {len(rows)} candidates. "
                "Give one a row of Candidates(rows), or a function of the parameters."
            )
        table = {x.tobytes(): float(v) for x, v in zip(rows, self.noise_var, strict=True)}
        return CubeNoise(lambda X: np.array([table[x.tobytes()] for x in space.snap(X)]))

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Refuse: the space decides what the function's arguments are."""
        raise SettingsError("KnownNoise works on parameters: bind(space) it first.")

    def condition(
        self, data: SampleVariances, hyperparameters: Hyperparameters | None
    ) -> NoisePosterior:
        """Refuse, as `learn` does."""
        raise SettingsError("KnownNoise works on parameters: bind(space) it first.")


@dataclass(frozen=True)
class CubeNoise(NoiseModel):
    """A known noise variance as a function of points of the unit cube, in user units."""

    function: Callable[[Array], Array]

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Nothing to learn."""
        return None

    def condition(
        self, data: SampleVariances, hyperparameters: Hyperparameters | None
    ) -> NoisePosterior:
        """The certain posterior."""

        def internal(X: Array) -> Array:
            v = np.asarray(self.function(X), dtype=float)
            if v.shape != (len(X),) or not np.all(np.isfinite(v) & (v >= 0)):
                raise DataError(
                    "The known noise variance must be a finite number >= 0 at every point, "
                    f"got {v!r}."
                )
            return np.maximum(v / data.unit, data.floor)

        return KnownPosterior(internal)


def _untied(data: SampleVariances) -> Array:
    """Sample variances with those of tied repeats replaced by a small one, ``(n,)``.

    Repeats that agree to the last digit come from rounded or yes-no outcomes, whose noise is not
    zero. Its logarithm would be an outlier of many standard deviations, so a tie counts as the
    share TIED_SHARE / nu of the pooled variance. Without any noise there is nothing to share.
    """
    nu = data.count - 1
    pooled = float(np.average(data.s2, weights=nu))
    return np.where(data.s2 > TIED * pooled, data.s2, TIED_SHARE * pooled / nu)


def _known(function: Callable[[dict[str, object]], float], params: dict[str, object]) -> float:
    try:
        return float(function(params))
    except Exception as error:
        raise DataError(
            f"The known noise variance must be a number at every point, but {function!r} gave "
            f"{error!r} at {params!r}."
        ) from error


def sample_variance_var(
    noise_var: Array | float, count: Index | int, kurtosis: float = 3.0
) -> Array:
    """Variance of the sample variance of ``count`` repeats.

    Var[s^2] = mu_4 / k - (k - 3) rho^4 / (k (k - 1)),  mu_4 = kurtosis * rho^4    (A.2)

    For kurtosis 3, Gaussian, this is 2 rho^4 / (k - 1).
    """
    k = np.asarray(count, dtype=float)
    return np.asarray(noise_var) ** 2 * (kurtosis / k - (k - 3.0) / (k * (k - 1.0)))


def _posterior(
    X: Array, g: Array, var: Array, lam: float, hyperparameters: Hyperparameters | None
) -> GP:
    if hyperparameters is None:
        raise SettingsError("A learned noise model needs hyperparameters: call learn() first.")
    mean = hyperparameters.prior_mean
    return GP.condition(hyperparameters.kernel, X, g, var, lam=lam, prior_mean=mean)
