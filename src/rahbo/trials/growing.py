"""Mappings by repeat that never change, and still grow without being copied.

Thousands of repeats may be told one by one, and each makes a new state of a trial. Copying all
earlier ones each time would take a time that is quadratic in their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# Mappings shorter than this are dicts: to copy them is faster.
SHORT = 64


class Growing(Mapping[int, T], Generic[T]):
    """The first rows of a store that other mappings share.

    A longer mapping appends its rows to the store, where this one does not look. If another one was
    first, it begins a store of its own. So the states of one trial share a store, and those that
    two copies of a run make from one state do not.

    Args:
        given: The first entries.

    Attributes:
        end: One more than the largest key; 0 if there is none.
    """

    __slots__ = ("_n", "_places", "_stored", "end")

    def __init__(self, given: Mapping[int, T]) -> None:
        self._stored: dict[int, tuple[int, T]] = dict(enumerate(given.items()))
        self._places = {key: place for place, key in enumerate(given)}
        self._n = len(self._stored)
        self.end = end_of(given)

    def __getitem__(self, key: int) -> T:
        place = self._places[key]
        if place >= self._n:
            raise KeyError(key)
        return self._stored[place][1]

    def __contains__(self, key: object) -> bool:
        return self._places.get(key, self._n) < self._n  # type: ignore[call-overload, no-any-return]

    def __iter__(self) -> Iterator[int]:
        return (self._stored[place][0] for place in range(self._n))

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def with_more(self, more: Mapping[int, T]) -> Growing[T]:
        """Return a mapping with new keys; this one stays as it is."""
        longer: Growing[T] = Growing.__new__(Growing)
        longer._stored, longer._places, n = self._stored, self._places, self._n
        for key, value in more.items():
            row = (key, value)
            # One step, so that of two threads only one gets the place.
            if self._stored.setdefault(n, row) is not row:
                return Growing({**self, **more})
            self._places[key] = n
            n += 1
        longer._n, longer.end = n, max(self.end, end_of(more))
        return longer

    def keys_since(self, earlier: Growing[T]) -> list[int] | None:
        """Return the keys that an earlier mapping does not have; None if it is not known."""
        if self._stored is not earlier._stored or self._n < earlier._n:
            return None
        return [self._stored[place][0] for place in range(earlier._n, self._n)]


def grown(known: Mapping[int, T], more: Mapping[int, T]) -> Mapping[int, T]:
    """Return a mapping with entries added or replaced; the known one stays as it is."""
    if len(known) < SHORT or any(key in known for key in more):
        return {**known, **more}
    return (known if isinstance(known, Growing) else Growing(known)).with_more(more)


def without(known: Mapping[int, T], key: int) -> Mapping[int, T]:
    """Return a mapping without a key; the known one stays as it is."""
    return {k: value for k, value in known.items() if k != key} if key in known else known


def added(after: Mapping[int, T], before: Mapping[int, T]) -> list[int]:
    """Return the keys whose entries are new or different, looking only at what was added."""
    if after is before:
        return []
    if isinstance(after, Growing) and isinstance(before, Growing):
        keys = after.keys_since(before)
        if keys is not None:
            return keys
    return [k for k, value in after.items() if k not in before or before[k] != value]


def end_of(known: Mapping[int, object]) -> int:
    """Return one more than the largest key; 0 if there is none."""
    return known.end if isinstance(known, Growing) else max(known, default=-1) + 1
