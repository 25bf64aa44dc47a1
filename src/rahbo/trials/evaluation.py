"""What one evaluation told, and the evaluations of a trial, which never change and still grow."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeVar

from rahbo.errors import DataError

T = TypeVar("T")

# The most characters in the name of a block or of an outcome.
LONGEST_NAME = 200
# Evaluations are kept in pages of so many repeats. Thousands may be told one by one, and copying
# all earlier ones each time would take a time that is quadratic in their number.
PAGE = 128


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one evaluation told: a value or why there is none, and what came with it.

    Attributes:
        value: The value of the objective, in the user's sign; None if the evaluation failed.
        failure: Why there is no value; None if there is one.
        outcomes: Further outcomes by name, in the user's units. Some may be missing.
        block: The block that it belongs to, such as a fold, a plate or a day; None if it belongs to
            none.
        time: When it was told, in seconds since 1970 (UTC); None if that is not known. Evaluations
            that differ in nothing else are equal, and nothing that is proposed or recommended
            depends on it.
    """

    value: float | None = None
    failure: str | None = None
    outcomes: Mapping[str, float] = field(default_factory=dict)
    block: str | None = None
    time: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if (self.value is None) == (self.failure is None):
            raise DataError(
                "An Evaluation needs a value, or else the reason of its failure, got "
                f"value={self.value!r} and failure={self.failure!r}."
            )

    def then(self, told: Evaluation) -> Evaluation:
        """Return what is known of a repeat after something else was told of it.

        The same again changes nothing, but outcomes and a block may be added. A value replaces a
        failure, and the last reason of a failure is kept.

        Raises:
            DataError: It contradicts what is known.
        """
        if told.value is None:
            return self if self.value is not None or told == self else told
        if self.value is None:
            return told
        pairs = [("the value", self.value, told.value), ("the block", self.block, told.block)]
        pairs += [(repr(n), self.outcomes.get(n), now) for n, now in told.outcomes.items()]
        for what, known, now in pairs:
            if None not in (known, now) and known != now:
                raise DataError(f"{what} was told as {known!r} and now as {now!r}")
        outcomes = {**self.outcomes, **told.outcomes}
        more = replace(self, outcomes=outcomes, block=self.block or told.block)
        return self if more == self else more


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluations(Mapping[int, Evaluation]):
    """Evaluations by repeat index, in its order. A longer state shares the pages of an earlier one.

    Attributes:
        pages: The evaluations of each `PAGE` repeats, by number of the page.
        n: How many there are.
        n_values: How many of them gave a value.
    """

    pages: dict[int, dict[int, Evaluation]] = field(default_factory=dict)
    n: int = 0
    n_values: int = 0

    def with_told(self, told: Mapping[int, Evaluation]) -> Evaluations:
        """Return these evaluations with others added, or in the place of those told before."""
        new = {number: dict(self.pages.get(number, {})) for number in {i // PAGE for i in told}}
        for i, evaluation in told.items():
            new[i // PAGE][i] = evaluation
        replaced = [self[i] for i in told if i in self]
        return Evaluations(
            _sorted({**self.pages, **{number: _sorted(page) for number, page in new.items()}}),
            self.n + len(told) - len(replaced),
            self.n_values + _n_values(told.values()) - _n_values(replaced),
        )

    @property
    def end(self) -> int:
        """One more than the largest index; 0 if there is none."""
        last = next(reversed(self.pages.values()), {})
        return next(reversed(last), -1) + 1

    def __getitem__(self, i: int) -> Evaluation:
        return self.pages[i // PAGE][i]

    def __contains__(self, i: object) -> bool:
        return isinstance(i, int) and i in self.pages.get(i // PAGE, ())

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.pages.values())

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return repr(dict(self))

    def items(self) -> ItemsView[int, Evaluation]:
        """Return the indices and evaluations. Unlike the inherited method, it looks none up."""
        return self._whole().items()

    def values(self) -> ValuesView[Evaluation]:
        """Return the evaluations. Unlike the inherited method, it looks none up."""
        return self._whole().values()

    def _whole(self) -> dict[int, Evaluation]:
        if len(self.pages) == 1:
            return next(iter(self.pages.values()))
        return dict(chain.from_iterable(page.items() for page in self.pages.values()))

    def since(self, before: Evaluations) -> list[int]:
        """Return the indices of what is new or different, looking only at pages that changed."""
        return [
            i
            for number, page in self.pages.items()
            if page is not (known := before.pages.get(number, {}))
            for i, evaluation in page.items()
            if i not in known or known[i] != evaluation
        ]


def _n_values(told: Iterable[Evaluation]) -> int:
    return sum(evaluation.value is not None for evaluation in told)


def _sorted(known: dict[int, T]) -> dict[int, T]:
    """Return a mapping in the order of its keys."""
    keys = sorted(known)
    return known if list(known) == keys else {key: known[key] for key in keys}


def checked_name(what: str, name: object) -> str:
    """Return the name of a block or an outcome, after checking it."""
    if isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable():
        return name
    raise DataError(
        f"{what} must be a text of 1 to {LONGEST_NAME} printable characters, got {name!r}."
    )
