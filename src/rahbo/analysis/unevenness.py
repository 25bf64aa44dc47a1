"""Does the noise variance depend on the inputs? A permutation test that needs no noise model.

Notation, per point ``(n,)``:

    q   the sample variance, and the mean difference of two repeats, each over its typical size
    u   q - 1 over its standard deviation for Gaussian outcomes
    a   sqrt of the information about the log noise variance, sqrt((count - 1) / 2)
    h   an input, or its square less what is linear in it

Both q have expectation 1 where the noise is even, whatever its shape and the number of repeats.
Squares tell more about two-valued noise, differences more about heavy-tailed noise. Each direction
has
    f = a (h - mean of h),  z = sum(f u) / std of that sum
and the evidence of an input, motivated by an average of Bayes factors for z ~ N(0, 10), is
    e = log sum(w exp(0.45 z^2)),  w = 1 for the linear terms and 1/2 for the squares.
It is compared with the evidence after permutations of u.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtri

from rahbo.analysis.posterior import LEVEL, Interval, marginals
from rahbo.model import GP, MeanNoiseModel
from rahbo.numerics import Array, FixedStream, Index, brief, fixed_generator
from rahbo.risk import MeanVariance
from rahbo.trials import Observations

Answer = Literal["yes", "no", "cannot tell"]
Source = Literal["repeats", "residuals", "nothing"]

# The largest p-value that counts as uneven. A mean that the GP does not follow makes residuals
# uneven too: at 0.05 in about 1 of 10 tables, and more often if they hold so little noise that
# only a large variance ratio would be found.
LEVELS = {"repeats": 0.05, "residuals": 0.01}
LARGEST_RESIDUAL_RATIO = 64.0
# A larger detectable ratio is not reported, because no noise varies that much.
LARGEST_TOLD_RATIO = 1000.0
# If a larger variance ratio could be missed, a test that finds nothing says nothing.
LARGEST_UNSEEN_RATIO = 16.0
PERMUTATIONS = 999
# Noise variances that differ by less are called the same.
SAME_RATIO = 1.2
# What to do if it cannot be told.
MORE = "Measure more points several times."
# Fewer points would have too few permutations.
MIN_POINTS = 6
# The factor of z^2, and the weight of a square beside a linear term.
HALF_SHARE, SQUARE_WEIGHT = 0.45, 0.5
# Share of sum(f^2 u^2) in the variance of sum(f u); the rest is sum(f^2) sum(u^2) / (n - 1). A
# larger share finds steps more often, and noise that grows towards both ends less often.
STUDENTISED = 0.25
# A trend found in 8 of 10 data sets is this much steeper than the theory of small trends says.
STEEPER = 1.1


@dataclass(frozen=True)
class Unevenness:
    """Whether the noise depends on the inputs.

    Attributes:
        answer: ``"yes"`` if the p-value is at most 0.05, or 0.01 from residuals that hold enough
            noise, or if there are too few points for a test and `apart` shows it; ``"no"`` if a
            ratio of 16 would usually have been found and nothing is `apart`; else
            ``"cannot tell"``.
        p_value: p-value of the hypothesis that the noise is even; None without a test.
        variance_ratio: Effect size according to the noise model: the 90th percentile of the noise
            variance at the evaluated points, divided by the 10th.
        noise_std_range: Square roots of the 10th and 90th percentiles.
        detectable_ratio: Variance ratio between the ends of an input that such a table reveals in
            about 8 of 10 cases.
        source: What the test uses: repeats, residuals or nothing.
        n_points: Number of points in the test.
        apart: The model's intervals of the noise std at a quiet and at a loud point, if they do not
            overlap; None if all intervals overlap.
    """

    answer: Answer
    p_value: float | None
    variance_ratio: float
    noise_std_range: Interval
    detectable_ratio: float
    source: Source
    n_points: int
    apart: tuple[Interval, Interval] | None = None

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.p_value is None and self.apart is not None:
            shown = f"{self._disjoint} There are too few points to test the inputs"
            if self.answer == "yes":
                return f"Yes: {shown}."
            return f"Cannot tell yet: {shown}. {MORE}"
        if self.p_value is None:
            return "Cannot tell: there are too few points, or there is no noise at all."
        tested = f"p = {self.p_value:.3f} from the {self.source} of {self.n_points:,} points"
        if self.answer == "yes":
            return f"Yes ({tested}). {self._modelled}{self._caveat}"
        if self.answer == "no":
            return f"No sign of it ({tested}). {self._seen} {self._modelled}"
        level = LEVELS[self.source]
        if self.p_value <= level:
            return f"Cannot tell yet ({tested}). {self._modelled}{self._caveat} {MORE}"
        if self.p_value <= LEVELS["repeats"]:
            tested += f", where {level:g} would show it"
        said = self._seen if self.apart is None else f"But {self._disjoint}"
        return f"Cannot tell yet ({tested}). {said} {MORE}"

    @property
    def _modelled(self) -> str:
        """How the noise varies according to the model."""
        low, high = (brief(std, 3) for std in self.noise_std_range)
        if self.variance_ratio < SAME_RATIO:
            return f"According to the model, the noise std is about {high} at all points."
        return (
            f"According to the model, the noise std ranges from {low} to {high} over the points "
            f"(10th to 90th percentile), a variance ratio of {brief(self.variance_ratio, 3)}."
        )

    @property
    def _caveat(self) -> str:
        """What else residuals may show."""
        if self.source != "residuals":
            return ""
        return " Without repeats, a mean that varies faster in places looks like uneven noise."

    @property
    def _seen(self) -> str:
        """What the test would have found."""
        data = "With these data, the test usually"
        if self.detectable_ratio <= SAME_RATIO:
            return f"{data} finds any difference that matters."
        if self.detectable_ratio > LARGEST_TOLD_RATIO:
            most = f"{LARGEST_TOLD_RATIO:g}"
            return f"{data} misses noise variances that differ by a factor below {most}."
        least = brief(self.detectable_ratio)
        return f"{data} finds noise variances that differ by a factor of {least} or more."

    @property
    def _disjoint(self) -> str:
        """Which intervals of the model do not overlap."""
        if self.apart is None:
            return ""
        ends = " and ".join(f"[{brief(a, 3)}, {brief(b, 3)}]" for a, b in self.apart)
        return f"the model's intervals of the noise std at two points, {ends}, do not overlap."


@dataclass(frozen=True, eq=False)
class Scatter:
    """What each point tells about its own noise, relative to the others.

    Attributes:
        X: The points, ``(n, d)``.
        squares: u of the sample variances, ``(n,)``.
        differences: u of the mean differences, ``(n,)``.
        weight: a, ``(n,)``.
    """

    X: Array
    squares: Array
    differences: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class UnevenTest:
    """The result of the test.

    Attributes:
        p_value: p-value of the hypothesis that the noise is even.
        input_p_values: The p-value for each input, corrected for their number.
        detectable_ratio: Variance ratio between the ends of an input that would be found in about
            8 of 10 data sets like this, if the log variance is linear in between.
    """

    p_value: float
    input_p_values: tuple[float, ...]
    detectable_ratio: float


def unevenness(
    observations: Observations, model: MeanNoiseModel, inputs: Sequence[Index]
) -> tuple[Unevenness, tuple[float | None, ...]]:
    """Return the record, and the p-value of each input, given by its columns of X.

    The repeats are tested. If they show little and the residuals show more, those are used.
    """
    v = np.maximum(model.noise.variance(observations.X), model.min_noise_var)
    low, high = np.quantile(v, [0.1, 0.9])
    stds = Interval(*model.units.std_to_user(np.sqrt([low, high])).tolist())
    record = Unevenness("cannot tell", None, float(high / low), stds, math.inf, "nothing", 0)
    found, by_input = _by_test(record, observations, model, inputs)
    apart, measured = intervals_apart(observations, model)
    answer = found.answer
    if apart is not None and found.p_value is None and measured:
        answer = "yes"
    elif apart is not None and answer == "no":
        answer = "cannot tell"
    return replace(found, answer=answer, apart=apart), by_input


def intervals_apart(
    observations: Observations, model: MeanNoiseModel
) -> tuple[tuple[Interval, Interval] | None, bool]:
    """Return the intervals of the noise std at two points that are furthest from overlapping.

    None if all intervals overlap. It also returns whether both points were measured repeatedly.
    """
    ends = marginals(model, MeanVariance(0.0), observations.X, LEVEL).noise_std
    quiet, loud = int(np.argmin(ends[:, 2])), int(np.argmax(ends[:, 0]))
    if ends[quiet, 2] >= ends[loud, 0]:
        return None, False
    both = (Interval(*ends[i, [0, 2]].tolist()) for i in (quiet, loud))
    return (next(both), next(both)), bool(observations.count[[quiet, loud]].min() > 1)


def _by_test(
    record: Unevenness,
    observations: Observations,
    model: MeanNoiseModel,
    inputs: Sequence[Index],
) -> tuple[Unevenness, tuple[float | None, ...]]:
    """Return the record with the result of the test that tells most, if any is possible."""
    by_input: tuple[float | None, ...] = (None,) * len(inputs)
    scatter = repeat_scatter(observations)
    if scatter is not None:
        record, by_input = _tested(record, "repeats", scatter, inputs)
    if observations.any_single and record.detectable_ratio > LARGEST_UNSEEN_RATIO:
        scatter = residual_scatter(observations, model)
        if scatter is not None:
            other = _tested(record, "residuals", scatter, inputs)
            if other[0].detectable_ratio < record.detectable_ratio:
                record, by_input = other
    return record, by_input


def _tested(
    record: Unevenness, source: Source, scatter: Scatter, inputs: Sequence[Index]
) -> tuple[Unevenness, tuple[float, ...]]:
    """Return the record with the result of the test, and the p-value of each input."""
    test = uneven_test(scatter, inputs, LEVELS[source])
    seen = test.detectable_ratio
    answer: Answer = "no" if seen <= LARGEST_UNSEEN_RATIO else "cannot tell"
    if test.p_value <= LEVELS[source]:
        trusted = source == "repeats" or seen <= LARGEST_RESIDUAL_RATIO
        answer = "yes" if trusted else "cannot tell"
    return replace(
        record,
        answer=answer,
        p_value=test.p_value,
        detectable_ratio=seen,
        source=source,
        n_points=len(scatter.X),
    ), test.input_p_values


def repeat_scatter(observations: Observations) -> Scatter | None:
    """Return the scatter of the repeats; None if too few points have any, or all of them agree."""
    use = observations.count > 1
    s2, k = observations.sample_var[use], observations.count[use].astype(float)
    if len(s2) < MIN_POINTS or not np.any(s2 > 0.0):
        return None
    return Scatter(
        observations.X[use],
        _scaled(_standardised(s2, 2.0 / (k - 1.0)), k),
        _scaled(_standardised(mean_difference(observations)[use], _difference_var(k)), k),
        np.sqrt((k - 1.0) / 2.0),
    )


def mean_difference(observations: Observations) -> Array:
    """Return Gini's mean difference at each point, ``(n,)``; NaN for a single value.

    It is the mean of |y - y'| over pairs of repeats. With y_1 <= ... <= y_k it is
    2 / (k (k - 1)) sum((2 i - k - 1) y_i).
    """
    point, k = observations.point, observations.count
    # Subtracting the mean of the point affects only rounding.
    y = observations.values - observations.mean[point]
    order = np.lexsort((y, point))
    start = np.cumsum(k) - k
    i = np.arange(len(y)) - start[point[order]] + 1
    sums = np.bincount(point[order], (2 * i - k[point[order]] - 1) * y[order], len(k))
    return np.where(k > 1, 2.0 * sums / np.maximum(k * (k - 1), 1), np.nan)


def _difference_var(k: Array | float) -> Array:
    """Return the variance of the mean difference of k Gaussian repeats over its squared mean."""
    root = 2.0 * math.sqrt(3.0) * (k - 2.0) - 2.0 * (2.0 * k - 3.0)
    return np.asarray((math.pi * (k + 1.0) / 3.0 + root) / (k * (k - 1.0)))


def _standardised(size: Array, relative_var: Array) -> Array:
    """Return (q - 1) / std, where q is the size over its precision-weighted mean."""
    typical = float(np.average(size, weights=1.0 / relative_var))
    return np.asarray((size / (typical or 1.0) - 1.0) / np.sqrt(relative_var))


def _scaled(u: Array, k: Array) -> Array:
    """Return the scores scaled to similar variances for all k; only Gaussian outcomes need none.

    Var[u] is taken to be linear in 1 / k.
    """
    basis = np.column_stack([np.ones(len(k)), 1.0 / k])
    var = basis @ np.linalg.lstsq(basis, u**2, rcond=None)[0]
    relative = var / (float(np.mean(u**2)) or 1.0)
    return np.asarray(u / np.sqrt(np.clip(relative, 0.5, 2.0)))


def residual_scatter(observations: Observations, model: MeanNoiseModel) -> Scatter | None:
    """Return the scatter of leave-one-out residuals r of the mean GP; None if they are too few.

    The GP has one noise level. With t the variance of r, and w the share of noise in it, r^2 / t
    stands for a sample variance of two repeats and |r| / sqrt(t) for their difference;
    a = w / sqrt(2).
    """
    if observations.n < MIN_POINTS:
        return None
    y = model.units.to_model(observations.mean)
    noise_var = _one_level(model, y, observations.count) / observations.count
    gp = model.mean
    gp = GP.condition(gp.kernel, gp.X, y, noise_var, lam=gp.lam, prior_mean=gp.prior_mean)
    r, total = gp.leave_one_out()
    if not np.any(r != 0.0):
        return None
    share = np.clip(noise_var / total, 1e-3, 1.0)
    z = np.abs(r) / np.sqrt(total)
    return Scatter(
        observations.X,
        _standardised(z**2, np.full(len(z), 2.0)),
        _standardised(z, np.full(len(z), _difference_var(2.0))),
        share / math.sqrt(2.0),
    )


def _one_level(model: MeanNoiseModel, y: Array, count: Index) -> float:
    """Return the constant noise variance under which the outputs are most likely.

    A = C^-1/2 (C^1/2 K C^1/2 + lam v I) C^-1/2 with C the counts, so that one eigenvalue
    decomposition serves every v.
    """
    gp = model.mean
    root = np.sqrt(count)
    values, vectors = eigh(root[:, None] * gp.kernel(gp.X, gp.X) * root)
    residual = vectors.T @ (root * (y - gp.prior_mean))
    low = max(model.min_noise_var, 1e-8 * float(np.mean(gp.kernel.diagonal(gp.X))))
    v = np.geomspace(low, max(float(np.mean(residual**2)), 2.0 * low), 200)[:, None]
    A = np.maximum(values, 0.0) + gp.lam * v
    log_density = -0.5 * (gp.lam * residual**2 / A + np.log(A)).sum(axis=1)
    return float(v[np.argmax(log_density), 0])


def uneven_test(scatter: Scatter, inputs: Sequence[Index], level: float = 0.05) -> UnevenTest:
    """Test even noise against a dependence on the inputs, each given by its columns of X.

    The level is used for the detectable ratio.
    """
    n, d = scatter.X.shape
    f = _directions(scatter.X, scatter.weight)
    rng = fixed_generator(FixedStream.PERMUTATIONS)
    shuffled = np.vstack([np.arange(n), np.argsort(rng.random((PERMUTATIONS, n)), axis=1)])
    log_weight = np.log(np.repeat([1.0, SQUARE_WEIGHT], d))
    terms = np.zeros((4, PERMUTATIONS + 1, d))
    for i, score in enumerate((scatter.squares, scatter.differences)):
        u = score - np.mean(score)
        among = np.sum(f**2, axis=0) * (u @ u) / (n - 1)
        var = STUDENTISED * ((u**2)[shuffled] @ f**2) + (1.0 - STUDENTISED) * among
        z2 = (u[shuffled] @ f) ** 2 / np.where(var > 0.0, var, np.inf)
        terms[2 * i], terms[2 * i + 1] = np.hsplit(HALF_SHARE * z2 + log_weight, 2)
    by_column = np.logaddexp.reduce(terms)
    by_input = np.array([np.logaddexp.reduce(by_column[:, c], axis=1) for c in inputs])
    strongest = by_input.max(axis=0)
    return UnevenTest(
        _share_above(np.logaddexp.reduce(by_input)),
        tuple(_share_above(np.append(e[0], strongest[1:])) for e in by_input),
        _detectable(f[:, :d], scatter.squares, level),
    )


def _directions(X: Array, a: Array) -> Array:
    """Return f of the inputs, then of their squares, ``(n, 2 d)``; zero for redundant squares."""
    linear, square = (_weighted(H, a) for H in (X, (X - 0.5) ** 2))
    size = np.sum(linear**2, axis=0)
    along = np.sum(linear * square, axis=0) / np.where(size > 0.0, size, np.inf)
    left = square - along * linear
    # An input with two values has only a linear term.
    new = np.sum(left**2, axis=0) > 1e-10 * np.sum(square**2, axis=0)
    return np.hstack([linear, np.where(new, left, 0.0)])


def _weighted(H: Array, a: Array) -> Array:
    """Return a (h - mean of h under the weights a^2), minus its own plain mean."""
    f = a[:, None] * (H - np.average(H, axis=0, weights=a**2))
    return np.asarray(f - np.mean(f, axis=0))


def _share_above(evidence: Array) -> float:
    """Return the share of permutations with at least the data's evidence, the data included."""
    return float(np.mean(evidence >= evidence[0] - 1e-9 * abs(evidence[0])))


def _detectable(f: Array, u: Array, level: float) -> float:
    """Return the ratio exp(slope) at which z passes its threshold in 8 of 10 data sets.

    For a small slope along an input, z has mean slope * sqrt(sum(f^2) / Var[u]) and variance 1.
    """
    threshold = float(ndtri(0.8) - ndtri(0.5 * level / ((1.0 + SQUARE_WEIGHT) * f.shape[1])))
    information = float(np.median(np.sum(f**2, axis=0))) / max(float(np.mean(u**2)), 1e-12)
    slope = STEEPER * threshold / math.sqrt(max(information, 1e-12))
    return math.exp(min(slope, 600.0))
