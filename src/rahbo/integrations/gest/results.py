"""What an ingested point says: its id, its variables, and its value or its failure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rahbo.errors import DataError
from rahbo.integrations.gest.vocs import Problem
from rahbo.numerics import is_finite
from rahbo.space import is_frame, plain, rows_in
from rahbo.trials import checked_values

NO_VALUE = "no value of the objective"


@dataclass(frozen=True)
class Result:
    """One ingested point.

    Attributes:
        number: Its id, or None if it has none.
        params: Its variables. None if it has an id and no variables.
        value: The value of the objective, or None if the evaluation failed.
        outcomes: The outcomes that have limits, by our names; None where one is missing.
        reason: Why there is no value.
    """

    number: int | None
    params: dict[str, Any] | None
    value: float | None
    outcomes: dict[str, float | None]
    reason: str = ""

    @classmethod
    def of(cls, point: Mapping[str, Any], problem: Problem) -> Result:
        """Return what a point says."""
        number = _id_of(point)
        named = number is None or all(name in point for name in problem.space)
        value = _finite(problem.objective, point.get(problem.objective))
        reason = NO_VALUE if value is None else ""
        # Xopt's mark of an evaluation that raised an error, and the traceback.
        if _holds(point.get("xopt_error")):
            value, reason = None, str(point.get("xopt_error_str") or NO_VALUE).strip()
        return cls(
            number=number,
            params=problem.params(point) if named else None,
            value=value,
            outcomes={own: _finite(of, point.get(of)) for own, of in problem.sources.items()},
            reason=reason,
        )


def points_in(results: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the points of a list, or the rows of a data frame."""
    if is_frame(results):
        return list(rows_in(results))
    if isinstance(results, Mapping):
        raise DataError("ingest() needs a list of points, got one point. Pass it as [point].")
    points = list(results)
    for point in points:
        if not isinstance(point, Mapping):
            raise DataError(f"ingest() needs points that are dictionaries, got {point!r}.")
    return points


def _id_of(point: Mapping[str, Any]) -> int | None:
    """Return the id of a point.

    Tables fill a missing id with None, NaN, 0 or -1. Ours are positive.
    """
    number = plain(point.get("_id"))
    if number is None or (isinstance(number, float) and math.isnan(number)):
        return None
    if not (is_finite(number) and number == round(number)):
        raise DataError(f"ingest() needs a whole number as _id, got {number!r}.")
    return int(number) if number > 0 else None


def _finite(name: str, value: Any) -> float | None:
    """Return a number, or None if it is missing or not finite."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(f"ingest() needs a number for {name!r}, got {value!r}.") from None
    return checked_values(number)[0] if math.isfinite(number) else None


def _holds(mark: Any) -> bool:
    return isinstance(plain(mark), bool | int | float) and mark == True  # noqa: E712
