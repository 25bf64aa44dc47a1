"""Everything a run depends on besides its data, checked once."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from rahbo.checks import is_number, is_whole
from rahbo.errors import SettingsError
from rahbo.model.confidence import Confidence, as_confidence
from rahbo.model.joint import ModelSettings, Outputs, Raw
from rahbo.model.kernels import Kernel, Matern52
from rahbo.model.noise import DirectNoise, NoiseModel
from rahbo.policy.repeats import Fixed, Repeats, as_repeats
from rahbo.policy.strategies import Rahbo, Strategy
from rahbo.risk import MeanVariance, RiskMeasure
from rahbo.space import Space

Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Refit:
    """When to learn hyperparameters again: each time the rounds have grown by a factor.

    The first fit is on what is known when the strategy first proposes. Factor 1 refits every
    round; an infinite one never again, as in the paper's experiments.

    >>> Refit(1.5).stages(4, 20)
    [4, 6, 9, 13, 19]
    """

    growth: float = 1.1

    def __post_init__(self) -> None:
        _require(is_number(self.growth) and self.growth >= 1, "Refit(growth)", ">= 1", self.growth)

    def stages(self, first: int, n: int) -> list[int]:
        """Numbers of rounds, from ``first`` up to ``n``, at which to fit."""
        stages = [first]
        while np.isfinite(self.growth):
            following = max(stages[-1] + 1, int(min(stages[-1] * self.growth, n + 1)))
            if following > n:
                break
            stages.append(following)
        return stages


@dataclass(frozen=True, eq=False)
class Settings:
    """What `Optimizer` was built with, defaults filled in.

    Attributes:
        space: Where to look.
        risk: What is wanted, in user units.
        repeats: How often to evaluate a point.
        strategy: How to choose points and the report.
        direction: Whether the objective is maximised or minimised.
        n_initial: Distinct points before the strategy proposes.
        model: What the two GPs are made of.
        refit: When to learn hyperparameters.
        seed: Of every random choice.
        noise: The noise model as it was given; that of ``model`` knows the space.
    """

    space: Space
    risk: RiskMeasure
    repeats: Repeats
    strategy: Strategy
    direction: Direction
    n_initial: int
    model: ModelSettings
    refit: Refit
    seed: int
    noise: NoiseModel

    @property
    def revisit(self) -> bool:
        """Whether a point that has its repeats may be proposed again."""
        return self.space.revisit and self.repeats.population is None

    @property
    def sign(self) -> float:
        """Multiplies user values so that larger is better."""
        return 1.0 if self.direction == "maximize" else -1.0


def make_settings(
    space: object,
    *,
    valid: Callable[[dict[str, Any]], bool] | None,
    risk: RiskMeasure,
    repeats: int | Repeats,
    strategy: Strategy,
    direction: Direction,
    n_initial: int | None,
    kernel: type[Kernel] | Kernel,
    noise: NoiseModel,
    beta: float | Confidence,
    beta_noise: float | Confidence,
    lam: float,
    outputs: Outputs,
    min_noise_var: float | None,
    max_noise_var: float | None,
    refit: Refit,
    seed: int | None,
) -> Settings:
    """Check each setting and fill in what was left open."""
    where = Space.of(space, valid)
    _require_instance("risk", risk, RiskMeasure, "MeanVariance(alpha=1.0)")
    _require_instance("strategy", strategy, Strategy, "Rahbo()")
    _require_instance("noise", noise, NoiseModel, "LogNoise()")
    _require_instance("outputs", outputs, Outputs, "Standardized()")
    _require_instance("refit", refit, Refit, "Refit(1.1)")
    _check_kernel(kernel, where)
    _check_noise_bounds(min_noise_var, max_noise_var)
    if direction not in get_args(Direction):
        raise SettingsError(f"direction must be 'maximize' or 'minimize', got {direction!r}.")
    _require(is_number(lam) and 0 < lam < np.inf, "lam", "a positive number", lam)
    if n_initial is None:
        # A choice of 20 has 20 columns but is one input: 44 points of a design for it and a
        # number, each twice, would leave a budget of 100 nothing to search with.
        n_initial = max(6, 2 * len(where.names) + 2)
    _require(is_whole(n_initial) and n_initial >= 1, "n_initial", "a whole number >= 1", n_initial)
    if seed is None:
        seed = secrets.randbits(31)
    _require(is_whole(seed) and seed >= 0, "seed", "a whole number >= 0", seed)
    how_often = as_repeats(repeats)
    model = ModelSettings(
        kernel=kernel,
        noise=noise.bind(where),
        beta=as_confidence(beta),
        beta_noise=as_confidence(beta_noise, "beta_noise"),
        lam=float(lam),
        outputs=outputs,
        min_noise_var=min_noise_var,
        max_noise_var=max_noise_var,
        population=how_often.population,
    )
    return Settings(
        where, risk, how_often, strategy, direction, int(min(n_initial, where.size)),
        model, refit, int(seed), noise,
    )  # fmt: skip


def paper_preset(alpha: float = 1.0, repeats: int = 10, n_initial: int = 10) -> dict[str, Any]:
    """Settings of the paper's experiments, for `Optimizer` and `maximize`.

    Algorithm 1 with k repeats; a zero-mean GP on s^2 with one learned noise level (bounded, see
    `DirectNoise`); raw outputs under a zero-mean GP; Matérn 5/2 kernels; hyperparameters by
    marginal likelihood on the initial design, then fixed; beta = beta_noise = 2, lambda = 1; no
    truncation of Sigma_hat.

    >>> sorted(paper_preset(alpha=2.0))[:4]
    ['beta', 'beta_noise', 'kernel', 'lam']
    """
    return {
        "risk": MeanVariance(alpha),
        "repeats": Fixed(repeats),
        "strategy": Rahbo(),
        "n_initial": n_initial,
        "kernel": Matern52,
        "noise": DirectNoise(),
        "beta": 2.0,
        "beta_noise": 2.0,
        "lam": 1.0,
        "outputs": Raw(),
        "refit": Refit(np.inf),
    }


def _check_kernel(kernel: object, space: Space) -> None:
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        return
    _require_instance("kernel", kernel, Kernel, "Matern52 or Matern52([0.2], variance=1.0)")
    if isinstance(kernel, Kernel) and kernel.d != space.d:
        raise SettingsError(
            f"{kernel!r} has {kernel.d} lengthscales, the space has {space.d} columns: "
            f"{', '.join(space.columns)}."
        )


def _check_noise_bounds(lowest: float | None, highest: float | None) -> None:
    for name, bound in (("min_noise_var", lowest), ("max_noise_var", highest)):
        ok = bound is None or (is_number(bound) and 0 < bound < np.inf)
        _require(ok, name, "a positive number or None", bound)
    if lowest is not None and highest is not None and lowest > highest:
        raise SettingsError(f"min_noise_var={lowest!r} is above max_noise_var={highest!r}.")


def _require(condition: bool, name: str, what: str, got: object) -> None:
    if not condition:
        raise SettingsError(f"{name} must be {what}, got {got!r}.")


def _require_instance(name: str, value: object, kind: type, example: str) -> None:
    if not isinstance(value, kind):
        raise SettingsError(f"{name} must be a {kind.__name__} such as {example}, got {value!r}.")
