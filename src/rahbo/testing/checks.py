"""What the conformance tests share: how a broken promise is said."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


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


def copied(one: T) -> T:
    """Return what a process that is sent an object gets."""
    try:
        copy: T = pickle.loads(pickle.dumps(one))
    except Exception as error:
        raise AssertionError(f"{one!r} must be picklable, but pickle says: {error}") from error
    return copy
