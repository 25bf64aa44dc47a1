"""What to recommend under given conditions: under one, or one setting for many of them.

Notation: x a choice, c one of ``k`` distinct conditions, w their weights ``(k,)`` with sum 1, f the
mean, v the noise variance. For many conditions the quantities are weighted averages over them:
    f(x) = mean_c f(x, c)
    v(x) = mean_c v(x, c)  [+ Var_c f(x, c), if the variation between conditions is a risk]
By the law of total variance the second form is the variance of a single evaluation under a random
condition. The average of f is a linear functional of the GP, so its posterior variance is w^T C w
for the joint covariance C ``(k, k)`` of the conditions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rahbo.analysis.aversion import aversion_of
from rahbo.analysis.blocks import BlockEffects
from rahbo.analysis.compliance import checks
from rahbo.analysis.gain import HOPE, Gain
from rahbo.analysis.luck import luckiest_of
from rahbo.analysis.posterior import Interval, central_interval, centre, joint_draws
from rahbo.analysis.recommendation import Recommendation, recommend, to_confirm
from rahbo.analysis.reportable import domain, not_noise, told
from rahbo.analysis.rivals import RunnerUp, set_apart
from rahbo.analysis.rules import Rule
from rahbo.analysis.unit import unsuited
from rahbo.errors import NotReadyError, SettingsError, SpaceError
from rahbo.numerics import Array, Index, Mask, Stream, generator, largest_first
from rahbo.policy import in_chunks, limits, repeating, report_bound, scattered
from rahbo.risk import RiskMeasure
from rahbo.space import Space, Time
from rahbo.state import State
from rahbo.trials import Trial, valued

# The most distinct conditions that are averaged over, and the most for which the gain is drawn.
MOST, DRAWN = 64, 16
# The most choices whose average is computed with its joint variance, and the most that are drawn.
LEADING, RIVALS = 64, 20
# Random choices, and choices around the best, that may still be better.
SAMPLES, AROUND = 128, 32
# Posterior standard deviations above its centre by which rivals are ranked.
REACH = 2.0

Conditions = Sequence[Mapping[str, Any]]


def space_for(space: Space, context: Mapping[str, Any] | None, now: float) -> Space:
    """Return the space of what can be chosen under a context.

    A time that counts evaluations is filled in with ``now``.

    Raises:
        SpaceError: The context does not fit the conditions of the space.
    """
    if context is None and not space.conditions:
        return space
    counted = {
        name: now
        for name, part in space.conditions.items()
        if isinstance(part, Time) and part.unit is None
    }
    if context is None and len(counted) < len(space.conditions):
        raise SpaceError(
            f"The space has conditions that are given, not chosen. Pass context= with "
            f"{[name for name in space.conditions if name not in counted]}."
        )
    given = {} if context is None else context
    if not isinstance(given, Mapping):
        raise SpaceError(f"context must be a dict of {list(space.conditions)}, got {context!r}.")
    return space.at({**counted, **given})


def is_current(trial: Trial, space: Space, now: Space) -> bool:
    """Return whether a trial was asked for under the conditions that ``now`` is at.

    A time that counts evaluations is not compared: no evaluation came between.
    """
    counted = {
        name: trial.params[name]
        for name, part in space.conditions.items()
        if isinstance(part, Time) and part.unit is None
    }
    at = {name: now.decode(trial.x)[name] for name in space.conditions}
    return bool(space.at({**at, **counted}).holds(trial.x[None])[0])


def newest_times(space: Space, trials: Iterable[Trial]) -> dict[str, float]:
    """Return the newest value of each time among the trials that gave values, by its name.

    If none did, all trials count. A time that was only asked for may be wrong or long gone.
    """
    times = [name for name, part in space.conditions.items() if isinstance(part, Time)]
    listed = list(trials) if times else []
    listed = valued(listed) or listed
    return {name: max(float(t.params[name]) for t in listed) for name in times}


def told_conditions(space: Space, trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return the condition of each trial that gave values."""
    return [{name: trial.params[name] for name in space.conditions} for trial in valued(trials)]


