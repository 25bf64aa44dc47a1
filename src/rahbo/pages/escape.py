"""Escape values of a run so that a page shows them as plain text.

Names, choices and reasons may come from anywhere. In HTML they go through `shown`, and in a script
element through `embedded`. Scripts add them to the page only as text nodes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from rahbo.analysis import shown, visible

__all__ = ["embedded", "shown", "visible"]

# Inside a script element these could end the element, or start what the parser reads as markup.
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}


def embedded(record: object) -> str:
    r"""Return a record as JSON for a script element; non-finite numbers become null.

    >>> embedded({"name": "</script>", "bound": math.inf})
    '{"name":"\\u003c/script\\u003e","bound":null}'
    """
    text = json.dumps(_plain(record), allow_nan=False, separators=(",", ":"))
    return text.translate(_IN_SCRIPT)


def _plain(value: object) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, Mapping):
        return {visible(str(name)): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return visible(str(value))
