"""What was told, as evaluations: values of the objective and, beside them, other outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np

from rahbo.errors import DataError
from rahbo.numerics import unwrapped
from rahbo.space import columns_in, is_frame, is_missing, listed_cells, rows_in
from rahbo.trials.trial import checked_values


class Reads(Protocol):
    """Knows what a told value of an outcome means."""

    def read(self, told: Any) -> Any:
        """Return a told value as a number."""


def checked_outcomes(
    values: object, outcomes: object, known: Mapping[str, Reads]
) -> tuple[list[float], list[dict[str, float]]]:
    """Return the values that were told, and the outcomes beside each of them.

    Args:
        values: One number or several, or a record or several: a mapping from the names of outcomes
            to numbers, in which the objective is the only one that is not a known outcome.
        outcomes: By name, as many numbers as there are values, or one number for one value; None
            or NaN where one is missing.
        known: The outcomes that may be told, by name.
    """
    values = _cells(values, bool(known)) if is_frame(values) else values
    records = _records(values) if known else None
    if records is None:
        checked = checked_values(values)
        return checked, _outcomes(outcomes, len(checked), known)
    if outcomes is not None:
        raise DataError("tell() needs outcomes= or values with named outcomes, got both.")
    split = [split_record(record, known) for record in records]
    return checked_values([value for value, _ in split]), [told for _, told in split]


def split_record(
    record: Mapping[str, object], known: Mapping[str, Reads]
) -> tuple[object, dict[str, float]]:
    """Return the value of the objective in a record, and the known outcomes that it holds."""
    own = [name for name in record if name not in known]
    if len(own) != 1:
        raise DataError(
            f"A record needs the value of the objective under one name besides the outcomes "
            f"{', '.join(map(repr, known))}, got {', '.join(map(repr, own)) or 'none'}."
        )
    if own != ["value"] and not any(name in record for name in known):
        raise DataError(
            f"A record without any of the outcomes {', '.join(map(repr, known))} needs the name "
            f"'value' for the objective, got {own[0]!r}. Check how the names are spelt."
        )
    told = {name: _read(name, record[name], one) for name, one in known.items() if name in record}
    return record[own[0]], {name: v for name, v in told.items() if v is not None}


def record_of(returned: object) -> dict[str, object] | None:
    """Return a mapping, dataclass or named tuple as a dict; None for anything else."""
    if isinstance(returned, Mapping):
        return dict(returned)
    if is_dataclass(returned) and not isinstance(returned, type):
        return {field.name: getattr(returned, field.name) for field in fields(returned)}
    named = getattr(returned, "_asdict", None)
    if isinstance(returned, tuple) and callable(named):
        return dict(named())
    return None


def _cells(frame: Any, as_records: bool) -> list[Any]:
    """Return the rows of a frame as records or, if there is only the objective, as numbers."""
    found = columns_in(frame)
    if as_records:
        return rows_in(frame)
    if len(found) != 1:
        raise DataError(
            f"tell() needs a frame with one column, got {found}. Pass the column of the values."
        )
    return listed_cells(frame[found[0]])


def _records(values: object) -> list[dict[str, object]] | None:
    """Return one record or several as dicts; None if these are numbers."""
    one = record_of(values)
    if one is not None:
        return [one]
    if not isinstance(values, list | tuple) or not values:
        return None
    several = [record_of(value) for value in values]
    found = [record for record in several if record is not None]
    if found and len(found) < len(several):
        raise DataError(f"tell() needs numbers or records, got both in {values!r}.")
    return found or None


def _outcomes(outcomes: Any, n: int, known: Mapping[str, Reads]) -> list[dict[str, float]]:
    """Return the outcomes of each of ``n`` values."""
    found: list[dict[str, float]] = [{} for _ in range(n)]
    if outcomes is None:
        return found
    if is_frame(outcomes):
        outcomes = {name: listed_cells(outcomes[name]) for name in columns_in(outcomes)}
    if not isinstance(outcomes, Mapping):
        raise DataError(
            f"outcomes= needs numbers by name, such as {{'loss': 3.4}}, got {outcomes!r}."
        )
    for name, told in outcomes.items():
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise DataError(
                f"tell() takes the outcomes that constraints= names ({listed}), got {name!r}."
            )
        several = list(told) if _is_several(told) else [told]
        if len(several) != n:
            raise DataError(
                f"outcomes= needs as many numbers as there are values ({n}), got {len(several)} "
                f"for {name!r}. Pass None where one is missing."
            )
        for record, value in zip(found, several, strict=True):
            number = _read(str(name), value, known[name])
            if number is not None:
                record[str(name)] = number
    return found


def _is_several(told: object) -> bool:
    scalar = isinstance(told, np.ndarray) and told.ndim == 0
    return isinstance(told, Iterable) and not isinstance(told, str | bytes | Mapping) and not scalar


def _read(name: str, value: object, outcome: Reads) -> float | None:
    """Return the number of an outcome; None if it is missing."""
    value = unwrapped(value)
    if is_missing(value):
        return None
    try:
        (number,) = checked_values([outcome.read(value)])
    except DataError as error:
        raise DataError(f"The outcome {name!r} is not a number that can be told: {error}") from None
    return number
