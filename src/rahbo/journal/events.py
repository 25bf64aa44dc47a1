"""The trials of a run as events, and back: what was asked, told, failed or cancelled.

An event is a change of one trial, as JSON. Reading trusts nothing: an event that could not have
been written raises an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn, get_args

import numpy as np

from rahbo.errors import DataError, JournalError, RahboError, SettingsError
from rahbo.journal.codec import decode, encode, encode_scalar
from rahbo.numerics import is_number
from rahbo.space import Space
from rahbo.trials import (
    MOST_REPEATS,
    Evaluation,
    Source,
    Trial,
    checked_name,
    checked_values,
    is_same_point,
    is_time,
)


def change_of(before: Trial | None, after: Trial) -> dict[str, Any] | None:
    """Return what changed in a trial, as an event; None if nothing did."""
    if before is None:
        return {"event": "point" if after.source == "user" else "ask", **trial_record(after)}
    changed = after.evaluations.since(before.evaluations)
    if changed:
        told = {i: after.evaluations[i] for i in changed}
        known = before.evaluations
        # What is added to a value later does not change its time.
        timed = {i: e for i, e in told.items() if i not in known or known[i].value is None}
        record = {**_told_record(told), **_times(timed)}
        return {"event": "tell" if "values" in record else "failure", "id": after.id, **record}
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
    record |= _told_record(trial.evaluations)
    if trial.cancelled:
        record["cancelled"] = True
    return {**record, **_times(trial.evaluations)}


def _told_record(told: Mapping[int, Evaluation]) -> dict[str, Any]:
    """Return evaluations without their times as parts of an event, without empty parts."""
    parts: dict[str, dict[int, Any]] = {"values": {}, "beside": {}, "failures": {}}
    for i, each in told.items():
        if each.value is None:
            parts["failures"][int(i)] = str(each.failure)
            continue
        parts["values"][int(i)] = float(each.value)
        if beside := _beside(each):
            parts["beside"][int(i)] = beside
    return {name: part for name, part in parts.items() if part}


def _beside(told: Evaluation) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if told.outcomes:
        record["outcomes"] = {str(name): float(v) for name, v in told.outcomes.items()}
    if told.block is not None:
        record["block"] = str(told.block)
    return record


def _times(told: Mapping[int, Evaluation]) -> dict[str, Any]:
    times = {int(i): float(e.time) for i, e in told.items() if e.time is not None}
    return {"times": times} if times else {}


def trials_of(events: list[Any], space: Space, name: str) -> list[Trial]:
    """Return the trials after all events of a journal."""
    found: list[Trial] = []
    for number, event in enumerate(events, 1):
        try:
            if number > 1:
                apply_event(event, found, space)
                continue
            for record in event["trials"]:
                found.append(opened(record, len(found), space))
        except Exception as error:
            raise foreign(name, number, error) from error
    return found


def apply_event(
    event: dict[str, Any], found: list[Trial], space: Space
) -> Mapping[int, Evaluation]:
    """Apply one event to the trials found so far, and return what it told, by repeat index."""
    kind = event["event"]
    if kind in ("ask", "point"):
        found.append(opened(event, len(found), space))
        return found[-1].evaluations
    number = event["id"]
    if type(number) is not int or not 0 <= number < len(found):
        _refuse(f"id must be one of {len(found)} trials, got {number!r}")
    trial = found[number]
    if kind == "cancel":
        found[number] = replace(trial, cancelled=True)
        return {}
    if kind not in ("tell", "failure"):
        _refuse(f"unknown event {kind!r}; a newer version of rahbo may have written it")
    told = _told(event)
    for i, one in told.items():
        known = trial.evaluations.get(i)
        if one.failure is not None and known is not None and known.value is not None:
            _refuse(f"repeat {i} must have a value or a failure reason, got {one.failure!r}")
    found[number] = trial.with_told(told)
    return told


def opened(record: dict[str, Any], number: int, space: Space) -> Trial:
    """Return the trial of a record, which must be new."""
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
    trial = Trial(
        number, params, x, repeats, source,
        own_bound=None if bound is None else float(bound),
        cancelled=record.get("cancelled", False) is True,
        blocks=tuple(checked_name("A block", name) for name in blocks),
    )  # fmt: skip
    return trial.with_told(_told(record))


def _told(event: dict[str, Any]) -> dict[int, Evaluation]:
    """Return what an event told, by repeat index."""
    values, failures = event.get("values", {}), event.get("failures", {})
    beside, times = event.get("beside", {}), event.get("times", {})
    for key, record in beside.items():
        if key not in values:
            _refuse(f"repeat {key} must have a value beside {record!r}")
    for key, seconds in times.items():
        if key not in values and key not in failures:
            _refuse(f"repeat {key} must have a value or a failure at the time {seconds!r}")
        if type(seconds) not in (int, float) or not is_time(seconds):
            _refuse(f"a time must be seconds since 1970, before the year 10000, got {seconds!r}")
    when = {key: float(seconds) for key, seconds in times.items()}
    found = {}
    for key, value in values.items():
        more = _told_beside(beside.get(key, {}))
        found[_repeat(key)] = Evaluation(_number("a value", value), time=when.get(key), **more)
    for key, reason in failures.items():
        repeat = _repeat(key)
        if not isinstance(reason, str) or repeat in found:
            _refuse(f"repeat {repeat} must have a value or a failure reason, got {reason!r}")
        found[repeat] = Evaluation(failure=reason, time=when.get(key))
    return found


def _told_beside(record: dict[str, Any]) -> dict[str, Any]:
    if not record.keys() <= {"outcomes", "block"}:
        _refuse(f"only outcomes and a block are told beside a value, got {record!r}")
    outcomes, block = record.get("outcomes", {}), record.get("block")
    return {
        "outcomes": {
            checked_name("An outcome", name): _number(f"the outcome {name!r}", value)
            for name, value in outcomes.items()
        },
        "block": None if block is None else checked_name("A block", block),
    }


def _number(what: str, value: object) -> float:
    if type(value) not in (int, float):
        _refuse(f"{what} must be a number, got {value!r}")
    return checked_values(value)[0]


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
