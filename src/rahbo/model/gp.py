"""Exact Gaussian process regression under a different noise variance at each point.

Notation: ``X (n, d)`` distinct inputs, ``y (n,)`` outputs, ``noise_var (n,)`` the diagonal of
Sigma, ``lam`` the paper's lambda, ``A = K + lam * Sigma``, ``m`` a constant prior mean (the paper
has m = 0). The prior is f ~ GP(m, kappa / lam), the noise N(0, Sigma), and
    mu(x)      = m + kappa_t(x)^T A^-1 (y - m)                          (eq. 5)
    sigma^2(x) = (kappa(x, x) - kappa_t(x)^T A^-1 kappa_t(x)) / lam     (eq. 6)
    log p(y)   = log N(y; m, A / lam)
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dsyr

from rahbo.errors import NumericalError
from rahbo.model.hyperprior import Hyperprior
from rahbo.model.kernels import Kernel
from rahbo.numerics import Array, Index, quasi_newton

logger = logging.getLogger(__name__)

LOG_2PI = float(np.log(2.0 * np.pi))
# Posterior variances below this share of the prior variance are rounding errors.
VARIANCE_FLOOR = 1e-14


@dataclass(frozen=True, eq=False)
class GP:
    """The posterior of f given data and fixed hyperparameters.

    Attributes:
        kernel: The covariance function kappa.
        X: Inputs, ``(n, d)``, pending ones last.
        lam: The regulariser lambda.
        prior_mean: The constant m.
        chol: Lower Cholesky factor of A, ``(n, n)``, Fortran order.
        weights: A^-1 (y - m), ``(n,)``; zero at pending points whose outputs are assumed to be
            what the posterior expects, which narrows the bands and does not change the mean.
        log_likelihood: log p(y) of the observed outputs.
        log_det_ratio: ln det(A) - ln det(lam Sigma) of the observed points (Lemma 1).
    """

    kernel: Kernel
    X: Array
    lam: float
    prior_mean: float
    chol: Array
    weights: Array
    log_likelihood: float
    log_det_ratio: float

    @classmethod
    def condition(
        cls,
        kernel: Kernel,
        X: Array,
        y: Array,
        noise_var: Array,
        *,
        lam: float = 1.0,
        prior_mean: float = 0.0,
        K: Array | None = None,
    ) -> GP:
        """Return the posterior given ``y (n,)`` at ``X (n, d)`` with positive ``noise_var``."""
        # K is the result of kernel.among(X), if already known; it is overwritten.
        chol = cholesky(kernel.among(X)[0] if K is None else K, lam * noise_var)
        residual = y - prior_mean
        weights = solve(chol, residual[:, None])[:, 0]
        log_det = _log_det(chol)
        return cls(
            kernel,
            X,
            lam,
            prior_mean,
            chol,
            weights,
            log_likelihood=_log_density(float(residual @ weights), log_det, len(y), lam),
            log_det_ratio=log_det - float(np.log(lam * noise_var).sum()),
        )

    @property
    def information_gain(self) -> float:
        """The mutual information of outputs and f, from the determinants.

        I(y, f) = 1/2 ln(det(K + lam Sigma) / det(lam Sigma))    (A.1.2)
        """
        return 0.5 * self.log_det_ratio

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return the mean and standard deviation (eq. 5, 6) at ``X (m, d)``, each ``(m,)``."""
        K = self.kernel(X, self.X)
        V = _half_solve(self.chol, K.T)
        var = self._variance(X, V)
        return self.prior_mean + K @ self.weights, np.sqrt(var)

    def predict_mean(self, X: Array) -> Array:
        """Return the mean (eq. 5) at ``X (m, d)``, ``(m,)``, much faster than `predict`."""
        return np.asarray(self.prior_mean + self.kernel(X, self.X) @ self.weights)

    def predict_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean and standard deviation ``(m,)``, then their gradients in x, ``(m, d)``."""
        K, slope = self.kernel.evaluate(X, self.X)
        V = _half_solve(self.chol, K.T)
        sigma = np.sqrt(self._variance(X, V))
        mu_gradient = self.kernel.input_gradient(X, self.X, slope * self.weights)
        B = _half_solve(self.chol, V, transposed=True)
        explained = self.kernel.input_gradient(X, self.X, slope * B.T)
        var_gradient = (self.kernel.diagonal_gradient(X) - 2.0 * explained) / self.lam
        sigma_gradient = var_gradient / (2.0 * sigma[:, None])
        return self.prior_mean + K @ self.weights, sigma, mu_gradient, sigma_gradient

    @property
    def noise_var(self) -> Array:
        """The diagonal of Sigma, ``(n,)``, recovered from A = K + lam Sigma."""
        prior = self.kernel.diagonal(self.X)
        noise = np.einsum("ij,ij->i", self.chol, self.chol) - prior
        return np.asarray(np.maximum(noise, VARIANCE_FLOOR * prior) / self.lam)

    @property
    def residuals(self) -> Array:
        """The differences between the outputs and the posterior mean, ``(n,)``.

        y - mu(X) = lam Sigma A^-1 (y - m)
        """
        return np.asarray(self.lam * self.noise_var * self.weights)

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return residuals and their variances, ``(n,)``, with each point predicted by the others.

        r_i = a_i / (A^-1)_ii,  Var[r_i] = 1 / (lam (A^-1)_ii)
        """
        precision = lapack.dpotri(self.chol, lower=1)[0].diagonal()
        return np.asarray(self.weights / precision), np.asarray(1.0 / (self.lam * precision))

    def covariance(self, X: Array) -> Array:
        """Return the joint posterior covariance of f at ``X (m, d)``, ``(m, m)``."""
        V = _half_solve(self.chol, self.kernel(X, self.X).T)
        return np.asarray((self.kernel(X, X) - V.T @ V) / self.lam)

    def with_pending(self, X: Array, noise_var: Array, draws: Array | None = None) -> GP:
        """Return the posterior as if outputs had arrived at ``X (p, d)``.

        They are what it expects or, with standard normal ``draws (p,)``, drawn from it with noise.
        """
        if len(X) == 0:
            return self
        n, p = len(self.X), len(X)
        cross = _half_solve(self.chol, self.kernel(X, self.X).T)
        prior = self.kernel(X, X)
        size = float(prior.max(initial=0.0))
        corner = cholesky(prior - cross.T @ cross, self.lam * noise_var, size)
        chol = np.zeros((n + p, n + p), order="F")
        chol[:n, :n], chol[n:, :n], chol[n:, n:] = self.chol, cross.T, corner
        weights = np.append(self.weights, np.zeros(p))
        if draws is not None:
            surprise = np.append(np.zeros(n), draws / math.sqrt(self.lam))[:, None]
            weights += _half_solve(chol, surprise, transposed=True)[:, 0]
        return replace(self, X=np.vstack([self.X, X]), chol=chol, weights=weights)

    def _variance(self, X: Array, V: Array) -> Array:
        prior = self.kernel.diagonal(X)
        var = prior - np.einsum("ij,ij->j", V, V)
        return np.asarray(np.maximum(var, VARIANCE_FLOOR * np.maximum(prior, 1e-300)) / self.lam)


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
        value = _log_density(float(residual @ a), _log_det(chol), len(a), self.lam)
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


