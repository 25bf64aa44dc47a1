"""In which blocks of a given set to evaluate a point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from rahbo.numerics import Array
from rahbo.trials import (
    MOST_FAILURES,
    Trial,
    blocks_by_point,
    failures_by_point,
    provided_points,
)


def next_blocks(
    blocks: Sequence[str], trials: Collection[Trial], x: Array, n: int
) -> tuple[str, ...]:
    """Return up to ``n`` blocks in which to evaluate the point ``x (d,)``.

    The point lacks them and has failed in none of them twice. The first was tried the least so far,
    so that all effects are known about equally well, and a block that fails does not take more
    than its share. Each further one is, if possible, not yet connected with those before by points
    in common, so that soon any two blocks can be compared. On a tie, the first one in the list is
    taken.

    Args:
        blocks: The given set.
        trials: All trials of the run.
        x: The point.
        n: How many blocks are wanted.
    """
    by_point, failed = blocks_by_point(trials), failures_by_point(trials)
    here = set(by_point.get(x.tobytes(), ())) | _given_up(failed.get(x.tobytes(), {}))
    tried = [Counter(names) + failed.get(key, Counter()) for key, names in by_point.items()]
    counts = sum(tried, Counter[str]())
    found: list[str] = []
    while len(found) < n and (lacking := [name for name in blocks if name not in here]):
        near = _connected(here, tried) if found else set()
        best = min(lacking, key=lambda name: (name in near, counts[name]))
        found.append(best)
        here.add(best)
    return tuple(found)


def complete_points(trials: Collection[Trial], n_blocks: int) -> set[bytes]:
    """Return the points that have, or will get, a value in each block where they did not fail."""
    complete, known = provided_points(trials, n_blocks), blocks_by_point(trials)
    for key, failures in failures_by_point(trials).items():
        if len(_given_up(failures).union(known[key])) >= n_blocks:
            complete.add(key)
    return complete


def _given_up(failures: Mapping[str, int]) -> set[str]:
    """Return the blocks in which a point has failed too often to be tried again."""
    return {name for name, n in failures.items() if n >= MOST_FAILURES}


def _connected(names: Set[str], points: Iterable[Collection[str]]) -> Set[str]:
    """Return all blocks that are connected with some by points in common."""
    groups, found = [set(point) for point in points], set(names)
    while more := set().union(*(g for g in groups if not g.isdisjoint(found))) - found:
        found |= more
    return found
