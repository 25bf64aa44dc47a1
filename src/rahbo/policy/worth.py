"""What an evaluation is worth: how much better the recommendation is expected to be after it.

Notation: A the points that were tried or are under way, x a point that may be evaluated next, Z1
and Z2 standard normal. After m values at x, the posterior means at A and at x itself will be
    mu + b_f Z1,  b_f = cov_f(., x) / sqrt(sigma^2(x) + rho^2(x) / m)
    g + b_g Z2,   b_g = cov_g(., x) / sqrt(s^2(x) + e(m))
where e(m) is the variance of what m values tell of the latent noise g. What is recommended then is
the best of the points that were tried, now with x among them:
    worth(x) = E max_{A, x} R(mu + b_f Z1, v(g + b_g Z2)) - max_A E R(mu + b_f Z1, v(g + b_g Z2))
with v the noise variance that is then expected. This is the knowledge gradient of Scott, Frazier
and Powell (2011), extended to a noise that is learned too. A repeat and a new point, and what an
evaluation tells of the mean and of the noise, are weighed against each other in one currency.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import ndtri

from rahbo.model import MeanNoiseModel, noise_of_means
from rahbo.numerics import Array, Index
from rahbo.policy import acquisition as acq
from rahbo.policy.conditions import placed
from rahbo.policy.domain import Domain, is_listed, random_point
from rahbo.policy.repeats import Repeats
from rahbo.policy.search import Pool, allowing_for_failure, screened
from rahbo.risk import RiskMeasure

DRAWS = 64  # pairs of Z1 and Z2
TRIED = 48  # points that were tried and may be recommended, at most
NEW = 28  # other points that are weighed, at most, for each of the widths
WIDTHS = (1.0, 2.0, 4.0)  # factors that widen the optimistic bound, to find promising points


def _normal_pairs(n: int) -> Array:
    """Return n quasi-random standard normal pairs ``(n, 2)``, each with its opposite.

    They are the additive sequence whose steps are powers of the plastic number.
    """
    step = 1.32471795724474602596 ** -np.array([1.0, 2.0])
    half = ndtri((0.5 + np.arange(1, n // 2 + 1)[:, None] * step) % 1.0)
    return np.asarray(np.vstack([half, -half]) / np.sqrt(np.mean(half**2, axis=0)))


PAIRS = _normal_pairs(DRAWS)


def most_worth(
    bound: acq.RiskBound,
    risk: RiskMeasure,
    domain: Domain,
    repeats: Repeats,
    rng: np.random.Generator,
    pool: Pool | None = None,
) -> Array:
    """Return the point ``(d,)`` whose evaluation is worth most for its cost.

    Args:
        bound: The optimistic bound, which tells promising points.
        risk: The risk measure, in user units.
        domain: Where to look.
        repeats: How often a point is evaluated, and what that costs.
        rng: Where random choices come from.
        pool: Points to choose from, if several proposals share one search.
    """
    model, promising = bound.model, _promising(bound, domain, pool, rng)
    known, at = _tried(bound, domain)
    X = np.vstack([promising, known[domain.allowed(known)]])
    if len(known) > 0 and len(X) > 0:
        count = repeats.planned(model, X)
        gain = _worth(model, risk, X, known, at, count) / repeats.cost(count)
        if domain.success is not None:
            gain = gain * domain.success.chance(X) ** 2
        X = X[np.argsort(-gain, kind="stable")]
    # If no point may be recommended yet, the most promising one comes first.
    found = domain.first_canonical(X)
    return random_point(domain, rng) if found is None else found


def worth(model: MeanNoiseModel, risk: RiskMeasure, X: Array, tried: Index, count: Index) -> Array:
    """Return what ``count (m,)`` values at each of ``X (m, d)`` are worth, ``(m,)``.

    It is in the model's units. The recommendation is one of the points of the mean GP with the row
    numbers ``tried (k,)``, or the point that was evaluated.
    """
    return _worth(model, risk, X, model.mean.X[tried], _some_of(_at_data(model), tried), count)


def _worth(
    model: MeanNoiseModel, risk: RiskMeasure, X: Array, A: Array, at: acq.Marginals, count: Index
) -> Array:
    """Return the worth ``(m,)``, where one of ``A (k, d)`` or the evaluated point is recommended.

    What is believed at A is ``at``.
    """
    noise, mu, g, s = model.noise, at.mu, at.g, at.s
    (mu_x, sigma), (g_x, s_x) = model.mean.predict(X), noise.latent(X)
    error_var = noise_of_means(model.settings, noise.expected(g_x, s_x), count, model.data)
    b_f = _column(model.mean.covariance(X, A), sigma**2) / np.sqrt(sigma**2 + error_var)[:, None]
    b_g = np.zeros_like(b_f)
    if noise.gp is not None:
        told = np.sqrt(s_x**2 + noise.error_var(count))
        b_g = _column(noise.gp.covariance(X, A), s_x**2) / told[:, None]
    mu, g, s = (_column(np.tile(at, (len(X), 1)), x) for at, x in ((mu, mu_x), (g, g_x), (s, s_x)))
    unknown = np.sqrt(np.maximum(s**2 - b_g**2, 0.0))
    in_units = model.units.risk_to_model(risk)
    best, each = np.zeros(len(X)), np.zeros((len(X), len(A)))
    for z_f, z_g in PAIRS:
        v = np.maximum(noise.expected(g + z_g * b_g, unknown), model.min_noise_var)
        R = in_units.value(mu + z_f * b_f, v)
        best += R.max(axis=1)
        each += R[:, :-1]
    return np.asarray((best - each.max(axis=1)) / len(PAIRS))


def _column(known: Array, own: Array) -> Array:
    """Return ``known (m, k)`` with one more column ``own (m,)``, for the evaluated point itself."""
    return np.column_stack([known, own])


def _tried(bound: acq.RiskBound, domain: Domain) -> tuple[Array, acq.Marginals]:
    """Return points ``(k, d)`` that may be recommended, and what is believed there.

    Where conditions are given, they are what was tried or is under way, under these conditions.
    """
    model = bound.model
    if not domain.space.conditions:
        rows = _leading(bound, domain)
        return model.mean.X[rows], _some_of(_at_data(model), rows)
    later = model.mean.X[model.observations.n :]
    X = placed(domain.space, np.vstack([later, domain.known[:TRIED]]))
    X = X[domain.space.is_valid(X)]
    return X, acq.Marginals(*model.mean.predict(X), *model.noise.latent(X))


def _leading(bound: acq.RiskBound, domain: Domain) -> Index:
    """Return the rows of known points that are, or may well turn out to be, the best.

    A point under way counts as tried. Otherwise it would be worth as much as before, and would be
    chosen again.
    """
    legal = np.flatnonzero(domain.space.is_valid(bound.model.mean.X))
    if len(legal) <= TRIED:
        return legal
    at = _some_of(_at_data(bound.model), legal)
    values = (some.value_of(at) for some in (bound.widened(0.0), bound))
    return np.asarray(legal[_largest(values, TRIED // 2)])


def _at_data(model: MeanNoiseModel) -> acq.Marginals:
    """Return what is believed at all points of the mean GP: those told, then those under way."""
    told, later = model.at_observations(), model.mean.X[model.observations.n :]
    if len(later) == 0:
        return acq.Marginals(*told)
    expected = *model.mean.predict(later), *model.noise.latent(later)
    return acq.Marginals(*(np.append(a, b) for a, b in zip(told, expected, strict=True)))


def _some_of(at: acq.Marginals, rows: Index) -> acq.Marginals:
    """Return what is believed at some of the points."""
    return acq.Marginals(at.mu[rows], at.sigma[rows], at.g[rows], at.s[rows])


def _promising(
    bound: acq.RiskBound, domain: Domain, pool: Pool | None, rng: np.random.Generator
) -> Array:
    """Return the points with the largest optimistic bounds, narrow and wide, ``(m, d)``.

    The bounds allow for failures. Otherwise a region that fails could have all the points, because
    it remains unknown.
    """
    if pool is None and not is_listed(domain.space):
        X = Pool.of(bound, WIDTHS, domain, 1, rng).X
        found = screened(bound, WIDTHS, domain, X, NEW)
        return np.asarray(X[_distinct(order[:NEW] for _, _, order in found)])
    X = domain.space.enumerate() if pool is None else pool.X
    rows = np.flatnonzero(domain.included(X))
    if len(rows) == 0:
        return X[:0]
    at = _some_of(acq.Marginals(*bound.model.predict_list(X)), rows)
    values = (_hoped(wide, at, X[rows], domain) for wide in map(bound.widened, WIDTHS))
    return np.asarray(X[rows[_largest(values, NEW)]])


def _hoped(bound: acq.RiskBound, at: acq.Marginals, X: Array, domain: Domain) -> Array:
    """Return the values ``(m,)`` of a bound at ``X (m, d)``, after allowing for failures."""
    return allowing_for_failure(bound, bound.value_of(at), X, domain)[1]


def _largest(values: Iterable[Array], n: int) -> Index:
    """Return the rows with the n largest of each of some values ``(m,)``."""
    return _distinct(np.argsort(-F, kind="stable")[:n] for F in values)


def _distinct(rows: Iterable[Index]) -> Index:
    """Return all row numbers, each once and in this order."""
    return np.array(list(dict.fromkeys(np.concatenate(list(rows)).tolist())), dtype=np.intp)
