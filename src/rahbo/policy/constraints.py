"""Where outcomes keep their limits: the chance of it, and where it is certain enough to report.

Notation, for one outcome in the sense of maximisation: mu, sigma its posterior mean and deviation;
g, s those of its latent noise; v = link(g) its noise variance; rho = sqrt(v); L the limit and R the
risk measure of the constraint. What it demands of the outcome holds where Q >= L:
    Q = R(mu, v)
    sd^2 = (dR/dmu)^2 sigma^2 + (dR/drho drho/dg)^2 s^2    (the delta method)
    u = (Q - L) / sd,  chance = T(u)
with T the distribution of Student's t with four degrees of freedom, whose tails are those of all
intervals of a report. They also keep the chance above zero where a limit is far from being kept, so
that a search still knows in which direction it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import stdtr

from rahbo.model import Constraint, Hyperprior, MeanNoiseModel, Models
from rahbo.numerics import Array, Index, Mask
from rahbo.policy.feasibility import Chance
from rahbo.policy.repeats import CONFIRMED
from rahbo.policy.screening import in_chunks
from rahbo.risk import RiskMeasure
from rahbo.state import State, kept_with_models

# Degrees of freedom of the tails.
DOF = 4
# A point may be reported if every limit is this many posterior deviations away.
KEPT = 1.5
# A point may turn out to keep the limits if they are this many posterior deviations away.
MAY_KEEP = 1.0
# In a safe run, limits are taken to be at most this many prior deviations from the prior mean. With
# more settings than ENOUGH, they show themselves how far an outcome varies, and this fades.
REACH, ENOUGH = 1.5, 10
# The step, in the mean and in the latent noise, for the derivatives of slopes.
STEP = 1e-3


@dataclass(frozen=True, eq=False)
class Limit:
    """The limit of one outcome.

    Attributes:
        name: The name of the outcome.
        constraint: What must hold.
        model: What is believed of the outcome; None if nothing was told of it.
        wary: Whether the outcome is taken to vary enough to reach its limit, whatever the settings
            that were told show. A few settings close together say nothing of the others.
    """

    name: str
    constraint: Constraint
    model: MeanNoiseModel | None
    wary: bool = False

    def room(self, X: Array) -> Array:
        """Return u, the posterior deviations between Q and the limit, ``(m,)`` at ``X (m, d)``.

        It is 0 if nothing is known.
        """
        if self.model is None:
            return np.zeros(len(X))
        value, spread, limit = in_chunks(self._at, X)
        return np.asarray((value - limit) / spread)

    def margin(self, X: Array) -> Array:
        """Return how far the pessimistic Q is beyond the limit, ``(m,)``, in model units."""
        if self.model is None:
            return np.zeros(len(X))
        value, spread, limit = in_chunks(self._at, X)
        return np.asarray(value - KEPT * spread - limit)

    def doubt(self, X: Array) -> Array:
        """Return the posterior deviation of Q, ``(m,)``, in the model's units."""
        return np.zeros(len(X)) if self.model is None else np.asarray(in_chunks(self._at, X)[1])

    def quantile(self, X: Array, width: float = 0.0) -> Array:
        """Return Q ``(m,)`` less ``width`` posterior deviations, in user units."""
        if self.model is None:
            return np.full(len(X), np.nan)
        value, spread, _ = in_chunks(self._at, X)
        return np.asarray(self.model.units.to_user(value - width * spread))

    def room_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return u ``(m,)`` and its gradients ``(m, d)``."""
        model = self.model
        if model is None:
            return np.zeros(len(X)), np.zeros_like(X)
        mu, sigma, d_mu, d_sigma = model.mean.predict_with_gradient(X)
        g, s, d_g, d_s = model.noise.latent_with_gradient(X)
        v, slope, bend = self._noise(g)
        of_mean, of_noise = self._slopes(mu, g)
        spread = _spread(of_mean * sigma, of_noise * slope * s)
        above = self._risk.value(mu, v) - self._limit
        d_value = of_mean[:, None] * d_mu + (of_noise * slope)[:, None] * d_g
        d_of_mean, d_of_noise = self._slope_gradients(mu, g, d_mu, d_g)
        d_spread = (
            (of_mean**2 * sigma)[:, None] * d_sigma
            + (of_noise**2 * slope * bend * s**2)[:, None] * d_g
            + (of_noise**2 * slope**2 * s)[:, None] * d_s
            + (of_mean * sigma**2)[:, None] * d_of_mean
            + (of_noise * slope**2 * s**2)[:, None] * d_of_noise
        ) / spread[:, None]
        u = above / spread
        return u, (d_value - u[:, None] * d_spread) / spread[:, None]

    def _at(self, X: Array) -> Array:
        """Return Q, its deviation and the limit, ``(3, m)``, in the model's units."""
        model = self.model
        assert model is not None
        (mu, sigma), (g, s) = model.mean.predict(X), model.noise.latent(X)
        v, slope, _ = self._noise(g)
        of_mean, of_noise = self._slopes(mu, g)
        if self._is_flat:
            sigma = np.maximum(sigma, self._prior_std * _strangeness(X, model.observations.X))
        spread = _spread(of_mean * (self._caution * sigma), of_noise * slope * s)
        return np.array([self._risk.value(mu, v), spread, np.full(len(X), self._limit)])

    def _slopes(self, mu: Array, g: Array) -> tuple[Array, Array]:
        """Return (dR/dmu, dR/drho), each ``(m,)``."""
        return self._risk.std_gradient(mu, np.sqrt(self._noise_var(g)))

    def _slope_gradients(self, mu: Array, g: Array, d_mu: Array, d_g: Array) -> Iterator[Array]:
        """Yield the gradients ``(m, d)`` of both slopes."""
        in_mu = zip(self._slopes(mu + STEP, g), self._slopes(mu - STEP, g), strict=True)
        in_g = zip(self._slopes(mu, g + STEP), self._slopes(mu, g - STEP), strict=True)
        for (right, left), (above, below) in zip(in_mu, in_g, strict=True):
            change = (right - left)[:, None] * d_mu + (above - below)[:, None] * d_g
            yield change / (2.0 * STEP)

    def _noise(self, g: Array) -> tuple[Array, Array, Array]:
        """Return v, and the first and second derivatives of rho in g."""
        here = self._noise_var(g)
        low, rho, high = np.sqrt([self._noise_var(g - STEP), here, self._noise_var(g + STEP)])
        return here, (high - low) / (2.0 * STEP), (high - 2.0 * rho + low) / STEP**2

    def _noise_var(self, g: Array) -> Array:
        assert self.model is not None
        return np.maximum(self.model.noise.link(g), self.model.min_noise_var)

    @property
    def _caution(self) -> float:
        """The factor by which the deviation of the mean is widened; 1 unless wary.

        max(1, min(1, 10 / n) |L - m| / (1.5 sqrt(kappa(x, x) / lam)))
        Where most settings gave the same value, the limit is taken to be half as many deviations
        away.
        """
        if not self.wary or self.model is None:
            return 1.0
        share = min(1.0, ENOUGH / self.model.observations.n)
        deviations = abs(self._limit - self.model.mean.prior_mean) / self._prior_std
        return max(1.0, share * deviations / (REACH / 2.0 if self._is_flat else REACH))

    @property
    def _is_flat(self) -> bool:
        """Whether wary of an outcome that is the same at most settings, as of a counter at 0."""
        if not self.wary or self.model is None:
            return False
        told = self.model.observations
        values = self.model.units.to_model(told.mean if told.n > 1 else told.values)
        return bool(2 * np.unique(values, return_counts=True)[1].max() > len(values))

    @property
    def _prior_std(self) -> float:
        assert self.model is not None
        return float(np.sqrt(self.model.mean.kernel.variance / self.model.mean.lam))

    @property
    def _risk(self) -> RiskMeasure:
        """The risk measure for the model's numbers."""
        assert self.model is not None
        return self.model.units.risk_to_model(self.constraint.risk)

    @property
    def _limit(self) -> float:
        assert self.model is not None
        units = self.model.units
        return float(units.to_model(np.asarray(self.constraint.sign * self.constraint.limit)))


