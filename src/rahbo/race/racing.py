"""Race callables, or values that were measured already, against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rahbo.errors import DataError, ObjectiveError, SettingsError
from rahbo.numerics import evaluation_seed, is_finite, is_whole, not_negative
from rahbo.race.choice import FIRST, Rule
from rahbo.race.course import Course
from rahbo.race.verdict import Verdict, verdict_of
from rahbo.running import attempt, wanted_keywords
from rahbo.settings import Direction
from rahbo.trials import LARGEST_VALUE

# Runs of a race for each entrant, unless the number is given.
RUNS = 100


def race(
    entrants: Mapping[str, Callable[..., Any]],
    *,
    direction: Direction,
    probability: float = 0.95,
    indifferent: float = 0.0,
    evaluations: int | None = None,
    incumbent: str | None = None,
    seed: int = 0,
) -> Verdict:
    """Call noisy functions in turn until it is clear which one is best.

    The next call goes to the leader or to the entrant that is hardest to tell from it. The verdict
    may be asked for after every call without spoiling the probability.

    Args:
        entrants: Functions by name, two or more. Each call returns one noisy measurement. If all
            of them take a ``seed``, call number n of each gets the same one, and they are compared
            seed by seed where that is more precise.
        direction: ``maximize`` if larger values are better, ``minimize`` if smaller ones are.
        probability: The race ends when the best is known with this probability.
        indifferent: The race also ends when no entrant is better than the leader by more.
        evaluations: The most calls, failures included; by default 100 for each entrant.
        incumbent: The name of an entrant that the others must beat. The verdict is then to keep a
            challenger or to discard all of them.
        seed: Seeds the calls.

    Raises:
        ObjectiveError: Runs fail, and fewer than two entrants are left.

    >>> from random import Random
    >>> quick = lambda seed: 1.0 + 0.1 * Random(seed).gauss(0, 1)
    >>> slow = lambda seed: 2.0 + 0.1 * Random(-seed - 1).gauss(0, 1)
    >>> race({"quick": quick, "slow": slow}, direction="minimize").best
    'quick'
    """
    names = list(entrants)
    rule = checked_rule(names, probability, indifferent, incumbent)
    wants = [wanted_keywords(entrants[name], (), ("seed",)) for name in names]
    most = checked_runs(evaluations, len(names))
    sign = sign_of(direction)
    course = Course(len(names), rule, most, sign, matched=all(wants))
    while course.ended is None:
        for entrant, number in course.wanted(1):
            given = {"seed": evaluation_seed(seed, 0, number)} if wants[entrant] else {}
            outcome = attempt(entrants[names[entrant]], given)
            value = outcome.value
            why = outcome.failure or f"returned {outcome.no_number}"
            course.offer(entrant, number, why if value is None else value)
    verdict = verdict_of(course, names, sign)
    if verdict.best is None and course.ended == "failed" and incumbent is None:
        why = " ".join(each.why_out for each in verdict.standings if each.failures)
        raise ObjectiveError(f"Runs fail, and fewer than two entrants are left. {why}")
    return verdict


def judge(
    values: Mapping[str, Sequence[float | None]],
    *,
    direction: Direction,
    probability: float = 0.95,
    indifferent: float = 0.0,
    incumbent: str | None = None,
    matched: bool = False,
) -> Verdict:
    """Return the verdict on values that were measured already.

    It holds however the number of values was chosen, even if you measured until you liked them.

    Args:
        values: The values of each entrant by name; None or NaN for a failure.
        direction: ``maximize`` if larger values are better, ``minimize`` if smaller ones are.
        probability: The wanted probability.
        indifferent: Differences up to this size do not matter.
        incumbent: The entrant that the others must beat.
        matched: Whether values at the same place of the lists belong together, such as those of one
            seed or fold.

    >>> judge({"a": [1, 2] * 7, "b": [7, 8] * 7}, direction="maximize").decision
    'winner'
    """
    names = list(values)
    rule = checked_rule(names, probability, indifferent, incumbent)
    course = Course(len(names), rule, 1, sign_of(direction), matched)
    course.fill([[_checked(value, name) for value in values[name]] for name in names])
    return verdict_of(course, names, sign_of(direction))


def _checked(value: float | None, name: str) -> float | None:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return None
    # The squares of larger values would overflow.
    if not (is_finite(value) and abs(float(value)) <= LARGEST_VALUE):
        raise DataError(
            f"Values must be finite numbers up to {LARGEST_VALUE:g} in size, got {value!r} of "
            f"{name!r}. Correct it."
        )
    return float(value)


def sign_of(direction: str) -> float:
    """Return 1 for ``maximize`` and -1 for ``minimize``."""
    if direction not in ("maximize", "minimize"):
        raise SettingsError(f"direction must be 'maximize' or 'minimize', got {direction!r}.")
    return 1.0 if direction == "maximize" else -1.0


def checked_runs(evaluations: int | None, entrants: int) -> int:
    """Return how many runs a race may use, or raise an error if they are too few."""
    if evaluations is None:
        return RUNS * entrants
    if not is_whole(evaluations) or evaluations < FIRST * entrants:
        raise SettingsError(
            f"evaluations must be at least {FIRST * entrants}, {FIRST} for each entrant, got "
            f"{evaluations!r}."
        )
    return int(evaluations)


def checked_rule(
    names: Sequence[str], probability: float, indifferent: float, incumbent: str | None
) -> Rule:
    """Return when a race is decided, or raise an error for a setting that is out of range."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise SettingsError(f"A race needs two or more different entrants, got {list(names)!r}.")
    if not (is_finite(probability) and 0.5 <= probability < 1.0):
        raise SettingsError(f"probability must be from 0.5 to below 1, got {probability!r}.")
    if incumbent is not None and incumbent not in names:
        raise SettingsError(f"incumbent must be one of {list(names)!r}, got {incumbent!r}.")
    number = None if incumbent is None else list(names).index(incumbent)
    return Rule(1.0 - probability, not_negative("indifferent", indifferent), number)
