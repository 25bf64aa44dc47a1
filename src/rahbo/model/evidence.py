"""The evidence for kernel parameters: the marginal likelihood with its gradient, and its maximum.

Notation as in `gp`: ``X (n, d)`` inputs, ``y (n,)`` outputs, ``A = K + lam * Sigma``, and ``theta``
the log parameters that are learned.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dsyr

from rahbo.errors import NumericalError
from rahbo.model.gp import cholesky, log_density, log_det, solve
from rahbo.model.hyperprior import Hyperprior
from rahbo.model.kernels import Kernel
from rahbo.numerics import Array, Index, quasi_newton

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """The result of a fit, and the warm start of the next.

    Attributes:
        kernel: The kernel with its fitted parameters.
        prior_mean: The constant m.
        noise_scale: The learned factor of the noise weights; 0 if none was learned.
        log_posterior: Log marginal likelihood plus log hyperprior.
        theta: Log lengthscales, log variance and, if learned, log noise scale.
        hessian: Curvature of the negative log posterior at theta, ``(p, p)``.
    """

    kernel: Kernel
    prior_mean: float
    noise_scale: float
    log_posterior: float
    theta: Array
    hessian: Array

    def scaled(self, factor: float) -> Hyperparameters:
        """Return the start of a fit to more data, whose curvature is larger by a factor."""
        return replace(self, hessian=factor * self.hessian)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The log posterior of hyperparameters given data, with its gradient.

    Attributes:
        kernel: A kernel class, whose parameters are learned, or a kernel, which is used unchanged.
        X: Inputs, ``(n, d)``.
        y: Outputs, ``(n,)``.
        noise_var: The known part of the noise variance, ``(n,)``.
        noise_weights: ``(n,)`` or None. The learned part is a common factor times these weights.
        lam: The regulariser lambda.
        prior: The hyperprior.
        within: Degrees of freedom and sum of squares of repeats about their own means, which also
            inform the learned factor.
    """

    kernel: type[Kernel] | Kernel
    X: Array
    y: Array
    noise_var: Array
    noise_weights: Array | None
    lam: float
    prior: Hyperprior
    within: tuple[float, float] = (0.0, 0.0)

    def __call__(self, theta: Array) -> tuple[float, Array, float]:
        """Return log posterior, its gradient ``(p,)`` and the best prior mean at ``theta (p,)``.

        With W = lam a a^T - A^-1 and a = A^-1 (y - m):
        d log p / d theta = 1/2 sum(W * dA / d theta)
        """
        kernel = self.kernel_at(theta)
        K, slope = kernel.among(self.X)
        noise = self.noise_var
        if self.noise_weights is not None:
            noise = noise + np.exp(theta[-1]) * self.noise_weights
        chol = cholesky(K.copy(), self.lam * noise)
        prior_mean = self._prior_mean(chol)
        residual = self.y - prior_mean
        a = solve(chol, residual[:, None])[:, 0]
        value = log_density(float(residual @ a), log_det(chol), len(a), self.lam)
        # One triangle of W with half its diagonal stands for half of the symmetric matrix.
        W, _ = lapack.dpotri(chol, lower=1, overwrite_c=1)
        np.negative(W, out=W)
        W = dsyr(self.lam, a, lower=1, a=W, overwrite_a=1)
        diagonal = W.diagonal().copy()
        np.fill_diagonal(W, 0.5 * diagonal)
        gradient = kernel.log_parameter_gradient(self.X, K, slope, W.T)
        if self.noise_weights is not None:
            in_noise = 0.5 * self.lam * np.exp(theta[-1]) * (diagonal @ self.noise_weights)
            dof, squares = self.within
            ratio = squares * math.exp(-theta[-1])
            value -= 0.5 * (dof * theta[-1] + ratio)
            gradient = np.append(gradient, in_noise - 0.5 * (dof - ratio))
        penalty, pull = self._log_prior(theta, prior_mean)
        return value + penalty, gradient + pull, prior_mean

    def subset(self, rows: Index) -> Evidence:
        """Return the evidence of some of the points."""
        weights = None if self.noise_weights is None else self.noise_weights[rows]
        share = len(rows) / len(self.y)
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            noise_var=self.noise_var[rows],
            noise_weights=weights,
            within=(self.within[0] * share, self.within[1] * share),
        )

    def kernel_at(self, theta: Array) -> Kernel:
        """Return the kernel with the parameters in ``theta (p,)``."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        return self.kernel.from_log_parameters(theta[: self.X.shape[1] + 1])

    def _prior_mean(self, chol: Array) -> float:
        """Return the m that maximises the posterior at given kernel parameters (ridge)."""
        if self.prior.mean_var == 0.0:
            return self.prior.mean
        both = solve(chol, np.column_stack([self.y, np.ones_like(self.y)]))
        precision = 1.0 / self.prior.mean_var
        weighted, total = self.lam * both.sum(axis=0)
        return float((weighted + precision * self.prior.mean) / (total + precision))

    def _log_prior(self, theta: Array, prior_mean: float) -> tuple[float, Array]:
        p = self.prior
        d = self.X.shape[1]
        centre = np.full(len(theta), float(p.log_noise))
        centre[:d], centre[d] = p.log_lengthscale, p.log_variance
        precision = np.full(len(theta), p.log_noise_std**-2)
        precision[:d], precision[d] = p.log_lengthscale_std**-2, p.log_variance_std**-2
        offset = theta - centre
        value = -0.5 * float(precision @ offset**2)
        if p.mean_var > 0.0:
            value -= 0.5 * (prior_mean - p.mean) ** 2 / p.mean_var
        return value, -precision * offset


# Up to this many points, tolerances are those of a small problem.
SMALL = 128


def fit(evidence: Evidence, previous: Hyperparameters | None = None) -> Hyperparameters:
    """Maximise the evidence over the hyperparameters.

    A first fit tries short, medium and long lengthscales, because few points give several maxima.
    Later fits start where the last one ended, with its curvature.
    """
    n = len(evidence.y)
    starts, lower, upper = _search_box(evidence)
    curvature = None
    if previous is not None and previous.theta.size == lower.size:
        starts, curvature = previous.theta[None], previous.hessian[None]
    prior_means: dict[bytes, float] = {}

    def negative(thetas: Array) -> tuple[Array, Array]:
        values, gradients = np.empty(len(thetas)), np.empty(thetas.shape)
        for i, theta in enumerate(thetas):
            try:
                values[i], gradients[i], prior_means[theta.tobytes()] = evidence(theta)
            except NumericalError:
                values[i], gradients[i] = -np.inf, 0.0
        return -values, -gradients

    if curvature is None:
        # Starts that are behind after the first steps rarely catch up.
        scouts = quasi_newton(negative, starts, lower, upper, max_step=1.0, max_iterations=6)
        lead = np.argsort(scouts.value, kind="stable")[:2]
        starts, curvature = scouts.x[lead], scouts.hessian[lead]
    found = quasi_newton(
        negative,
        starts,
        lower,
        upper,
        hessian=curvature,
        max_step=1.0,
        # A hundredth of a nat is negligible, and gaining it takes a cubic number of operations.
        gradient_tolerance=0.02 * max(1.0, n / SMALL),
        value_tolerance=2e-4 * max(1.0, n / SMALL) ** 2,
    )
    best = int(np.argmin(found.value))
    theta = found.x[best]
    if not np.isfinite(found.value[best]):
        logger.warning("No hyperparameters fit %d points; using the centre of the prior.", n)
        theta = _search_box(evidence)[0][1]
    return Hyperparameters(
        kernel=evidence.kernel_at(theta),
        prior_mean=prior_means.get(theta.tobytes(), evidence.prior.mean),
        noise_scale=math.exp(theta[-1]) if evidence.noise_weights is not None else 0.0,
        log_posterior=-float(found.value[best]),
        theta=theta,
        hessian=found.hessian[best],
    )


def _search_box(evidence: Evidence) -> tuple[Array, Array, Array]:
    """Return starts ``(m, p)`` and bounds ``(p,)`` of theta; equal bounds for fixed parameters."""
    prior, d = evidence.prior, evidence.X.shape[1]
    centre = np.append(np.full(d, prior.log_lengthscale), float(prior.log_variance))
    lower = np.append(np.full(d, math.log(prior.shortest)), centre[d] - math.log(1e4))
    upper = np.append(np.full(d, math.log(prior.longest)), centre[d] + math.log(1e4))
    if isinstance(evidence.kernel, Kernel):
        centre = lower = upper = evidence.kernel.log_parameters
    starts = np.tile(centre, (3, 1))
    starts[:, :d] += np.log([[0.3], [1.0], [3.0]])
    if evidence.noise_weights is not None:
        level, reach = prior.log_noise, prior.log_noise_reach
        starts = np.column_stack([starts, np.full(len(starts), level)])
        lower, upper = np.append(lower, level - reach), np.append(upper, level + reach)
    return starts, lower, upper
