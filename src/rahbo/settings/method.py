"""What only the author of a method sets: how points are chosen, and what the model assumes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from rahbo.errors import SettingsError
from rahbo.model import (
    Confidence,
    ConstantBeta,
    DirectNoise,
    Kernel,
    LogNoise,
    Matern52,
    NoiseModel,
    Outputs,
    Raw,
    Refit,
    Standardized,
    as_confidence,
    require_kernel,
)
from rahbo.numerics import Registered, is_number, positive
from rahbo.policy import Rahbo, Strategy, TopTwo


@dataclass(frozen=True, kw_only=True, repr=False)
class Method(Registered):
    """How points are chosen, and what the model assumes.

    The defaults are what measures best at equal numbers of evaluations. `paper` returns the
    method of the paper.

    Attributes:
        strategy: How points are chosen and reported.
        kernel: Kernel of the mean GP: a class, whose hyperparameters are learned, or a kernel
            that is used unchanged (in units of ``outputs``).
        noise: Model of the noise variance. Noise that is known is not part of the method: see
            ``noise_std`` of `Optimizer`.
        beta: Width of the confidence band of the mean, in standard deviations.
        beta_noise: Width of the confidence band of the noise variance.
        lam: Regulariser lambda of the mean GP; the noise model has its own.
        outputs: ``Standardized()`` or the paper's ``Raw()``.
        refit: When hyperparameters are learned again.
        min_noise_var: Lower bound on the noise variance, if known.
        max_noise_var: Upper bound on the noise variance, if known (eq. 16).

    >>> Method(beta=2.0)
    Method(beta=ConstantBeta(value=2.0))
    """

    strategy: Strategy = TopTwo()
    kernel: type[Kernel] | Kernel = Matern52
    noise: NoiseModel = LogNoise()
    beta: float | Confidence = ConstantBeta(1.0)
    beta_noise: float | Confidence = ConstantBeta(1.0)
    lam: float = 1.0
    outputs: Outputs = Standardized()
    refit: Refit = Refit()
    min_noise_var: float | None = None
    max_noise_var: float | None = None

    def __post_init__(self) -> None:
        for name in ("beta", "beta_noise"):
            object.__setattr__(self, name, as_confidence(getattr(self, name), name))
        require_instance("strategy", self.strategy, Strategy, "Rahbo()")
        require_instance("noise", self.noise, NoiseModel, "LogNoise()")
        require_instance("outputs", self.outputs, Outputs, "Standardized()")
        require_instance("refit", self.refit, Refit, "Refit(1.1)")
        require_kernel("kernel", self.kernel)
        object.__setattr__(self, "lam", positive("lam", self.lam))
        _check_noise_bounds(self.min_noise_var, self.max_noise_var)

    def __repr__(self) -> str:
        changed = (
            f"{part.name}={getattr(self, part.name)!r}"
            for part in fields(self)
            if getattr(self, part.name) != part.default
        )
        return f"Method({', '.join(changed)})"


def paper() -> Method:
    """Return the method of the paper's experiments, for ``method=``.

    It is Algorithm 1 with a zero-mean GP on s^2 with one learned noise level (bounded, see
    `DirectNoise`), raw outputs under a zero-mean GP, Matérn 5/2 kernels, beta = beta_noise = 2,
    lambda = 1 and no truncation of Sigma_hat. Hyperparameters are learned by marginal likelihood
    on the initial design and then fixed. The experiments also have ``risk=MeanVariance(alpha)``,
    ``repeats=10`` and ``n_initial=10``.

    >>> paper().strategy, paper().outputs
    (Rahbo(), Raw())
    """
    return Method(
        strategy=Rahbo(), noise=DirectNoise(), beta=2.0, beta_noise=2.0, outputs=Raw(),
        refit=Refit(math.inf),
    )  # fmt: skip


def require_instance(name: str, value: object, kind: type, example: str) -> None:
    """Raise an error unless a setting is of its class."""
    if not isinstance(value, kind):
        a = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise SettingsError(f"{name} must be {a} {kind.__name__} such as {example}, got {value!r}.")


def _check_noise_bounds(lowest: float | None, highest: float | None) -> None:
    for name, bound in (("min_noise_var", lowest), ("max_noise_var", highest)):
        if bound is not None and not (is_number(bound) and 0 < bound < np.inf):
            raise SettingsError(f"{name} must be a positive number or None, got {bound!r}.")
    if lowest is not None and highest is not None and lowest > highest:
        raise SettingsError(
            f"min_noise_var must not exceed max_noise_var, got {lowest!r} and {highest!r}."
        )
