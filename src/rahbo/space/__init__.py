"""The search space: parameters, lists of candidates, and their translation to the unit cube."""

from rahbo.space.candidates import Candidates
from rahbo.space.context import Condition, Context, Time
from rahbo.space.frames import (
    columns_in,
    is_frame,
    is_frame_row,
    is_missing,
    listed_cells,
    rows_in,
    whole_if_equal,
)
from rahbo.space.parameters import Categorical, Float, Int, Parameter, is_range, is_real, key, plain
from rahbo.space.space import Space

__all__ = [
    "Candidates",
    "Categorical",
    "Condition",
    "Context",
    "Float",
    "Int",
    "Parameter",
    "Space",
    "Time",
    "columns_in",
    "is_frame",
    "is_frame_row",
    "is_missing",
    "is_range",
    "is_real",
    "key",
    "listed_cells",
    "plain",
    "rows_in",
    "whole_if_equal",
]
