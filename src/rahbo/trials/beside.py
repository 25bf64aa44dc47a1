"""What is told beside a value: other outcomes of the same evaluation, and its block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rahbo.errors import DataError

# The most characters in the name of a block or of an outcome.
LONGEST_NAME = 200


@dataclass(frozen=True)
class Beside:
    """What one evaluation told besides its value.

    Attributes:
        outcomes: Further outcomes by name, in the user's units. Some may be missing.
        block: The block that the value belongs to, such as a fold, a plate or a day; None if it
            belongs to none.
    """

    outcomes: Mapping[str, float] = field(default_factory=dict)
    block: str | None = None

    def __bool__(self) -> bool:
        return bool(self.outcomes) or self.block is not None

    def joined(self, more: Beside) -> Beside:
        """Return both together: an outcome may be told later than its value, but only once."""
        for name, told in more.outcomes.items():
            if self.outcomes.get(name, told) != told:
                raise DataError(f"{name!r} was told as {self.outcomes[name]!r} and now as {told!r}")
        block = self.block if more.block is None else more.block
        if self.block not in (None, block):
            raise DataError(f"its block was told as {self.block!r} and now as {block!r}")
        return Beside({**self.outcomes, **more.outcomes}, block)


NOTHING = Beside()


def checked_name(what: str, name: object) -> str:
    """Return the name of a block or an outcome, after checking it."""
    if isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable():
        return name
    raise DataError(
        f"{what} must be a text of 1 to {LONGEST_NAME} printable characters, got {name!r}."
    )
