"""How often to evaluate a point."""

from __future__ import annotations

from dataclasses import dataclass

from rahbo.checks import is_whole
from rahbo.errors import SettingsError


@dataclass(frozen=True)
class Fixed:
    """The same number of repeats at every point, the paper's k."""

    n_repeats: int = 5

    def __post_init__(self) -> None:
        k = self.n_repeats
        if not is_whole(k) or k < 1:
            raise SettingsError(f"repeats must be a whole number >= 1, got {k!r}.")
        object.__setattr__(self, "n_repeats", int(k))


def as_repeats(repeats: int | Fixed) -> Fixed:
    """A number means that many repeats at every point."""
    return repeats if isinstance(repeats, Fixed) else Fixed(repeats)
