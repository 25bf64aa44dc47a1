"""The search space: the one border between user units and the unit cube.

Notation: ``X`` holds points ``(m, d)`` in ``[0, 1]^d``, ``x`` is one point ``(d,)``, ``U`` holds
uniform numbers ``(m, n_uniform)``. Between a user's value and its unit columns ``(m, width)``
stands its *code* ``(m,)``: a number itself, or the index of a choice or of a listed row.

Real numbers are rounded to as many decimals (11 to 15 digits) as survive the trip to the unit cube
and back. So a value typed by hand comes back as typed, and ``encode(decode(x))`` is an exact fixed
point: repeats of a point can be recognised by equality.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rahbo.errors import SpaceError

FloatArray = NDArray[np.float64]

_SMALLEST, _LARGEST, _LARGEST_INT = 1e-290, 1e290, 10**12
_MAX_LISTED = 10_000_000
_CHUNK = 2_000_000
_SLACK = 1e-12
# Correctly rounded powers, so that rounding 0.1 to 14 decimals gives the float 0.1 itself.
_POWERS = np.array([float(f"1e{k}") for k in range(-300, 309)])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_sized(value: float) -> bool:
    return value == 0 or _SMALLEST <= abs(value) <= _LARGEST


def _key(value: Any) -> tuple[bool, Any]:
    """Identity of a choice: 1 and 1.0 are one, 1 and True are two."""
    value = _plain(value)
    if not (value is None or isinstance(value, str | int | float)):
        raise SpaceError(f"A choice must be a str, bool, int, float or None, got {value!r}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise SpaceError(f"A numeric choice must be finite, got {value!r}. Use None or a str.")
    return isinstance(value, bool), value


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise SpaceError(f"A parameter name must be a non-empty string, got {name!r}. Rename it.")


@dataclass(frozen=True, repr=False)
class _Numeric(ABC):
    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            object.__setattr__(self, end, self._bound(end, _plain(getattr(self, end))))
        kind, got = type(self).__name__, f"got low={self.low!r}, high={self.high!r}"
        if self.low == self.high:
            raise SpaceError(f"{kind} needs low < high, {got}. Leave a constant out of the space.")
        if self.low > self.high:
            raise SpaceError(f"{kind} needs low < high, {got}, which is reversed. Swap them.")
        if not isinstance(self.log, bool):
            raise SpaceError(f"{kind} takes low, high and log=True or False, got {self.log!r}.")
        if self.log and self.low <= 0:
            raise SpaceError(f"{kind} with log=True needs low > 0, {got}. Raise low or drop log.")

    def __repr__(self) -> str:
        log = ", log=True" if self.log else ""
        return f"{type(self).__name__}({self.low!r}, {self.high!r}{log})"

    @abstractmethod
    def _bound(self, end: str, value: Any) -> float: ...

    @abstractmethod
    def _tidy(self, codes: Any) -> Any:
        """Nearest round number, bounds apart."""

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """Origin and span on the linear or log scale."""
        low, high = np.log([self.low, self.high]) if self.log else (self.low, self.high)
        # Neighbouring floats may share their logarithm.
        return float(low), float(high - low) or 1.0

    @cached_property
    def _largest(self) -> float:
        return max(abs(self.low), abs(self.high))

    def _labels(self, name: str) -> list[str]:
        return [name]

    def _code(self, name: str, value: Any) -> float:
        value = _plain(value)
        if not _is_number(value) or value != value:
            raise SpaceError(f"{name}={value!r} must be a number for {self!r}. Pass a finite one.")
        below, above = (
            _SLACK * (abs(end) if self.log else self._largest) for end in (self.low, self.high)
        )
        if value < self.low - below or value > self.high + above:
            raise SpaceError(
                f"{name}={value!r} is outside {self!r}."
                " Pass values in user units, or widen the bounds."
            )
        return float(value)

    # NumPy's exp serves single numbers too: that of the math module may differ in the last bit.
    def _unwarp(self, u: Any) -> Any:
        """Code of a unit number or array of them, ends apart."""
        origin, span = self._scale
        return self._tidy(np.exp(origin + u * span) if self.log else origin + u * span)

    def _value(self, cols: list[float]) -> float:
        if 0.0 < cols[0] < 1.0:
            return min(max(float(self._unwarp(cols[0])), self.low), self.high)
        return self.low if cols[0] <= 0.0 else self.high

    def _codes(self, cols: FloatArray) -> FloatArray:
        u = cols[:, 0]
        codes = np.clip(self._unwarp(u), self.low, self.high)
        return np.where(u <= 0.0, self.low, np.where(u >= 1.0, self.high, codes))

    def _units(self, codes: FloatArray) -> FloatArray:
        origin, span = self._scale
        # A bound need not be a round number, but is legal as it is.
        inner = (codes > self.low) & (codes < self.high)
        v = np.clip(np.where(inner, self._tidy(codes), codes), self.low, self.high)
        u = np.clip(((np.log(v) if self.log else v) - origin) / span, 0.0, 1.0)
        return np.where(v <= self.low, 0.0, np.where(v >= self.high, 1.0, u))[:, None]


@dataclass(frozen=True, repr=False)
class Float(_Numeric):
    """A real number between ``low`` and ``high``, on a log scale if ``log``."""

    _count = math.inf

    def _bound(self, end: str, value: Any) -> float:
        if not _is_number(value) or not _is_sized(value):
            raise SpaceError(
                f"Float bounds must be finite, and 0 or between {_SMALLEST} and {_LARGEST} in size,"
                f" got {end}={value!r}. Pass numbers, or change units."
            )
        return float(value)

    @cached_property
    def _digits(self) -> int:
        """Digits kept: after the decimal point if linear, significant ones if log."""
        if not self.log:
            return 14 - math.ceil(math.log10(self._largest))
        size = max(abs(math.log(self.low)), abs(math.log(self.high)))
        return math.floor(-math.log10(5e-15 * (1.0 + size)))

    def _tidy(self, codes: Any) -> Any:
        power: Any = self._digits
        if self.log:
            power = power - 1 - np.floor(np.log10(codes)).astype(np.int64)
        scale = _POWERS[power + 300]
        return np.rint(codes * scale) / scale

    def _draw(self, u: FloatArray) -> FloatArray:
        return self._codes(u[:, None])

    def _near(self, code: float) -> FloatArray:
        return np.empty(0)


@dataclass(frozen=True, repr=False)
class Int(_Numeric):
    """A whole number from ``low`` to ``high``, both included, on a log scale if ``log``."""

    def _bound(self, end: str, value: Any) -> float:
        if not _is_number(value) or not abs(value) <= _LARGEST_INT or value != int(value):
            raise SpaceError(
                f"Int bounds must be whole numbers up to {_LARGEST_INT} in size,"
                f" got {end}={value!r}. Pass integers, or use Float."
            )
        return int(value)

    @property
    def _count(self) -> float:
        return float(self.high - self.low + 1)

    def _tidy(self, codes: Any) -> Any:
        return np.floor(codes + 0.5)

    def _code(self, name: str, value: Any) -> float:
        code = super()._code(name, value)
        if code != int(code):
            raise SpaceError(f"{name}={value!r} must be a whole number for {self!r}. Round it.")
        return code

    def _value(self, cols: list[float]) -> int:
        return int(super()._value(cols))

    def _draw(self, u: FloatArray) -> FloatArray:
        # Half a unit beyond each end, or the ends would get half the chance of the others.
        low, high = self.low - 0.5, self.high + 0.5
        codes = np.floor((low * (high / low) ** u if self.log else low + u * (high - low)) + 0.5)
        return np.clip(codes, self.low, self.high)

    def _all(self) -> FloatArray:
        return np.arange(self.low, self.high + 1, dtype=np.float64)

    def _near(self, code: float) -> FloatArray:
        steps = np.unique(np.rint(np.geomspace(1, self.high - self.low, 6)))
        codes = code + np.concatenate([-steps[::-1], steps])
        return codes[(codes >= self.low) & (codes <= self.high)]


class _Listed(ABC):
    """What has a table of unit columns ``(n, width)``, a row for each code."""

    @property
    @abstractmethod
    def _table(self) -> FloatArray: ...

    @property
    def _count(self) -> float:
        return float(len(self._table))

    def _units(self, codes: FloatArray) -> FloatArray:
        return self._table[codes.astype(np.int64)]

    def _draw(self, u: FloatArray) -> FloatArray:
        return np.minimum(np.floor(u * self._count), self._count - 1)

    def _all(self) -> FloatArray:
        return np.arange(self._count)


@dataclass(frozen=True, repr=False)
class Categorical(_Listed):
    """One of ``choices``, which have no order."""

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        if not isinstance(self.choices, list | tuple | np.ndarray):
            raise SpaceError(f"Categorical needs a list of choices, got {self.choices!r}.")
        object.__setattr__(self, "choices", tuple(_plain(c) for c in self.choices))
        if len(self._index) < 2 or len(self._index) < len(self.choices):
            raise SpaceError(
                f"Categorical needs two or more distinct choices, got {list(self.choices)!r}."
                " Remove duplicates, and leave a constant out of the space."
            )

    def __repr__(self) -> str:
        return f"Categorical({list(self.choices)!r})"

    @cached_property
    def _index(self) -> dict[tuple[bool, Any], int]:
        return {_key(choice): i for i, choice in enumerate(self.choices)}

    @cached_property
    def _table(self) -> FloatArray:
        n = len(self.choices)
        return np.array([[0.0], [1.0]]) if n == 2 else np.eye(n)

    def _labels(self, name: str) -> list[str]:
        return [f"{name}={choice}" for choice in self.choices[-self._table.shape[1] :]]

    def _code(self, name: str, value: Any) -> float:
        try:
            return self._index[_key(value)]
        except (KeyError, SpaceError):
            raise SpaceError(
                f"{name}={value!r} is not a choice of {self!r}. Pass one of them, or add it."
            ) from None

    def _codes(self, cols: FloatArray) -> FloatArray:
        best = cols[:, 0] >= 0.5 if cols.shape[1] == 1 else cols.argmax(axis=1)
        return best.astype(np.float64)

    def _value(self, cols: list[float]) -> Any:
        best = cols[0] >= 0.5 if len(cols) == 1 else cols.index(max(cols))
        return self.choices[best]

    def _near(self, code: float) -> FloatArray:
        return np.delete(self._all(), int(code))


@dataclass(frozen=True, repr=False)
class Candidates(_Listed):
    """A list of the only points that can be evaluated, each a dict of the same names.

    With ``revisit=False`` a row that has its repeats is not proposed again.
    """

    rows: Sequence[Mapping[str, Any]]
    revisit: bool = True

    def __post_init__(self) -> None:
        if not all(isinstance(row, Mapping) for row in self.rows):
            raise SpaceError("Candidates rows must be dicts. Pass a list of dicts.")
        rows = tuple(dict(row) for row in self.rows)
        if not rows or not rows[0]:
            raise SpaceError("Candidates needs at least one row with at least one name. Add rows.")
        for name in rows[0]:
            _check_name(name)
        odd = next((row for row in rows if row.keys() != rows[0].keys()), None)
        if odd is not None:
            raise SpaceError(
                f"Candidates rows must have the same names, got {list(rows[0])} in the first and"
                f" {list(odd)} in another. Complete the rows."
            )
        object.__setattr__(self, "rows", rows)
        again = next((r for i, r in enumerate(rows) if self._index[self._row_key(r)] != i), None)
        if again is not None:
            raise SpaceError(f"Candidates rows must differ, {again} comes twice. Drop one.")
        self._coded  # noqa: B018 - a bad column should be an error now, not at first use

    def __repr__(self) -> str:
        return f"Candidates({len(self.rows)} rows)"

    def _row_key(self, row: Mapping[str, Any]) -> tuple[tuple[bool, Any], ...]:
        return tuple(_key(row[name]) for name in self.rows[0])

    @cached_property
    def _index(self) -> dict[tuple[tuple[bool, Any], ...], int]:
        return {self._row_key(row): i for i, row in enumerate(self.rows)}

    @cached_property
    def _coded(self) -> tuple[list[str], FloatArray]:
        labels, blocks = zip(*(self._column(name) for name in self.rows[0]), strict=True)
        return [label for group in labels for label in group], np.hstack(blocks)

    def _column(self, name: str) -> tuple[list[str], FloatArray]:
        """Labels and unit columns ``(n, width)`` of one name."""
        values = [_plain(row[name]) for row in self.rows]
        if all(_is_number(v) for v in values):
            if not all(_is_sized(v) for v in values):
                raise SpaceError(f"Candidates column {name!r} has extreme numbers. Change units.")
            v = np.array(values, dtype=np.float64)
            return [name], ((v - v.min()) / (np.ptp(v) or 1.0))[:, None]
        levels = list({_key(v): v for v in values}.values())
        if len(levels) == 1:
            return [f"{name}={levels[0]}"], np.zeros((len(values), 1))
        part = Categorical(levels)
        return part._labels(name), part._units(np.array([part._code(name, v) for v in values]))

    @property
    def _table(self) -> FloatArray:
        return self._coded[1]

    @cached_property
    def _where(self) -> dict[tuple[float, ...], int]:
        return {tuple(row): i for i, row in enumerate(self._table.tolist())}

    def _labels(self, name: str) -> list[str]:
        return self._coded[0]

    def _code(self, name: str, value: Any) -> float:
        try:
            return self._index[self._row_key(value)]
        except (KeyError, SpaceError):
            raise SpaceError(f"{value} is not among the candidates. Pass a listed row.") from None

    def _codes(self, cols: FloatArray) -> FloatArray:
        codes = np.array([self._where.get(tuple(row), -1) for row in cols.tolist()], dtype=float)
        unknown = np.flatnonzero(codes < 0)
        for chunk in np.array_split(unknown, 1 + unknown.size * self._table.size // _CHUNK):
            gaps = cols[chunk, None, :] - self._table
            codes[chunk] = np.einsum("mnd,mnd->mn", gaps, gaps).argmin(axis=1)
        return codes

    def _value(self, cols: list[float]) -> dict[str, Any]:
        known = self._where.get(tuple(cols))
        return dict(self.rows[int(self._codes(np.array([cols]))[0]) if known is None else known])

    def _near(self, code: float) -> FloatArray:
        return np.empty(0)


Parameter = Float | Int | Categorical
Predicate = Callable[[dict[str, Any]], bool]


def _parameter(name: Any, spec: Any) -> Parameter:
    _check_name(name)
    if isinstance(spec, Float | Int | Categorical):
        return spec
    if isinstance(spec, list):
        return Categorical(spec)
    if isinstance(spec, tuple) and len(spec) == 2 and all(_is_number(_plain(v)) for v in spec):
        low, high = map(_plain, spec)
        if isinstance(low, int) and isinstance(high, int):
            raise SpaceError(
                f"{name}=({low}, {high}) may mean real or whole numbers."
                f" Write Float({low}, {high}) or Int({low}, {high})."
            )
        return Float(low, high)
    raise SpaceError(
        f"{name} must be a Float, Int or Categorical, a (low, high) tuple with a float in it, or a"
        f" list of choices, got {spec!r}. Write one of these."
    )


@dataclass(frozen=True)
class Space:
    """A search space, built by `Space.of`.

    Attributes:
        spec: The parameters by name, or the candidates; ``Space.of(spec, valid)`` rebuilds it.
        valid: Known constraint between the params, or None.
    """

    spec: Mapping[str, Parameter] | Candidates
    valid: Predicate | None = None

    @classmethod
    def of(cls, spec: object, valid: Predicate | None = None) -> Space:
        """Space of a mapping from names to parameters or shorthand, of Candidates, or of a Space.

        A given ``valid`` takes the place of the one of a Space.

        >>> Space.of({"lr": Float(1e-4, 0.1, log=True), "x": (0.0, 15.0)}).decode([1.0, 0.2])
        {'lr': 0.1, 'x': 3.0}
        """
        if isinstance(spec, Space):
            return spec if valid is None else replace(spec, valid=valid)
        if isinstance(spec, Candidates):
            return cls(spec, valid)
        if not isinstance(spec, Mapping) or not spec:
            raise SpaceError(f"A space must be a non-empty dict or Candidates, got {spec!r}.")
        return cls({name: _parameter(name, value) for name, value in spec.items()}, valid)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(self.spec.rows[0] if isinstance(self.spec, Candidates) else self.spec)

    @cached_property
    def _parts(self) -> tuple[tuple[str, Parameter | Candidates, slice], ...]:
        """Name, part and its columns; a list of candidates is one part that fills all names."""
        items = {"": self.spec} if isinstance(self.spec, Candidates) else self.spec
        ends = accumulate((len(p._labels(n)) for n, p in items.items()), initial=0)
        spans = (slice(a, b) for a, b in pairwise(ends))
        return tuple((n, p, s) for (n, p), s in zip(items.items(), spans, strict=True))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """A label for each unit column."""
        return tuple(label for name, part, _ in self._parts for label in part._labels(name))

    @cached_property
    def d(self) -> int:
        """Number of unit columns."""
        return len(self.columns)

    @property
    def n_uniform(self) -> int:
        """Number of uniform columns that `from_uniform` needs."""
        return len(self._parts)

    @property
    def revisit(self) -> bool:
        """Whether a point that has its repeats may be proposed again."""
        return not isinstance(self.spec, Candidates) or self.spec.revisit

    @cached_property
    def continuous(self) -> NDArray[np.bool_]:
        """Which unit columns ``(d,)`` are real numbers."""
        return np.hstack([[isinstance(p, Float)] * (s.stop - s.start) for _, p, s in self._parts])

    @property
    def size(self) -> float:
        """Number of legal points, ``valid`` ignored; infinite with a Float."""
        return math.prod(part._count for _, part, _ in self._parts)

    def encode(self, params: Mapping[str, Any]) -> FloatArray:
        """The point ``(d,)`` of params in user units."""
        if not isinstance(params, Mapping):
            raise SpaceError(f"Params must be a dict of {list(self.names)}, got {params!r}.")
        missing = [name for name in self.names if name not in params]
        unknown = [name for name in params if name not in self.names]
        if missing or unknown:
            raise SpaceError(
                f"Params must have exactly the names {list(self.names)}: missing {missing},"
                f" unknown {unknown}. Correct the names."
            )
        codes = [p._code(n, params[n] if n else params) for n, p, _ in self._parts]
        x: FloatArray = self._join([np.array([code], dtype=np.float64) for code in codes])[0]
        return x

    def decode(self, x: ArrayLike) -> dict[str, Any]:
        """Params in user units of the legal point nearest to ``x``."""
        point = np.asarray(x, dtype=np.float64)
        cols: list[float] = point.tolist()
        if point.shape != (self.d,) or not all(map(math.isfinite, cols)):
            raise SpaceError(f"A point must be {self.d} finite numbers in [0, 1], got {x!r}.")
        cols = [min(max(u, 0.0), 1.0) for u in cols]
        if isinstance(self.spec, Candidates):
            return self.spec._value(cols)
        return {name: part._value(cols[s]) for name, part, s in self._parts}

    def canonical(self, x: ArrayLike) -> FloatArray:
        """The exact fixed point ``encode(decode(x))``, by which points are compared."""
        return self.encode(self.decode(x))

    def _matrix(self, X: ArrayLike, width: int) -> FloatArray:
        points: FloatArray = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != width or not np.isfinite(points).all():
            raise SpaceError(f"Points must be finite, {width} numbers each, got {X!r}.")
        return np.minimum(np.maximum(points, 0.0), 1.0)

    def _join(self, codes: Sequence[FloatArray]) -> FloatArray:
        """Points ``(m, d)`` of the codes ``(m,)`` of each part."""
        return np.hstack([p._units(c) for (_, p, _), c in zip(self._parts, codes, strict=True)])

    def snap(self, X: ArrayLike) -> FloatArray:
        """Nearest legal points, ``(m, d)`` in and out."""
        X = self._matrix(X, self.d)
        return self._join([part._codes(X[:, s]) for _, part, s in self._parts])

    def from_uniform(self, U: ArrayLike) -> FloatArray:
        """Legal points ``(m, d)`` of uniform numbers ``(m, n_uniform)``, each value as likely."""
        U = self._matrix(U, self.n_uniform)
        return self._join([p._draw(u) for (_, p, _), u in zip(self._parts, U.T, strict=True)])

    def is_valid(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which points ``(m,)`` satisfy ``valid``."""
        X = self._matrix(X, self.d)
        return np.array([self.valid is None or self._ask(self.decode(x)) for x in X], dtype=bool)

    def _ask(self, params: dict[str, Any]) -> bool:
        try:
            return self.valid is None or bool(self.valid(params))
        except Exception as error:
            raise SpaceError(
                f"valid must return True or False, but raised {error!r} at {params}. Correct it."
            ) from error

    def enumerate(self) -> FloatArray:
        """All legal points ``(n, d)`` that satisfy ``valid``, the last parameter fastest."""
        if self.size > _MAX_LISTED:
            raise SpaceError(
                f"Only a space of at most {_MAX_LISTED} points can be listed, this has {self.size}."
                " Use Int or Categorical with fewer values."
            )
        axes = [part._all() for _, part, _ in self._parts if not isinstance(part, Float)]
        X = self._join([codes.ravel() for codes in np.meshgrid(*axes, indexing="ij")])
        return X[self.is_valid(X)]

    def neighbours(self, x: ArrayLike) -> FloatArray:
        """Legal points ``(m, d)`` that differ from ``x`` in one discrete parameter only."""
        base = self.snap(np.asarray(x, dtype=np.float64)[None])
        blocks = [np.empty((0, self.d))]
        for _, part, s in self._parts:
            near = part._units(part._near(part._codes(base[:, s])[0]))
            block = np.repeat(base, len(near), axis=0)
            block[:, s] = near
            blocks.append(block)
        return np.vstack(blocks)
