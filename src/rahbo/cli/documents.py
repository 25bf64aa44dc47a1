"""Records as strict JSON, with their field names as keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from rahbo.analysis import Interval
from rahbo.optimizer import Optimizer

VERDICTS = ("verdict", "inputs_verdict", "described", "sentences")
# What is said only if there is something to say.
WARNINGS = ("warning",)


def document(**parts: object) -> str:
    """Return one JSON document of several records.

    >>> print(document(bound=math.inf, value=1.5))
    {
      "bound": null,
      "value": 1.5
    }
    """
    return json.dumps(json_value(parts), indent=2, allow_nan=False)


def json_value(record: object) -> Any:
    """Return a record as dicts, lists, strings and numbers; non-finite numbers become None."""
    if isinstance(record, np.generic):
        record = record.item()
    if isinstance(record, float):
        return record if math.isfinite(record) else None
    if record is None or isinstance(record, str | int):
        return record
    if isinstance(record, Interval):
        return {name: json_value(end) for name, end in record._asdict().items()}
    if isinstance(record, Mapping):
        return {str(name): json_value(value) for name, value in record.items()}
    if isinstance(record, list | tuple):
        return [json_value(value) for value in record]
    if is_dataclass(record):
        known = {field: getattr(record, field.name) for field in fields(record)}
        found = {
            field.name: json_value(value)
            for field, value in known.items()
            if value or "if_used" not in field.metadata
        }
        said = {n: json_value(getattr(record, n)) for n in VERDICTS if hasattr(record, n)}
        warned = {name: text for name in WARNINGS if (text := getattr(record, name, ""))}
        return {**found, **said, **warned}
    return repr(record)


def about(optimizer: Optimizer) -> dict[str, object]:
    """Return the settings and the amount of data that a report is based on."""
    risk = optimizer.settings.risk
    return {
        "direction": optimizer.settings.direction,
        "risk": {
            "measure": type(risk).__name__,
            **(json_value(risk) if is_dataclass(risk) else {}),
        },
        "seed": optimizer.settings.seed,
        "n_points": optimizer.observations.n,
        "n_evaluations": optimizer.n_evaluations,
        "n_failures": sum(len(trial.failures) for trial in optimizer.trials),
    }