@dataclass(frozen=True, eq=False)
class Limits(Chance):
    """The limits of all outcomes.

    Attributes:
        each: The limits, in the order of the names of their outcomes.
        hope: Posterior deviations that are added to u when the chance is computed.
    """

    each: Sequence[Limit]
    hope: float = 0.0

    @classmethod
    def of(cls, constraints: Mapping[str, Constraint], models: Models) -> Limits | None:
        """Return the limits with what is believed of each outcome; None without constraints."""
        if not constraints:
            return None
        return cls([Limit(name, limit, models[name]) for name, limit in constraints.items()])

    def hoping(self, hope: float) -> Limits:
        """Return the same limits with another hope."""
        return replace(self, hope=hope)

    def warily(self) -> Limits:
        """Return the same limits, believed to be within reach of their outcomes."""
        return replace(self, each=[replace(limit, wary=True) for limit in self.each])

    def room(self, X: Array) -> Array:
        """Return the smallest u of all limits, ``(m,)`` at ``X (m, d)``."""
        return np.asarray(np.min([limit.room(X) for limit in self.each], axis=0))

    def doubt(self, X: Array) -> Array:
        """Return the largest posterior deviation of a Q, ``(m,)``, in units of its spread.

        The spread is the standard deviation of the outcome between points.
        """
        return np.asarray(np.max([limit.doubt(X) for limit in self.each], axis=0))

    def margin(self, X: Array) -> Array:
        """Return how far the pessimistic values Q are beyond the limits, ``(m,)``; the smallest.

        It is negative where a limit is not surely kept, and in units of the spread of an outcome.
        """
        return np.asarray(np.min([limit.margin(X) for limit in self.each], axis=0))

    def kept(self, X: Array) -> Mask:
        """Return which of ``X (m, d)`` keep every limit with enough certainty to be reported."""
        return np.asarray(self.room(X) >= KEPT)

    def reportable(self, X: Array, legal: Mask) -> Mask:
        """Return which of ``X (m, d)`` to report one of: those that are legal and keep the limits.

        If there are none, it is the legal one that violates them least. As long as nothing is known
        of the outcomes, it is any legal one.
        """
        kept = legal & self.kept(X)
        if kept.any() or not legal.any():
            return np.asarray(kept)
        margin = np.where(legal, self.margin(X), -np.inf)
        return np.asarray(margin == margin.max())

    def ranked(self, reported: Array, X: Array, tried: Index) -> Array:
        """Return values ``(m,)`` that put points which keep the limits first, in their order.

        The others follow, those that violate a limit least first. Once the first point is
        confirmed, a better one comes before it that may turn out to keep the limits.

        Args:
            reported: The lower bound that the strategy reports by, ``(m,)``.
            X: The points, ``(m, d)``.
            tried: The number of values and failures at each point, ``(m,)``.
        """
        room, margin = self.room(X), self.margin(X)
        behind = reported.min(initial=0.0) - 1.0 + margin - margin.max(initial=-np.inf)
        order = np.where(room >= KEPT, reported, behind)
        first = int(np.argmax(order))
        may = (room >= MAY_KEEP) & (room < KEPT) & (reported > reported[first])
        if tried[first] >= CONFIRMED and may.any():
            promoted = int(np.argmax(np.where(may, reported, -np.inf)))
            order[promoted] = np.nextafter(order[first], np.inf)
        return order

    def chance(self, X: Array) -> Array:
        """Return the chance that all limits are kept, ``(m,)`` at ``X (m, d)``."""
        found = [stdtr(DOF, limit.room(X) + self.hope) for limit in self.each]
        return np.asarray(np.prod(found, axis=0))

    def chance_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the chance that all limits are kept ``(m,)`` and its gradients ``(m, d)``."""
        p, d_log = np.ones(len(X)), np.zeros_like(X)
        for limit in self.each:
            u, d_u = limit.room_with_gradient(X)
            u = u + self.hope
            one = stdtr(DOF, u)
            p = p * one
            d_log += (_density(u) / one)[:, None] * d_u
        return p, p[:, None] * d_log


@dataclass(frozen=True, eq=False)
class Both(Chance):
    """The chance that an evaluation gives a number and that its outcomes keep their limits."""

    first: Chance
    second: Chance

    def chance(self, X: Array) -> Array:
        """Return the product of both chances, ``(m,)``."""
        return np.asarray(self.first.chance(X) * self.second.chance(X))

    def chance_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the product ``(m,)`` and its gradients ``(m, d)``."""
        (p, d_p), (q, d_q) = (one.chance_with_gradient(X) for one in (self.first, self.second))
        return p * q, p[:, None] * d_q + q[:, None] * d_p


