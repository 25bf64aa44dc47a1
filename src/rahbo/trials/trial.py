"""What was asked and told: suggestions, repeats and failures.

A trial is one suggestion, or one point told without being asked for, with every value by its
repeat index. Trials are ordered by id and values within a trial by repeat index, so the order of
arrival does not change the data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from rahbo.errors import DataError
from rahbo.numerics import Array, Index, is_real_number, is_whole, unwrapped
from rahbo.trials.evaluation import Evaluation, Evaluations
from rahbo.trials.observations import Observations

# "confirm" marks a point that is measured again before it is used, see `policy.confirmation`.
Source = Literal["design", "strategy", "user", "confirm"]

# A failure keeps this many characters of its reason: the beginning and, for tracebacks, the end.
LONGEST_REASON = 2000
# A variance of variances takes fourth powers, which overflow beyond this.
LARGEST_VALUE = 1e60
# The most repeats that one suggestion may ask for. More would fill the memory with their indices,
# and no file may keep its reader busy for ever.
MOST_REPEATS = 1_000_000


@dataclass(frozen=True)
class Suggestion:
    """A point to evaluate.

    Attributes:
        id: The number of the suggestion, which `Optimizer.tell` takes too.
        params: Parameters in user units.
        indices: Repeat indices still wanted.
        blocks: The block in which to evaluate each of them, if the run has a given set of blocks.
    """

    id: int
    params: dict[str, Any]
    indices: tuple[int, ...]
    blocks: tuple[str, ...] = ()

    @property
    def repeats(self) -> int:
        """The number of evaluations still wanted."""
        return len(self.indices)


@dataclass(frozen=True, eq=False)
class Trial:
    """One suggestion, or one point told without being asked for, and its evaluations.

    Attributes:
        id: Trials are numbered from 0 in the order they were opened.
        params: Parameters in user units.
        x: The point of the cube, ``(d,)``.
        n_requested: Repeats asked for.
        source: Where the point came from.
        evaluations: What was told, by repeat index.
        own_bound: The strategy's lower bound at ``x`` when it was asked (Corollary 1.1), in the
            sense of maximisation; None for points a strategy did not choose.
        cancelled: Whether the missing repeats are no longer wanted.
        blocks: The block in which each repeat was asked for; empty if none was named.
    """

    id: int
    params: dict[str, Any]
    x: Array
    n_requested: int
    source: Source
    evaluations: Evaluations = field(default_factory=Evaluations)
    own_bound: float | None = None
    cancelled: bool = False
    blocks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.evaluations, Evaluations):
            object.__setattr__(self, "evaluations", Evaluations().with_told(self.evaluations))

    @property
    def values(self) -> dict[int, float]:
        """Values by repeat index, in the user's sign."""
        told = self.evaluations.items()
        return {i: one.value for i, one in told if one.value is not None}

    @property
    def failures(self) -> dict[int, str]:
        """Reasons of failures, by repeat index."""
        if self.evaluations.n == self.evaluations.n_values:
            return {}
        told = self.evaluations.items()
        return {i: one.failure for i, one in told if one.failure is not None}

    @property
    def n_values(self) -> int:
        """The number of values told."""
        return self.evaluations.n_values

    @property
    def missing(self) -> tuple[int, ...]:
        """The repeat indices that were asked for and are neither told, failed nor cancelled."""
        if self.cancelled:
            return ()
        return tuple(i for i in range(self.n_requested) if i not in self.evaluations)

    @property
    def n_missing(self) -> int:
        """The number of missing repeats, counted without listing them."""
        if self.cancelled:
            return 0
        if self.evaluations.end in (self.n_made, min(self.evaluations.end, self.n_requested)):
            # All from 0 on are settled, or none was told beyond what was asked for.
            return max(0, self.n_requested - self.n_made)
        return len(self.missing)

    @property
    def n_made(self) -> int:
        """The number of evaluations told, failures included."""
        return self.evaluations.n

    @property
    def suggestion(self) -> Suggestion:
        """The suggestion with the repeats still missing."""
        missing = self.missing
        blocks = tuple(self.blocks[i] for i in missing) if self.blocks else ()
        return Suggestion(self.id, dict(self.params), missing, blocks)

    def is_at(self, x: Array) -> bool:
        """Return whether this is a trial of the point ``x (d,)``."""
        return bool(np.array_equal(self.x, x))

    @property
    def provided(self) -> int:
        """The number of repeats told or outstanding; a failed one may be tried again."""
        return self.evaluations.n_values + self.n_missing

    def with_told(self, told: Mapping[int, Evaluation]) -> Trial:
        """Return this trial after evaluations were told, by repeat index, see `Evaluation.then`."""
        new = {}
        for i, evaluation in told.items():
            known, now = self.evaluations.get(i), self._in_block(i, evaluation)
            try:
                after = now if known is None else known.then(now)
            except DataError as error:
                raise DataError(
                    f"Repeat {i} of suggestion {self.id} is told once, but {error}. "
                    "Use another repeat index for a new value."
                ) from None
            if after is not known:
                new[i] = after
        return replace(self, evaluations=self.evaluations.with_told(new)) if new else self

    def with_more(self, told: Sequence[Evaluation]) -> Trial:
        """Return this trial with evaluations added at the first free repeat indices."""
        return self.with_told(dict(zip(self._free(), told, strict=False)))

    def with_failures(
        self, repeats: Iterable[int], reason: str, time: float | None = None
    ) -> Trial:
        """Return this trial with repeats marked as failed; values already told are kept.

        A reason of more than `LONGEST_REASON` characters is shortened.
        """
        return self.with_told(
            dict.fromkeys(repeats, Evaluation(failure=shortened(reason), time=time))
        )

    def _free(self) -> Iterator[int]:
        """Yield the repeat indices of which nothing was told, from the lowest on."""
        end = self.evaluations.end
        if end != self.n_made:
            yield from (i for i in range(end) if i not in self.evaluations)
        yield from itertools.count(end)

    def _in_block(self, repeat: int, told: Evaluation) -> Evaluation:
        """Return an evaluation with the block in which it was asked for."""
        asked = self.blocks[repeat] if repeat < len(self.blocks) else None
        if asked is None or told.block == asked:
            return told
        if told.block is None:
            return replace(told, block=asked)
        raise DataError(
            f"Repeat {repeat} of suggestion {self.id} was asked for in block {asked!r}, got "
            f"{told.block!r}. Tell it in that block, or tell the parameters instead."
        )


