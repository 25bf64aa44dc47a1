"""Sentences of a report: its goal, its recommendation, and what may still be better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rahbo.analysis import (
    SCORES,
    BlockEffects,
    ConstraintCheck,
    Interval,
    Prediction,
    Recommendation,
    short,
)
from rahbo.journal import describe
from rahbo.numerics import Justified, brief, percent
from rahbo.optimizer import Optimizer
from rahbo.risk import RiskMeasure

# The most characters of a text on a page that goes on.
LONGEST = 300


def cut(text: str, most: int = LONGEST) -> str:
    """Return a text of limited length."""
    return text if len(text) <= most else f"{text[:most]}..."


def listed(params: Mapping[str, Any]) -> str:
    """Return parameters in one line.

    >>> listed({"lr": 0.1, "kind": "adam"})
    'lr = 0.1, kind = adam'
    """
    return ", ".join(f"{name} = {short(value)}" for name, value in params.items())


def measure(risk: RiskMeasure, minimised: bool) -> str:
    """Return a risk measure in words."""
    return risk.in_words(minimised) or describe(risk)


def basis(optimizer: Optimizer) -> str:
    """Return sentences on the data and the goal of a report."""
    settings = optimizer.settings
    failed = sum(len(trial.failures) for trial in optimizer.trials)
    waiting = sum(suggestion.repeats for suggestion in optimizer.open)
    lost = f" ({failed:,} failed)" if failed else ""
    is_are = "is" if waiting == 1 else "are"
    more = f" {_times(waiting, 'evaluation')} {is_are} in progress." if waiting else ""
    goal = "Maximising" if settings.sign > 0 else "Minimising"
    return (
        f"Based on {_times(optimizer.n_evaluations, 'evaluation')}{lost} at "
        f"{_times(optimizer.observations.n, 'point')}.{more} {goal} "
        f"{measure(settings.risk, settings.sign < 0)}."
    )


def recommendation(found: Recommendation) -> list[str]:
    """Return the estimates for the recommended setting, as sentences."""
    level = f"{100 * found.level:g} % interval"
    means = Justified.by(found.mean, found.mean_interval)
    stds = Justified.by(found.noise_std, found.noise_std_interval)
    risks = Justified.by(found.risk, found.risk_interval)
    less = "" if found.blocks is None else ", less the effects of their blocks,"
    told = (
        f"The value{less.replace('their blocks', 'its block')} was {means.text(found.sample_mean)}"
    )
    if found.sample_std is not None:
        told = (
            f"The mean of these values{less} is {means.text(found.sample_mean)}, their "
            f"standard deviation {brief(found.sample_std)}"
        )
    if not found.feasible:
        decided = f"Its pessimistic value is {risks.text(found.pessimistic)}."
    elif found.rule == "pessimistic":
        decided = f"Its pessimistic value, {risks.text(found.pessimistic)}, decided the choice."
    else:
        decided = f"Its {SCORES[found.rule]}, {risks.text(found.score)}, decided the choice."
    return [
        f"Its mean is {means.text(found.mean)} ({level} {_ends(found.mean_interval, means)}).",
        "Single evaluations vary around it with a standard deviation of "
        f"{stds.text(found.noise_std)} ({level} {_ends(found.noise_std_interval, stds)}).",
        f"Its risk value is {risks.text(found.risk)} "
        f"({level} {_ends(found.risk_interval, risks)}).",
        decided,
        f"It was measured {found.measured}. {told}.",
    ]


def limits(found: Prediction) -> list[str]:
    """Return whether each outcome keeps its limit, as sentences; none without limits."""
    return [_limit(check) for check in found.constraints]


def _limit(check: ConstraintCheck) -> str:
    constraint = check.constraint
    said = f"The outcome {check.name} must be {constraint.described}."
    if math.isnan(check.quantile):
        return f"{said} No value of it was told, so it is not known whether the limit is kept."
    digits = Justified.by(check.quantile, check.interval)
    answer = "The limit is kept" if check.kept else "It is not sure that the limit is kept"
    return (
        f"{said} {constraint.stated(digits.text(check.quantile))} "
        f"({100 * check.level:g} % interval {_ends(check.interval, digits)}). {answer}: the "
        f"probability of it is {percent(check.chance)}, and the pessimistic bound, which decides, "
        f"is {digits.text(check.pessimistic)}."
    )


def blocks(found: BlockEffects) -> str:
    """Return how much blocks differ, as sentences."""
    digits = Justified.by(found.std, found.std_interval)
    return (
        f"{_times(len(found.effects), 'block')} differ with a standard deviation of "
        f"{digits.text(found.std)} ({100 * found.level:g} % interval "
        f"{_ends(found.std_interval, digits)}). What "
        "the values of a block have in common is taken out: the noise is what is left within "
        "blocks."
    )


def _ends(interval: Interval, digits: Justified) -> str:
    return f"{digits.text(interval.lower)} to {digits.text(interval.upper)}"


def _times(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
