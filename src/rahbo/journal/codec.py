"""Settings to JSON and back, without pickle and without running code that a file names.

Registered classes are written by name and fields, and those of a user with their module too. They
are rebuilt if they were defined before: no module is imported because a file names it. Other code,
such as a function, is written as a description, which is enough to recognise it but not to rebuild
it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NoReturn

import numpy as np

from rahbo.errors import JournalError, SpaceError
from rahbo.numerics import Registered, module_outside, registered
from rahbo.settings import Method, Settings
from rahbo.space import Candidates, Categorical, Context, Float, Int, Space, Time, plain

# Settings that a journal holds only if they are used, so that it is as it was before they existed.
IF_USED = ("constraints", "safe", "blocks", "try_first", "noise_std")
# The parts of the method stand beside the other settings, so that a difference names one of them.
OF_METHOD = tuple(part.name for part in fields(Method))
PARAMETERS = (Float, Int, Categorical, Context, Time)
# What marks an encoded value that is not plain. A part of an object cannot be called so.
MARKS = {"type", "module", "class", "code", "float", "numpy"}
SCALARS: dict[str, type[np.generic]] = {
    kind.__name__: kind
    for kind in (
        np.bool_, np.str_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
        np.uint64, np.float16, np.float32, np.float64,
    )
}  # fmt: skip


@dataclass(frozen=True)
class Code:
    """Stands for a setting that is code. A journal holds only its description.

    Attributes:
        name: The name of the setting.
        description: A description of its value.
    """

    name: str
    description: str

    def __repr__(self) -> str:
        return f"{self.description} (code, which a journal does not hold: pass {self.name}= again)"

    def __call__(self, *args: object, **keywords: object) -> NoReturn:
        """Raise an error, because the code itself is needed."""
        raise JournalError(
            f"The run was started with {self.name}={self.description}, whose code a journal does "
            f"not hold. Pass {self.name}= again."
        )


class MissingClassError(JournalError):
    """Raised for a class that has to be imported before a journal is read."""


class _IsCodeError(Exception):
    """Raised within `decode` for code, which cannot be rebuilt from a file."""


# -- settings ----------------------------------------------------------------------------------


def encode_settings(settings: Settings) -> dict[str, Any]:
    """Return the keywords of `Optimizer` that give these settings, as JSON."""
    space = settings.space
    given = {"space": space.spec, "valid": space.valid}
    given |= {k: v for k, v in _fields(settings).items() if k not in ("space", "method")}
    given |= _fields(settings.method)
    return {
        name: _encode_setting(name, value)
        for name, value in given.items()
        # Noise of 0.0 is a setting that is used.
        if name not in IF_USED or value or isinstance(value, float)
    }


def decode_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `Optimizer`, with a `Code` in place of each setting that is code."""
    settings = _decode_each(data)
    parts = {name: settings.pop(name) for name in OF_METHOD if name in settings}
    code = [f"{name}={v.description}" for name, v in parts.items() if isinstance(v, Code)]
    method = Code("method", f"Method({', '.join(code)})") if code else Method(**parts)
    return {**settings, "method": method}


