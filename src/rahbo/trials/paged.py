"""Mappings by number that never change, and still grow without being copied.

Thousands of trials or repeats may be told one by one, and each makes a new state. Copying all
earlier ones each time would take a time that is quadratic in their number. So entries are kept in
pages, and a longer mapping shares the pages that did not change.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

T = TypeVar("T")

# The most entries of a page.
PAGE = 128


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Paged(Mapping[int, T]):
    """Entries by number, in the order of their numbers.

    Attributes:
        pages: The entries of each `PAGE` numbers, by number of the page.
        n: How many there are.
    """

    pages: dict[int, dict[int, T]] = field(default_factory=dict)
    n: int = 0

    @classmethod
    def of(cls, known: Mapping[int, T]) -> Paged[T]:
        """Return these entries."""
        return Paged(*Paged[T]().grown(known))

    def grown(self, told: Mapping[int, T]) -> tuple[dict[int, dict[int, T]], int]:
        """Return the pages, with entries added or in the place of known ones, and their number."""
        new = {number: dict(self.pages.get(number, {})) for number in {i // PAGE for i in told}}
        n = self.n
        for i, entry in told.items():
            page = new[i // PAGE]
            n += i not in page
            page[i] = entry
        return _sorted({**self.pages, **{at: _sorted(page) for at, page in new.items()}}), n

    @property
    def end(self) -> int:
        """One more than the largest number; 0 if there is none."""
        last = next(reversed(self.pages.values()), {})
        return next(reversed(last), -1) + 1

    def __getitem__(self, i: int) -> T:
        return self.pages[i // PAGE][i]

    def __contains__(self, i: object) -> bool:
        return isinstance(i, int) and i in self.pages.get(i // PAGE, ())

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.pages.values())

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        return type(self).of, (dict(self),)

    def items(self) -> ItemsView[int, T]:
        """Return the numbers and entries. Unlike the inherited method, it looks none up."""
        return self._whole().items()

    def values(self) -> ValuesView[T]:
        """Return the entries. Unlike the inherited method, it looks none up."""
        return self._whole().values()

    def _whole(self) -> dict[int, T]:
        if len(self.pages) == 1:
            return next(iter(self.pages.values()))
        return dict(chain.from_iterable(page.items() for page in self.pages.values()))


def _sorted(known: dict[int, T]) -> dict[int, T]:
    """Return a mapping in the order of its keys."""
    keys = sorted(known)
    return known if list(known) == keys else {key: known[key] for key in keys}
