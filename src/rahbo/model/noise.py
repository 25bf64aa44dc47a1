"""The paper's model of the noise variance: a GP on the sample variances.

Notation: ``s2 (n,)`` sample variances with ``dof (n,)`` degrees of freedom each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model.evidence import Evidence, Hyperparameters, fit
from rahbo.model.gp import GP
from rahbo.model.hyperprior import Hyperprior
from rahbo.model.kernels import Kernel, Matern52, require_columns, require_kernel
from rahbo.model.variance import NoiseModel, NoisePosterior, SampleVariances
from rahbo.numerics import Array, Index, is_finite, positive
from rahbo.space import Space

# A smaller mean square of s^2 counts as this, whose inverse is finite.
SMALLEST_SQUARE = 1e-250


@dataclass(frozen=True, eq=False)
class DirectPosterior(NoisePosterior):
    """A GP on s^2 itself; ``eta_var`` returns the variance of s^2 for a repeat count."""

    # Unlike in the base class, there is no default.
    gp: GP = field()
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
        return self.given(self.gp.with_pending(X[use], self.eta_var(count[use])))

    def given(self, gp: GP) -> DirectPosterior:
        """Return the posterior with another GP."""
        return replace(self, gp=gp)


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
        require_kernel("DirectNoise(kernel)", self.kernel)
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
        self,
        data: SampleVariances,
        hyperparameters: Hyperparameters | None,
        near: NoisePosterior | None = None,
    ) -> NoisePosterior:
        """Return the posterior of rho^2."""
        scale = 0.0 if hyperparameters is None else hyperparameters.noise_scale

        def eta_var(count: Array | Index) -> Array:
            if self.max_noise_var is None:
                return np.maximum(scale / (count - 1), data.floor**2)
            bound = data.bound(self.max_noise_var)
            return np.maximum(sample_variance_var(bound, count, self.kurtosis), data.floor**2)

        hyper = needed(hyperparameters)
        gp = GP.condition(
            hyper.kernel,
            data.X,
            data.s2,
            eta_var(data.dof + 1),
            lam=self.lam,
            prior_mean=hyper.prior_mean,
        )
        return DirectPosterior(gp, eta_var)

    def scaled(self, hyperparameters: Hyperparameters, factor: float) -> Hyperparameters:
        """Return the start of a fit: the curvature grows with the number of points."""
        return hyperparameters.scaled(factor)

    def bind(self, space: Space) -> DirectNoise:
        """Return this model, after checking the kernel."""
        require_columns("noise.kernel", self.kernel, space)
        return self

    def _eta(self, data: SampleVariances) -> tuple[Array, Array | None]:
        floor = np.full(len(data.s2), data.floor**2)
        if self.max_noise_var is None:
            return floor, 1.0 / data.dof
        bound = data.bound(self.max_noise_var)
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


def needed(hyperparameters: Hyperparameters | None) -> Hyperparameters:
    """Return hyperparameters; raise an error if there are none."""
    if hyperparameters is None:
        raise SettingsError("A learned noise model needs hyperparameters: call learn() first.")
    return hyperparameters
