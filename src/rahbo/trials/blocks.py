"""The blocks of values: their names, past results with blocks, and the blocks of each point."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any

import numpy as np

from rahbo.errors import DataError, at
from rahbo.numerics import Array, is_number, is_whole, unwrapped
from rahbo.space import listed_cells, whole_if_equal
from rahbo.trials.evaluation import Evaluation, checked_name
from rahbo.trials.outcomes import Reads, checked_outcomes
from rahbo.trials.trial import Trial, shortened

# How often a point may fail in a block before it is given up there.
MOST_FAILURES = 2
NO_OUTCOMES: Mapping[str, Reads] = MappingProxyType({})


def block_name(block: object) -> str:
    """Return the name of a block.

    A whole number, such as the number of a fold, becomes text. So does a day or a time, in the form
    of ISO 8601: the same text for every type of date, and without the time at midnight.
    """
    given = unwrapped(block)
    if is_whole(given):
        if not is_number(given):
            raise DataError("A block must be a name or a number, got a whole number out of range.")
        return str(int(given))
    # A missing time differs from itself.
    if isinstance(given, date | np.datetime64) and given == given:
        return _date_text(given)
    if isinstance(given, str):
        return str(checked_name("A block", given))
    raise DataError(
        f"A block must be a text, a whole number or a date, got {shortened(repr(block))}. "
        "Name it by a text, such as 'plate 7'."
    )


def _date_text(given: date | np.datetime64) -> str:
    if isinstance(given, date):
        text = given.isoformat()
    else:
        # To the second at least, as others are.
        text = str(given.astype(np.promote_types(given.dtype, "datetime64[s]")))
    text = re.sub(r"\.\d+", lambda found: found[0].rstrip("0").rstrip("."), text)
    return text.removesuffix("T00:00:00")


def checked_blocks(block: object, n: int, known: Sequence[str] = ()) -> list[str | None]:
    """Return the names of the blocks of ``n`` values.

    Args:
        block: One block for all values, or a sequence with one for each, None for no block.
        n: The number of values.
        known: The names that a block may have; empty if it may have any.
    """
    block = unwrapped(block)
    if block is None:
        return [None] * n
    if isinstance(block, set | frozenset):
        raise DataError(
            "tell(block=) needs the blocks in the order of the values, and a set has no order. "
            "Pass a list."
        )
    if isinstance(block, str | bytes | Mapping) or not isinstance(block, Iterable):
        listed = [block] * n
    else:
        is_column = hasattr(block, "to_list")
        listed = [whole_if_equal(b) for b in listed_cells(block)] if is_column else list(block)
        if len(listed) != n:
            raise DataError(
                f"tell(block=) needs one block for all values or one for each of {n}, got "
                f"{len(listed)} blocks."
            )
    names = [None if b is None else block_name(b) for b in listed]
    for name in names:
        if known and name is not None and name not in known:
            raise DataError(f"A block must be one of blocks={list(known)}, got {name!r}.")
    return names


def checked_data(data: object) -> list[tuple[Mapping[str, Any], object, object]]:
    """Return past results as a list of parameters, values and blocks, None for no block."""
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise DataError(
            "data= needs pairs of parameters and values, such as [({'x': 0.5}, [1.2, 1.3])], got "
            f"{data!r}."
        )
    rows = list(data)
    for i, row in enumerate(rows):
        pair = isinstance(row, tuple | list) and len(row) in (2, 3)
        if not (pair and isinstance(row[0], Mapping)):
            raise DataError(
                f"data[{i}] must be a pair of parameters and values, such as ({{'x': 0.5}}, "
                f"[1.2, 1.3]), got {row!r}. A third part names the blocks."
            )
    return [(row[0], row[1], row[2] if len(row) == 3 else None) for row in rows]


def checked_told(
    values: object,
    outcomes: object = None,
    of: Mapping[str, Reads] = NO_OUTCOMES,
    block: object = None,
    known: Sequence[str] = (),
    time: float | None = None,
) -> list[Evaluation]:
    """Return what was told as one evaluation for each value.

    Args:
        values: As for `checked_outcomes`.
        outcomes: As for `checked_outcomes`.
        of: The outcomes that may be told, by name.
        block: As for `checked_blocks`.
        known: The names that a block may have; empty if it may have any.
        time: When they were told, in seconds since 1970; None if that is not known.
    """
    checked, others = checked_outcomes(values, outcomes, of)
    blocks = checked_blocks(block, len(checked), known)
    told = zip(checked, others, blocks, strict=True)
    return [Evaluation(value, None, other, named, time) for value, other, named in told]


def past_trials(
    data: object,
    encode: Callable[[Mapping[str, Any]], Array],
    of: Mapping[str, Reads] = NO_OUTCOMES,
    known: Sequence[str] = (),
) -> list[Trial]:
    """Return past results as trials that were told without being asked for.

    Args:
        data: Parameters, values and, if there are any, blocks.
        encode: Maps parameters to a point of the cube.
        of: The outcomes that may be told, by name.
        known: The names that a block may have; empty if it may have any.
    """
    trials = []
    for i, (params, told, block) in enumerate(checked_data(data)):
        with at(f"data[{i}]"):
            trial = Trial(i, dict(params), encode(params), 0, "user")
            trials.append(trial.with_more(checked_told(told, None, of, block, known)))
    return trials


def block_of(trial: Trial, repeat: int) -> str | None:
    """Return the block of a repeat: the one it was told with, or else the one asked for."""
    told = trial.evaluations.get(repeat)
    if told is not None:
        return told.block
    return trial.blocks[repeat] if repeat < len(trial.blocks) else None


def blocks_by_point(trials: Iterable[Trial]) -> dict[bytes, list[str]]:
    """Return the blocks in which each point has a value or will get one, by its bytes."""
    found: dict[bytes, list[str]] = {}
    for trial in trials:
        named = (block_of(trial, i) for i in (*trial.values, *trial.missing))
        found.setdefault(trial.x.tobytes(), []).extend(n for n in named if n is not None)
    return found


def failures_by_point(trials: Iterable[Trial]) -> dict[bytes, Counter[str]]:
    """Return how often each point has failed in each block, by the bytes of the point."""
    found: dict[bytes, Counter[str]] = {}
    for trial in trials:
        if trial.failures:
            named = (block_of(trial, i) for i in trial.failures)
            found.setdefault(trial.x.tobytes(), Counter()).update(n for n in named if n is not None)
    return found
