"""The trials of a run as events, and back: what was asked, told, failed or cancelled.

An event is a change of one trial, as JSON. Reading trusts nothing: an event that could not have
been written raises an error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn, get_args

import numpy as np

from rahbo.errors import DataError, JournalError, RahboError, SettingsError
from rahbo.journal.codec import decode, encode, encode_scalar
from rahbo.numerics import is_number
from rahbo.space import Space
from rahbo.trials import (
    MOST_REPEATS,
    Beside,
    Source,
    Trial,
    added,
    checked_name,
    checked_values,
    is_same_point,
    is_time,
)


def change_of(before: Trial | None, after: Trial) -> dict[str, Any] | None:
    """Return what changed in a trial, as an event; None if nothing did."""
    if before is None:
        return {"event": "point" if after.source == "user" else "ask", **trial_record(after)}
    new = {*added(after.values, before.values), *added(after.beside, before.beside)}
    if new:
        values = {i: after.values[i] for i in sorted(new)}
        told = {"event": "tell", "id": after.id, "values": _values(values)}
        told |= _beside({i: after.beside[i] for i in values if i in after.beside})
        return {**told, **_times(after, before, new)}
    lost = added(after.failures, before.failures)
    if lost:
        failures = {i: after.failures[i] for i in lost}
        told = {"event": "failure", "id": after.id, "failures": _failures(failures)}
        return {**told, **_times(after, before, failures)}
    if after.cancelled and not before.cancelled:
        return {"event": "cancel", "id": after.id}
    return None


def trial_record(trial: Trial) -> dict[str, Any]:
    """Return a whole trial as JSON."""
    if trial.n_requested > MOST_REPEATS:
        raise SettingsError(
            f"A suggestion in a journal may ask for at most {MOST_REPEATS} repeats, got "
            f"{trial.n_requested}. Ask for fewer; you may tell more."
        )
    record: dict[str, Any] = {
        "id": int(trial.id),
        "params": {name: encode_scalar(value, name) for name, value in trial.params.items()},
        "x": trial.x.tolist(),
        "repeats": int(trial.n_requested),
        "source": trial.source,
        "own_bound": encode(trial.own_bound),
    }
    if trial.blocks:
        record["blocks"] = list(trial.blocks)
    if trial.values:
        record["values"] = _values(trial.values)
        record |= _beside(trial.beside)
    if trial.failures:
        record["failures"] = _failures(trial.failures)
    if trial.cancelled:
        record["cancelled"] = True
    return {**record, **_times(trial, None, trial.times)}


def _values(values: Mapping[int, float]) -> dict[int, float]:
    return {int(i): float(v) for i, v in values.items()}


def _beside(beside: Mapping[int, Beside]) -> dict[str, Any]:
    """Return what was told beside values as a part of an event, empty if there is nothing."""
    found = {int(i): _beside_record(told) for i, told in beside.items() if told}
    return {"beside": found} if found else {}


def _beside_record(told: Beside) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if told.outcomes:
        record["outcomes"] = {str(name): float(v) for name, v in told.outcomes.items()}
    if told.block is not None:
        record["block"] = str(told.block)
    return record


def _failures(failures: Mapping[int, str]) -> dict[int, str]:
    return {int(i): str(why) for i, why in failures.items()}


def _times(trial: Trial, before: Trial | None, repeats: Collection[int]) -> dict[str, Any]:
    """Return the new times of some repeats as a part of an event, empty if there are none."""
    known = {} if before is None else before.times
    told = [i for i in sorted(repeats) if i in trial.times]
    new = {int(i): float(trial.times[i]) for i in told if known.get(i) != trial.times[i]}
    return {"times": new} if new else {}


def trials_of(events: list[Any], space: Space, name: str) -> list[Trial]:
    """Return the trials after all events of a journal."""
    found: list[dict[str, Any]] = []
    for number, event in enumerate(events, 1):
        try:
            if number > 1:
                apply_event(event, found, space)
                continue
            for record in event["trials"]:
                found.append(opened(record, len(found), space))
        except Exception as error:
            raise foreign(name, number, error) from error
    return [Trial(**fields) for fields in found]


def apply_event(event: dict[str, Any], found: list[dict[str, Any]], space: Space) -> None:
    """Apply one event to the trials found so far."""
    kind = event["event"]
    if kind in ("ask", "point"):
        found.append(opened(event, len(found), space))
        return
    number = event["id"]
    if type(number) is not int or not 0 <= number < len(found):
        _refuse(f"id must be one of {len(found)} trials, got {number!r}")
    fields = found[number]
    if kind == "tell":
        _take_values(fields, event["values"], event.get("beside", {}))
        _take_times(fields, event.get("times", {}), event["values"])
    elif kind == "failure":
        _take_failures(fields, event["failures"])
        _take_times(fields, event.get("times", {}), event["failures"])
    elif kind == "cancel":
        fields["cancelled"] = True
    else:
        _refuse(f"unknown event {kind!r}; a newer version of rahbo may have written it")


def opened(record: dict[str, Any], number: int, space: Space) -> dict[str, Any]:
    """Return the fields of a new trial."""
    if type(record["id"]) is not int or record["id"] != number:
        _refuse(f"id must be {number}, the next one, got {record['id']!r}")
    repeats, source, bound = record["repeats"], record["source"], decode(record["own_bound"])
    if type(repeats) is not int or not 0 <= repeats <= MOST_REPEATS:
        _refuse(f"repeats must be 0 to {MOST_REPEATS}, got {repeats!r}")
    if source not in get_args(Source):
        _refuse(f"source must be one of {get_args(Source)}, got {source!r}")
    if bound is not None and not is_number(bound):
        _refuse(f"own_bound must be a number or null, got {bound!r}")
    params = {name: decode(value) for name, value in record["params"].items()}
    x = np.array(record["x"], dtype=np.float64)
    if not is_same_point(x, space.encode(params)):
        _refuse(f"x must be the point of {params!r}, got {record['x']!r}")
    blocks = record.get("blocks", [])
    if type(blocks) is not list or len(blocks) not in (0, repeats):
        _refuse(f"there must be a block for each of {repeats} repeats, got {blocks!r}")
    fields: dict[str, Any] = {
        "id": number, "params": params, "x": x, "n_requested": repeats, "source": source,
        "own_bound": None if bound is None else float(bound), "values": {}, "failures": {},
        "beside": {}, "times": {},
        "cancelled": record.get("cancelled", False) is True,
        "blocks": tuple(checked_name("A block", name) for name in blocks),
    }  # fmt: skip
    values, failures = record.get("values", {}), record.get("failures", {})
    _take_values(fields, values, record.get("beside", {}))
    _take_failures(fields, failures)
    _take_times(fields, record.get("times", {}), {**values, **failures})
    return fields


def _take_values(fields: dict[str, Any], values: dict[str, Any], beside: dict[str, Any]) -> None:
    for key, value in values.items():
        if type(value) not in (int, float):
            _refuse(f"a value must be a number, got {value!r}")
        repeat, number = _repeat(key), checked_values(value)[0]
        if repeat not in fields["values"]:
            # The time of a failure that the value replaces.
            fields["times"].pop(repeat, None)
        if fields["values"].setdefault(repeat, number) != number:
            _refuse(f"repeat {repeat} has the value {fields['values'][repeat]!r}, got {number!r}")
        fields["values"][repeat] = number
        fields["failures"].pop(repeat, None)
    for key, record in beside.items():
        if key not in values:
            _refuse(f"repeat {key} must have a value beside {record!r}")
        fields["beside"][_repeat(key)] = _told_beside(record)


def _told_beside(record: dict[str, Any]) -> Beside:
    if not record.keys() <= {"outcomes", "block"}:
        _refuse(f"only outcomes and a block are told beside a value, got {record!r}")
    outcomes: dict[str, float] = {}
    for name, value in record.get("outcomes", {}).items():
        if type(value) not in (int, float):
            _refuse(f"the outcome {name!r} must be a number, got {value!r}")
        outcomes[checked_name("An outcome", name)] = checked_values(value)[0]
    block = record.get("block")
    return Beside(outcomes, None if block is None else checked_name("A block", block))


def _take_failures(fields: dict[str, Any], failures: dict[str, Any]) -> None:
    for key, reason in failures.items():
        repeat = _repeat(key)
        if not isinstance(reason, str) or repeat in fields["values"]:
            _refuse(f"repeat {repeat} must have a value or a failure reason, got {reason!r}")
        if fields["failures"].get(repeat) != reason:
            fields["times"].pop(repeat, None)
        fields["failures"][repeat] = reason


def _take_times(fields: dict[str, Any], times: dict[str, Any], told: Collection[str]) -> None:
    for key, seconds in times.items():
        if key not in told:
            _refuse(f"repeat {key} must have a value or a failure at the time {seconds!r}")
        if type(seconds) not in (int, float) or not is_time(seconds):
            _refuse(f"a time must be seconds since 1970, before the year 10000, got {seconds!r}")
        fields["times"][_repeat(key)] = float(seconds)


def _repeat(key: str) -> int:
    repeat = int(key)
    if repeat < 0 or str(repeat) != key:
        _refuse(f"a repeat must be a whole number >= 0, got {key!r}")
    return repeat


def _refuse(problem: str) -> NoReturn:
    raise DataError(problem)


def foreign(name: str, number: int, error: Exception) -> JournalError:
    """Return the error for a line, whatever is wrong with it."""
    what = str(error) if isinstance(error, RahboError) else repr(error)
    return JournalError(
        f"{name}, line {number}, was not written by rahbo: {what.rstrip('.')}. Restore the file "
        "from a copy, or delete everything from that line on."
    )
