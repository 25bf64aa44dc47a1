"""One call of an objective: what it is called with, and what it returned."""

from __future__ import annotations

import functools
import inspect
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rahbo.errors import DataError, SettingsError
from rahbo.model import Constraint
from rahbo.numerics import is_number, is_real_number, is_whole, unwrapped
from rahbo.running.generators import Draw
from rahbo.space import plain
from rahbo.trials import LARGEST_VALUE, record_of, shortened, split_record

Objective = Callable[..., Any]
# The most bytes of an exception that are sent from a worker.
LONGEST_ERROR = 10_000


@dataclass(frozen=True)
class CallResult:
    """The outcome of one call of the objective.

    Attributes:
        value: The measurement, if there is one.
        failure: Why there is none.
        no_number: What was returned instead of a number, which is an error in the objective.
        record: What was returned, by name, if it was a dict, a dataclass or a named tuple.
        outcomes: The outcomes beside the measurement.
        error: The exception that caused a failure, or a `RemoteError` in its place.
        seconds: How long the call took in its worker, if one was measured.
        drawn: What a first call in a worker drew from.
    """

    value: float | None = None
    failure: str = ""
    no_number: str | None = None
    error: BaseException | None = None
    record: Mapping[str, object] | None = None
    outcomes: Mapping[str, float] | None = None
    seconds: float | None = field(default=None, compare=False)
    drawn: tuple[Draw, ...] = ()

    @property
    def cause(self) -> BaseException | None:
        """The exception that caused a failure, made again if it was raised in a worker."""
        return self.error.original() if isinstance(self.error, RemoteError) else self.error


class RemoteError(Exception):
    """The traceback of an exception in a worker.

    Args:
        text: The traceback.
        packed: The exception itself as bytes; empty if it cannot be sent.
    """

    def __init__(self, text: str, packed: bytes = b"") -> None:
        super().__init__(text)
        self.packed = packed

    def original(self) -> BaseException:
        """Return the exception itself, caused by this traceback; this if it cannot be had."""
        try:
            found = pickle.loads(self.packed)
        except Exception:
            return self
        found.__cause__ = self
        return found if isinstance(found, BaseException) else self


def packed(error: BaseException) -> bytes:
    """Return an exception as bytes from which it can be made again; none if that fails."""
    try:
        data = pickle.dumps(error)
        same = type(pickle.loads(data)) is type(error)
    except Exception:
        return b""
    return data if same and len(data) <= LONGEST_ERROR else b""


def attempt(objective: Objective, arguments: dict[str, Any]) -> CallResult:
    """Call the objective once and return the outcome."""
    try:
        return measured(objective(**arguments))
    except Exception as error:
        return CallResult(failure=described(error), error=error)


def measured(returned: object) -> CallResult:
    """Return what an objective returned, as the outcome of a call."""
    try:
        returned = unwrapped(returned)
        if not is_real_number(returned):
            return CallResult(no_number=described(returned), record=_numbers_in(returned))
        # A whole number may be too large to become a float.
        value = math.inf if is_whole(returned) and not is_number(returned) else float(returned)
    except Exception as error:
        return CallResult(failure=described(error), error=error)
    return (
        CallResult(value)
        if abs(value) <= LARGEST_VALUE
        else CallResult(failure=f"returned {value!r}")
    )


def _numbers_in(returned: object) -> dict[str, object] | None:
    """Return a record with its numbers and texts, and a description of anything else.

    A worker sends it to another process, which may not know the user's classes. None if this is
    not a record.
    """
    try:
        record = record_of(returned) or {}
        return {str(name): _plain(value) for name, value in record.items()} or None
    except Exception:
        # A class of the user may look like a record without being one.
        return None


def _plain(value: object) -> object:
    """Return a number, a text or None as it is, and a description of anything else."""
    value = plain(unwrapped(value))
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return shortened(value)
    return float(value) if is_real_number(value) else described(value)


def with_outcomes(outcome: CallResult, known: Mapping[str, Constraint]) -> CallResult:
    """Return the outcome of a call with the measurement and the named outcomes of its record.

    An outcome may be missing: None or NaN.
    """
    if not known or outcome.no_number is None:
        return outcome
    record = outcome.record
    if record is None or not known.keys() <= record.keys():
        return outcome
    lost = {name: record[name] for name in known if _is_too_large(record[name])}
    if lost:
        return CallResult(failure=f"returned {described(lost)}", seconds=outcome.seconds)
    try:
        value, told = split_record(record, known)
    except DataError as error:
        return replace(outcome, no_number=f"{outcome.no_number} ({error})")
    if value is None:
        return CallResult(failure="returned None", seconds=outcome.seconds)
    return replace(measured(value), outcomes=told, seconds=outcome.seconds)


def _is_too_large(value: object) -> bool:
    return isinstance(value, float | np.floating) and abs(float(value)) > LARGEST_VALUE


def described(thing: object) -> str:
    """Return the repr of an object of the user, shortened, even if its own code fails."""
    try:
        return shortened(repr(thing))
    except Exception as error:
        return f"<{type(thing).__name__}, whose repr() raises {type(error).__name__}>"


def wanted_keywords(
    objective: Objective, names: tuple[str, ...], optional: tuple[str, ...]
) -> set[str]:
    """Return which optional keywords the objective takes, such as a seed.

    Raise an error if it lacks the parameters.
    """
    if not callable(objective):
        raise SettingsError(
            f"The objective must be a function of {list(names)}, got {objective!r}."
        )
    try:
        signature = inspect.signature(objective)
    except (TypeError, ValueError):
        # Some functions written in C have no signature.
        return set()
    bound = objective.keywords if isinstance(objective, functools.partial) else {}
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = {name: signature.parameters[name] for name in optional if name in signature.parameters}
    wants = [
        name
        for name, parameter in known.items()
        if name not in names and name not in bound and parameter.kind in by_keyword
    ]
    try:
        signature.bind(**dict.fromkeys([*names, *wants]))
    except TypeError as error:
        raise SettingsError(
            f"The objective must take the parameters {list(names)} as keywords, but its signature "
            f"is {signature}: {error}. Name its arguments as in the space."
        ) from error
    return set(wants)
