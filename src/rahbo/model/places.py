"""A summary of many points, for which exact Gaussian processes would take too long.

Points near the leaders stay as they are. The others share places with their neighbours. A place is
one of its own points, and has the values of all of them.

As they are, the values of a place would show the slope of f as noise. So a pilot, which is a model
of a few hundred points, moves each value to the place:
    y_i + mu0(place) - mu0(x_i)
A value is left out if the pilot is not sure enough of this difference. Without noise that is nearly
every value: then a move costs more than the value tells.

Notation: ``X (n, d)`` distinct points, ``p`` places. Distances are divided by the lengthscales.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rahbo.model.joint import Learned, MeanNoiseModel, ModelSettings
from rahbo.model.learning import condition, learn
from rahbo.numerics import Array, Index
from rahbo.trials import Observations, Removed, point_statistics

# The most places. Both GPs take seconds with so many points.
MOST = 2000
# The share of places that are points near the leaders.
EXACT = 0.5
# A value is moved if the variance of the move is at most this share of its noise variance.
TOLERANCE = 1.0
# The number of points of the pilot, and the share of it that goes to the points with most values.
PILOT, REPEATED = 500, 0.2
# Leaders are the best points by mu - sigma - kappa rho, with several kappa because the risk measure
# is not known here. Those of one kappa lie at least this distance from each other, and with mu this
# many sigma higher could be better than the first.
KAPPAS = (0.0, 1.0, 3.0)
LEADERS, APART, MAY_RISE = 4, 0.5, 2.0
# Points per prediction of the pilot, and pairs per covariance, which bounds the memory.
BLOCK, PAIRS = 2048, 64


@dataclass(frozen=True, eq=False)
class Summary(Observations):
    """Observations by place.

    Attributes:
        told: The observations by point, those that are left out included.
    """

    told: Observations = field(kw_only=True)

    @property
    def resolution(self) -> float:
        """The rounding step of the values as they were told."""
        return self.told.resolution

    def joined(self, later: Observations) -> Summary:
        """Return this summary with the observations of later rounds, which stay as they are."""
        both = super().joined(later)
        parts = both.X, both.values, both.point, both.rounds, both.count, both.mean
        return Summary(*parts, both.sample_var, both.sign, told=self.told.joined(later))


def as_told(observations: Observations) -> Observations:
    """Return the observations by point, if these are a summary."""
    if not isinstance(observations, Summary):
        return observations
    told, removed = observations.told, observations.removed
    if removed is None:
        return told
    nothing = np.zeros(told.n)
    return told.less(Removed(removed.effects, nothing, nothing))


@dataclass(frozen=True, eq=False)
class Places:
    """Which points share a place.

    Attributes:
        centre: The point at which each place lies, ``(p,)``, ascending.
        place: The place of each point, ``(n,)``; -1 if its values are left out.
        shift: What is added to the values of each point, ``(n,)``; 0 at the centres.
    """

    centre: Index
    place: Index
    shift: Array

    def summarise(self, observations: Observations) -> Summary:
        """Return the observations by place.

        Args:
            observations: The data for which the places were found, or the same with more rounds.
                Points that are new have places of their own, after the others.
        """
        p, known, n = len(self.centre), len(self.place), observations.n
        place = np.concatenate([self.place, np.arange(p, p + n - known)])
        shift = np.concatenate([self.shift, np.zeros(n - known)])
        X = observations.X[np.concatenate([self.centre, np.arange(known, n)])]
        point, rounds = place[observations.point], place[observations.rounds]
        use = point >= 0
        values = (observations.values + shift[observations.point])[use]
        point, rounds = point[use], rounds[rounds >= 0]
        found = point_statistics(values, point, len(X))
        block = None if observations.block is None else observations.block[use]
        return Summary(X, values, point, rounds, *found, observations.sign,
                       observations.blocks, block, told=observations)  # fmt: skip


def summarised(
    settings: ModelSettings, observations: Observations, learned: Learned, most: int | None = None
) -> Observations:
    """Return the observations, or a summary of them if there are more than ``most`` points."""
    most = MOST if most is None else most
    if observations.n <= most:
        return observations
    return find_places(settings, observations, learned, most).summarise(observations)


def find_places(
    settings: ModelSettings,
    observations: Observations,
    learned: Learned | None = None,
    most: int = MOST,
) -> Places:
    """Return at most ``most`` places for the points of some observations.

    If a point has a finite number of values, these give its mean exactly, and values moved from
    other points would not. So none is moved then.

    Args:
        settings: The settings of both GPs.
        observations: The data.
        learned: Hyperparameters learned before; None learns them from the points of the pilot.
        most: The most places. With no more points than that, each is its own place.
    """
    n = observations.n
    if n <= most:
        return Places(np.arange(n), np.arange(n), np.zeros(n))
    pilot = _pilot(settings, observations, learned)
    X, U = observations.X, observations.X / _lengthscales(pilot)
    mu, sigma, noise_var = _judge(pilot, X)
    exact = _nearest(U, _leaders(U, mu, sigma, np.sqrt(noise_var)), int(EXACT * most))
    rest = np.setdiff1d(np.arange(n), exact)
    group = _grouped(U[rest], most - len(exact))
    middle = rest[_middles(U[rest], group, observations.count[rest])]
    target = np.arange(n)
    target[rest] = middle[group]
    centre, place = np.unique(target, return_inverse=True)
    moved = np.flatnonzero(target != np.arange(n))
    if settings.population is None:
        error_var = _error_var(pilot, X[moved], X[target[moved]])
        place[moved[error_var > TOLERANCE * noise_var[moved]]] = -1
    else:
        place[moved] = -1
    return Places(centre, place, pilot.units.std_to_user(mu[target] - mu))


def _pilot(
    settings: ModelSettings, observations: Observations, learned: Learned | None
) -> MeanNoiseModel:
    """Return the model of some points: evenly spaced in time, and those with most values."""
    n = observations.n
    often = np.argsort(-observations.count, kind="stable")[: int(REPEATED * PILOT)]
    even = np.linspace(0, n - 1, min(n, PILOT - len(often))).astype(np.intp)
    chosen = np.union1d(even, often)
    place = np.full(n, -1, dtype=np.intp)
    place[chosen] = np.arange(len(chosen))
    some = Places(chosen, place, np.zeros(n)).summarise(observations)
    return condition(settings, some, learned or learn(settings, some))


def _lengthscales(model: MeanNoiseModel) -> Array:
    """Return the shorter lengthscale of both GPs, ``(d,)``."""
    lengths, noise = model.mean.kernel.lengthscales, model.noise.gp
    return lengths if noise is None else np.minimum(lengths, noise.kernel.lengthscales)


def _judge(pilot: MeanNoiseModel, X: Array) -> tuple[Array, Array, Array]:
    """Return the pilot's mu, sigma and noise variance at ``X (n, d)``, each ``(n,)``."""
    beliefs = [pilot.belief(X[i : i + BLOCK]) for i in range(0, len(X), BLOCK)]
    mu = np.concatenate([belief.mu for belief in beliefs])
    sigma = np.concatenate([belief.sigma for belief in beliefs])
    noise_var = np.concatenate([belief.noise_var for belief in beliefs])
    return mu, sigma, np.maximum(noise_var, pilot.min_noise_var)


