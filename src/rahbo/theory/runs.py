"""The theory applied to a finished run: its information gains, and a bound of its regret.

Notation: the run has n told rounds in order, and the strategy chose T of them. ``X (n, d)`` are
their points, where a revisit is a further row, and ``count (n,)`` the numbers of values told. There
are k repeats per round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rahbo.errors import DataError, NotReadyError, SettingsError
from rahbo.model import (
    Confidence,
    DirectNoise,
    DirectPosterior,
    Kernel,
    Lemma1Beta,
    MeanNoiseModel,
    Raw,
    lemma1_beta,
)
from rahbo.numerics import Array, Index, Mask
from rahbo.optimizer import Optimizer
from rahbo.policy import Fixed, Rahbo, Repeating
from rahbo.risk import MeanVariance
from rahbo.settings import Settings
from rahbo.theory.bounds import (
    Both,
    ConfidenceBand,
    RegretBound,
    check_assumptions,
    proposition1_bound,
    theorem1_bound,
)
from rahbo.theory.gain import information_gain, information_gain_terms
from rahbo.trials import Trial, observations_of


@dataclass(frozen=True)
class RunGains:
    """Information gains of a run, over all its told rounds in order.

    Attributes:
        gamma: The gain about f under the known noise, or under the single noise level that is
            learned without repeats; None if a GP learns the noise.
        gamma_hat: The gain about f under ``max_noise_var``.
        gamma_noise: Gamma, the gain of the sample variances about rho^2 (with `LogNoise`, about
            its logarithm); None if no GP learns the noise.
    """

    gamma: float | None
    gamma_hat: float
    gamma_noise: float | None


def run_gains(optimizer: Optimizer, max_noise_var: float) -> RunGains:
    """Return the realised gamma, gamma_hat and Gamma of a run, at its present hyperparameters.

    sum_t 1/2 ln(1 + sigma_{t-1}^2(x_t) / v_t)    (eq. 11, and Step 3 of Theorem 1)

    Args:
        optimizer: The run.
        max_noise_var: The largest noise variance of a single evaluation, in user units.
    """
    run = _Run(optimizer)
    gamma_hat = float(run.mean_terms(run.model.units.var_to_model(max_noise_var)).sum())
    if isinstance(run.model.noise, DirectPosterior):
        return RunGains(None, gamma_hat, float(run.noise_terms(run.model.noise).sum()))
    return RunGains(float(run.mean_terms(run.known_noise_var).sum()), gamma_hat, None)


def regret_bound(
    optimizer: Optimizer,
    norm_f: float,
    norm_noise: float | None,
    delta: float,
    min_noise_var: float,
    max_noise_var: float,
) -> RegretBound:
    """Return a bound of the regret of the rounds that the strategy chose in a finished run.

    The bound is Proposition 1 if the noise is known, else Theorem 1, with the gains of the run
    itself instead of their maxima. Other rounds (initial design, past results) count as data, not
    as regret. The run must follow Algorithm 1, one point at a time, with kernels fixed in advance
    and the widths of Lemma 1. Any other run is refused. For Gaussian noise s^2 is not sub-Gaussian,
    so beta_noise is a heuristic, and so is Theorem 1's bound.

    Args:
        optimizer: The run.
        norm_f: B_f, a bound on the RKHS norm of f under the kernel of the mean.
        norm_noise: B_var, a bound on the RKHS norm of rho^2 under the kernel of the noise; None if
            the noise is known.
        delta: The probability that a band fails.
        min_noise_var: The smallest noise variance of a single evaluation.
        max_noise_var: The largest noise variance of a single evaluation.
    """
    check_assumptions(delta, min_noise_var, max_noise_var)
    settings = optimizer.settings
    alpha = _checked_alpha(settings)
    _check_width(settings.model.beta, "beta", norm_f, delta)
    if not isinstance(settings.repeats, Fixed):
        raise SettingsError(
            f"Theorem 1 needs the same number of repeats in every round, got "
            f"{settings.repeats!r}. Use repeats=10 or another whole number."
        )
    run, k = _Run(optimizer), settings.repeats.n_repeats
    run.check(k)
    rounds = int(run.chosen.sum())
    if settings.model.noise.is_known:
        _check_known(run, settings, min_noise_var, max_noise_var)
        terms = run.mean_terms(run.known_noise_var)
        mean = run.mean_band(terms, terms, max_noise_var / k)
        return proposition1_bound(mean, rounds=rounds, n_repeats=k, alpha=alpha, delta=delta)
    _check_learned(settings, norm_noise, delta, max_noise_var)
    # While the band of rho^2 holds, Sigma_hat >= min_noise_var / k, where beta_t is largest.
    mean = run.mean_band(
        run.mean_terms(max_noise_var), run.mean_terms(min_noise_var), max_noise_var / k
    )
    return theorem1_bound(
        mean, run.noise_band(), rounds=rounds, n_repeats=k, alpha=alpha, delta=delta
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """The told rounds of an optimizer."""

    optimizer: Optimizer

    @cached_property
    def trials(self) -> list[Trial]:
        return [t for t in self.optimizer.trials if t.n_values]

    @cached_property
    def model(self) -> MeanNoiseModel:
        return self.optimizer.model

    @cached_property
    def X(self) -> Array:  # noqa: N802 - a matrix
        return np.array([t.x for t in self.trials])

    @cached_property
    def count(self) -> Index:
        return np.array([t.n_values for t in self.trials], dtype=np.intp)

    @cached_property
    def chosen(self) -> Mask:
        return np.array([t.source == "strategy" for t in self.trials], dtype=bool)

    @cached_property
    def last(self) -> int:
        """The last round that the strategy chose."""
        return int(np.flatnonzero(self.chosen)[-1])

    @cached_property
    def known_noise_var(self) -> Array:
        """The noise variance of a single evaluation that the mean GP uses, ``(n,)``."""
        return np.maximum(self.model.noise.variance(self.X), self.model.min_noise_var)

    def mean_terms(self, noise_var: Array | float) -> Array:
        """Return what each round tells about f if an evaluation has ``noise_var``, ``(n,)``."""
        gp = self.model.mean
        return information_gain_terms(gp.kernel, self.X, noise_var / self.count, gp.lam)

    def noise_terms(self, noise: DirectPosterior) -> Array:
        """Return what each sample variance tells about the noise, ``(n,)``; 0 for one value."""
        use, terms = self.count > 1, np.zeros(len(self.X))
        gp, eta_var = noise.gp, noise.eta_var(self.count[use])
        terms[use] = information_gain_terms(gp.kernel, self.X[use], eta_var, gp.lam)
        return terms

    def mean_band(self, terms: Array, widest: Array, noise_var: float) -> ConfidenceBand:
        """Return the band of f; ``widest (n,)`` are the terms under the noise used for beta."""
        gp, rule = self.model.mean, self.optimizer.settings.model.beta
        before = float(widest[: self.last].sum())
        beta = _widths(rule, before, before + float(widest[self.last]), gp.lam)
        gain = float(terms[self.chosen].sum())
        return ConfidenceBand(beta, gain, noise_var, self._prior_var(gp.kernel, gp.lam))

    def noise_band(self) -> ConfidenceBand:
        """Return the band of rho^2."""
        noise = self.model.noise
        if not isinstance(noise, DirectPosterior):
            raise NotReadyError(
                "regret_bound() needs a round with at least two values to learn the noise, but "
                "there is none. Use repeats >= 2."
            )
        rule, gp = self.optimizer.settings.model.beta_noise, noise.gp
        before, after = (self._merged_noise_gain(noise, self.last + i) for i in (0, 1))
        gain = float(self.noise_terms(noise)[self.chosen].sum())
        eta_var = float(noise.eta_var(self.count[self.chosen]).max())
        beta = _widths(rule, before, after, gp.lam)
        return ConfidenceBand(beta, gain, eta_var, self._prior_var(gp.kernel, gp.lam))

    def _merged_noise_gain(self, noise: DirectPosterior, n: int) -> float:
        """Return the gain behind beta_noise after ``n`` rounds.

        The sample variance of merged repeats has more degrees of freedom than its rounds have
        together (one more for two rounds), so the model's width is slightly above that of separate
        rounds.
        """
        data = observations_of(self.trials[:n], 1.0)
        use = data.count > 1
        if not use.any():
            return 0.0
        eta_var = noise.eta_var(data.count[use])
        return information_gain(noise.gp.kernel, data.X[use], eta_var, noise.gp.lam)

    def _prior_var(self, kernel: Kernel, lam: float) -> float:
        return float(kernel.diagonal(self.X[self.chosen]).max()) / lam

    def check(self, n_repeats: int) -> None:
        """Refuse runs without chosen rounds, and rounds without their k values."""
        if not self.trials or not self.chosen.any():
            raise NotReadyError(
                "regret_bound() needs rounds that the strategy chose, but there are none. Ask and "
                "tell beyond the initial design first."
            )
        if np.any(self.count[self.chosen] != n_repeats):
            raise DataError(
                f"regret_bound() needs {n_repeats} values in every round that the strategy chose, "
                f"got from {self.count[self.chosen].min()} to {self.count[self.chosen].max()}. "
                "The theory does not cover failed or extra repeats."
            )


def _widths(rule: Confidence, before: float, after: float, lam: float) -> Both:
    """Return Lemma 1's beta of the last round from the gain before it; printed: including it."""
    if not isinstance(rule, Lemma1Beta):
        raise SettingsError(f"The width must be Lemma1Beta, got {rule!r}.")
    return Both(
        corrected=lemma1_beta(before, rule.norm, rule.delta, lam),
        printed=lemma1_beta(after, rule.norm, rule.delta, lam),
    )


