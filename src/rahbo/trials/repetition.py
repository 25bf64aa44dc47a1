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
from functools import cache
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, xlogy

from rahbo.trials.observations import rounding_step
from rahbo.trials.trial import Trial

# So many identical repeats, at settings of at least so many values, are not noise. Noise of two
# values, such as a gain or a loss on top of a mean, would agree as often in 1 of 256 cases. No more
# than so many count at each setting: one where nothing varies says little about the others.
REPEATS, SETTINGS, EACH = 8, 3, 3
# The lowest, the highest and the commonest value say nothing if more than this share of settings
# have them.
COMMON = 0.1
# Values are coarse if they have at most so many digits, or steps above this share of their range.
DIGITS, FINE = 3, 5e-4
# Coarse values must be more than so many different ones, and noise that has a standard deviation of
# a third of a rounding step must agree in all repeats with a probability below LEAST. TOLD values
# are the most that count at a setting.
LEVELS, NOISE_PER_STEP, LEAST, TOLD = 4, 1 / 3, 0.01, 10
# The most seeds that are looked for, and how many values must recur. Noise that has a few values
# would do so in the order of seeds with a probability below UNLIKELY.
MOST_SEEDS, RECURRING, UNLIKELY = 5, 2, 1e-3
# Three or more values of a single setting may also be all there are, as in a table whose rows are
# used again. So more than two seeds must show at so many settings, or have so many differences in
# common, up to this share of the values.
SHOWN, ALIKE, SAME = 3, 3, 1e-9

REMEDY = "Give each call a fresh seed"


@dataclass(frozen=True)
class Repetition:
    """Repeats that are not noise, or seem so. As a text it says what to do.

    Attributes:
        n_values: How many different values a setting has: 1 if repeats are identical, or else the
            number of seeds that recur.
        lacking: How many more identical repeats it takes until this is said; 0 if it is sure.
        is_known: Whether the user said so.
    """

    n_values: int
    lacking: int = 0
    is_known: bool = False

    def __str__(self) -> str:
        if self.lacking or self.is_known:
            return ""
        if self.n_values == 1:
            return (
                f"Repeats are identical: your objective looks seeded or cached. {REMEDY}, or say "
                "that there is no noise (noise_std=0). No interval covers what "
                "other seeds would give."
            )
        return (
            f"Repeats recur: your objective looks as if it used the same {self.n_values} seeds in "
            f"turn. {REMEDY}."
        )


class _Told(NamedTuple):
    """One value: which call of the run gave it, and which repeat of its suggestion it is.

    There is no call for a value that was told without being asked for, if others were asked for.
    """

    value: float
    call: int | None
    repeat: int


def repetition_of(trials: Iterable[Trial]) -> Repetition | None:
    """Return what shows that the repeats in these trials are not noise; None if nothing does.

    One differing repeat withdraws the answer that repeats are identical.
    """
    at = _by_point(trials)
    if all(_all_differ(found) for found in at):
        return None
    told, first = list[list[_Told]](), list[float]()
    seeds, agree = list(SEEDS), True
    for values in chain.from_iterable(map(_by_block, at)):
        first.append(values[0].value)
        if len(values) > 1:
            told.append(values)
            agree = agree and _distinct(values) == 1
            seeds = [each for each in seeds if each.explain(values)]
            if not (agree or seeds):
                return None
    if agree:
        lacking = _lacking(first, told)
        return None if lacking is None else Repetition(1, lacking)
    # Values that are rounded recur all the time.
    few = sum(len(values) - _distinct(values) for values in told) < RECURRING
    if few or _is_coarse(one.value for values in told for one in values):
        return None
    return next((Repetition(each.n) for each in seeds if each.is_shown_by(told)), None)


def _by_point(trials: Iterable[Trial]) -> list[list[tuple[Trial, int | None]]]:
    """Return the trials at each point, each with the number of its first call."""
    made = [trial for trial in trials if trial.evaluations.n]
    asked = [trial for trial in made if trial.source != "user"] or made
    calls, n = dict[int, int](), 0
    for trial in asked:
        calls[trial.id], n = n, n + trial.evaluations.n
    found: dict[bytes, list[tuple[Trial, int | None]]] = {}
    for trial in made:
        if trial.evaluations.n_values:
            found.setdefault(trial.x.tobytes(), []).append((trial, calls.get(trial.id)))
    return list(found.values())


def _all_differ(found: Iterable[tuple[Trial, object]]) -> bool:
    """Return whether all values of a point differ, whatever their blocks."""
    values = [value for trial, _ in found for value in trial.values.values()]
    return len(set(values)) == len(values)


def _by_block(found: Iterable[tuple[Trial, int | None]]) -> list[list[_Told]]:
    """Return the values of a point in each block, in the order of the calls."""
    told: dict[str | None, list[_Told]] = {}
    for trial, call in found:
        for n, (i, made) in enumerate(trial.evaluations.items()):
            if made.value is not None:
                one = _Told(made.value, None if call is None else call + n, i)
                told.setdefault(made.block, []).append(one)
    return list(told.values())


