"""What one evaluation told, and the evaluations of a trial, which never change and still grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rahbo.errors import DataError
from rahbo.trials.paged import Paged

# The most characters in the name of a block or of an outcome.
LONGEST_NAME = 200


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
class Evaluations(Paged[Evaluation]):
    """Evaluations by repeat index.

    Attributes:
        n_values: How many of them gave a value.
    """

    n_values: int = 0

    @classmethod
    def of(cls, known: Mapping[int, Evaluation]) -> Evaluations:
        """Return these evaluations."""
        return Evaluations().with_told(known)

    def with_told(self, told: Mapping[int, Evaluation]) -> Evaluations:
        """Return these evaluations with others added, or in the place of those told before."""
        replaced = [self[i] for i in told if i in self]
        change = _n_values(told.values()) - _n_values(replaced)
        return Evaluations(*self.grown(told), self.n_values + change)

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


def checked_name(what: str, name: object) -> str:
    """Return the name of a block or an outcome, after checking it."""
    if isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable():
        return name
    raise DataError(
        f"{what} must be a text of 1 to {LONGEST_NAME} printable characters, got {name!r}."
    )
