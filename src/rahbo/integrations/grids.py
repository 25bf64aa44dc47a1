"""scikit-learn: the space of a search in the form that its users know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rahbo.errors import SpaceError, at
from rahbo.space import Categorical


def with_choices(space: Any) -> Any:
    """Return a space in which every list holds choices, also one of two numbers."""
    if not isinstance(space, Mapping):
        return space
    found = dict(space)
    for name, part in space.items():
        if isinstance(part, list | np.ndarray):
            with at(name):
                found[name] = Categorical(list(part))
    return found


def several_grids(grids: Sequence[Any]) -> SpaceError:
    """Return the error for a list of spaces, whose candidates have different parameters."""
    names = [set(grid) for grid in grids if isinstance(grid, Mapping)]
    some = sorted(set().union(*names) - set.intersection(*names)) if names else []
    missing = f", in which {', '.join(map(repr, some))} is not always set" if some else ""
    return SpaceError(
        f"space must be one dict, got a list of {len(grids)}{missing}. Make one search for each "
        "dict, or list all settings with the same names as Candidates(rows)."
    )
