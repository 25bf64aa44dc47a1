"""Regret bounds (Prop. 1, Thm. 1) and sample complexity (Cor. 1.1).

Notation: there are T rounds of k repeats. ``c`` is an upper bound of kappa(x, x), ``lam`` the
paper's lambda, and ``v`` the noise variance of a round's value (rho^2 / k for a mean, rho_eta^2 for
a sample variance). Regret is summed over single evaluations, as in the proof of Theorem 1:
    R_T = k sum_t [MV(x*) - MV(x_t)]
If the paper's formula needs a correction, a record holds both forms, ``corrected`` and ``printed``.
Only the corrected one is a bound. The paper assumes c <= 1 and lam = 1; for other values, its
1 / ln(1 + 1 / v) becomes (c / lam) / ln(1 + c / (lam v)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rahbo.errors import SettingsError
from rahbo.model import Kernel, lemma1_beta, sample_variance_var
from rahbo.numerics import Array
from rahbo.theory.gain import greedy_information_gain


@dataclass(frozen=True)
class Both:
    """A quantity in its correct form and as the paper prints it."""

    corrected: float
    printed: float


def beta_bound(max_gain: float, norm: float, delta: float, lam: float = 1.0) -> Both:
    """Return the data-independent width of the band.

    beta_T <= sqrt(2 ln(1 / delta) + 2 gamma_T) + sqrt(lam) B    (A.1.2, printed: gamma_T)
    """
    return Both(
        corrected=lemma1_beta(max_gain, norm, delta, lam),
        printed=lemma1_beta(0.5 * max_gain, norm, delta, lam),
    )


@dataclass(frozen=True)
class ConfidenceBand:
    """The quantities of one GP after T rounds that a bound needs.

    Attributes:
        beta: The largest width of all rounds, in posterior standard deviations.
        gain: The information gain of the rounds, or an upper bound of it.
        noise_var: The largest noise variance v of a round's value.
        prior_var: c / lam, the largest prior variance.
    """

    beta: Both
    gain: float
    noise_var: float
    prior_var: float = 1.0

    @property
    def rate(self) -> Both:
        """The rate in sqrt(2 T rate), which bounds the sum of half-widths at the chosen points.

        rate = beta^2 gain (c / lam) / ln(1 + c / (lam v))    (Step 4, printed: c = lam = 1)
        """
        c = self.prior_var
        return Both(
            corrected=self.beta.corrected**2 * self.gain * c / math.log1p(c / self.noise_var),
            printed=self.beta.printed**2 * self.gain / math.log1p(1.0 / self.noise_var),
        )


@dataclass(frozen=True)
class RegretBound:
    """A bound of the regret R_T = k sum_t [MV(x*) - MV(x_t)].

    Attributes:
        corrected: The bound, which holds with probability ``probability``.
        printed: The bound as the paper prints it.
        rounds: The number of rounds T.
        n_repeats: The number of repeats k.
        probability: 1 - delta if the noise is known, else 1 - 2 delta.
        alpha: The weight of the noise variance.
        mean: The band of f.
        noise: The band of rho^2; None if rho^2 is known.
    """

    corrected: float
    printed: float
    rounds: int
    n_repeats: int
    probability: float
    alpha: float
    mean: ConfidenceBand
    noise: ConfidenceBand | None

    @property
    def per_evaluation(self) -> float:
        """The bound per evaluation, which also bounds the reported point's regret (Cor. 1.1)."""
        return self.corrected / (self.n_repeats * self.rounds)


def proposition1_bound(
    mean: ConfidenceBand, *, rounds: int, n_repeats: int = 1, alpha: float = 0.0, delta: float = 0.1
) -> RegretBound:
    """Return the bound with known noise variance, which does not depend on alpha.

    R_T <= 2 k beta_T sqrt(2 T gamma_T (c / lam) / ln(1 + c / (lam v)))    (Proposition 1, Step 5)
    """
    k, rate = n_repeats, mean.rate
    return RegretBound(
        corrected=2.0 * k * math.sqrt(2.0 * rounds * rate.corrected),
        printed=2.0 * k * math.sqrt(2.0 * rounds * rate.printed),
        rounds=rounds, n_repeats=k, probability=1.0 - delta, alpha=alpha, mean=mean, noise=None,
    )  # fmt: skip


