"""What a column of a table looks like by itself: a parameter, something else, or unclear."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from rahbo.cli.cells import NUMBER, QUANTITY, UNIT, WHOLE, bare, is_time, quoted
from rahbo.errors import SpaceError, at
from rahbo.numerics import plain_number
from rahbo.space import Categorical, Float, Int, Parameter

Cell = str | int | float
Role = Literal["parameter", "left out", "unclear"]

MAX_CHOICES = 50
# In a table with fewer rows, values may be different or in order by chance.
ENOUGH_ROWS = 10
# Names that tell what a column holds. One by itself never decides: other signs agree, or we ask.
IDS = {
    "id", "uid", "uuid", "guid", "hash", "index", "idx", "number", "no", "nr", "row", "run",
    "trial", "experiment", "job",
}  # fmt: skip
REPEATS = {"seed", "fold", "repeat", "repetition", "rep", "replicate", "replica", "split"}
STATES = {"state", "status"}
TIMES = {
    "time", "timestamp", "date", "datetime", "started", "finished", "seconds", "sec", "secs",
    "duration", "runtime", "elapsed", "walltime",
}  # fmt: skip
OUTCOMES = {
    "loss", "accuracy", "acc", "score", "error", "rmse", "mse", "mae", "auc", "reward", "yield",
    "metric", "objective", "value", "values", "result", "std",
}  # fmt: skip
# The last word of a name such as time_ms is not what it is about.
SUFFIXES = {"s", "ms", "us", "min", "h"}
IDENTIFIER = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{7,64}", re.IGNORECASE
)
# Digits that may be a number, such as 1,234.5 or 1'234.
DIGITS = re.compile(r"[-+]?[0-9][0-9.,' ]*[0-9]")
# Seconds since 1970 lie between these numbers from 2001 to 2039, and so do smaller units scaled.
FIRST_SECOND, LAST_SECOND = 1.0e9, 2.2e9
SUBDIVISIONS = (1.0, 1e3, 1e6, 1e9)


@dataclass(frozen=True)
class Verdict:
    """What a column is taken for.

    Attributes:
        role: Whether it is a parameter, is left out, or must be asked for.
        look: What it looks like, in a few words.
    """

    role: Role
    look: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its name.
        texts: Its cells, one a row.
    """

    name: str
    texts: list[str]

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.texts)

    @cached_property
    def filled(self) -> list[str]:
        """The cells that are not empty."""
        return [text for text in self.texts if text]

    @cached_property
    def _bare(self) -> tuple[list[str], str] | None:
        return bare(self.filled)

    @property
    def unit(self) -> str:
        """The unit that all numbers have, or an empty text."""
        return "" if self._bare is None else self._bare[1]

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that are not empty, as numbers if all of them are numbers."""
        if self._bare is None:
            return list(self.filled)
        texts, _ = self._bare
        if all(WHOLE.fullmatch(text) for text in texts):
            return [int(text) for text in texts]
        return [plain_number(text) for text in texts]

    @cached_property
    def numbers(self) -> list[float] | None:
        """The cells that are not empty, if they are numbers."""
        found = [float(cell) for cell in self.cells if not isinstance(cell, str)]
        return found if len(found) == len(self.cells) else None

    @cached_property
    def is_whole(self) -> bool:
        """Whether all cells are whole numbers."""
        return self.numbers is not None and all(number.is_integer() for number in self.numbers)

    @cached_property
    def n_distinct(self) -> int:
        """The number of different values."""
        return len(set(self.cells))

    @cached_property
    def is_different(self) -> bool:
        """Whether every row has a value of its own."""
        return self.n_distinct == self.n

    @cached_property
    def is_sorted(self) -> bool:
        """Whether numbers rise from each row to the next, or fall from each to the next."""
        steps = [b - a for a, b in pairwise(self.numbers or ())]
        return all(step > 0 for step in steps) or all(step < 0 for step in steps)

    @cached_property
    def words(self) -> list[str]:
        """The words of the name in lower case, without a unit at the end."""
        split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name)
        words = re.findall(r"[^\W\d_]+", split.lower())
        return words[:-1] if len(words) > 1 and words[-1] in SUFFIXES else words

    def is_named(self, known: set[str]) -> bool:
        """Return whether the last word of the name, which says what it is, is one of those."""
        return bool(set(self.words[-1:]) & known)

    @property
    def span(self) -> str:
        """The values in a few words."""
        if self.numbers is None:
            shown = ", ".join(repr(text)[:30] for text in list(dict.fromkeys(self.filled))[:3])
            return f"texts {shown}" + (f" and {self.n_distinct - 3} more" * (self.n_distinct > 3))
        kind = "whole numbers" if self.is_whole else "numbers"
        unit = f" {self.unit}" if self.unit else ""
        return f"{kind}, {min(self.numbers):.6g} to {max(self.numbers):.6g}{unit}"

    def parameter(self) -> Parameter:
        """Return a parameter that covers the values."""
        if self.numbers is None:
            if self.n_distinct > MAX_CHOICES:
                raise SpaceError(
                    f"The column {self.name!r} has {self.n_distinct} different texts, but a "
                    f"parameter can have at most {MAX_CHOICES}. Leave the column out with --ignore "
                    f"{quoted(self.name)}."
                )
            return Categorical(list(dict.fromkeys(self.filled)))
        with at(f"The column {self.name!r}"):
            whole = all(isinstance(cell, int) for cell in self.cells)
            return (Int if whole else Float)(min(self.numbers), max(self.numbers))


def look_at(column: Column) -> Verdict:
    """Return what a column is taken for, from its name and its cells."""
    for rule in _RULES:
        verdict = rule(column)
        if verdict is not None:
            return verdict
    return Verdict("parameter", column.span)


# -- rules: each returns a verdict, or None to leave the column to the next --------------------


def _nothing(column: Column) -> Verdict | None:
    if not column.filled:
        return Verdict("left out", "empty")
    if column.n_distinct == 1 and len(column.filled) == column.n:
        return Verdict("left out", f"always {column.filled[0][:40]!r}")
    return None


def _times(column: Column) -> Verdict | None:
    if all(is_time(text) for text in column.filled):
        return Verdict("left out", "dates or times")
    numbers = column.numbers
    if numbers is None or column.n_distinct <= column.n / 2:
        return None
    low, high = min(numbers), max(numbers)
    if not any(FIRST_SECOND * s <= low <= high <= LAST_SECOND * s for s in SUBDIVISIONS):
        return None
    if column.is_named(TIMES) or (column.is_sorted and column.n >= ENOUGH_ROWS):
        # The runs of a table are made within some years, and a swept parameter spans more.
        if high - low < 0.1 * high:
            return Verdict("left out", "times, counted since 1970")
        return Verdict("unclear", f"{column.span}, perhaps times")
    return None


def _gaps(column: Column) -> Verdict | None:
    n_empty = column.n - len(column.filled)
    if not n_empty:
        return None
    return Verdict("unclear", f"empty in {n_empty} of {column.n} rows, else {column.span}")


def _identifiers(column: Column) -> Verdict | None:
    """Leave out UUIDs and hashes, a few of which may be all digits."""
    if column.numbers is not None or not column.is_different:
        return None
    if not all(IDENTIFIER.fullmatch(text) for text in column.filled):
        return None
    return Verdict("left out", "identifiers, different in every row")


def _almost_numbers(column: Column) -> Verdict | None:
    if column.numbers is not None or (column.is_different and column.is_named(IDS)):
        return None
    odd = [text for text in column.filled if not NUMBER.fullmatch(text)]
    texts = [text for text in odd if not QUANTITY.fullmatch(text)]
    if texts and len(texts) < len(column.filled) and _are_quantities({*column.filled} - {*texts}):
        return Verdict("unclear", f"numbers, and texts such as {texts[0][:40]!r}")
    if len(odd) < len(column.filled):
        return Verdict("unclear", f"numbers, and texts such as {odd[0][:40]!r}")
    if all(UNIT.fullmatch(text) for text in odd):
        return Verdict("unclear", f"{column.span}: numbers with different units")
    if all(DIGITS.fullmatch(text) for text in odd):
        return Verdict("unclear", f"{column.span}: digits, but not plain numbers")
    if not texts:
        return Verdict("unclear", f"{column.span}: numbers with commas")
    return None


def _are_quantities(texts: set[str]) -> bool:
    """Return whether texts are numbers with the same unit or none.

    A unit stands after a space or a decimal comma. Texts such as 2x and 13b are names.
    """
    parts = [QUANTITY.fullmatch(text) for text in texts]
    units = {(part[2] or "").strip() for part in parts if part}
    if units == {""}:
        return True
    return len(units) == 1 and len(texts) > 1 and all("," in text or " " in text for text in texts)


def _ids(column: Column) -> Verdict | None:
    """Judge whole numbers and texts that are different in every row."""
    if not column.is_different or not (column.numbers is None or column.is_whole):
        return None
    is_id = column.is_named(IDS)
    steps = {b - a for a, b in pairwise(column.numbers or ())}
    if steps in ({1.0}, {-1.0}):
        clear = is_id or (column.n >= ENOUGH_ROWS and min(column.numbers or ()) in (0.0, 1.0))
        return Verdict("left out" if clear else "unclear", f"{column.span}, counts the rows")
    if is_id:
        return Verdict("left out", "named like an id, different in every row")
    if column.numbers is None:
        look = f"{column.span}, different in every row"
        return Verdict("left out" if column.n >= ENOUGH_ROWS else "unclear", look)
    if max(column.numbers) - min(column.numbers) == column.n - 1:
        return Verdict("unclear", f"{column.span}, each of them once")
    return None


def _names(column: Column) -> Verdict | None:
    """Judge by the name, together with the kind of values."""
    if column.is_named(STATES) and column.numbers is None:
        return Verdict("unclear", f"{column.span}, named like a state of the run")
    repeats = column.is_named(REPEATS) or column.words == ["random", "state"]
    if repeats and (column.is_whole or column.numbers is None):
        return Verdict("unclear", f"{column.span}, named like a repeat or its seed")
    if column.is_named(IDS) and (column.is_whole or column.numbers is None):
        return Verdict("unclear", f"{column.span}, named like an id")
    if column.numbers is None or column.n_distinct <= column.n / 2:
        return None
    for known, look in ((TIMES, "a time"), (OUTCOMES, "another outcome")):
        if column.is_named(known):
            return Verdict("unclear", f"{column.span}, named like {look}")
    return None


def _texts(column: Column) -> Verdict | None:
    if column.numbers is not None:
        return None
    if column.n_distinct > MAX_CHOICES or (
        column.n_distinct > column.n / 2 and column.n_distinct > ENOUGH_ROWS
    ):
        return Verdict("unclear", f"{column.n_distinct} different texts in {column.n} rows")
    return None


_RULES: tuple[Callable[[Column], Verdict | None], ...] = (
    _nothing, _times, _gaps, _identifiers, _almost_numbers, _ids, _names, _texts,
)  # fmt: skip
