"""What mean, noise and risk may be at several points together: joint posterior draws.

Notation: ``n`` draws at ``m`` points; mu and cov the posteriors of the mean f and of the latent
noise g (`model.joint`), v = link(g) the noise variance. A draw of f or g is that of a Student
process with nu degrees of freedom,
    mu + sqrt(nu / c) a,  a ~ N(0, cov),  c ~ chi-squared with nu degrees of freedom
with one c for all points, which leaves their correlations and their ranks nearly as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rahbo.arrays import Array, Index
from rahbo.model.gp import GP
from rahbo.model.joint import MeanNoiseModel
from rahbo.policy.acquisition import optimistic
from rahbo.policy.search import values
from rahbo.risk import RiskMeasure

DRAWS = 2000
# Points drawn together at most: those of the best optimistic values.
LEADING = 200
# The posterior takes its hyperparameters as known, and the reported point is the luckiest of many.
# With tails this heavy, intervals hold the truth as often as they say (`bench/coverage.py`).
DOF = 3


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """Draws of mean, noise and risk at some points, in user units and the sense of maximisation.

    Attributes:
        points: Indices of the points, ``(m,)``.
        f: Means, ``(n, m)``.
        noise_std: Standard deviations of a single evaluation, ``(n, m)``.
        risk: Values of the risk measure, ``(n, m)``.
    """

    points: Index
    f: Array
    noise_std: Array
    risk: Array

    @property
    def p_best(self) -> Array:
        """The probability that each point is the best of them, ``(m,)``."""
        n, m = self.risk.shape
        return np.asarray(np.bincount(np.argmax(self.risk, axis=1), minlength=m) / n)

    def ends(self, column: int, level: float) -> Array:
        """Credible intervals of f, noise std and risk at one point, ``(3, 2)``: equal tails."""
        drawn = np.column_stack([a[:, column] for a in (self.f, self.noise_std, self.risk)])
        tail = 0.5 * (1.0 - level)
        return np.asarray(np.quantile(drawn, [tail, 1.0 - tail], axis=0).T)


def joint_posterior(
    model: MeanNoiseModel, risk: RiskMeasure, X: Array, points: Index, seed: int
) -> JointPosterior:
    """Draws at the rows ``points`` of ``X (n, d)``; the same for the same seed."""
    rng = np.random.default_rng([seed, 2])
    at, units = X[points], model.learned
    f = units.shift + units.scale * _student(model.mean, at, rng)
    if model.noise.gp is None:
        v = np.broadcast_to(model.noise.variance(at), f.shape)
    else:
        v = model.noise.link(_student(model.noise.gp, at, rng))
    v = units.scale**2 * np.maximum(v, model.min_noise_var)
    return JointPosterior(points, f, np.sqrt(v), risk.value(f, v))


def leading(model: MeanNoiseModel, risk: RiskMeasure, X: Array) -> Index:
    """The rows of ``X (n, d)`` that may be the best: `LEADING` of them at most, in order."""
    if len(X) <= LEADING:
        return np.arange(len(X))
    best = np.argsort(-values(optimistic(model, risk), X), kind="stable")
    return np.sort(best[:LEADING])


def draws(gp: GP, X: Array, rng: np.random.Generator, n: int) -> Array:
    """Joint posterior draws ``(n, m)`` at ``X (m, d)``."""
    return np.asarray(gp.predict(X)[0] + _deviations(gp, X, rng, n))


def _student(gp: GP, X: Array, rng: np.random.Generator) -> Array:
    """Draws ``(DRAWS, m)`` with heavier tails."""
    stretch = np.sqrt(DOF / rng.chisquare(DOF, (DRAWS, 1)))
    return np.asarray(gp.predict(X)[0] + stretch * _deviations(gp, X, rng, DRAWS))


def _deviations(gp: GP, X: Array, rng: np.random.Generator, n: int) -> Array:
    # By eigenvalues, as posterior covariances of close points are singular up to rounding.
    eigenvalues, vectors = np.linalg.eigh(gp.covariance(X))
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return np.asarray(rng.standard_normal((n, len(X))) @ root.T)