def _leaders(U: Array, mu: Array, sigma: Array, rho: Array) -> Index:
    """Return the points that lead for any of the kappas."""
    leaders: dict[int, None] = {}
    for kappa in KAPPAS:
        score = mu - sigma - kappa * rho
        score[score + (1.0 + MAY_RISE) * sigma < score.max()] = -np.inf
        for _ in range(LEADERS):
            best = int(np.argmax(score))
            if not np.isfinite(score[best]):
                break
            leaders[best] = None
            score[_squared(U, U[best]) < APART**2] = -np.inf
    return np.array(list(leaders), dtype=np.intp)


def _nearest(U: Array, leaders: Index, most: int) -> Index:
    """Return the points that are closest to a leader, ascending."""
    distance = np.min([_squared(U, U[i]) for i in leaders], axis=0)
    return np.sort(np.argsort(distance, kind="stable")[:most])


def _grouped(U: Array, most: int) -> Index:
    """Return the group of each point, ``(n,)``, each of the groups with at least one point.

    The next group always starts at the point that is farthest from the starts of all others, and
    each point belongs to the closest start.
    """
    group = np.zeros(len(U), dtype=np.intp)
    distance = _squared(U, U[0])
    for k in range(1, most):
        start = int(np.argmax(distance))
        if distance[start] == 0.0:
            break
        other = _squared(U, U[start])
        closer = other < distance
        group[closer], distance[closer] = k, other[closer]
    return group


def _middles(U: Array, group: Index, count: Index) -> Index:
    """Return the point of each group that is closest to the mean of its values' positions."""
    total = np.bincount(group, count)
    mean = np.column_stack([np.bincount(group, count * u) / total for u in U.T])
    off = U - mean[group]
    order = np.lexsort((np.einsum("ij,ij->i", off, off), group))
    return np.asarray(order[np.searchsorted(group[order], np.arange(len(total)))])


def _error_var(pilot: MeanNoiseModel, X: Array, Z: Array) -> Array:
    """Return the posterior variance of f(x) - f(z) for each pair of points, ``(m,)``."""
    found = np.empty(len(X))
    for i in range(0, len(X), PAIRS):
        rows = slice(i, i + PAIRS)
        pairs = np.vstack([X[rows], Z[rows]])
        C, m = pilot.mean.covariance(pairs), len(pairs) // 2
        var = np.diagonal(C)
        found[rows] = var[:m] + var[m:] - 2.0 * np.diagonal(C, m)
    return found


def _squared(U: Array, u: Array) -> Array:
    """Return the squared distances ``(n,)`` of ``U (n, d)`` from ``u (d,)``."""
    off = U - u
    return np.asarray(np.einsum("ij,ij->i", off, off))