def shortened(text: str) -> str:
    """Return a text of at most `LONGEST_REASON` characters, with dots for what is left out."""
    if len(text) <= LONGEST_REASON:
        return text
    dots, half = " [...] ", LONGEST_REASON // 2
    return text[: half - len(dots)] + dots + text[-half:]


def trial_at(
    x: Array,
    params: Mapping[str, Any],
    trials: Mapping[int, Trial],
    missing: Sequence[Trial],
    by_repeat: bool,
) -> Trial:
    """Return the trial to which parameters at the point ``x (d,)`` belong.

    That is the oldest open trial of the point. If there is none and a repeat index was given,
    which names one evaluation, it is the latest trial of the point. Otherwise it is a new trial,
    not yet recorded.
    """
    named: Iterable[Trial] = reversed(list(trials.values())) if by_repeat else ()
    for trial in (*missing, *named):
        if trial.is_at(x):
            return trial
    return Trial(len(trials), dict(params), x, 0, "user")


def trial_named(suggestion: Suggestion | int, trials: Mapping[int, Trial]) -> Trial:
    """Return the trial of a suggestion or of its id."""
    number = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
    if not is_whole(number):
        raise DataError(f"Expected a suggestion, its id or parameters, got {suggestion!r}.")
    known = trials.get(int(number))
    if known is None:
        raise DataError(
            f"Suggestion {number} is unknown to this optimizer, which has opened {len(trials)}. "
            "Pass the parameters to tell a point that was never asked for."
        )
    if isinstance(suggestion, Suggestion) and suggestion.params != known.params:
        raise DataError(
            f"Suggestion {number} of this optimizer has the parameters {known.params!r}, got "
            f"{suggestion.params!r} from another optimizer. Tell it there, or pass the parameters."
        )
    return known


def valued(trials: Iterable[Trial]) -> list[Trial]:
    """Return the rounds: the trials that gave a value, in order."""
    return [trial for trial in trials if trial.evaluations.n_values]


def gave_more(old: Trial | None, new: Trial) -> bool:
    """Return whether a trial, None before it was opened, has values or outcomes it had not."""
    before = Evaluations() if old is None else old.evaluations
    return any(new.evaluations[i].value is not None for i in new.evaluations.since(before))


def observations_of(trials: Iterable[Trial], sign: float) -> Observations:
    """Return the data of trials in order of id, multiplied by ``sign``."""
    ordered, values = sorted(trials, key=attrgetter("id")), list[list[float]]()
    named = list[str | None]()
    for trial in ordered:
        values.append([])
        for one in trial.evaluations.values():
            if one.value is not None:
                values[-1].append(one.value)
                named.append(one.block)
    return Observations.from_rounds([t.x for t in ordered], values, sign, named)