def _decode_each(data: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in data.items():
        try:
            settings[name] = _decode_space(value) if name == "space" else decode(value)
            if name == "constraints":
                settings[name] = dict(settings[name])
            if name == "try_first":
                settings[name] = [dict(pairs) for pairs in settings[name]]
        except _IsCodeError:
            settings[name] = Code(name, show(value))
    return settings


def differences(recorded: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return a description of each setting that differs, with both values.

    Recorded settings are compared in the form in which this version writes them.
    """
    recorded = {
        name: recorded[name] if isinstance(value, Code) else _encode_setting(name, value)
        for name, value in _decode_each(recorded).items()
    }
    return [
        f"{name} is {_distinct(value, given.get(name))} there and "
        f"{_distinct(given.get(name), value)} here"
        for name, value in {**dict.fromkeys(given), **recorded}.items()
        if not same(value, given.get(name))
    ]


def same(a: Any, b: Any) -> bool:
    """Return whether two encoded values mean the same: 1 and 1.0 do, 1 and True do not."""
    a, b = _bare(a), _bare(b)
    if _is_code(a) != _is_code(b):
        # Journals once described objects that are written by their fields today.
        return show(a) == show(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def show(data: Any) -> str:
    """Return an encoded value as a user would write it."""
    data = _bare(data)
    if isinstance(data, list):
        return f"[{', '.join(map(show, data))}]"
    if not isinstance(data, dict):
        return repr(data)
    for tag in ("code", "class", "float"):
        if tag in data:
            return str(data[tag])
    if data["type"] == "Candidates":
        return f"Candidates({len(data['rows'])} rows, revisit={data['revisit']})"
    if data["type"] == "Space":
        return f"{{{', '.join(f'{n!r}: {show(p)}' for n, p in data['parameters'].items())}}}"
    inner = (f"{name}={show(value)}" for name, value in data.items() if name not in MARKS)
    return f"{data['type']}({', '.join(inner)})"


def _encode_setting(name: str, value: Any) -> Any:
    if name == "constraints":
        return [[outcome, encode(limit)] for outcome, limit in value.items()]
    if name == "try_first":
        return [[[key, encode_scalar(v, key)] for key, v in params.items()] for params in value]
    return _encode_space(value) if name == "space" else encode(value)


def _is_code(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("code"), str)


def _bare(data: Any) -> Any:
    return data["value"] if isinstance(data, dict) and "numpy" in data else data


def _distinct(data: Any, other: Any) -> str:
    """Return one of two different values, naming a row that differs if both are listed alike."""
    if show(data) != show(other) or not isinstance(data, dict) or "rows" not in data:
        return show(data)
    if data["names"] != other["names"]:
        return f"Candidates of {data['names']}"
    rows = zip(data["rows"], other["rows"], strict=True)
    at = next(i for i, (a, b) in enumerate(rows) if not same(a, b))
    row = dict(zip(data["names"], map(_bare, data["rows"][at]), strict=True))
    return f"{show(data)} with {row} at {at}"


# -- the space ---------------------------------------------------------------------------------


def _encode_space(spec: Mapping[str, Any] | Candidates) -> dict[str, Any]:
    if isinstance(spec, Candidates):
        names = list(spec.rows[0])
        rows = [[encode_scalar(row[name], name) for name in names] for row in spec.rows]
        return {"type": "Candidates", "names": names, "rows": rows, "revisit": spec.revisit}
    for name, part in spec.items():
        if type(part) not in PARAMETERS:
            raise SpaceError(
                f"A journal can hold Float, Int, Categorical and Candidates, got {name}={part!r} "
                f"of type {type(part).__name__}. Use one of these, or no journal."
            )
        kind = part.parameter if isinstance(part, Context) else part
        for choice in kind.choices if isinstance(kind, Categorical) else ():
            encode_scalar(choice, name)
    return {"type": "Space", "parameters": {name: encode(part) for name, part in spec.items()}}


def _decode_space(data: dict[str, Any]) -> Any:
    if data["type"] != "Candidates":
        return Space.of({name: decode(part) for name, part in data["parameters"].items()}).spec
    rows = [[decode(value) for value in row] for row in data["rows"]]
    return Candidates([dict(zip(data["names"], row, strict=True)) for row in rows], data["revisit"])


# -- values ------------------------------------------------------------------------------------


def encode_scalar(value: object, name: str) -> Any:
    """Return the value of a parameter as JSON that keeps its type, NumPy scalars included."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, np.generic) and SCALARS.get(kind.__name__) is kind:
        return {"numpy": kind.__name__, "value": value.item()}
    raise SpaceError(
        f"A journal can hold parameters of type str, bool, int, float or None, got "
        f"{name}={value!r} of type {kind.__name__}. Use one of these."
    )


def encode(value: object) -> Any:
    """Return a setting as JSON: plain values, registered classes by name, or a description."""
    value = plain(value)
    kind = type(value)
    if isinstance(value, float) and kind is float and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, type) and _is_registered(value):
        return {"class": value.__name__, **_origin(value)}
    if isinstance(value, Registered) and _is_registered(kind):
        parts = value.to_json()
        if parts is not None and not MARKS & parts.keys():
            inner = {name: encode(part) for name, part in parts.items()}
            return {"type": kind.__name__, **_origin(kind), **inner}
    return {"code": describe(value)}


def _is_registered(kind: type) -> bool:
    found: type | None = registered(kind.__name__, module_outside(kind))
    return found is kind


def _origin(kind: type) -> dict[str, str]:
    module = module_outside(kind)
    return {} if module is None else {"module": module}


def decode(data: Any) -> Any:
    """Return the value that `encode` or `encode_scalar` was given."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "type" in data:
        made = {name: decode(value) for name, value in data.items() if name not in MARKS}
        return _class_in(data, "type")(**made)
    if "class" in data:
        return _class_in(data, "class")
    if "code" in data:
        raise _IsCodeError
    if "float" in data:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[data["float"]]
    return SCALARS[data["numpy"]](data["value"])


def _class_in(data: dict[str, Any], mark: str) -> type[Registered]:
    """Return the class that an encoded value names."""
    name, module = data[mark], data.get("module")
    kind = registered(name, module)
    if kind is not None:
        return kind
    if module is None:
        raise JournalError(f"unknown type {name!r}; a newer rahbo may have written it")
    raise MissingClassError(
        f"needs the class {name} of the module {module}. Import the module first; commands take "
        f"--import {module}."
    )


def describe(value: object) -> str:
    """Return a description to recognise code by: its name, and its fields or arguments."""
    if isinstance(value, functools.partial):
        bound = [f"{name}={describe(v)}" for name, v in value.keywords.items()]
        return f"partial({', '.join([*map(describe, (value.func, *value.args)), *bound])})"
    named = getattr(value, "__qualname__", None)
    if isinstance(named, str):
        return named
    if is_dataclass(value):
        inner = ", ".join(f"{name}={describe(v)}" for name, v in _fields(value).items())
        return f"{type(value).__qualname__}({inner})"
    text = repr(value)
    # The address of an object differs each time and says nothing about it.
    return type(value).__qualname__ if " at 0x" in text else text


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
