"""The promises of a risk measure."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rahbo.numerics import Array, Mask
from rahbo.risk import RiskMeasure
from rahbo.testing.checks import Promises, copied, run

# Units to which outcomes are converted: what is subtracted, and what divides.
UNITS = ((3.0, 0.25), (-2.0, 40.0))


def check_risk(
    risk: RiskMeasure,
    *,
    means: tuple[float, float] = (-3.0, 3.0),
    variances: tuple[float, float] = (0.0, 4.0),
    n: int = 21,
) -> None:
    """Check that a risk measure keeps its promises, on a grid and in a short run.

    It must rise with the mean, must not rise with the noise variance, must return its own gradient
    (compared with central differences), and must mean the same in other units. A grid is evidence,
    not proof: pass the ranges you use.

    Args:
        risk: The measure.
        means: Lowest and highest mean on the grid.
        variances: Lowest (at least 0) and highest noise variance on the grid. If the measure
            allows negative variances, their negatives are checked too.
        n: Grid points along each axis.

    Raises:
        AssertionError: A promise is broken; the message says which and where.
    """
    says = Promises(risk)
    says.require(isinstance(risk, RiskMeasure), "must be derived from RiskMeasure.")
    low, high = variances
    if n < 2 or not means[0] < means[1] or not 0.0 <= low < high:
        raise ValueError(
            f"check_risk() needs n >= 2, rising means and 0 <= rising variances, got n={n!r}, "
            f"means={means!r}, variances={variances!r}. Correct the ranges."
        )
    # Evenly spaced in the standard deviation, to cover small variances, where slopes are steep.
    v_axis = np.linspace(math.sqrt(low), math.sqrt(high), n) ** 2
    if risk.allows_negative_variance:
        v_axis = np.unique(np.concatenate([-v_axis, v_axis]))
    f, v = np.meshgrid(np.linspace(*means, n), v_axis, indexing="ij")
    _check_monotone(risk, f, v)
    _check_shapes(says, risk)
    for shift, scale in UNITS:
        _check_units(says, risk, shift, scale, f, v)
    says.equal(
        copied(risk).value(f, v),
        risk.value(f, v),
        "a pickled copy must return the same value.",
        rtol=0.0,
    )
    _check_words(says, risk, f, v)
    _check_run(says, risk)


def _check_monotone(risk: RiskMeasure, f: Array, v: Array) -> None:
    value = _evaluated(risk, "value", risk.value(f, v), f, v)
    rounding = 16.0 * float(np.finfo(np.float64).eps * np.max(np.abs(value)))
    _refuse_where(np.diff(value, axis=0) <= 0.0, risk, "value does not rise with the mean", f, v)
    rises = np.diff(value, axis=1) > rounding
    _refuse_where(rises, risk, "value rises with the noise variance", f, v)
    _check_gradient(risk, f, v, rounding)


def _check_shapes(says: Promises, risk: RiskMeasure) -> None:
    promise = "value() and gradient() must broadcast f and v, and take plain numbers."
    f, v = np.linspace(0.0, 1.0, 3)[:, None], np.linspace(0.5, 2.0, 4)
    whole = np.broadcast_arrays(f, v)
    says.equal(risk.value(f, v), risk.value(*whole), promise, rtol=1e-12)
    for found, expected in zip(risk.gradient(f, v), risk.gradient(*whole), strict=True):
        says.equal(found, expected, promise, rtol=1e-12)
    says.require(np.shape(risk.value(0.0, 1.0)) == (), promise)
    says.require(f[1, 0] == 0.5 and v[0] == 0.5, "value() must not change its arguments.")


def _check_units(
    says: Promises, risk: RiskMeasure, shift: float, scale: float, f: Array, v: Array
) -> None:
    inner = risk.standardised(shift, scale)
    says.require(
        inner.allows_negative_variance == risk.allows_negative_variance,
        "standardised() must not change allows_negative_variance.",
    )
    says.equal(
        shift + scale * inner.value((f - shift) / scale, v / scale**2),
        risk.value(f, v),
        f"standardised({shift}, {scale}) must give the same value in other units: "
        "R(shift + scale f, scale^2 v) = shift + scale R'(f, v).",
        rtol=1e-9,
        atol=1e-9 * scale,
    )
    _check_monotone(inner, (f - shift) / scale, v / scale**2)


def _check_words(says: Promises, risk: RiskMeasure, f: Array, v: Array) -> None:
    says.require(isinstance(risk.in_words(False), str), "in_words() must return a text.")
    weight, penalty = risk.weight, risk.penalty
    says.require(
        (weight is None) == (penalty is None),
        "must have both a weight and a penalty, or neither.",
    )
    if weight is not None:
        of = v if penalty == "noise variance" else np.sqrt(np.maximum(v, 0.0))
        promise = f"it says that it is the mean less {weight:g} times the {penalty}."
        says.equal(risk.value(f, v), f - weight * of, promise, rtol=1e-9)


def _check_run(says: Promises, risk: RiskMeasure) -> None:
    """Check that a run by this measure gives a recommendation whose value is the measure's."""
    optimizer = run({"x": (0.0, 1.0)}, 12, risk=risk)
    found = optimizer.recommend()
    says.equal(
        found.risk,
        risk.value(found.mean, found.noise_std**2),
        "a recommendation must have its value.",
        rtol=1e-6,
    )
    optimizer.diagnose()


