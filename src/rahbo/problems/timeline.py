"""The times of the credit-card transactions in the forest problem, fraud and non-fraud.

The package contains the counts by hour, so that drawing them does not need the data.
`scripts/forest_table.py` makes the counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Timeline:
    """Transactions counted in bins of equal width, from the first transaction on.

    Attributes:
        bin_seconds: The width of a bin.
        fraud: The number of frauds in each bin.
        other: The number of other transactions in each bin.
        folds: The seconds at which each of the five folds begins and the last one ends, six
            numbers. The time before the first fold is the training half.
        frauds: The number of frauds in the training half and in each fold, six numbers.
    """

    bin_seconds: int
    fraud: tuple[int, ...]
    other: tuple[int, ...]
    folds: tuple[int, ...]
    frauds: tuple[int, ...]


def timeline() -> Timeline:
    """Return the counts of the real transactions, which the package contains."""
    path = files("rahbo.problems") / "data" / "forest_times.json"
    stored: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    counts = (tuple(stored[name]) for name in ("fraud", "other", "folds", "frauds"))
    return Timeline(stored["bin_seconds"], *counts)