def recommend_under(
    state: State,
    context: Mapping[str, Any] | None,
    conditions: Conditions | None,
    total: bool,
    rule: Rule,
    level: float,
) -> Recommendation:
    """Return the choice to use under one context, or the best one for many conditions.

    Args:
        state: What the run knows, in a space with conditions.
        context: The conditions to decide for, or None.
        conditions: Conditions to decide for, each as likely as it is often in the list; None means
            those told so far.
        total: Whether the variance between conditions counts as risk.
        rule: Must be ``"pessimistic"``.
        level: Probability of each interval and of the bound on the gain.
    """
    space = state.space
    if not space.conditions:
        raise SpaceError(
            "context= and conditions= need a space with conditions. Leave them out, or declare "
            "conditions with rahbo.Context."
        )
    if rule != "pessimistic":
        raise SettingsError(
            f"rule={rule!r} compares values told under different conditions. Use "
            "rule='pessimistic', which compares predictions."
        )
    if context is not None and (conditions is not None or total):
        raise SettingsError(
            "recommend() needs context= for one condition, or conditions= and "
            "risk_over_conditions= for many. Pass one of them."
        )
    newest = newest_times(space, state.trials.values())
    if context is None and conditions is None and len(newest) == len(space.conditions):
        context = newest
    if context is not None:
        return recommend(state.at(_at(space, context, newest)), rule, level)
    is_asked = conditions is not None
    if conditions is None:
        # What was told at other times counts for now.
        conditions = [{**c, **newest} for c in told_conditions(space, state.trials.values())]
    else:
        conditions = _listed(conditions)
    wanted = [_at(space, c, newest) for c in conditions]
    slices, weights = distinct(wanted)
    if is_asked and len(slices) == 1:
        return recommend(state.at(slices[0]), rule, level)
    return _recommend_for_all(Average(state, slices, weights, total).thinned(MOST), level)


def _at(space: Space, context: object, newest: Mapping[str, float]) -> Space:
    if not isinstance(context, Mapping):
        raise SpaceError(f"context must be a dict of {list(space.conditions)}, got {context!r}.")
    return space.at({**newest, **context})


def _listed(conditions: object) -> list[Any]:
    if isinstance(conditions, str | bytes | Mapping) or not isinstance(conditions, Iterable):
        raise SettingsError(f"conditions must be a list of dicts, got {conditions!r}.")
    listed = list(conditions)
    if not listed:
        raise SettingsError("conditions must be a list of at least one dict, got an empty one.")
    return listed


def distinct(slices: Sequence[Space]) -> tuple[list[Space], Array]:
    """Return the spaces at distinct conditions ``(k)``, and the share ``(k,)`` of each."""
    origin, found, count = np.zeros((1, slices[0].d)), dict[bytes, Space](), Counter[bytes]()
    for at in slices:
        key = at.snap(origin).tobytes()
        found.setdefault(key, at)
        count[key] += 1
    return list(found.values()), np.array([count[key] for key in found]) / len(slices)


