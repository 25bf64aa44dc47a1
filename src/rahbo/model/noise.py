"""Models of the noise variance rho^2(x), learned from sample variances.

Notation: ``s2 (n,)`` sample variances with ``dof (n,)`` degrees of freedom each.

`DirectNoise` is the paper's GP on s^2 (eq. 12 to 15). `LogNoise` is a GP on g = log rho^2, positive
by construction. For Gaussian outcomes dof s^2 / rho^2 is chi-squared, so that
    log p(s^2 | g) = -(dof / 2) (g + s^2 exp(-g)) + const
which is concave in g. Its slope is at most dof / 2, however small s^2 is, so few degrees of freedom
say little. Laplace's approximation around the mode is the posterior of a GP with targets z and
error variances 1 / W:
    e = s^2 exp(-g),  W = (dof / 2) e,  z = g + (dof / 2) (e - 1) / W
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.special import polygamma, psi

from rahbo.errors import SettingsError
from rahbo.model.evidence import Evidence, Hyperparameters, fit
from rahbo.model.gp import GP, cholesky, solve
from rahbo.model.hyperprior import NOISE_STD, Hyperprior
from rahbo.model.kernels import RBF, Kernel, Matern52, check_kernel
from rahbo.model.variance import (
    LARGEST_VAR,
    CubeNoise,
    KnownNoise,
    KnownPosterior,
    NoiseModel,
    NoisePosterior,
    SampleVariances,
)
from rahbo.numerics import Array, Index, is_finite, positive

__all__ = [
    "CubeNoise",
    "DirectNoise",
    "DirectPosterior",
    "KnownNoise",
    "KnownPosterior",
    "LogNoise",
    "LogPosterior",
    "NoiseModel",
    "NoisePosterior",
    "SampleVariances",
    "level_posterior",
    "log_density",
    "sample_variance_var",
]

# A first fit alternates targets and fit this often, up to this many points. With more points the
# first targets are good enough, and a later fit starts close to its end.
PASSES, MANY = 2, 256
# The most Newton steps, and the gain per point, in nats, below which they stop.
NEWTON, NEWTON_SAFE, NEWTON_GAIN = 50, 500, 2e-3
HALVINGS = 20
# The prior variance of a log noise level.
LEVEL_VAR = NOISE_STD**2
# Curvature is clipped to these multiples of its expectation dof / 2.
LEAST, MOST = 0.1, 10.0
LARGEST_LOG_VAR = math.log(LARGEST_VAR)
# Far from the mode e may be enormous. Its square must be finite.
LARGEST_RATIO = 1e100
# A smaller mean square of s^2 counts as this, whose inverse is finite.
SMALLEST_SQUARE = 1e-250
# The shortest lengthscale, as a share of the typical one.
SHORTEST = 0.5
# Beyond this variance of g its mode says little, and exp(g) says nothing.
WIDEST = 2.0


@dataclass(frozen=True, eq=False)
class DirectPosterior(NoisePosterior):
    """A GP on s^2 itself; ``eta_var`` returns the variance of s^2 for a repeat count."""

    gp: GP
    eta_var: Callable[[Array | Index], Array]

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return the mean and standard deviation of rho^2."""
        return self.gp.predict(X)

    def latent_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Return the mean, the standard deviation and their gradients."""
        return self.gp.predict_with_gradient(X)

    def with_pending(self, X: Array, count: Index) -> NoisePosterior:
        """Return the posterior given pending repeats; a single evaluation has no variance."""
        use = count > 1
        return replace(self, gp=self.gp.with_pending(X[use], self.eta_var(count[use])))


@dataclass(frozen=True, eq=False)
class LogPosterior(DirectPosterior):
    """A GP on log rho^2."""

    def link(self, g: Array) -> Array:
        """Return the noise variance, at most `LARGEST_VAR`."""
        return np.exp(np.clip(g, -650.0, LARGEST_LOG_VAR))

    def link_slope(self, g: Array) -> Array:
        """Return the derivative of the link, which is the variance itself."""
        return self.link(g)


def level_posterior(mean: Hyperparameters, floor: float) -> LogPosterior:
    """Return the posterior of one noise level for all points, as learned with the mean GP.

    The ``floor`` is added to it. The log level is Gaussian, and its width follows from the
    curvature of the evidence.
    """
    d = mean.kernel.d
    var = float(np.clip(np.linalg.inv(mean.hessian)[-1, -1], 0.01, 0.9 * LEVEL_VAR))
    level = np.array([math.log(mean.noise_scale + floor)])
    # One observation of the level, precise enough to leave its prior with this variance.
    error_var = np.array([var * LEVEL_VAR / (LEVEL_VAR - var)])
    everywhere = RBF(np.full(d, 1e4), LEVEL_VAR)
    gp = GP.condition(everywhere, np.full((1, d), 0.5), level, error_var, prior_mean=level[0])
    return LogPosterior(gp, expected_error_var)


@dataclass(frozen=True)
class LogNoise(NoiseModel):
    """A GP on the log noise variance.

    Attributes:
        kernel: A kernel class, whose parameters are learned, or a kernel, which is used unchanged.
        lam: The regulariser lambda.
    """

    takes_residuals: ClassVar[bool] = True

    kernel: type[Kernel] | Kernel = Matern52
    lam: float = 1.0

    def __post_init__(self) -> None:
        check_kernel("LogNoise(kernel)", self.kernel)
        object.__setattr__(self, "lam", positive("LogNoise(lam)", self.lam))

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Fit kernel and prior mean to the targets at the mode, in one or more passes."""
        data = _floored(data)
        prior = self.hyperprior(data.X.shape[1], data.typical)
        found, (z, error_var) = previous, gaussian_targets(data)
        first = previous is None and len(data.s2) <= MANY
        for _ in range(PASSES if first else 1):
            if found is not None:
                K = found.kernel.among(data.X)[0]
                g = self._mode(data, found, K, gaussian_targets(data))
                z, error_var = _targets(g, data)
            found = fit(Evidence(self.kernel, data.X, z, error_var, None, self.lam, prior), found)
        return found

    def hyperprior(self, d: int, typical: float) -> Hyperprior:
        """Return the hyperprior, with lengthscales about three times those of the outputs.

        Data say little about the noise, and apparent detail is mostly chance. The prior level is
        about a tenth of the variance of the outputs, as for a level learned with the mean GP,
        whatever a few repeats show. Much shorter lengthscales are ruled out: they would explain an
        outlier as noise at its own point alone, and its neighbours would look quiet.
        """
        prior = Hyperprior.weak(d)
        centre = prior.log_lengthscale + math.log(3.0)
        return replace(
            prior,
            log_lengthscale=centre,
            shortest=SHORTEST * math.exp(centre),
            log_lengthscale_std=1.0,
            mean=prior.log_noise + math.log(typical),
            mean_var=prior.log_noise_std**2,
        )

    def condition(
        self, data: SampleVariances, hyperparameters: Hyperparameters | None
    ) -> NoisePosterior:
        """Return the posterior of log rho^2, or its prior mean if there are no data."""
        hyper = _needed(hyperparameters)
        if len(data.s2) == 0:
            level = math.exp(min(hyper.prior_mean, LARGEST_LOG_VAR))
            return KnownPosterior(lambda X: np.full(len(X), level))
        data = _floored(data)
        K = hyper.kernel.among(data.X)[0]
        targets = gaussian_targets(data)
        gp, targets = self._laplace(data, hyper, K.copy(), targets)
        # With few degrees of freedom g has a longer upper tail, and its mode lies below its mean.
        # Using E[exp(-g)] = exp(-mean + var / 2) for exp(-g) corrects most of that.
        var = targets[1] - targets[1] ** 2 / gp.leave_one_out()[1]
        spread = replace(data, s2=data.s2 * np.exp(0.5 * np.clip(var, 0.0, WIDEST)))
        return LogPosterior(self._laplace(spread, hyper, K, targets)[0], expected_error_var)

    def _laplace(
        self, data: SampleVariances, hyper: Hyperparameters, K: Array, start: tuple[Array, Array]
    ) -> tuple[GP, tuple[Array, Array]]:
        """Return the posterior of g around its mode, and the targets there; overwrite ``K``."""
        z, error_var = _targets(self._mode(data, hyper, K, start), data)
        gp = GP.condition(
            hyper.kernel, data.X, z, error_var, lam=self.lam, prior_mean=hyper.prior_mean, K=K
        )
        return gp, (z, error_var)

    def _mode(
        self,
        data: SampleVariances,
        hyper: Hyperparameters,
        K: Array,
        start: tuple[Array, Array],
    ) -> Array:
        """Return the g ``(n,)`` of largest posterior density, or close to it.

        The clipped curvature makes for few steps, but steps that are too long where some s^2 are
        far above what their neighbours show. If they end below the prior mean, the true curvature
        is used instead. It never fails, because the density is concave.
        """
        prior = log_density(np.full(len(data.s2), hyper.prior_mean), data)
        g, height = self._newton(data, hyper, K, start, NEWTON, MOST)
        if not height >= prior:
            g, _ = self._newton(data, hyper, K, start, NEWTON_SAFE, LARGEST_RATIO, prior)
        return g

    def _newton(
        self,
        data: SampleVariances,
        hyper: Hyperparameters,
        K: Array,
        start: tuple[Array, Array],
        steps: int,
        most: float,
        height: float = -np.inf,
    ) -> tuple[Array, float]:
        """Return g ``(n,)`` and its log posterior, by Newton's method with halved steps.

        It starts from the given targets and stops one step early, because the posterior given the
        targets is one more step. With A = K + lam / W, g = m + K a:
        a = A^-1 (z - m), log posterior = log p(s^2 | g) - (lam / 2) a^T K a
        """
        m, a = hyper.prior_mean, np.zeros(len(data.s2))
        g = np.full(len(a), m)
        z, error_var = start
        for _ in range(steps):
            chol = cholesky(K.copy(), self.lam * error_var)
            step = solve(chol, (z - m)[:, None])[:, 0] - a
            share, before, last = 1.0, height, a
            for _ in range(HALVINGS):
                a = last + share * step
                g = m + dsymv(1.0, K.T, a, lower=1)
                height = log_density(g, data) - 0.5 * self.lam * float(a @ (g - m))
                if height >= before:
                    break
                share *= 0.5
            z, error_var = _targets(g, data, most)
            # The curvature is at least 1 / error_var, so the slope bounds the remaining gain.
            slope = (z - g) / error_var - self.lam * a
            if 0.5 * float(slope**2 @ error_var) < NEWTON_GAIN * len(g):
                break
        return g, height


