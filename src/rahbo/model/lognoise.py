"""The default model of the noise variance: a GP on its logarithm.

Notation: ``s2 (n,)`` sample variances with ``dof (n,)`` degrees of freedom each.

A GP on g = log rho^2 is positive by construction. For Gaussian outcomes dof s^2 / rho^2 is
chi-squared, so that
    log p(s^2 | g) = -(dof / 2) (g + s^2 exp(-g)) + const
which is concave in g. Its slope is at most dof / 2, however small s^2 is, so few degrees of freedom
say little. Laplace's approximation around the mode is the posterior of a GP with targets z and
error variances 1 / W:
    e = s^2 exp(-g),  W = (dof / 2) e,  z = g + (dof / 2) (e - 1) / W
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.special import polygamma, psi

from rahbo.model.evidence import Evidence, Hyperparameters, fit
from rahbo.model.gp import GP, cholesky, inverse_diagonal, solve
from rahbo.model.hyperprior import NOISE_STD, Hyperprior
from rahbo.model.kernels import RBF, Kernel, Matern52, require_columns, require_kernel
from rahbo.model.noise import DirectPosterior, needed
from rahbo.model.variance import (
    LARGEST_VAR,
    KnownPosterior,
    NoiseModel,
    NoisePosterior,
    SampleVariances,
)
from rahbo.numerics import Array, Index, positive
from rahbo.space import Space

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
# The shortest lengthscale, as a share of the typical one.
SHORTEST = 0.5
# With so many degrees of freedom a sample variance is known to within about a quarter.
PRECISE = 30.0
# Beyond this variance of g its mode says little, and exp(g) says nothing.
WIDEST = 2.0


@dataclass(frozen=True, eq=False)
class LogPosterior(DirectPosterior):
    """A GP on log rho^2."""

    def link(self, g: Array) -> Array:
        """Return the noise variance, at most `LARGEST_VAR`."""
        return np.exp(np.minimum(np.maximum(g, -650.0), LARGEST_LOG_VAR))

    def link_slope(self, g: Array) -> Array:
        """Return the derivative of the link, which is the variance itself."""
        return self.link(g)

    def at_level(self, t: float) -> DirectPosterior:
        """Return the posterior shifted by t."""
        gp = self.gp
        return self.given(replace(gp, prior_mean=gp.prior_mean + t, y=gp.y + t))


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
    extends: ClassVar[bool] = True

    kernel: type[Kernel] | Kernel = Matern52
    lam: float = 1.0

    def __post_init__(self) -> None:
        require_kernel("LogNoise(kernel)", self.kernel)
        object.__setattr__(self, "lam", positive("LogNoise(lam)", self.lam))

    def learn(
        self, data: SampleVariances, previous: Hyperparameters | None = None
    ) -> Hyperparameters | None:
        """Fit kernel and prior mean to the targets at the mode, in one or more passes."""
        data = _floored(data)
        prior = self.hyperprior(data)
        found, (z, error_var) = previous, gaussian_targets(data)
        first = previous is None and len(data.s2) <= MANY
        for _ in range(PASSES if first else 1):
            if found is not None:
                K = found.kernel.among(data.X)[0]
                z, error_var = self._targets(data, found.prior_mean, K, gaussian_targets(data))
            found = fit(Evidence(self.kernel, data.X, z, error_var, None, self.lam, prior), found)
        return found

    def scaled(self, hyperparameters: Hyperparameters, factor: float) -> Hyperparameters:
        """Return the start of a fit: the curvature grows with the number of points."""
        return hyperparameters.scaled(factor)

    def bind(self, space: Space) -> LogNoise:
        """Return this model, after checking the kernel."""
        require_columns("noise.kernel", self.kernel, space)
        return self

    def hyperprior(self, data: SampleVariances) -> Hyperprior:
        """Return the hyperprior, which depends on how precise the sample variances are.

        Few degrees of freedom say little about the noise, and apparent detail is mostly chance. So
        lengthscales are about three times those of the outputs. Much shorter ones are ruled out:
        they would explain an outlier as noise at its own point alone, and its neighbours would look
        quiet. If all points are precise, with many repeats or all values of a finite set, detail is
        real, and lengthscales are those of the outputs. In between, the share of precise points
        decides.

        The prior level is about a tenth of the variance of the outputs, as for a level learned with
        the mean GP, whatever a few repeats show.
        """
        d = data.X.shape[1]
        precise = int(np.sum(data.dof >= PRECISE))
        # Fewer points than that show no detail.
        share = precise / len(data.dof) if precise > d + 1 else 0.0
        prior = Hyperprior.weak(d)
        centre = prior.log_lengthscale + (1.0 - share) * math.log(3.0)
        shortest = SHORTEST * math.exp(centre)
        return replace(
            prior,
            log_lengthscale=centre,
            shortest=shortest * (prior.shortest / shortest) ** share,
            log_lengthscale_std=prior.log_lengthscale_std**share,
            mean=prior.log_noise + math.log(data.typical),
            mean_var=prior.log_noise_std**2,
        )

    def condition(
        self,
        data: SampleVariances,
        hyperparameters: Hyperparameters | None,
        near: NoisePosterior | None = None,
    ) -> NoisePosterior:
        """Return the posterior of log rho^2, or its prior mean if there are no data."""
        hyper = needed(hyperparameters)
        if len(data.s2) == 0:
            level = math.exp(min(hyper.prior_mean, LARGEST_LOG_VAR))
            return KnownPosterior(lambda X: np.full(len(X), level))
        data = _floored(data)
        start = gaussian_targets(data)
        if near is not None and near.gp is not None and near.gp.X is data.X:
            start = near.gp.y, near.gp.noise_var
        K = hyper.kernel.among(data.X)[0]
        z, error_var = self._centred(data, hyper.prior_mean, K, start)
        gp = GP.condition(
            hyper.kernel, data.X, z, error_var, lam=self.lam, prior_mean=hyper.prior_mean, K=K
        )
        return LogPosterior(gp, expected_error_var)

    def targets(
        self, data: SampleVariances, expected: Array, covariance: Array
    ) -> tuple[Array, Array]:
        """Return the targets and error variances at the centre of the posterior of g."""
        data = _floored(data)
        return self._centred(data, expected, self.lam * covariance, gaussian_targets(data))

    def _centred(
        self, data: SampleVariances, m: Array | float, K: Array, start: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return the targets and error variances at the centre of the posterior of g.

        With few degrees of freedom g has a longer upper tail, and its mode lies below its mean.
        Using E[exp(-g)] = exp(-mean + var / 2) for exp(-g) corrects most of that.
        """
        z, error_var = self._targets(data, m, K, start)
        precision = inverse_diagonal(cholesky(K.copy(), self.lam * error_var))
        var = error_var - self.lam * error_var**2 * precision
        spread = replace(data, s2=data.s2 * np.exp(0.5 * np.clip(var, 0.0, WIDEST)))
        return self._targets(spread, m, K, (z, error_var))

    def _targets(
        self, data: SampleVariances, m: Array | float, K: Array, start: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return the targets and error variances at the mode of the posterior of g."""
        return _targets(self._mode(data, m, K, start), data)

    def _mode(
        self, data: SampleVariances, m: Array | float, K: Array, start: tuple[Array, Array]
    ) -> Array:
        """Return the g ``(n,)`` of largest posterior density, or close to it.

        The clipped curvature makes for few steps, but steps that are too long where some s^2 are
        far above what their neighbours show. If they end below the prior mean, the true curvature
        is used instead. It never fails, because the density is concave.
        """
        prior = log_density(np.zeros(len(data.s2)) + m, data)
        g, height = self._newton(data, m, K, start, NEWTON, MOST)
        if not height >= prior:
            g, _ = self._newton(data, m, K, start, NEWTON_SAFE, LARGEST_RATIO, prior)
        return g

    def _newton(
        self,
        data: SampleVariances,
        m: Array | float,
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
        a = np.zeros(len(data.s2))
        g = a + m
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
    curvature = np.minimum(np.maximum(e, LEAST), most)
    return g + (e - 1.0) / curvature, 2.0 / (data.dof * curvature)


def log_density(g: Array, data: SampleVariances) -> float:
    """Return log p(s^2 | g) up to a constant, with s^2 at least the smallest that can be told."""
    e = _ratio(_floored(data).s2, g)
    return -0.5 * float(data.dof @ (g + e))


def _ratio(s2: Array, g: Array) -> Array:
    """Return e = s^2 exp(-g), at most `LARGEST_RATIO`."""
    with np.errstate(over="ignore"):
        return np.minimum(s2 * np.exp(np.minimum(np.maximum(-g, -650.0), 650.0)), LARGEST_RATIO)


def expected_error_var(count: Array | Index) -> Array:
    """Return 1 / W of ``count (m,)`` repeats that turn out as expected."""
    return 2.0 / (np.asarray(count, dtype=float) - 1.0)