@dataclass(frozen=True, eq=False)
class Average:
    """The average over conditions.

    Attributes:
        state: What the run knows.
        slices: The space at each condition.
        weights: The probability of each condition, ``(k,)``.
        total: Whether the variance between conditions counts as risk.
    """

    state: State
    slices: Sequence[Space]
    weights: Array
    total: bool

    def points(self, X: Array) -> Array:
        """Return the choices ``X (m, d)`` under each condition, ``(m, k, d)``."""
        return np.stack([at.snap(X) for at in self.slices], axis=1)

    def legal(self, X: Array) -> Mask:
        """Return which choices ``(m,)`` satisfy ``valid`` under every condition."""
        return np.asarray(np.all([at.is_valid(at.snap(X)) for at in self.slices], axis=0))

    def reportable(self, X: Array) -> Mask:
        """Return which choices ``(m,)`` may be reported: legal, and limits kept everywhere."""
        legal, known = self.legal(X), limits(self.state)
        return legal if known is None else known.reportable(self.tightest(X), legal)

    def tightest(self, X: Array) -> Array:
        """Return each choice ``(m, d)`` under the condition that leaves limits least room."""
        Z, known = self.points(X), limits(self.state)
        if known is None:
            return np.asarray(Z[:, 0])
        room = known.room(Z.reshape(-1, Z.shape[2])).reshape(Z.shape[:2])
        return np.asarray(Z[np.arange(len(Z)), np.argmin(room, axis=1)])

    def thinned(self, most: int) -> Average:
        """Return the average over at most so many conditions, drawn by their weights.

        The order is random, so no period in the list of conditions matters. The drawn weight of
        each differs from its own by less than one part in ``most``.
        """
        if len(self.slices) <= most:
            return self
        rng = generator(self.state.settings.seed, Stream.CONDITIONS, most)
        order = rng.permutation(len(self.slices))
        ends = np.cumsum(self.weights[order])
        at = np.searchsorted(ends[:-1], (rng.random() + np.arange(most)) / most, side="right")
        few, count = np.unique(order[at], return_counts=True)
        return replace(self, slices=[self.slices[i] for i in few], weights=count / most)

    def central(self, X: Array) -> tuple[Array, Array]:
        """Return the mean and noise variance at the centre of the posterior, each ``(m,)``."""
        f, v = self._each(X, lambda Z: centre(self.state.model, Z))
        return f @ self.weights, v @ self.weights + (self._between(f) if self.total else 0.0)

    def worst(self, X: Array) -> tuple[Array, Array, Array]:
        """Return the mean, noise variance and value that the strategy reports by, each ``(m,)``.

        They are in user units and in the sense of maximisation.
        """
        bound, model, w = report_bound(self.state), self.state.model, self.weights
        mu, sigma = self._each(X, model.mean.predict)
        g, s = self._each(X, model.noise.latent)
        v = np.maximum(model.noise.link(g + bound.z_noise * s), model.min_noise_var) @ w
        joint = [float(w @ model.mean.covariance(Z) @ w) for Z in self.points(X)]
        average_var = np.maximum(joint, 0.0)
        if self.total:
            v = v + self._between(mu) + np.maximum(sigma**2 @ w - average_var, 0.0)
        f, units = mu @ w + bound.z_f * np.sqrt(average_var), model.units
        return units.to_outcome(f), units.var_to_user(v), units.to_outcome(bound.risk.value(f, v))

    def optimistic(self, X: Array) -> Array:
        """Return a value that is hardly exceeded, ``(m,)``, in the model's units; for ranking."""
        bound, model, w = report_bound(self.state), self.state.model, self.weights
        mu, sigma = self._each(X, model.mean.predict)
        g, s = self._each(X, model.noise.latent)
        v = np.maximum(model.noise.link(g - REACH * s), model.min_noise_var) @ w
        return bound.risk.value((mu + REACH * sigma) @ w, v)

    def drawn(self, X: Array, stream: Stream) -> tuple[Array, Array]:
        """Return joint draws of mean and noise variance, each ``(n, m)``, in user units."""
        Z, (m, k) = self.points(X), (len(X), len(self.slices))
        rng = generator(self.state.settings.seed, stream)
        F, V = joint_draws(self.state.model, Z.reshape(m * k, -1), rng)
        f, v = (drawn.reshape(-1, m, k) for drawn in (F, V))
        return f @ self.weights, v @ self.weights + (self._between(f) if self.total else 0.0)

    def _between(self, f: Array) -> Array:
        """Return the variance between the conditions, which are the last axis."""
        return np.asarray((f - (f @ self.weights)[..., None]) ** 2 @ self.weights)

    def _each(self, X: Array, predict: Any) -> tuple[Array, Array]:
        """Return two predictions under each condition, each ``(m, k)``."""
        Z, (m, k) = self.points(X), (len(X), len(self.slices))
        a, b = predict(Z.reshape(m * k, -1))
        return a.reshape(m, k), b.reshape(m, k)


