"""What the conformance tests share: how a broken promise is said."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Promises:
    """What an object promises; a broken promise raises an `AssertionError` that says so.

    Attributes:
        of: The object.
    """

    of: object

    def require(self, kept: object, promise: str) -> None:
        """Raise an error with a promise unless it is kept."""
        if not kept:
            raise AssertionError(f"{self.of!r}: {promise}")