def _evaluated(risk: RiskMeasure, what: str, result: Array, f: Array, v: Array) -> Array:
    """Return what a measure computed, after checking that it is finite and has the right shape."""
    out = np.asarray(result, np.float64)
    Promises(risk).require(
        out.shape == f.shape,
        f"{what} must have the broadcast shape of f and v, {f.shape}, got {out.shape}. "
        "Compute it element by element.",
    )
    _refuse_where(~np.isfinite(out), risk, f"{what} is not finite", f, v)
    return out


def _check_gradient(risk: RiskMeasure, f: Array, v: Array, rounding: float) -> None:
    """Compare the claimed gradient with central differences."""
    df, dv = risk.gradient(f, v)
    df = _evaluated(risk, "dR/df", df, f, v)
    dv = _evaluated(risk, "dR/dv", dv, f, v)
    h = 1e-5 * (1.0 + np.abs(f))
    slope = _central(lambda step: risk.value(f + step, v), h)
    _refuse_where(_differs(df, slope, rounding / h), risk, "dR/df is not the slope in f", f, v)
    # A step relative to v does not cross v = 0, where no central difference exists.
    inside = v != 0.0
    f, v, dv = f[inside], v[inside], dv[inside]
    h = 1e-4 * np.abs(v)
    slope = _central(lambda step: risk.value(f, v + step), h)
    _refuse_where(_differs(dv, slope, rounding / h), risk, "dR/dv is not the slope in v", f, v)


def _central(along: Callable[[Array], Array], h: Array) -> Array:
    """Return the central difference of a function of the step."""
    return np.asarray((along(h) - along(-h)) / (2.0 * h))


def _differs(claimed: Array, slope: Array, noise: Array) -> Mask:
    """Return where a claimed slope differs from the measured one by more than rounding explains."""
    size = np.maximum(np.abs(claimed), np.abs(slope))
    return np.asarray(np.abs(claimed - slope) > 1e-4 * size + noise)


def _refuse_where(bad: Mask, risk: RiskMeasure, why: str, f: Array, v: Array) -> None:
    """Raise an error for the first grid point marked bad."""
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise AssertionError(
            f"{why} at f={float(f[at]):g}, v={float(v[at]):g}. A risk measure must rise "
            f"with the mean, must not rise with the noise variance, and must return its own "
            f"gradient. Correct value() or gradient()."
        )