# -- whether the theory applies --------------------------------------------------------------


def _checked_alpha(settings: Settings) -> float:
    """Return the weight of the noise, or raise if no bound of the paper covers the settings."""
    model, risk, method = settings.model, settings.risk, settings.method
    if not isinstance(risk, MeanVariance):
        raise _refusal("risk=MeanVariance(alpha)", risk, "The theory covers no other risk measure")
    kernels = [model.kernel]
    if not model.noise.is_known:
        if type(model.noise) is not DirectNoise:
            raise _refusal("method=Method(noise=DirectNoise(...)), or noise_std=", model.noise,
                           "The theory covers a GP on s^2 itself")  # fmt: skip
        kernels.append(model.noise.kernel)
    for ok, needed, got, why in (
        (type(method.strategy) is Rahbo, "method=Method(strategy=Rahbo())", method.strategy,
         "The bound holds only for its choices"),
        (isinstance(model.outputs, Raw), "method=Method(outputs=Raw())", model.outputs,
         "Standardising makes the prior depend on the data"),
        (np.isinf(method.refit.growth), "method=Method(refit=Refit(math.inf))", method.refit,
         "Refitted hyperparameters make the prior depend on the data"),
        (all(isinstance(kernel, Kernel) for kernel in kernels), "kernels fixed in advance, such "
         "as method=Method(kernel=Matern52([0.2]), noise=DirectNoise(Matern52([0.2])))", kernels,
         "An RKHS norm refers to one kernel"),
        (Repeating.of(settings).revisit, "a space with revisit=True and no Folds",
         settings.space.spec,
         "The strategy must be able to choose the best point again"),
    ):  # fmt: skip
        if not ok:
            raise _refusal(needed, got, why)
    return risk.alpha


