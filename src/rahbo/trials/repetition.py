"""Repeats that are not noise: those that are identical, and those that recur in a fixed order.

An objective that is cached or has a fixed seed gives the same value whenever a setting is repeated.
One that goes through a few seeds in turn gives their values again and again. No number of repeats
shows how much such values vary.

A repeat is another value of the same setting in the same block. Noise that is recorded in full
never gives a value twice, so a few settings suffice. What else makes repeats agree must be ruled
out: values may be rounded, and many settings may end at the same value, such as a highest score or
the accuracy of a useless model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rahbo.numerics import Array
from rahbo.trials.blocks import block_of
from rahbo.trials.observations import rounding_step
from rahbo.trials.trial import Trial

# Identical repeats at settings of so many values are not noise; of one value less if there are so
# many repeats.
SETTINGS, REPEATS = 4, 8
# Values are coarse if they have at most so many digits, or steps above this share of their range.
DIGITS, FINE = 3, 1e-3
# Coarse values must have more than LEVELS different ones. Noise with a standard deviation of a third
# of a rounding step makes two, three, ... repeats agree with these probabilities, and all of the
# repeats must agree with a probability below LEAST.
LEVELS, LEAST = 4, 0.01
AGREE = (0.630, 0.451, 0.341, 0.265, 0.211, 0.169, 0.138, 0.113, 0.093)
# The most seeds that are looked for, and how many values must recur. Noise that has a few values
# would do so in the order of seeds with a probability below UNLIKELY.
MOST_SEEDS, RECURRING, UNLIKELY = 5, 2, 1e-3

REMEDY = "Give each call a fresh seed"


@dataclass(frozen=True)
class Repetition:
    """Repeats that are not noise. As a text it is one sentence with the remedy, or two.

    Attributes:
        n_values: How many different values a setting has: 1 if repeats are identical, or else the
            number of seeds that recur.
        is_known: Whether the user said so.
    """

    n_values: int
    is_known: bool = False

    def __str__(self) -> str:
        if self.is_known:
            return ""
        if self.n_values == 1:
            return (
                f"Repeats are identical: your objective looks seeded or cached. {REMEDY}, or say "
                "that there is no noise (noise=KnownNoise(0))."
            )
        return (
            f"Repeats recur: your objective looks as if it used the same {self.n_values} seeds in "
            f"turn. {REMEDY}."
        )


class _Told(NamedTuple):
    """One value: which call of the run and which repeat of its suggestion gave it."""

    value: float
    call: int
    repeat: int


def repetition_of(trials: Iterable[Trial]) -> Repetition | None:
    """Return what shows that the repeats in these trials are not noise; None if nothing does.

    One differing repeat withdraws the answer that repeats are identical.
    """
    trials = list(trials)
    told = _by_setting(trials)
    repeated = [values for values in told if len(values) > 1]
    if not repeated:
        return None
    if all(_distinct(values) == 1 for values in repeated):
        return Repetition(1) if _is_identical([v[0].value for v in told], repeated) else None
    if sum(len(values) - _distinct(values) for values in repeated) < RECURRING:
        return None
    # Values that were told without being asked for have no place in the order of calls.
    asked = [trial for trial in trials if trial.source != "user"]
    return _in_turn([values for values in _by_setting(asked or trials) if len(values) > 1])


def _by_setting(trials: Iterable[Trial]) -> list[list[_Told]]:
    """Return the values at each setting in each block, in the order of the calls."""
    found: dict[tuple[bytes, str | None], list[_Told]] = {}
    call = 0
    for trial in trials:
        x, in_blocks = trial.x.tobytes(), bool(trial.beside or trial.blocks)
        for i in sorted(trial.values.keys() | trial.failures.keys()):
            if i in trial.values:
                block = block_of(trial, i) if in_blocks else None
                found.setdefault((x, block), []).append(_Told(trial.values[i], call, i))
            call += 1
    return list(found.values())


def _distinct(values: Iterable[_Told]) -> int:
    return len({one.value for one in values})


# -- identical repeats -------------------------------------------------------------------------


def _is_identical(first: Sequence[float], repeated: Iterable[Sequence[_Told]]) -> bool:
    """Return whether repeats that are all identical are too many for chance.

    Args:
        first: The first value of each setting.
        repeated: The values of each setting that has repeats.
    """
    settings = Counter(first)
    counts = [(values[0].value, len(values)) for values in repeated]
    if _is_coarse(np.array(list(settings))):
        common = {min(settings), max(settings), settings.most_common(1)[0][0]}
        own = [n for value, n in counts if settings[value] == 1 or value not in common]
        agree = math.prod(AGREE[min(n - 2, len(AGREE) - 1)] for n in own)
        return len(settings) > LEVELS and agree < LEAST
    levels, n_repeats = {value for value, _ in counts}, sum(n - 1 for _, n in counts)
    return len(levels) >= SETTINGS or (len(levels) == SETTINGS - 1 and n_repeats >= REPEATS)


def _is_coarse(levels: Array) -> bool:
    """Return whether values ``(n,)`` are rounded, so that similar ones may be equal by chance."""
    levels = np.unique(levels)
    if all(float(f"{y:.{DIGITS}g}") == y for y in levels.tolist()):
        return True
    # A few values far from all others, such as penalties, say nothing of how fine the others are.
    cut = max(1, len(levels) // 10) if len(levels) > 4 else 0
    return any(rounding_step(y, FINE) > 0.0 for y in (levels, levels[cut : len(levels) - cut]))


# -- a few seeds in turn -----------------------------------------------------------------------


def _in_turn(repeated: Sequence[Sequence[_Told]]) -> Repetition | None:
    """Return how many seeds explain which values of each setting are equal; None if none do.

    The seed follows from the number of the call, or from the number of the repeat in a suggestion.
    """
    for n in range(2, MOST_SEEDS + 1):
        for number in ("call", "repeat"):
            seeds = [[getattr(one, number) % n for one in values] for values in repeated]
            if _explain(seeds, repeated) and _chance(n, seeds) < UNLIKELY:
                return Repetition(n)
    return None


def _explain(seeds: Iterable[Sequence[int]], repeated: Iterable[Sequence[_Told]]) -> bool:
    """Return whether values at a setting are equal where their seeds are, and nowhere else."""
    for own, values in zip(seeds, repeated, strict=True):
        pairs = {(seed, one.value) for seed, one in zip(own, values, strict=True)}
        if not len(pairs) == len(set(own)) == _distinct(values):
            return False
    return True


def _chance(n: int, seeds: Iterable[Sequence[int]]) -> float:
    """Return the probability that noise with ``n`` values is explained by the seeds.

    Each value of such noise has a probability, which is the same at all settings. Settings with one
    seed do not count: coarse noise may give the same value there again and again.
    """
    several = [own for own in seeds if len(set(own)) > 1]
    count = np.bincount(np.concatenate([[], *several]).astype(int), minlength=n)
    ways = math.prod(math.perm(n, len(set(own))) for own in several)
    return float(ways * np.prod((count / max(count.sum(), 1)) ** count))
