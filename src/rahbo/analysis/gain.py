"""What another setting might still gain, over the whole space, whether it was tried or not.

Notation: R the risk value, x* the recommended setting. The quantity of interest is
    shortfall = max over the space of R(x) - R(x*)
which is never negative. It is drawn from the joint posterior at settings that may be the best: the
leading evaluated settings, those found by a search for optimistic values, random ones, and others
close to the leaders. In a list or a finite space all settings are drawn, or the most promising ones
if there are too many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rahbo.analysis.posterior import risk_draws
from rahbo.model import MeanNoiseModel
from rahbo.numerics import Array, Mask, Stream, brief, generator
from rahbo.policy import (
    Domain,
    RiskBound,
    in_chunks,
    is_listed,
    maximise,
    optimistic,
    scattered,
    values,
)
from rahbo.risk import RiskMeasure

# The most settings to draw together. More would find slightly larger gains at a higher cost.
MOST = 320
# Posterior standard deviations above its centre: REACH ranks the settings to draw, tails included,
# and a search at SEARCHED adds one more.
REACH, SEARCHED = 4.0, 2.0
# The number of random settings, and of settings with about half of their parameters at a bound,
# where least is known; the number of settings around each of the first few points; their number.
SAMPLES, AROUND, CENTRES = 256, 32, 3
# A setting whose chance of success is below this share of the largest chance is not a rival.
HOPE = 0.75
# Gains are capped at this quantile, because the tails have no finite expectation.
FARTHEST = 0.99


@dataclass(frozen=True)
class Gain:
    """How much better than the recommended setting another one may be, in user units.

    Attributes:
        expected: The expected gain. A loss counts as zero, and gains are capped at their 99 %
            quantile.
        bound: The gain is at most this with probability ``level``. It is negative for a single
            setting that is worse with that probability.
        level: The probability of the bound.
    """

    expected: float
    bound: float
    level: float

    @classmethod
    def of(cls, drawn: Array, level: float) -> Gain:
        """Return the gain for draws ``(n,)`` of R elsewhere minus R at the recommended setting."""
        bound, most = np.quantile(drawn, [level, FARTHEST], method="hazen")
        expected = float(np.mean(np.clip(drawn, 0.0, max(float(most), 0.0))))
        return cls(expected, float(bound), float(level))

    def __str__(self) -> str:
        if self.expected <= 0.0:
            return "No other setting is expected to be better."
        more = f" by more than {self.most}" if self.bound > 0.0 else ""
        return (
            f"With {100 * self.level:g} % probability no other setting is better{more} "
            f"(expected gain {brief(self.expected)})."
        )

    @property
    def most(self) -> str:
        """The bound as a text, and no less than the expectation, which a long tail can exceed.

        A larger bound holds all the more.
        """
        return brief(max(self.bound, self.expected) if self.bound > 0.0 else self.bound)

    @property
    def of_one(self) -> str:
        """The gain from one other setting, in words."""
        return f"expected gain {brief(self.expected)}, at most {self.most} ({100 * self.level:g} %)"


@dataclass(frozen=True, eq=False)
class Prospects:
    """Settings that may be the best, and joint draws of their risk values.

    Attributes:
        X: The settings, ``(m, d)``.
        risk: Their risk values, ``(n, m)``, in user units and the sense of maximisation.
    """

    X: Array
    risk: Array

    def over(self, x: Array) -> Array:
        """Return how far each setting is above ``x (d,)``, one of them, ``(n, m)``."""
        here = int(np.argmax((x == self.X).all(axis=1)))
        return np.asarray(self.risk - self.risk[:, here : here + 1])

    def shortfall(self, x: Array) -> Array:
        """Return how far ``x (d,)``, one of the settings, is below the best of them, ``(n,)``."""
        return np.asarray(self.over(x).max(axis=1))


def among(
    model: MeanNoiseModel,
    risk: RiskMeasure,
    points: Array,
    others: Array,
    seed: int,
    most: int | None = None,
) -> Prospects:
    """Return the distinct ``points (k, d)`` and those of the others that could be the best.

    They are at most ``most`` settings in all, by default `MOST`, but never fewer than the points.
    """
    most = MOST if most is None else most
    reach = values(_reach(model, risk, REACH), others)
    # Corners of a small space occur more than once.
    farthest = np.argsort(-reach, kind="stable")[: 2 * most]
    X = np.vstack([points, _without(others[farthest], points)])[: max(most, len(points))]
    return Prospects(X, risk_draws(model, risk, X, generator(seed, Stream.GAIN_DRAWS)))


def prospects(
    model: MeanNoiseModel, risk: RiskMeasure, domain: Domain, points: Array, seed: int
) -> Prospects:
    """Return settings of the whole space that may be the best.

    Args:
        model: Both posteriors.
        risk: The risk measure, in user units.
        domain: Where settings may lie; its known points are those evaluated.
        points: Distinct evaluated settings ``(k, d)`` that are always included, the leading ones
            first.
        seed: Seeds the search and the draws.
    """
    space = domain.space
    if is_listed(space):
        X = domain.listed()
    else:
        rng = generator(seed, Stream.GAIN_SEARCH)
        tried = domain.known[space.is_valid(domain.known)]
        X = np.vstack([tried, _elsewhere(model, risk, domain, points[:CENTRES], rng)])
    return among(model, risk, points, X[_is_hopeful(domain, X)], seed)


def _reach(model: MeanNoiseModel, risk: RiskMeasure, width: float) -> RiskBound:
    """Return the optimistic bound at a width that does not depend on the strategy."""
    return replace(optimistic(model, risk), z_f=width, z_noise=-width)


def _elsewhere(
    model: MeanNoiseModel,
    risk: RiskMeasure,
    domain: Domain,
    centres: Array,
    rng: np.random.Generator,
) -> Array:
    """Return a setting found by search, random ones, and settings around it and ``centres``."""
    space = domain.space
    found = maximise(_reach(model, risk, SEARCHED), domain, rng)
    centres = np.vstack([centres, found])
    sampled = scattered(space, SAMPLES, SAMPLES, centres, AROUND, rng)
    return np.vstack([found, sampled[space.is_valid(sampled)]])


def _is_hopeful(domain: Domain, X: Array) -> Mask:
    """Return which of ``X (m, d)`` gave a value before or are likely to give one.

    One that more likely violates a limit than not is not a rival, even if it was tried.
    """
    if domain.success is None or len(X) == 0:
        return np.ones(len(X), dtype=bool)
    chance = in_chunks(domain.success.chance, X)
    hopeful = np.asarray(chance >= HOPE * chance.max())
    tried = {x.tobytes() for x in domain.known}
    hopeful[[i for i in np.flatnonzero(~hopeful) if X[i].tobytes() in tried]] = True
    return hopeful if domain.limits is None else hopeful & (domain.limits.room(X) >= 0.0)


def _without(X: Array, points: Array) -> Array:
    """Return the distinct rows of ``X (m, d)`` that are not among the points."""
    seen = {x.tobytes() for x in points}
    kept = []
    for i, x in enumerate(X):
        if x.tobytes() not in seen:
            seen.add(x.tobytes())
            kept.append(i)
    return np.asarray(X[kept])