def _check_width(rule: Confidence, name: str, norm: float, delta: float) -> None:
    if not (isinstance(rule, Lemma1Beta) and rule.norm >= norm and rule.delta <= delta):
        needed = f"{name}=Lemma1Beta(norm, delta), norm >= {norm:g} and delta <= {delta:g}"
        raise _refusal(needed, rule, "Narrower bands may fail")


def _check_known(run: _Run, settings: Settings, lowest: float, highest: float) -> None:
    v, cap = run.known_noise_var, settings.method.max_noise_var
    if v.min() < lowest or v.max() > highest:
        raise SettingsError(
            f"The known noise variance must lie between min_noise_var={lowest:g} and "
            f"max_noise_var={highest:g}, got values from {v.min():g} to {v.max():g}."
        )
    if cap is not None and cap < highest:
        raise _refusal(
            f"max_noise_var=None or >= {highest:g}", cap, "It would truncate known noise"
        )


def _check_learned(
    settings: Settings, norm_noise: float | None, delta: float, highest: float
) -> None:
    model = settings.model
    if norm_noise is None:
        raise SettingsError(
            "regret_bound() needs norm_noise for a run that learns its noise, got None. Pass a "
            "bound on the RKHS norm of rho^2."
        )
    _check_width(model.beta_noise, "beta_noise", norm_noise, delta)
    if model.max_noise_var != highest:
        raise _refusal(f"max_noise_var={highest:g}", model.max_noise_var,
                       "Sigma_hat must be truncated there (eq. 16)")  # fmt: skip
    cap = model.noise.max_noise_var if isinstance(model.noise, DirectNoise) else None
    if cap is None or cap < highest:
        raise _refusal(f"DirectNoise(max_noise_var={highest:g})", cap,
                       "The noise of s^2 must be known (Assumption 2)")  # fmt: skip


def _refusal(needed: str, got: object, why: str) -> SettingsError:
    return SettingsError(
        f"regret_bound() needs a run with {needed}, got {got!r}. {why}. Make a new run with it."
    )