def _floored(data: SampleVariances) -> SampleVariances:
    """Return the data with sample variances raised to the smallest that differs from none."""
    return replace(data, s2=np.maximum(data.s2, max(data.floor, data.rounding)))


def gaussian_targets(data: SampleVariances) -> tuple[Array, Array]:
    """Return log s^2 minus its bias, and its variance, for chi-squared s^2."""
    half = 0.5 * np.maximum(data.dof, 1.0)
    z = np.log(np.maximum(data.s2, data.floor)) - psi(half) + np.log(half)
    return z, np.asarray(polygamma(1, half))


def _targets(g: Array, data: SampleVariances, most: float = MOST) -> tuple[Array, Array]:
    """Return the targets z and error variances 1 / W at ``g (n,)``, each ``(n,)``."""
    e = _ratio(data.s2, g)
    curvature = np.clip(e, LEAST, most)
    return g + (e - 1.0) / curvature, 2.0 / (data.dof * curvature)


def log_density(g: Array, data: SampleVariances) -> float:
    """Return log p(s^2 | g) up to a constant, with s^2 at least the smallest that can be told."""
    e = _ratio(_floored(data).s2, g)
    return -0.5 * float(data.dof @ (g + e))


def _ratio(s2: Array, g: Array) -> Array:
    """Return e = s^2 exp(-g), at most `LARGEST_RATIO`."""
    with np.errstate(over="ignore"):
        return np.minimum(s2 * np.exp(np.clip(-g, -650.0, 650.0)), LARGEST_RATIO)


