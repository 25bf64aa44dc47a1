"""Pieces of Markdown."""

from collections.abc import Sequence

import numpy as np


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) if rows else "No runs."


def verdict(holds: bool) -> str:
    return "yes" if holds else "**no**"


def plus_minus(two_se: float, digits: int = 4) -> str:
    """Two standard errors; nothing where a single seed leaves them unknown."""
    return f" ± {two_se:.{digits}f}" if np.isfinite(two_se) else ""


def signed(value: float, two_se: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}{plus_minus(two_se, digits)}"