def _distinct(values: Iterable[_Told]) -> int:
    return len({one.value for one in values})


# -- identical repeats -------------------------------------------------------------------------


def _lacking(first: Sequence[float], repeated: Iterable[Sequence[_Told]]) -> int | None:
    """Return how many more identical repeats would be too many for chance; 0 if these are.

    None if they may well be due to chance.

    Args:
        first: The first value of each setting.
        repeated: The values of each setting that has repeats.
    """
    settings = Counter(first)
    counts = [(values[0].value, len(values)) for values in repeated]
    coarse = _is_coarse(settings)
    if coarse:
        ends = {min(settings), max(settings), settings.most_common(1)[0][0]}
        common = {value for value in ends if settings[value] > max(2, COMMON * len(first))}
        counts = [(value, n) for value, n in counts if value not in common]
    if len(settings) <= LEVELS * coarse or len({value for value, _ in counts}) < SETTINGS:
        return None
    if coarse:
        return 0 if math.prod(_agreement(min(n, TOLD)) for _, n in counts) < LEAST else None
    return max(0, REPEATS - sum(min(n - 1, EACH) for _, n in counts))


def _is_coarse(values: Iterable[float]) -> bool:
    """Return whether values are rounded, so that similar ones may be equal by chance."""
    levels = np.unique(list(values))
    if all(float(f"{y:.{DIGITS}g}") == y for y in levels.tolist()):
        return True
    # A few values far from all others, such as penalties, say nothing of how fine the others are.
    cut = max(1, len(levels) // 10) if len(levels) > 4 else 0
    return any(rounding_step(y, FINE) > 0.0 for y in (levels, levels[cut : len(levels) - cut]))


@cache
def _agreement(n: int) -> float:
    """Return the probability that ``n`` values with little noise are rounded to the same number.

    Their mean may lie anywhere between two numbers.
    """
    mean = (np.arange(64)[:, None] + 0.5) / 64
    share = np.diff(ndtr((np.arange(-3, 6) - mean) / NOISE_PER_STEP))
    return float(np.mean(np.sum(share**n, axis=1)))


# -- a few seeds in turn -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Seeds:
    """A number of seeds that are used in turn.

    Attributes:
        n: How many there are.
        by_call: Whether each call of the run takes the next one, or each repeat of a suggestion.
    """

    n: int
    by_call: bool

    def of(self, values: Iterable[_Told]) -> list[tuple[int, float]]:
        """Return the seed of each value and the value, for those that were asked for."""
        numbered = ((one, one.call if self.by_call else one.repeat) for one in values)
        return [(i % self.n, one.value) for one, i in numbered if i is not None]

    def explain(self, values: Iterable[_Told]) -> bool:
        """Return whether values of a setting are equal where their seeds are, and nowhere else."""
        pairs = set(self.of(values))
        return len(pairs) == len({seed for seed, _ in pairs}) == len({y for _, y in pairs})

    def is_shown_by(self, told: Sequence[Sequence[_Told]]) -> bool:
        """Return whether values that are explained by these seeds cannot be due to chance."""
        if self.chance(told) >= UNLIKELY:
            return False
        recurring = sum(1 < _distinct(values) < len(values) for values in told)
        return self.n == 2 or recurring >= SHOWN or self.n_alike(told) >= ALIKE

    def n_alike(self, told: Iterable[Iterable[_Told]]) -> int:
        """Return how many differences between two seeds are the same as at an earlier setting.

        It is 0 if any is not.
        """
        found, n = dict[tuple[int, int], float](), 0
        for values in told:
            for (i, y), (j, z) in combinations(sorted(set(self.of(values))), 2):
                known = found.setdefault((i, j), z - y)
                if abs(z - y - known) > SAME * max(abs(y), abs(z), abs(known)):
                    return 0
                n += 1
        return n - len(found)

    def chance(self, told: Iterable[Iterable[_Told]]) -> float:
        """Return the probability that noise with ``n`` values is explained in this way.

        Each value of such noise has a probability, which is the same at all settings. Settings with
        one seed do not count: coarse noise may give the same value there again and again.
        """
        used = [[seed for seed, _ in self.of(values)] for values in told]
        several = [seeds for seeds in used if len(set(seeds)) > 1]
        often = np.bincount(list(chain.from_iterable(several)) or [0], minlength=self.n)
        ways = sum(math.log(math.perm(self.n, len(set(seeds)))) for seeds in several)
        return math.exp(ways + float(np.sum(xlogy(often, often / often.sum()))))


SEEDS = [_Seeds(n, by_call) for n in range(2, MOST_SEEDS + 1) for by_call in (True, False)]
