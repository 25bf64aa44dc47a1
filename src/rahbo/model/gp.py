"""Exact Gaussian process regression under a different noise variance at each point.

Notation: ``X (n, d)`` distinct inputs, ``y (n,)`` outputs, ``noise_var (n,)`` the diagonal of
Sigma, ``lam`` the paper's lambda, ``A = K + lam * Sigma``, ``m`` a constant prior mean (the paper
has m = 0). The prior is f ~ GP(m, kappa / lam), the noise N(0, Sigma), and
    mu(x)      = m + kappa_t(x)^T A^-1 (y - m)                          (eq. 5)
    sigma^2(x) = (kappa(x, x) - kappa_t(x)^T A^-1 kappa_t(x)) / lam     (eq. 6)
    log p(y)   = log N(y; m, A / lam)
The inverse is kept as A^-1 = R^T R. For the first data R is the inverse of the Cholesky factor. An
output that comes later adds one row to R, and a column if its point is new. With k(x) the posterior
covariance with that point and S the variance of the output, the row is the v of
    k(x)^2 / S = (v^T kappa_t(x))^2
which takes n^2 operations where a new factor takes n^3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dtrmm, dtrmv

from rahbo.errors import NumericalError
from rahbo.model.kernels import Kernel
from rahbo.numerics import Array

LOG_2PI = float(np.log(2.0 * np.pi))
# Posterior variances below this share of the prior variance are rounding errors.
VARIANCE_FLOOR = 1e-14
# Variances of joint deviations below this share of the largest are rounding errors.
SINGULAR = 1e-12


@dataclass(frozen=True, eq=False)
class GP:
    """The posterior of f given data and fixed hyperparameters.

    Attributes:
        kernel: The covariance function kappa.
        X: Inputs, ``(n, d)``, pending ones last.
        y: Outputs, ``(n,)``; several at one point count as their mean, weighted by precision.
        noise_var: The diagonal of Sigma, ``(n,)``.
        lam: The regulariser lambda.
        prior_mean: The constant m.
        weights: A^-1 (y - m), ``(n,)``; zero at pending points whose outputs are assumed to be
            what the posterior expects, which narrows the bands and does not change the mean.
        root: Rows of R for the first b points, ``(b, b)``, lower triangle, Fortran order.
        added: Rows of R for outputs that came later, ``(r, n)``.
        log_likelihood: log p(y) of the observed outputs.
        log_det_ratio: ln det(A) - ln det(lam Sigma) of the observed points (Lemma 1).
        later: The outputs that came later; None if there are none.
        solved: R k and R^T R k of points met before, by point, which all posteriors with the same
            ``root`` share to save time.
    """

    kernel: Kernel
    X: Array
    y: Array
    noise_var: Array
    lam: float
    prior_mean: float
    weights: Array
    root: Array
    added: Array
    log_likelihood: float
    log_det_ratio: float
    later: Later | None = None
    solved: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, repr=False)

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
        of_matrix = log_det(chol)
        return cls(
            kernel,
            X,
            y,
            noise_var,
            lam,
            prior_mean,
            weights,
            root=_inverted(chol),
            added=np.empty((0, len(y))),
            log_likelihood=log_density(float(residual @ weights), of_matrix, len(y), lam),
            log_det_ratio=of_matrix - float(np.log(lam * noise_var).sum()),
        )

    @property
    def information_gain(self) -> float:
        """The mutual information of outputs and f, from the determinants.

        I(y, f) = 1/2 ln(det(K + lam Sigma) / det(lam Sigma))    (A.1.2)
        """
        return 0.5 * self.log_det_ratio

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return the mean and standard deviation (eq. 5, 6) at ``X (m, d)``, each ``(m,)``."""
        return self.predict_from(X, self.kernel(X, self.X))

    def predict_from(self, X: Array, K: Array) -> tuple[Array, Array]:
        """Return what `predict` returns, given the covariances ``K (m, n)`` of X with the data."""
        return self.prior_mean + K @ self.weights, np.sqrt(self._variance(X, *self._halves(K)))

    def predict_mean(self, X: Array) -> Array:
        """Return the mean (eq. 5) at ``X (m, d)``, ``(m,)``, much faster than `predict`."""
        return np.asarray(self.prior_mean + self.kernel(X, self.X) @ self.weights)

    def predict_with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean and standard deviation ``(m,)``, then their gradients in x, ``(m, d)``."""
        K, slope = self.kernel.evaluate(X, self.X)
        halves = self._halves(K)
        sigma = np.sqrt(self._variance(X, *halves))
        weighted = np.vstack([slope * self.weights, slope * self._wholes(*halves).T])
        both = self.kernel.input_gradient(np.vstack([X, X]), self.X, weighted)
        mu_gradient, explained = both[: len(X)], both[len(X) :]
        var_gradient = (self.kernel.diagonal_gradient(X) - 2.0 * explained) / self.lam
        sigma_gradient = var_gradient / (2.0 * sigma[:, None])
        return self.prior_mean + K @ self.weights, sigma, mu_gradient, sigma_gradient

    @property
    def residuals(self) -> Array:
        """The differences between the outputs and the posterior mean, ``(n,)``.

        y - mu(X) = lam Sigma A^-1 (y - m)
        """
        return np.asarray(self.lam * self.noise_var * self.weights)

    @property
    def spread(self) -> Array:
        """The posterior standard deviation at the points themselves, ``(n,)``.

        sigma^2(x_i) = Sigma_ii (1 - lam Sigma_ii (A^-1)_ii)
        """
        share = 1.0 - self.lam * self.noise_var * self._precision()
        least = VARIANCE_FLOOR * np.maximum(self.kernel.diagonal(self.X), 1e-300) / self.lam
        return np.sqrt(np.maximum(self.noise_var * share, least))

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return residuals and their variances, ``(n,)``, with each point predicted by the others.

        r_i = a_i / (A^-1)_ii,  Var[r_i] = 1 / (lam (A^-1)_ii)
        """
        precision = self._precision()
        return np.asarray(self.weights / precision), np.asarray(1.0 / (self.lam * precision))

    def covariance(self, X: Array) -> Array:
        """Return the joint posterior covariance of f at ``X (m, d)``, ``(m, m)``."""
        V, W = self._halves(self.kernel(X, self.X))
        return np.asarray((self.kernel(X, X) - V.T @ V - W.T @ W) / self.lam)

    def draws(
        self, X: Array, rng: np.random.Generator, n: int, stretch: Array | float = 1.0
    ) -> Array:
        """Return joint posterior draws of f ``(n, m)`` at ``X (m, d)``.

        Their deviations from the mean are multiplied by ``stretch``.
        """
        root = _root(self.covariance(X))
        deviations = rng.standard_normal((n, root.shape[1])) @ root.T
        return np.asarray(self.predict_mean(X) + stretch * deviations)

    def expect(self, X: Array) -> Expected:
        """Return what is known of f at a few points ``X (p, d)`` that may be told next."""
        K = self.kernel(X, self.X)
        parts = [self.solve(x) for x in X]
        V, solved = (np.array(part).T for part in zip(*parts, strict=True))
        W = self.added @ K.T
        mu = self.prior_mean + K @ self.weights
        return Expected(self, X, mu, self.kernel(X, X), V.T @ V + W.T @ W, solved, W)

    def with_pending(self, X: Array, noise_var: Array, draws: Array | None = None) -> GP:
        """Return the posterior as if outputs had arrived at ``X (p, d)``.

        They are what it expects or, with standard normal ``draws (p,)``, drawn from it with noise.
        """
        return self.expect(X).pending(noise_var, draws) if len(X) else self

    def solve(self, x: Array) -> tuple[Array, Array]:
        """Return R k and R^T R k, each ``(b,)``, for a point ``x (d,)`` and the first data alone.

        Each point is solved by itself, so that rounding does not depend on what else is asked.
        """
        key = x.tobytes()
        if key not in self.solved:
            b = len(self.root)
            if b == 0:
                return np.empty(0), np.empty(0)
            half = dtrmv(self.root, self.kernel(x[None], self.X[:b])[0], lower=1)
            self.solved[key] = half, dtrmv(self.root, half, lower=1, trans=1)
        return self.solved[key]

    def _halves(self, K: Array) -> tuple[Array, Array]:
        """Return R K^T for ``K (m, n)``, for the first data ``(b, m)`` and the later ``(r, m)``."""
        b = len(self.root)
        first = K.T if b == len(self.X) else K[:, :b].T
        V = dtrmm(1.0, self.root, first, lower=1) if b else np.empty((0, len(K)))
        return V, self.added @ K.T

    def _wholes(self, V: Array, W: Array) -> Array:
        """Return A^-1 K^T ``(n, m)`` from the `_halves` of K."""
        B = self.added.T @ W
        if len(V):
            B[: len(V)] += dtrmm(1.0, self.root, V, lower=1, trans_a=1)
        return B

    def _precision(self) -> Array:
        """Return the diagonal of A^-1, ``(n,)``."""
        diagonal = np.einsum("ij,ij->j", self.added, self.added)
        diagonal[: len(self.root)] += np.einsum("ij,ij->j", self.root, self.root)
        return np.asarray(diagonal)

    def _variance(self, X: Array, V: Array, W: Array) -> Array:
        prior = self.kernel.diagonal(X)
        var = prior - np.add.reduce(V * V, axis=0) - np.add.reduce(W * W, axis=0)
        return np.asarray(np.maximum(var, VARIANCE_FLOOR * np.maximum(prior, 1e-300)) / self.lam)


