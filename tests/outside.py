"""Classes that a user could write: one for each part that can be written outside the package."""

from dataclasses import dataclass

import numpy as np
from scipy.special import polygamma, psi

from rahbo.model import Kernel, NoiseModel, NoisePosterior
from rahbo.policy import Repeats, Strategy, pessimistic
from rahbo.risk import RiskMeasure


@dataclass(frozen=True)
class Quadratic(RiskMeasure):
    """A risk measure that is not homogeneous: f - v/2 - v²/8."""

    def value(self, f, v):
        return f - 0.5 * v - 0.125 * v**2

    def gradient(self, f, v):
        return np.ones_like(f + v), -0.5 - 0.25 * v + 0.0 * f


def with_one(X):
    return np.column_stack([np.ones(len(X)), X])


@dataclass(frozen=True, eq=False)
class Line(NoisePosterior):
    """A posterior without a GP: log rho^2 is a line with normal coefficients."""

    w: np.ndarray
    covariance: np.ndarray

    def latent(self, X):
        H = with_one(X)
        return H @ self.w, np.sqrt(np.einsum("mi,ij,mj->m", H, self.covariance, H))

    def link(self, g):
        return np.exp(g)

    def link_slope(self, g):
        return np.exp(g)


@dataclass(frozen=True)
class LognormalNoise(NoiseModel):
    """A noise model without hyperparameters: log s^2 is normal around a line."""

    slope_std: float = 2.0

    def condition(self, data, hyperparameters, near=None):
        half = 0.5 * data.dof
        log_s2 = np.log(np.maximum(data.s2, data.floor)) - psi(half) + np.log(half)
        H, precision = with_one(data.X), 1.0 / polygamma(1, half)
        prior_mean = np.append(np.log(0.1 * data.typical), np.zeros(data.X.shape[1]))
        prior = np.append(0.1, np.full(data.X.shape[1], self.slope_std**-2))
        covariance = np.linalg.inv(H.T * precision @ H + np.diag(prior))
        return Line(covariance @ (H.T @ (precision * log_s2) + prior * prior_mean), covariance)


@dataclass(frozen=True)
class ShapeNoise(LognormalNoise):
    """A noise model whose hyperparameters are of its own kind: the slopes, learned and fixed."""

    takes_residuals = True

    def learn(self, data, previous=None):
        return {"slopes": self._line(data).w[1:]}

    def condition(self, data, hyperparameters, near=None):
        line = self._line(data)
        w = np.append(line.w[0], hyperparameters["slopes"])
        return Line(w, line.covariance)

    def _line(self, data):
        return super().condition(data_of_one(data), ())


def data_of_one(data):
    """Return data in which each estimate has at least one degree of freedom."""
    return type(data)(data.X, data.s2, np.maximum(data.dof, 1.0), data.floor, data.units,
                      data.typical, data.rounding)  # fmt: skip


class Periodic(Kernel):
    """variance * exp(-2 sum_j sin^2(pi (x_j - z_j)) / lengthscale_j^2), which is not stationary
    in the sense of the package."""

    def evaluate(self, X, Z):
        D = np.sin(np.pi * (X[:, None] - Z)) / self.lengthscales
        K = self.variance * np.exp(-2.0 * (D**2).sum(axis=2))
        return K, K.copy()

    def diagonal(self, X):
        return np.full(len(X), self.variance)

    def diagonal_gradient(self, X):
        return np.zeros_like(X)

    def input_gradient(self, X, Z, weighted_slope):
        D = np.sin(2.0 * np.pi * (X[:, None] - Z)) / self.lengthscales**2
        return -2.0 * np.pi * np.einsum("mn,mnd->md", weighted_slope, D)

    def log_parameter_gradient(self, X, K, slope, W):
        D = np.sin(np.pi * (X[:, None] - X)) / self.lengthscales
        return np.append(4.0 * np.einsum("mn,mnd->d", W * slope, D**2), np.vdot(W, K))


@dataclass(frozen=True)
class Thompson(Strategy):
    """Maximise one draw of the mean and of the noise variance."""

    def propose(self, turn):
        X = turn.points()
        f, noise_var = turn.model.draw(X, turn.rng)
        return turn.best(X, turn.model.units.risk_to_model(turn.risk).value(f, noise_var))

    def report_bound(self, model, risk):
        return pessimistic(model, risk)


@dataclass(frozen=True)
class WhereNoisy(Repeats):
    """More values where the noise is larger than what is unknown of the mean."""

    most: int = 6
    is_open = True

    def initial(self, observations):
        return min(2, self.most)

    def wanted(self, model, x):
        here = model.belief(x[None])
        return int(np.clip(here.noise_var[0] / here.sigma[0] ** 2, 1, self.most))

    def at_most(self, n):
        return WhereNoisy(min(self.most, n))
