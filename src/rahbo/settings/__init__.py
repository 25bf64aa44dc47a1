"""Everything a run depends on besides its data: what its user knows, and the method."""

from rahbo.settings.method import Method, paper
from rahbo.settings.settings import (
    Direction,
    Keywords,
    Settings,
    given_blocks,
    setting_parameters,
)

__all__ = [
    "Direction",
    "Keywords",
    "Method",
    "Settings",
    "given_blocks",
    "paper",
    "setting_parameters",
]
