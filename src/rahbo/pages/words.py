"""Sentences of a report: what is wanted, what is recommended, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rahbo.codec import describe
from rahbo.optimizer import Optimizer
from rahbo.report.recommendation import Interval, Recommendation, short
from rahbo.risk import ExpectedShortfall, MeanStd, MeanVariance, Quantile, RiskMeasure

SURE, LIKELY = 0.95, 0.5


def listed(params: Mapping[str, Any]) -> str:
    """Parameters in one line.

    >>> listed({"lr": 0.1, "kind": "adam"})
    'lr = 0.1, kind = adam'
    """
    return ", ".join(f"{name} = {short(value)}" for name, value in params.items())


def measure(risk: RiskMeasure, minimised: bool) -> str:
    """A risk measure.

    >>> measure(MeanVariance(2.0), minimised=False)
    'the mean less 2 times the noise variance'
    """
    less = "plus" if minimised else "less"
    if isinstance(risk, MeanVariance):
        counted = f" {less} {risk.alpha:g} times the noise variance"
        return f"the mean{counted if risk.alpha else ''}"
    if isinstance(risk, MeanStd):
        return f"the mean {less} {risk.kappa:g} times the noise standard deviation"
    if isinstance(risk, Quantile):
        beyond = "exceed" if minimised else "fall short of"
        return f"the value that {risk.level:.3g} of the outcomes {beyond}"
    if isinstance(risk, ExpectedShortfall):
        return f"the mean of the worst {risk.level:.3g} of the outcomes"
    return describe(risk)


def basis(optimizer: Optimizer) -> str:
    """What a report rests on."""
    settings = optimizer.settings
    failed = sum(len(trial.failures) for trial in optimizer.trials)
    waiting = sum(suggestion.repeats for suggestion in optimizer.open)
    lost = f", {failed} of which failed" if failed else ""
    more = f" {_times(waiting, 'evaluation')} under way." if waiting else ""
    wanted = "largest" if settings.sign > 0 else "smallest"
    return (
        f"From {_times(optimizer.n_evaluations, 'evaluation')}{lost}, at "
        f"{_times(optimizer.observations.n, 'point')}.{more} Wanted is the {wanted} value of "
        f"{measure(settings.risk, settings.sign < 0)}."
    )


def recommendation(found: Recommendation) -> list[str]:
    """What is known of the recommended point, a sentence each."""
    sure = f"with a probability of {found.level:g}"
    told = f"The value was {found.sample_mean:.4g}"
    if found.sample_std is not None:
        told = (
            f"The mean of these values is {found.sample_mean:.4g}, their standard deviation "
            f"{found.sample_std:.3g}"
        )
    return [
        f"Its mean is {found.mean:.4g}, and between {_ends(found.mean_interval)} {sure}.",
        f"Single evaluations vary around it with a standard deviation of {found.noise_std:.3g}, "
        f"which is between {_ends(found.noise_std_interval)} {sure}.",
        f"Its risk value is {found.risk:.4g}, and between {_ends(found.risk_interval)} {sure}.",
        f"It was evaluated {_times(found.n_evaluations, 'time')}. {told}.",
    ]


def certainty(found: Recommendation, n_points: int) -> str:
    """How sure it is that the recommended point is the best of those evaluated."""
    if n_points == 1:
        return "It is the only point evaluated."
    chance = f"P(best) = {found.p_best:.2g}"
    if found.p_best >= SURE:
        return f"It is very likely the best of the {n_points} evaluated points: {chance}."
    if found.p_best >= LIKELY:
        return f"It is more likely than not the best of the {n_points} evaluated points: {chance}."
    return (
        f"It is the safest choice so far, but another of the {n_points} evaluated points may well "
        f"be better: {chance}. More evaluations would tell."
    )


def _ends(interval: Interval) -> str:
    return f"{interval.lower:.4g} and {interval.upper:.4g}"


def _times(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
