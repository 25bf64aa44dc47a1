"""Failures that show a mistake in the objective's code, which no other setting can cure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rahbo.numerics import is_number

# What Python raises for a wrong name, argument, import or attribute, or for code it cannot read.
MISTAKES = (NameError, TypeError, ImportError, AttributeError, SyntaxError)
# At so many points the same error is taken for a mistake, fewer if the space has fewer.
ENOUGH_POINTS = 3
NUMBER = re.compile(r"(?<!\w)(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)")


class Mistakes:
    """Counts at how many points an objective failed with the same error.

    Args:
        kinds: The exceptions that count. Any other is ignored.
        n_points: How many different points the space has.
    """

    def __init__(self, kinds: tuple[type[BaseException], ...], n_points: float) -> None:
        self._kinds, self._enough = kinds, min(ENOUGH_POINTS, n_points)
        self._points: dict[tuple[type[BaseException], str], set[tuple[Any, ...]]] = {}

    def is_one(self, error: BaseException | None, params: Mapping[str, Any]) -> bool:
        """Take an error at a point, and return whether it is a mistake by now."""
        if not isinstance(error, self._kinds):
            return False
        points = self._points.setdefault((type(error), without_values(error, params)), set())
        points.add(tuple(params.values()))
        return len(points) >= self._enough


def without_values(error: BaseException, params: Mapping[str, Any]) -> str:
    """Return the message of an error without numbers and the values of a setting.

    So an error that quotes the setting is the same at every point.

    >>> without_values(TypeError("x=0.25 is no 'gas' for f1 at 0x7f3a"), {"x": 0.25, "kind": "gas"})
    "x=# is no '#' for f1 at #"
    """
    try:
        text = str(error)
    except Exception:
        return ""
    texts = {str(value) for value in params.values() if not is_number(value)} - {""}
    named = sorted(texts, key=len, reverse=True)
    if named:
        text = re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, named))})(?!\w)", "#", text)
    return NUMBER.sub("#", text)