def theorem1_bound(
    mean: ConfidenceBand,
    noise: ConfidenceBand,
    *,
    rounds: int,
    n_repeats: int,
    alpha: float,
    delta: float = 0.1,
) -> RegretBound:
    """Return the bound with unknown noise variance.

    R_T <= 2 k sqrt(2 T rate_f) + 2 k alpha sqrt(2 T rate_var)    (Theorem 1, printed without 2s)

    It holds with probability 1 - 2 delta, because each band fails with probability delta. The
    paper prints 1 - delta. For Gaussian noise s^2 has heavier tails than any sub-Gaussian variable,
    so the band of rho^2 is then a heuristic, and so is this bound.
    """
    k, of_f, of_noise = n_repeats, mean.rate, noise.rate
    twice = 2.0 * rounds
    return RegretBound(
        corrected=2.0 * k * (math.sqrt(twice * of_f.corrected)
                             + alpha * math.sqrt(twice * of_noise.corrected)),
        printed=k * (math.sqrt(twice * of_f.printed) + alpha * math.sqrt(twice * of_noise.printed)),
        rounds=rounds, n_repeats=k, probability=1.0 - 2.0 * delta, alpha=alpha, mean=mean,
        noise=noise,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Theorem1:
    """The assumptions of Theorem 1, on a finite set of points.

    Attributes:
        candidates: The points, ``(m, d)``.
        kernel: The kernel of f, kappa.
        noise_kernel: The kernel of rho^2, kappa_var.
        norm_f: B_f, a bound on the RKHS norm of f under ``kernel``.
        norm_noise: B_var, a bound on the RKHS norm of rho^2 under ``noise_kernel``.
        min_noise_var: The smallest noise variance.
        max_noise_var: The largest noise variance.
        alpha: The weight of the noise variance.
        n_repeats: The number of repeats k.
        delta: The probability that a band fails.
        kurtosis: The kurtosis of the noise, at most 3 if it is strictly sub-Gaussian.
        lam: The lambda of the GP of f.
        lam_noise: The lambda of the GP of rho^2.
    """

    candidates: Array
    kernel: Kernel
    noise_kernel: Kernel
    norm_f: float
    norm_noise: float
    min_noise_var: float
    max_noise_var: float
    alpha: float = 1.0
    n_repeats: int = 10
    delta: float = 0.1
    kurtosis: float = 3.0
    lam: float = 1.0
    lam_noise: float = 1.0

    def __post_init__(self) -> None:
        check_assumptions(self.delta, self.min_noise_var, self.max_noise_var, self.n_repeats)

    def bounds(self, max_rounds: int) -> list[RegretBound]:
        """Return the bound before any data, for T = 1 to ``max_rounds``.

        Maximum gains are replaced by their greedy upper bounds. beta_T uses the gain under
        min_noise_var / k, because Sigma_hat (eq. 16) is no smaller while the band of rho^2 holds.
        """
        k, eta_var = self.n_repeats, self.eta_var
        gamma_hat = self._gain(self.kernel, self.max_noise_var / k, self.lam, max_rounds)
        largest = self._gain(self.kernel, self.min_noise_var / k, self.lam, max_rounds)
        gamma_noise = self._gain(self.noise_kernel, eta_var, self.lam_noise, max_rounds)
        prior = self._prior_var(self.kernel, self.lam)
        prior_noise = self._prior_var(self.noise_kernel, self.lam_noise)
        found = []
        for t in range(max_rounds):
            beta = beta_bound(largest[t], self.norm_f, self.delta, self.lam)
            beta_noise = beta_bound(gamma_noise[t], self.norm_noise, self.delta, self.lam_noise)
            bound = theorem1_bound(
                ConfidenceBand(beta, gamma_hat[t], self.max_noise_var / k, prior),
                ConfidenceBand(beta_noise, gamma_noise[t], eta_var, prior_noise),
                rounds=t + 1,
                n_repeats=k,
                alpha=self.alpha,
                delta=self.delta,
            )
            found.append(bound)
        return found

    @property
    def eta_var(self) -> float:
        """The variance of a sample variance under the largest noise, the paper's R^2 (A.2)."""
        return float(sample_variance_var(self.max_noise_var, self.n_repeats, self.kurtosis))

    def _gain(self, kernel: Kernel, noise_var: float, lam: float, rounds: int) -> list[float]:
        found = greedy_information_gain(kernel, self.candidates, noise_var, rounds, lam)
        return [float(gain) for gain in found.upper]

    def _prior_var(self, kernel: Kernel, lam: float) -> float:
        return float(kernel.diagonal(self.candidates).max()) / lam


@dataclass(frozen=True)
class SampleComplexity:
    """Rounds after which the reported point is within epsilon; None if beyond ``max_rounds``.

    Attributes:
        corrected: The rounds by the corrected Corollary 1.1.
        printed: The rounds by Corollary 1.1 as printed.
        by_theorem: The rounds by Theorem 1 itself, which the corollary simplifies:
            R_T / (k T) <= epsilon.
        epsilon: The required accuracy.
        max_rounds: The largest number of rounds searched.
    """

    corrected: int | None
    printed: int | None
    by_theorem: int | None
    epsilon: float
    max_rounds: int


def corollary_rounds(bound: RegretBound, epsilon: float) -> Both:
    """Return the right-hand side of Corollary 1.1: T rounds are enough if T is at least this.

    T >= 16 (rate_f + alpha^2 rate_var) / epsilon^2    (printed: 4 and alpha)
    """
    of_noise = bound.noise.rate if bound.noise else Both(0.0, 0.0)
    of_f, a = bound.mean.rate, bound.alpha
    return Both(
        corrected=16.0 * (of_f.corrected + a**2 * of_noise.corrected) / epsilon**2,
        printed=4.0 * (of_f.printed + a * of_noise.printed) / epsilon**2,
    )


def sample_complexity(
    assumptions: Theorem1, epsilon: float, max_rounds: int = 1000
) -> SampleComplexity:
    """Return the smallest T that satisfies Corollary 1.1, found by search.

    T is on both sides of the inequality, so there is no closed form.

    >>> import numpy as np
    >>> from rahbo.model.kernels import RBF
    >>> X = np.linspace(0.0, 1.0, 20)[:, None]
    >>> setup = Theorem1(X, RBF([0.5]), RBF([0.5]), 1.0, 0.1, 0.01, 0.02, alpha=1.0)
    >>> sample_complexity(setup, epsilon=0.01, max_rounds=50).corrected is None
    True
    """
    if not epsilon > 0:
        raise SettingsError(f"epsilon must be a positive number, got {epsilon!r}.")
    bounds = assumptions.bounds(max_rounds)

    def smallest(enough: Callable[[RegretBound], bool]) -> int | None:
        return next((b.rounds for b in bounds if enough(b)), None)

    return SampleComplexity(
        corrected=smallest(lambda b: b.rounds >= corollary_rounds(b, epsilon).corrected),
        printed=smallest(lambda b: b.rounds >= corollary_rounds(b, epsilon).printed),
        by_theorem=smallest(lambda b: b.per_evaluation <= epsilon),
        epsilon=epsilon,
        max_rounds=max_rounds,
    )


def check_assumptions(
    delta: float, min_noise_var: float, max_noise_var: float, n_repeats: int = 2
) -> None:
    """Refuse constants that are not possible."""
    if not 0 < delta < 0.5:
        raise SettingsError(f"delta must be between 0 and 0.5, got {delta!r}.")
    if not 0 < min_noise_var <= max_noise_var < math.inf:
        raise SettingsError(
            "The noise variances must satisfy 0 < min_noise_var <= max_noise_var, got "
            f"{min_noise_var!r} and {max_noise_var!r}."
        )
    if n_repeats < 2:
        raise SettingsError(f"A sample variance needs n_repeats >= 2, got {n_repeats!r}.")