@dataclass(frozen=True, eq=False)
class Later:
    """Outputs that came after the first data, in units of what the first data leave unknown.

    Attributes:
        first: The posterior given the first data.
        X: The points, ``(r, d)``.
        corner: The lower Cholesky factor of lam times the joint covariance of the outputs given
            the first data, ``(r, r)``. With c(x) lam times the covariance of f(x) with the points,
            the later rows of R times k(x) are corner^-1 c(x).
        z: The outputs: corner z is how far they are from what the first data expect, ``(r,)``.
    """

    first: GP
    X: Array
    corner: Array
    z: Array


@dataclass(frozen=True, eq=False)
class Expected:
    """What a posterior says of f at a few points, and what outputs there would change.

    Attributes:
        gp: The posterior.
        X: The points, ``(p, d)``.
        mu: The mean, ``(p,)``.
        prior: The prior covariance times lam, ``(p, p)``.
        explained: The part of it that the data explain, ``(p, p)``.
        solved: A^-1 k for the first data alone, ``(b, p)``.
        W: The later rows of R times k, ``(r, p)``.
    """

    gp: GP
    X: Array
    mu: Array
    prior: Array
    explained: Array
    solved: Array
    W: Array

    @property
    def covariance(self) -> Array:
        """The joint covariance of f, ``(p, p)``."""
        return np.asarray((self.prior - self.explained) / self.gp.lam)

    def told(self, y: Array, noise_var: Array) -> GP:
        """Return the posterior given outputs ``y (p,)``. No other outputs may be pending."""
        gp, corner = self.gp, self._corner(noise_var)
        grown = self._grown(corner, _half_solve(corner, (y - self.mu)[:, None])[:, 0], y, noise_var)
        ratio = gp.log_det_ratio + log_det(corner) - float(np.log(gp.lam * noise_var).sum())
        of_matrix = ratio + float(np.log(gp.lam * grown.noise_var).sum())
        quadratic = float((grown.y - gp.prior_mean) @ grown.weights)
        likelihood = log_density(quadratic, of_matrix, len(grown.y), gp.lam)
        return replace(grown, log_likelihood=likelihood, log_det_ratio=ratio)

    def pending(self, noise_var: Array, draws: Array | None = None) -> GP:
        """Return the posterior given outputs as expected, or drawn with normal ``draws (p,)``."""
        corner = self._corner(noise_var)
        z = np.zeros(len(self.X)) if draws is None else draws / math.sqrt(self.gp.lam)
        return self._grown(corner, z, self.mu + corner @ z, noise_var)

    def _corner(self, noise_var: Array) -> Array:
        """Return the lower Cholesky factor of lam times the covariance of outputs, ``(p, p)``."""
        size = float(self.prior.max(initial=0.0))
        return cholesky(self.prior - self.explained, self.gp.lam * noise_var, size)

    def _grown(self, corner: Array, z: Array, y: Array, noise_var: Array) -> GP:
        """Return the posterior given outputs ``y = mu + corner z``, ``(p,)``."""
        gp, old = self.gp, len(self.gp.X)
        index = {x.tobytes(): i for i, x in enumerate(gp.X)}
        place = np.array([index.setdefault(x.tobytes(), len(index)) for x in self.X])
        new: list[int] = []
        n = len(index)
        for i, j in enumerate(place):
            if j == old + len(new):
                new.append(i)
        # The rows of -A^-1 k at all points, and 1 for each new output at its own point.
        D = np.zeros((len(self.X), n))
        D[:, : len(gp.root)] = -self.solved.T
        D[:, :old] -= self.W.T @ gp.added
        D[np.arange(len(self.X)), place] += 1.0
        rows = _half_solve(corner, D)
        precision, weighted = np.zeros(n), np.zeros(n)
        precision[:old], weighted[:old] = 1.0 / gp.noise_var, gp.y / gp.noise_var
        np.add.at(precision, place, 1.0 / noise_var)
        np.add.at(weighted, place, y / noise_var)
        wider = np.zeros((len(gp.added), n - old))
        return replace(
            gp,
            X=np.vstack([gp.X, self.X[new]]),
            y=weighted / precision,
            noise_var=1.0 / precision,
            weights=np.append(gp.weights, np.zeros(n - old)) + rows.T @ z,
            added=np.vstack([np.hstack([gp.added, wider]), rows]),
            later=self._later(corner, z),
        )

    def _later(self, corner: Array, z: Array) -> Later:
        """Return all outputs that came later, these ones last."""
        before = self.gp.later
        if before is None:
            return Later(self.gp, self.X, corner, z)
        r = len(before.z)
        joint = np.zeros((r + len(z), r + len(z)))
        joint[:r, :r], joint[r:, :r], joint[r:, r:] = before.corner, self.W.T, corner
        return Later(before.first, np.vstack([before.X, self.X]), joint, np.append(before.z, z))


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