def _recommend_for_all(average: Average, level: float) -> Recommendation:
    """Return the choice that is best on average over conditions."""
    state = average.state
    here = state.at(average.slices[0])
    data, space = told(here).observations, told(here).space
    legal = average.reportable(data.X)
    if not legal.any():
        raise NotReadyError(
            "No choice can be reported for these conditions. It needs one that was told and "
            "satisfies valid= under each of them."
        )
    middle = np.where(legal, state.risk.value(*average.central(data.X)), -np.inf)
    leading = largest_first(middle)[: min(LEADING, int(legal.sum()))]
    worst = average.worst(data.X[leading])
    order = largest_first(worst[2])
    leading, score = leading[order], worst[2][order]
    i = int(leading[0])
    (f,), (v,) = (part.tolist() for part in average.central(data.X[[i]]))
    F, V = average.drawn(data.X[[i]], Stream.GAIN_DRAWS)
    risk, s2 = state.risk, data.sample_var[i]
    shortfall, runner_ups = _rivals(average, here, leading, score, level)
    noise_std = math.sqrt(v)
    confirm = to_confirm(here, int(data.count[i]), noise_std) if repeating(state).revisit else 0
    trials = told(here).trials_at(data.X[i])
    everywhere = np.full((2, data.n), np.nan)
    everywhere[:, leading] = worst[0][order], worst[1][order]

    def decode(x: Array) -> dict[str, Any]:
        return _choice(space, x)

    return Recommendation(
        decode(data.X[i]),
        mean=f,
        mean_interval=_interval(F, f, level),
        noise_std=noise_std,
        noise_std_interval=_interval(np.sqrt(V), noise_std, level),
        risk=_value(risk, f, v),
        risk_interval=_interval(risk.value(F, V), _value(risk, f, v), level),
        level=float(level),
        pessimistic=float(score[0]),
        rule="pessimistic",
        score=float(score[0]),
        n_evaluations=int(data.count[i]),
        sample_mean=float(data.mean[i]),
        sample_std=None if math.isnan(s2) else math.sqrt(s2),
        gain=Gain.of(shortfall, level),
        runner_ups=runner_ups,
        p_best=None,
        confirm=confirm,
        constraints=checks(limits(state), average.tightest(data.X[[i]]), level)[0],
        blocks=BlockEffects.of(state.model, level),
        not_noise=not_noise(state),
        trials=trials,
        luckiest=luckiest_of(here, trials),
        aversion=aversion_of(here, i, leading, everywhere, (f, noise_std), decode, settled=True),
        unsuited=unsuited(state),
    )


def _rivals(
    average: Average, here: State, leading: Index, score: Array, level: float
) -> tuple[Array, tuple[RunnerUp, ...]]:
    """Return how far the first choice is below the best, ``(n,)``, and others that were tried."""
    X, few = told(here).observations.X, average.thinned(DRAWN)
    space = told(here).space
    rng = generator(here.settings.seed, Stream.GAIN_SEARCH)
    tried = X[leading[: RIVALS // 2]]
    others = scattered(space, SAMPLES, SAMPLES, tried[:3], AROUND, rng)
    others = others[few.legal(others)]
    others = others[_is_hopeful(few, others)] if len(others) else others
    if len(others):
        others = others[np.argsort(-few.optimistic(others), kind="stable")]
    drawn = average.state.risk.value(
        *few.drawn(np.vstack([tried, others])[:RIVALS], Stream.GAIN_DRAWS)
    )
    over = drawn - drawn[:, :1]
    better = [j for j in range(1, len(tried)) if np.mean(over[:, j] > 0.0) > 1.0 - level]
    better = set_apart(here, tried, better, 0)
    central = average.state.risk.value(*average.central(tried))
    found = []
    for j in better:
        gain, params = Gain.of(over[:, j], level), _choice(space, tried[j])
        trials = told(here).trials_at(tried[j])
        found.append(RunnerUp(params, float(central[j]), float(score[j]), gain, trials))
    return np.asarray(over.max(axis=1)), tuple(found)


def _is_hopeful(average: Average, X: Array) -> Mask:
    """Return which choices are likely to give a value, averaged over the conditions."""
    success = domain(average.state).success
    if success is None:
        return np.ones(len(X), dtype=bool)
    Z = average.points(X)
    each = in_chunks(success.chance, Z.reshape(-1, Z.shape[2])).reshape(Z.shape[:2])
    chance = each @ average.weights
    return np.asarray(chance >= HOPE * chance.max())


def _choice(space: Space, x: Array) -> dict[str, Any]:
    """Return the parameters of a choice, without the conditions."""
    return {name: v for name, v in space.decode(x).items() if name not in space.conditions}


def _value(risk: RiskMeasure, f: float, v: float) -> float:
    return float(risk.value(np.array([f]), np.array([v]))[0])


def _interval(drawn: Array, middle: float, level: float) -> Interval:
    """Return the interval of draws ``(n, 1)``, which contains the centre."""
    lower, upper = central_interval(drawn[:, 0], level).tolist()
    return Interval(min(lower, middle), max(upper, middle))