# A first fit of many points starts with a subset: the same optimum at a fraction of the cost.
SUBSET = 128


def fit(evidence: Evidence, previous: Hyperparameters | None = None) -> Hyperparameters:
    """Maximise the evidence over the hyperparameters.

    A first fit tries short, medium and long lengthscales, because few points give several maxima.
    Later fits start where the last one ended, with its curvature.
    """
    n = len(evidence.y)
    if previous is None and n > 2 * SUBSET:
        some = np.linspace(0, n - 1, max(SUBSET, n // 3)).astype(np.intp)
        previous = fit(evidence.subset(some))
        # The curvature grows with the number of points, like the information.
        previous = replace(previous, hessian=previous.hessian * (n / len(some)))
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
        gradient_tolerance=0.02 * max(1.0, n / SUBSET),
        value_tolerance=2e-4 * max(1.0, n / SUBSET) ** 2,
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


def cholesky(K: Array, diagonal: Array, size: float | None = None) -> Array:
    """Return the lower Cholesky factor of ``K + diag(diagonal)``; overwrite ``K (n, n)``.

    Only the upper triangle of ``K`` is read. If rounding has made the matrix indefinite, the
    smallest of a few jitters that helps is added, in units of ``size``, by default the largest
    element of the diagonal.
    """
    n = len(K)
    if n == 0:
        return K
    K.flat[:: n + 1] += diagonal
    scale = float(np.max(K.flat[:: n + 1], initial=0.0)) if size is None else size
    chol, failed = lapack.dpotrf(K.T, lower=1)
    for jitter in (1e-12, 1e-10, 1e-8, 1e-6):
        if failed == 0:
            break
        A = K.copy()
        A.flat[:: n + 1] += jitter * scale
        chol, failed = lapack.dpotrf(A.T, lower=1)
    if failed != 0 or not np.isfinite(chol.diagonal()).all():
        raise NumericalError(
            f"The covariance matrix of {n} points is not positive definite even with jitter. "
            "Check the data for extreme scales, or raise min_noise_var."
        )
    return np.asarray(chol)


def solve(chol: Array, B: Array) -> Array:
    """Return A^-1 B for ``B (n, m)``."""
    if len(chol) == 0:
        return B
    return np.asarray(lapack.dpotrs(chol, B, lower=1)[0])


def _half_solve(chol: Array, B: Array, *, transposed: bool = False) -> Array:
    """Return L^-1 B, or L^-T B, for ``B (n, m)``."""
    if len(chol) == 0:
        return B
    return np.asarray(lapack.dtrtrs(chol, B, lower=1, trans=int(transposed))[0])


def _log_det(chol: Array) -> float:
    return 2.0 * float(np.log(chol.diagonal()).sum())


def _log_density(quadratic: float, log_det: float, n: int, lam: float) -> float:
    """Return log N(y; m, A / lam), given (y - m)^T A^-1 (y - m) and ln det A."""
    return -0.5 * float(lam * quadratic + log_det - n * np.log(lam) + n * LOG_2PI)
