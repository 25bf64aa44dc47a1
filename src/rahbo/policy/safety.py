"""Proposals that surely keep the limits of outcomes, starting from settings that were told.

A point is certified if every limit is `SURE` posterior deviations away. The first settings may be
alike and hardly vary themselves, so an outcome is always taken to vary enough to reach its limit.
Half of the proposals are the certified point with the largest optimistic value. The others are the
certified point whose quantile is least known, which lies at the edge of what is certified and so
lets it grow. If nothing is certified yet, the setting that keeps the limits best is measured again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rahbo.errors import ExhaustedError, NotReadyError
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array
from rahbo.policy.acquisition import optimistic
from rahbo.policy.confirmation import Contest
from rahbo.policy.constraints import KEPT, Limits, limits, limits_followed
from rahbo.policy.domain import Domain, is_listed, scattered
from rahbo.policy.screening import values
from rahbo.risk import RiskMeasure
from rahbo.state import State

# Posterior deviations between the limits and a point that may be evaluated.
SURE = 2.5
# Uniform samples, told points whose surroundings are sampled, and samples around each of them.
SAMPLES, CENTRES, AROUND = 256, 12, 32

UNSAFE = (
    "safe=True needs at least one setting that keeps the constraints to start from. Tell one with "
    "its outcomes, by data= or tell(), before you ask."
)

NONE_LEFT = (
    "No setting is likely enough to keep the constraints any more, so safe=True allows no further "
    "evaluation. Call recommend()."
)


def safe_point(
    state: State, domain: Domain, pending: Callable[[], MeanNoiseModel], rng: np.random.Generator
) -> tuple[Array, MeanNoiseModel]:
    """Return the next point, which surely keeps the limits, and the model it was chosen by.

    Args:
        state: What the run knows.
        domain: Where to look.
        pending: Returns the model given what was told, with evaluations under way.
        rng: Seeded by the run's seed and the number of asks.
    """
    if not any(trial.n_values for trial in state.trials.values()):
        raise NotReadyError(UNSAFE)
    model, limits = pending(), limits_followed(state)
    if limits is None or any(limit.model is None for limit in limits.each):
        raise NotReadyError(UNSAFE)
    x = _chosen(model, state.settings.risk, domain, limits.warily(), rng)
    if x is not None:
        return x, model
    if any(trial.source != "user" for trial in state.trials.values()):
        raise ExhaustedError(NONE_LEFT)
    raise NotReadyError(UNSAFE)


def safely_repeated(state: State, X: Array, contest: Contest) -> tuple[Array, Contest]:
    """Return the told points that a safe run may measure again, and the contest between them.

    These are the points that are sure to keep the limits. If none is, it is the one that keeps them
    best, unless it probably does not.

    Args:
        state: What the run knows.
        X: The points in the contest, ``(n, d)``.
        contest: The contest.
    """
    known = limits(state)
    if known is None or not state.settings.safe:
        return X, contest
    room = known.warily().room(X)
    least = min(KEPT, max(room.max(initial=-np.inf), -KEPT))
    safe = np.asarray(room >= least)
    if not safe.any():
        raise ExhaustedError(NONE_LEFT)
    return X[safe], contest.among(safe)


def _chosen(
    model: MeanNoiseModel,
    risk: RiskMeasure,
    domain: Domain,
    limits: Limits,
    rng: np.random.Generator,
) -> Array | None:
    told = model.observations.X
    told = told[domain.allowed(told)]
    X = _candidates(domain, told, limits, rng)
    by_value = rng.random() < 0.5
    X = X[limits.room(X) >= SURE] if len(X) else X
    if len(X):
        worth = values(optimistic(model, risk), X) if by_value else limits.doubt(X)
        found = domain.first_canonical(X[np.argsort(-worth, kind="stable")])
        if found is not None and limits.room(found[None])[0] >= SURE:
            return found
    room = limits.room(told) if len(told) else np.empty(0)
    if room.max(initial=-np.inf) < -KEPT:
        return None
    return np.asarray(told[int(np.argmax(room))])


def _candidates(domain: Domain, told: Array, limits: Limits, rng: np.random.Generator) -> Array:
    """Return points ``(m, d)`` that may be evaluated, most of them around safe ones."""
    if is_listed(domain.space):
        return domain.listed()
    room = limits.room(told) if len(told) else np.empty(0)
    safest = told[np.argsort(-room, kind="stable")]
    some = np.flatnonzero(room >= SURE)
    centres = np.vstack([safest[: CENTRES // 2], told[rng.permutation(some)[: CENTRES // 2]]])
    X = np.vstack([scattered(domain.space, SAMPLES, 0, centres, AROUND, rng), told])
    return X[domain.allowed(X)]