def tallies_of(trials: Iterable[Trial]) -> tuple[Array, Index, Index]:
    """Return the distinct points ``(n, d)`` and their numbers of values and failures, ``(n,)``."""
    told = [trial for trial in trials if trial.n_made]
    points = {trial.x.tobytes(): trial.x for trial in told}
    rows = {key: i for i, key in enumerate(points)}
    values, failures = np.zeros((2, len(rows)), dtype=np.intp)
    for trial in told:
        row = rows[trial.x.tobytes()]
        values[row] += trial.n_values
        failures[row] += len(trial.failures)
    return np.array(list(points.values())), values, failures


def attempts_at(X: Array, trials: Iterable[Trial]) -> tuple[Index, Index]:
    """Return the numbers of evaluations made and outstanding at each point of ``X (n, d)``.

    Failures count as made.
    """
    rows = {x.tobytes(): i for i, x in enumerate(X)}
    made, missing = np.zeros((2, len(X)), dtype=np.intp)
    for trial in trials:
        row = rows.get(trial.x.tobytes())
        if row is not None:
            made[row] += trial.n_made
            missing[row] += trial.n_missing
    return made, missing


def params_by_point(trials: Iterable[Trial]) -> dict[bytes, dict[str, Any]]:
    """Return the parameters of the first trial at each point, by the bytes of the point."""
    found: dict[bytes, dict[str, Any]] = {}
    for trial in trials:
        found.setdefault(trial.x.tobytes(), trial.params)
    return found


def own_bounds(trials: Iterable[Trial], observations: Observations) -> Array:
    """Return the largest bound each point had when it was chosen, ``(n,)``; NaN if it never was.

    Args:
        trials: All trials of a run. A cancelled one counts if its point was observed: it was a
            revisit, and its values were already known.
        observations: The data of these trials.
    """
    own = np.full(observations.n, np.nan)
    index = {x.tobytes(): i for i, x in enumerate(observations.X)}
    for trial in trials:
        point = index.get(trial.x.tobytes())
        if (
            point is not None
            and trial.own_bound is not None
            and (trial.evaluations.n_values or trial.cancelled)
        ):
            own[point] = np.fmax(own[point], trial.own_bound)
    return own


def provided_points(trials: Iterable[Trial], n_repeats: int) -> set[bytes]:
    """Return the points that have, or will get, at least ``n_repeats`` values."""
    total: dict[bytes, int] = {}
    for trial in trials:
        key = trial.x.tobytes()
        total[key] = total.get(key, 0) + trial.provided
    return {key for key, count in total.items() if count >= n_repeats}


def tried_once(x: Array, trials: Iterable[Trial]) -> bool:
    """Return whether a point has one trial, of which nothing is missing, failed or cancelled."""
    key = x.tobytes()
    here = [trial for trial in trials if trial.x.tobytes() == key]
    return len(here) == 1 and not (here[0].n_missing or here[0].failures or here[0].cancelled)


def checked_values(values: object) -> list[float]:
    """Return a number or a sequence of numbers as a list of finite floats."""
    if isinstance(values, (str, bytes, Mapping)):
        raise DataError(f"tell() needs a number or a sequence of numbers, got {values!r}.")
    if isinstance(values, Iterable) and not (isinstance(values, np.ndarray) and values.ndim == 0):
        listed = list(values)
    else:
        listed = [values]
    if not listed:
        raise DataError("tell() got no values. Pass at least one, or call tell_failure().")
    return [_checked_value(value) for value in listed]


def checked_repeat(repeat: object) -> int:
    """Return a repeat index as an int, after checking it."""
    if is_whole(repeat) and repeat >= 0:
        return int(repeat)
    raise DataError(f"repeat must be a whole number >= 0, got {repeat!r}.")


def _checked_value(value: object) -> float:
    value = unwrapped(value)
    if not is_real_number(value):
        raise DataError(f"tell() needs numbers, got {value!r}. Convert it, or call tell_failure().")
    if isinstance(value, int) and abs(value) > LARGEST_VALUE:
        raise DataError(
            f"tell() needs numbers up to {LARGEST_VALUE:g} in size, got a larger whole number. "
            "Tell it in other units."
        )
    number = float(value)
    if not math.isfinite(number):
        raise DataError(
            f"tell() needs finite numbers, got {number!r}. Call tell_failure() for an evaluation "
            "that gave no number."
        )
    if abs(number) > LARGEST_VALUE:
        raise DataError(
            f"tell() needs numbers up to {LARGEST_VALUE:g} in size, got {number!r}. "
            "Tell it in other units."
        )
    return number