def expected_error_var(count: Array | Index) -> Array:
    """Return 1 / W of ``count (m,)`` repeats that turn out as expected."""
    return 2.0 / (np.asarray(count, dtype=float) - 1.0)


@dataclass(frozen=True)
class DirectNoise(NoiseModel):
    """The paper's GP on s^2 (eq. 12 to 15): zero prior mean, marginal likelihood.

    If an upper bound of rho^2 is given, the noise of s^2 is `sample_variance_var` at that bound, as
    in the paper's analysis. Otherwise one level is learned from the data, as in the paper's
    experiments, within a factor of ten of the level for Gaussian outcomes. It is scaled by
    1 / (count - 1) if counts differ.

    Attributes:
        kernel: A kernel class, whose parameters are learned, or a kernel, which is used unchanged.
        max_noise_var: The upper bound of rho^2, or None to learn the noise of s^2.
        kurtosis: Kurtosis of the noise: 3 if Gaussian, at most 3 if strictly sub-Gaussian.
        lam: The regulariser lambda.
    """

    kernel: type[Kernel] | Kernel = Matern52
    max_noise_var: float | None = None
    kurtosis: float = 3.0
    lam: float = 1.0

    def __post_init__(self) -> None:
        check_kernel("DirectNoise(kernel)", self.kernel)
        object.__setattr__(self, "lam", positive("DirectNoise(lam)", self.lam))
        if self.max_noise_var is not None:
            positive("DirectNoise(max_noise_var)", self.max_noise_var)
        if not (is_finite(self.kurtosis) and self.kurtosis >= 1):
            raise SettingsError(
                f"DirectNoise(kurtosis) must be at least 1, got {self.kurtosis!r}. "
                "Pass 3.0 for Gaussian noise."
            )

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Fit the GP on s^2 by marginal likelihood."""
        noise_var, weights = self._eta(data)
        size = float(np.mean(data.s2**2))
        typical = max(size, SMALLEST_SQUARE) if size else 1.0
        # Ten points fit any noise level, even none. So the search is centred at the level for
        # Gaussian outcomes: weights 1 / (count - 1) times 2 rho^4.
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
        """Return the posterior of rho^2."""
        scale = 0.0 if hyperparameters is None else hyperparameters.noise_scale

        def eta_var(count: Array | Index) -> Array:
            if self.max_noise_var is None:
                return np.maximum(scale / (count - 1), data.floor**2)
            bound = data.to_model(self.max_noise_var)
            return np.maximum(sample_variance_var(bound, count, self.kurtosis), data.floor**2)

        hyper = _needed(hyperparameters)
        gp = GP.condition(
            hyper.kernel,
            data.X,
            data.s2,
            eta_var(data.dof + 1),
            lam=self.lam,
            prior_mean=hyper.prior_mean,
        )
        return DirectPosterior(gp, eta_var)

    def _eta(self, data: SampleVariances) -> tuple[Array, Array | None]:
        floor = np.full(len(data.s2), data.floor**2)
        if self.max_noise_var is None:
            return floor, 1.0 / data.dof
        bound = data.to_model(self.max_noise_var)
        return np.maximum(sample_variance_var(bound, data.dof + 1, self.kurtosis), floor), None


def sample_variance_var(
    noise_var: Array | float, count: Array | Index | int, kurtosis: float = 3.0
) -> Array:
    """Return the variance of the sample variance of ``count`` repeats.

    Var[s^2] = mu_4 / k - (k - 3) rho^4 / (k (k - 1)),  mu_4 = kurtosis * rho^4    (A.2)

    For kurtosis 3, Gaussian, this is 2 rho^4 / (k - 1).
    """
    k = np.asarray(count, dtype=float)
    return np.asarray(noise_var) ** 2 * (kurtosis / k - (k - 3.0) / (k * (k - 1.0)))


def _needed(hyperparameters: Hyperparameters | None) -> Hyperparameters:
    if hyperparameters is None:
        raise SettingsError("A learned noise model needs hyperparameters: call learn() first.")
    return hyperparameters
