"""Where a run gets the present conditions from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rahbo.errors import ExhaustedError, SettingsError
from rahbo.space import Space, Time, is_frame

Present = Callable[[], Mapping[str, Any]] | Iterable[Mapping[str, Any]]


def context_of(given: Present | None, space: Space) -> Callable[[], Mapping[str, Any] | None]:
    """Return a function that returns the present conditions, or None if the space has none.

    Raises:
        SettingsError: Conditions are missing, or the space has none.
    """
    asked = [
        name
        for name, part in space.conditions.items()
        if not (isinstance(part, Time) and part.unit is None)
    ]
    if given is None:
        if asked:
            raise SettingsError(
                f"The space has the conditions {asked}, which are given, not chosen. Pass "
                "context=, a function that returns the present ones as a dict."
            )
        return lambda: None
    if not space.conditions:
        raise SettingsError(
            "context= was given, but the space has no conditions. Leave it out, or declare "
            "conditions with rahbo.Context."
        )
    if isinstance(given, Mapping | str | bytes):
        raise SettingsError(
            f"context must be a function that returns a dict, or an iterable of dicts, got "
            f"{given!r}. Write lambda: {{...}} for conditions that stay the same."
        )
    if is_frame(given):
        given = space.conditions_in(given)
    if callable(given):
        return given
    if not isinstance(given, Iterable):
        raise SettingsError(
            f"context must be a function that returns a dict, or an iterable of dicts, got "
            f"{given!r}."
        )
    left = iter(given)

    def following() -> Mapping[str, Any]:
        try:
            return next(left)
        except StopIteration:
            raise ExhaustedError(
                "context= has no more conditions. Pass a longer iterable, or a function."
            ) from None

    return following