def _root(covariance: Array) -> Array:
    """Return a matrix ``(m, rank)`` whose product with its transpose is the covariance ``(m, m)``.

    It uses pivots, because posterior covariances of close points are numerically singular.
    """
    largest = max(float(covariance.diagonal().max()), 0.0)
    factor, pivots, rank, _ = lapack.dpstrf(covariance, tol=SINGULAR * largest, lower=1)
    root = np.empty((len(covariance), rank))
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root


def solve(chol: Array, B: Array) -> Array:
    """Return A^-1 B for ``B (n, m)``."""
    if len(chol) == 0:
        return B
    return np.asarray(lapack.dpotrs(chol, B, lower=1)[0])


def _half_solve(chol: Array, B: Array) -> Array:
    """Return L^-1 B for ``B (n, m)``."""
    return np.asarray(lapack.dtrtrs(chol, B, lower=1)[0])


def _inverted(chol: Array) -> Array:
    """Return the inverse of a lower Cholesky factor, which is overwritten."""
    return chol if len(chol) == 0 else np.asarray(lapack.dtrtri(chol, lower=1, overwrite_c=1)[0])


def inverse_diagonal(chol: Array) -> Array:
    """Return the diagonal of A^-1, ``(n,)``; overwrite the factor."""
    inverse = _inverted(chol)
    return np.asarray(np.einsum("ij,ij->j", inverse, inverse))


def log_det(chol: Array) -> float:
    """Return ln det A."""
    return 2.0 * float(np.log(chol.diagonal()).sum())


def log_density(quadratic: float, of_matrix: float, n: int, lam: float) -> float:
    """Return log N(y; m, A / lam), given (y - m)^T A^-1 (y - m) and ln det A."""
    return -0.5 * float(lam * quadratic + of_matrix - n * np.log(lam) + n * LOG_2PI)