@kept_with_models
def limits(state: State) -> Limits | None:
    """Return what is believed of the outcomes that have limits; None without constraints."""
    return Limits.of(state.settings.constraints, state.outcome_models)


@kept_with_models
def limits_followed(state: State) -> Limits | None:
    """Return nearly the same at a fraction of the cost, to propose by."""
    return Limits.of(state.settings.constraints, state.outcomes_followed)


def jointly(first: Chance | None, second: Chance | None) -> Chance | None:
    """Return the chance of both; None if neither is in doubt."""
    if first is None or second is None:
        return second if first is None else first
    return Both(first, second)


def _strangeness(X: Array, known: Array) -> Array:
    """Return the posterior deviation ``(m,)``, as a share of the prior one, near known points.

    It is that given the nearest one, under a squared exponential kernel with the lengthscales that
    are expected before anything is known. Values that are equal would make them long.
    """
    width = np.exp(Hyperprior.weak(X.shape[1]).log_lengthscale)
    nearest = np.min(cdist(X, known, "sqeuclidean"), axis=1)
    return np.asarray(np.sqrt(-np.expm1(-nearest / width**2)))


def _spread(sigma: Array, of_noise: Array) -> Array:
    """Return the posterior deviation of Q, never exactly zero."""
    return np.maximum(np.hypot(sigma, of_noise), 1e-9)


def _density(u: Array) -> Array:
    """Return the density of Student's t with four degrees of freedom."""
    return np.asarray(0.375 * (1.0 + 0.25 * u**2) ** -2.5)
