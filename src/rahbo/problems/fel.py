"""A free-electron laser: its pulse energy as a function of four of its steering magnets.

The mean comes from measurements. The paper's form was fitted to tuning runs of the European XFEL
(SASE1, 24 November 2022, published by Xu et al. with their study of Bayesian optimisation there).
The two SwissFEL runs that the paper used are not public. The measurements are not part of this
package. `data/fel.json` holds the fitted parameters, the quality of the fit and the source, and
`scripts/fit_fel.py` writes such a file.

Two problems share that mean. `euxfel` has the **measured** noise, which is large on the slope and
small on the peak, so that risk hardly moves the optimum. `fel` has an **invented** noise field, so
that risk does move the optimum.

Notation, with n inputs of which p = 4 are tuned:

    X   settings of all inputs        ``(m, n)`` in `Surrogate`, ``(m, p)`` in problems
    A, B, m, F   height, offset, centre ``(n,)`` and factor ``(n, n)`` of the mean
    u   tuned inputs relative to the middle of their box, in half-widths ``(m, p)``

Energies are the machine's readings divided by 3000, which is about the largest reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from rahbo.errors import DataError
from rahbo.numerics import Array
from rahbo.problems.base import Problem
from rahbo.problems.synthetic import scaled_name
from rahbo.space import Float

# The third principal axis of the fitted F on the tuned inputs, rounded. Noise that rises along it
# cannot be avoided by moving along the flattest axis, where the mean hardly changes.
_NOISE_AXIS = np.array([-0.5, 0.3, 0.5, 0.65])


@dataclass(frozen=True)
class Surrogate:
    """Mean and noise variance of a pulse energy, as fitted to measurements.

    Attributes:
        inputs: Names of all n inputs.
        height: A of the mean.
        offset: B of the mean.
        centre: m of the mean, where it is largest ``(n,)``.
        factor: F of the mean ``(n, n)``, upper triangular.
        noise_floor: Noise variance without light.
        noise_bright: Noise variance per unit of light.
        noise_jitter: Variance of the inputs' own jitter.
        tuned: The inputs that are tuned.
        setting: The settings of all inputs, the middle of the box ``(n,)``.
        half_width: Half the width of the box of the tuned inputs.
    """

    inputs: tuple[str, ...]
    height: float
    offset: float
    centre: tuple[float, ...]
    factor: tuple[tuple[float, ...], ...]
    noise_floor: float
    noise_bright: float
    noise_jitter: float
    tuned: tuple[str, ...]
    setting: tuple[float, ...]
    half_width: float

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Surrogate:
        """Return the surrogate that a record read from JSON describes.

        Raises:
            DataError: Something is missing or is not a number.
        """
        try:
            values = {name: record[name] for name in cls.__dataclass_fields__}
            values["factor"] = tuple(tuple(map(float, row)) for row in record["factor"])
            for name in ("centre", "setting"):
                values[name] = tuple(map(float, record[name]))
            for name in ("inputs", "tuned"):
                values[name] = tuple(map(str, record[name]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"A surrogate needs the fields {list(cls.__dataclass_fields__)}, got a record that "
                f"raises {error!r}. Make the file with scripts/fit_fel.py."
            ) from error
        return cls(**values)

    def mean(self, X: Array) -> Array:
        """Return the mean ``(m,)`` at settings of all inputs ``(m, n)``.

        f(x) = A·exp(-||F(x - m)||²) + B    (the paper's SwissFEL surrogate)
        """
        return self._light(X) + self.offset

    def gradient(self, X: Array) -> Array:
        """Return the gradient of the mean ``(m, n)`` at settings of all inputs ``(m, n)``.

        ∇f(x) = -2·(f(x) - B)·FᵀF(x - m)
        """
        F = self._factor
        return np.asarray(-2.0 * self._light(X)[:, None] * ((X - self._centre) @ F.T @ F))

    def noise_var(self, X: Array) -> Array:
        """Return the noise variance ``(m,)`` at settings of all inputs ``(m, n)``.

        v(x) = floor + bright·(f(x) - B) + jitter·||∇f(x)||²

        The last term is the effect of small random errors of the inputs on the slope of the peak.
        """
        slope = np.sum(self.gradient(X) ** 2, axis=1)
        light = self.noise_bright * self._light(X)
        return np.asarray(self.noise_floor + light + self.noise_jitter * slope)

    def full(self, X: Array) -> Array:
        """Return tuned inputs ``(m, p)`` as settings of all inputs ``(m, n)``."""
        out = np.tile(np.array(self.setting), (len(X), 1))
        out[:, self._tuned_columns] = X
        return out

    @property
    def middle(self) -> Array:
        """The setting of the tuned inputs ``(p,)``."""
        return np.array(self.setting)[self._tuned_columns]

    def _light(self, X: Array) -> Array:
        Z = (X - self._centre) @ self._factor.T
        return np.asarray(self.height * np.exp(-np.sum(Z**2, axis=1)))

    @cached_property
    def _centre(self) -> Array:
        return np.array(self.centre)

    @cached_property
    def _factor(self) -> Array:
        return np.array(self.factor)

    @cached_property
    def _tuned_columns(self) -> list[int]:
        return [self.inputs.index(name) for name in self.tuned]


@dataclass(frozen=True)
class _Measured(Problem):
    """The problem that `euxfel` and `fitted` make."""

    surrogate: Surrogate

    def f(self, X: Array) -> Array:
        return self.surrogate.mean(self.surrogate.full(X))

    def noise_var(self, X: Array) -> Array:
        return self.surrogate.noise_var(self.surrogate.full(X))


@dataclass(frozen=True)
class _Invented(_Measured):
    """The problem that `fel` makes: the mean was measured, the noise was not."""

    scale: float

    def noise_var(self, X: Array) -> Array:
        u = (X - self.surrogate.middle) / self.surrogate.half_width
        return np.asarray(self.scale * (0.01 + 0.19 * expit(10.0 * (u @ _NOISE_AXIS) + 1.0)))


def euxfel() -> Problem:
    """Return the European XFEL problem: mean and noise as measured.

    f(x) = A·exp(-||F(x - m)||²) + B, v(x) = floor + bright·(f(x) - B) + jitter·||∇f(x)||²

    Four of the five most sensitive correctors are tuned within ±0.15 of a good setting, and the
    other six stay there. The noise is small, and smaller on the peak than on its slope (standard
    deviations of 0.026 and up to 0.07). It is smaller still only where there is little light. So
    risk-averse and risk-neutral methods agree on the optimum for any alpha from 0 to 5, and differ
    only on the way there. `data/fel.json` records how well the fit predicts a tuning run that it
    has not seen: the mean very well, the noise of settings that give light hardly at all.

    Examples:
        >>> from rahbo.risk import MeanVariance
        >>> best = euxfel().optimum(MeanVariance(5.0))
        >>> round(best.value, 2)
        1.0
    """
    return _problem(_Measured, "euxfel", _shipped())


def fel(scale: float = 1.0) -> Problem:
    """Return the semi-synthetic laser problem: the mean was measured, the noise is invented.

    v(x) = scale·(0.01 + 0.19·sigmoid(10·(-0.5·u1 + 0.3·u2 + 0.5·u3 + 0.65·u4) + 1))

    The mean and the space are those of `euxfel`. u is the setting of the four correctors relative
    to the middle of the box, in half-widths. This noise was not measured on any machine. The
    measured noise needs no trade-off, so this field puts the peak on the noisy side of a step,
    along an axis where leaving the peak costs light. Its size is also chosen: for alpha from 0.5 to
    5 to matter, alpha·v must be comparable with the mean, which is 1 at best. That needs a standard
    deviation from 0.1 (quiet) to 0.45 (noisy), about ten times the measured one. At about the
    measured size, a scale of 0.01, no alpha up to 5 would move the optimum by a hundredth of the
    box.

    Args:
        scale: Factor of the noise variance, at least 0.

    Examples:
        >>> from rahbo.risk import MeanVariance
        >>> problem = fel()
        >>> for alpha in (0.0, 1.0, 5.0):
        ...     best = problem.params_to_row(problem.optimum(MeanVariance(alpha)).params)
        ...     print(round(float(problem.f(best[None])[0]), 2))
        1.0
        0.96
        0.84
    """
    return _problem(_Invented, scaled_name("fel", scale), _shipped(), scale=float(scale))


def fitted(path: str | Path, name: str | None = None) -> Problem:
    """Return the problem of a surrogate that `scripts/fit_fel.py` fitted to your own file.

    Args:
        path: The JSON file that the script wrote.
        name: The name in records and tables; by default the file's name.

    Raises:
        DataError: The file does not have the form that the script writes.
    """
    path = Path(path)
    try:
        record = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise DataError(
            f"{path.name} must hold JSON, got {error}. Make the file with scripts/fit_fel.py."
        ) from error
    return _problem(_Measured, name or path.stem, Surrogate.from_record(record))


@cache
def _shipped() -> Surrogate:
    """Return the surrogate that comes with the package."""
    text = (files("rahbo.problems") / "data" / "fel.json").read_text("utf-8")
    return Surrogate.from_record(json.loads(text))


def _problem(kind: type[_Measured], name: str, surrogate: Surrogate, **more: float) -> Problem:
    """Return a problem in the box of a surrogate, with names that can be arguments."""
    half = surrogate.half_width
    space = {
        re.sub(r"\W", "_", tuned).lower(): Float(float(x) - half, float(x) + half)
        for tuned, x in zip(surrogate.tuned, surrogate.middle, strict=True)
    }
    if len(space) < len(surrogate.tuned):
        raise DataError(
            f"Tuned inputs must have different names after lower-casing and replacing signs by _, "
            f"got {surrogate.tuned}. Rename them."
        )
    return kind(name, space, surrogate, **more)
