"""`--context NAME=VALUE`: conditions on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rahbo.cli.parameters import value_of
from rahbo.errors import SettingsError
from rahbo.space import Context, Parameter, Space


def written_context(texts: Iterable[str]) -> dict[str, str]:
    """Return the conditions of some ``NAME=VALUE``, as text.

    >>> written_context(["temperature=21.5", "line=a"])
    {'temperature': '21.5', 'line': 'a'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or name in found:
            raise SettingsError(
                f"A condition must be written --context NAME=VALUE, each name once, got {text!r}."
            )
        found[name] = value
    return found


def with_conditions(
    space: Mapping[str, Parameter], names: Iterable[str]
) -> dict[str, Parameter | Context]:
    """Return the parameters of a table, where those with these names are conditions."""
    missing = [name for name in names if name not in space]
    if missing:
        raise SettingsError(
            f"--context must name columns of the table that vary, {list(space)}, got {missing}."
        )
    return {name: Context(p) if name in set(names) else p for name, p in space.items()}


def read_context(space: Space, written: Mapping[str, str]) -> dict[str, Any] | None:
    """Return conditions in the types of a space; None if none were written."""
    if not written:
        return None
    kinds = {name: part.kind for name, part in space.conditions.items()}
    return {
        name: value_of(name, kinds[name], text) if name in kinds else text
        for name, text in written.items()
    }
