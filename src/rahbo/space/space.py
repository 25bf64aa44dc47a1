"""The search space: the only place that translates between user units and the unit cube.

Notation: ``X`` holds points ``(m, d)`` in ``[0, 1]^d``, ``x`` is one point ``(d,)``, ``U`` holds
uniform numbers ``(m, n_uniform)``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rahbo.errors import SpaceError
from rahbo.numerics import Array, Mask
from rahbo.space.candidates import Candidates
from rahbo.space.context import Condition, Context, Given, given_at
from rahbo.space.frames import columns_in, rows_in, whole_if_equal
from rahbo.space.parameters import (
    Categorical,
    Float,
    Int,
    Listed,
    Parameter,
    check_name,
    key,
    shorthand,
)

__all__ = ["Candidates", "Categorical", "Context", "Float", "Int", "Space"]

_MAX_LISTED = 10_000_000

Predicate = Callable[[dict[str, Any]], bool]


def _parameter(name: Any, spec: Any) -> Parameter | Condition:
    check_name(name)
    if isinstance(spec, Candidates):
        raise SpaceError(
            f"Candidates must be the whole space, got them as {name!r} in a dict. Conditions beside"
            " a list are not possible yet: use a Categorical of the rows' names instead."
        )
    return spec if isinstance(spec, Condition) else shorthand(name, spec)


@dataclass(frozen=True)
class Space:
    """A search space, built by `Space.of`.

    Attributes:
        spec: The parameters by name, or the candidates. ``Space.of(spec, valid)`` makes an equal
            space.
        valid: A known constraint on the parameters, or None.
        told: The parameters of points that were told, by the bytes of the point. `decode` returns
            their floats exactly as they were told.
    """

    spec: Mapping[str, Parameter | Condition] | Candidates
    valid: Predicate | None = None
    told: Mapping[bytes, Mapping[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, spec: object, valid: Predicate | None = None) -> Space:
        """Return the space of a dict of parameters or shorthand, of Candidates, or of a Space.

        If ``valid`` is given, it replaces the constraint of a Space.

        >>> Space.of({"lr": Float(1e-4, 0.1, log=True), "x": (0.0, 15.0)}).decode([1.0, 0.2])
        {'lr': 0.1, 'x': 3.0}
        """
        if valid is not None and not callable(valid):
            raise SpaceError(
                f"valid must be a function of a dict of parameters, or None, got {valid!r}."
            )
        if isinstance(spec, Space):
            return spec if valid is None else replace(spec, valid=valid)
        if isinstance(spec, Candidates):
            return cls(spec, valid)
        if not isinstance(spec, Mapping) or not spec:
            raise SpaceError(
                f"A space must be a non-empty dict or Candidates, got {spec!r}. Name each "
                'parameter: {"x": (0.0, 1.0)}.'
            )
        parts = {name: _parameter(name, value) for name, value in spec.items()}
        if all(isinstance(part, Condition) for part in parts.values()):
            raise SpaceError(
                f"A space needs a parameter to choose, got only the conditions {list(parts)}."
            )
        return cls(parts, valid)

    @cached_property
    def conditions(self) -> Mapping[str, Condition]:
        """The conditions by name: what is given, not chosen."""
        if isinstance(self.spec, Candidates):
            return {}
        return {name: part for name, part in self.spec.items() if isinstance(part, Condition)}

    @property
    def chosen(self) -> Space:
        """The space of the parameters alone, without conditions and ``valid``."""
        if not self.conditions:
            return Space(self.spec)
        spec = {} if isinstance(self.spec, Candidates) else self.spec
        return Space({name: p for name, p in spec.items() if not isinstance(p, Condition)})

    @cached_property
    def kinds(self) -> Mapping[str, Parameter] | Candidates:
        """The candidates, or what each name looks like on an axis, conditions included."""
        if isinstance(self.spec, Candidates):
            return self.spec
        items = self.spec.items()
        return {name: part.kind if isinstance(part, Condition) else part for name, part in items}

    def at(self, context: Mapping[str, Any]) -> Space:
        """Return the space of what can be chosen under given conditions.

        Its points have the same columns, and those of the conditions are fixed. The context of a
        space that is already at one is replaced.

        >>> space = Space.of({"x": (0.0, 1.0), "line": Context(["a", "b"])})
        >>> space.at({"line": "b"}).decode([0.5, 0.0])
        {'x': 0.5, 'line': 'b'}
        """
        spec = {} if isinstance(self.spec, Candidates) else self.spec
        return Space(given_at(spec, context), self.valid, self.told)

    def with_given(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return chosen parameters together with the conditions that the space is at."""
        parts = self.conditions.items()
        return {**params, **{name: part.at for name, part in parts if isinstance(part, Given)}}

    @cached_property
    def _given(self) -> Array:
        """The unit columns ``(d,)`` of the conditions that are given, NaN elsewhere."""
        fixed = np.full(self.d, np.nan)
        for _, part, s in self._parts:
            if isinstance(part, Given):
                fixed[s] = part.columns
        return fixed

    @property
    def given(self) -> Mask:
        """Which unit columns ``(d,)`` are fixed, because their conditions are given."""
        return ~np.isnan(self._given)

    def holds(self, X: Array) -> Mask:
        """Return which points ``(m,)`` of ``X (m, d)`` have the conditions that are given."""
        given = self.given
        return np.asarray((X[:, given] == self._given[given]).all(axis=1))

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        """The smallest and largest number in each unit column, each ``(d,)``."""
        ends = np.tile([[0.0], [1.0]], self.d)
        for _, part, s in self._parts:
            if isinstance(part, Condition):
                ends[:, s] = np.reshape(part.limits, (2, 1))
        return ends[0], ends[1]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.spec.rows[0] if isinstance(self.spec, Candidates) else self.spec)

    @cached_property
    def _parts(self) -> tuple[tuple[str, Parameter | Condition | Candidates, slice], ...]:
        """Each part with its name and columns; a list of candidates is one part for all names."""
        items = {"": self.spec} if isinstance(self.spec, Candidates) else self.spec
        ends = accumulate((len(p.labels(n)) for n, p in items.items()), initial=0)
        spans = (slice(a, b) for a, b in pairwise(ends))
        return tuple((n, p, s) for (n, p), s in zip(items.items(), spans, strict=True))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """One label for each unit column."""
        return tuple(label for name, part, _ in self._parts for label in part.labels(name))

    @cached_property
    def d(self) -> int:
        """The number of unit columns."""
        return len(self.columns)

    @property
    def n_uniform(self) -> int:
        """The number of uniform columns that `from_uniform` needs."""
        return len(self._parts)

    @property
    def revisit(self) -> bool:
        """Whether a point that has all its repeats may be proposed again."""
        return not isinstance(self.spec, Candidates) or self.spec.revisit

    @property
    def scope(self) -> str:
        """What a reader must know about which settings are compared; empty if nothing."""
        return self.spec.scope if isinstance(self.spec, Candidates) else ""

    @cached_property
    def continuous(self) -> Mask:
        """Which unit columns ``(d,)`` are real numbers that can be chosen."""
        return np.hstack([[isinstance(p, Float)] * (s.stop - s.start) for _, p, s in self._parts])

    @cached_property
    def listed(self) -> Mask:
        """Which unit columns ``(d,)`` stand for a row of a list: a category or a candidate."""
        return np.hstack([
            p.apart(s.stop - s.start) if isinstance(p, Listed) else [False] * (s.stop - s.start)
            for _, p, s in self._parts
        ])  # fmt: skip

    @property
    def size(self) -> float:
        """The number of legal points, ignoring ``valid``; infinite with a Float."""
        return math.prod(part.count for _, part, _ in self._parts)

    def encode(self, params: Mapping[str, Any]) -> Array:
        """Return the point ``(d,)`` of parameters in user units."""
        x: Array = self.encode_all([params])[0]
        return x

    def encode_all(self, several: Sequence[Mapping[str, Any]]) -> Array:
        """Return the points ``(m, d)`` of several parameters, much faster than one by one."""
        codes = np.array([self._codes(params) for params in several], dtype=np.float64)
        return self._join(list(codes.reshape(len(several), len(self._parts)).T))

    def _codes(self, params: Mapping[str, Any]) -> list[float]:
        """Return the code of each part of parameters in user units."""
        if not isinstance(params, Mapping):
            raise SpaceError(f"Params must be a dict of {list(self.names)}, got {params!r}.")
        missing = [name for name in self.names if name not in params]
        unknown = [name for name in params if name not in self.names]
        if missing or unknown:
            raise SpaceError(
                f"Params must have exactly the names {list(self.names)}: missing {missing},"
                f" unknown {unknown}. Correct the names."
            )
        return [p.code(n, params[n] if n else params) for n, p, _ in self._parts]

    def rows_in(self, frame: Any, columns: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Return the parameters in the rows of a data frame. Other columns are ignored.

        A whole number that a column of floats holds becomes an int again where the parameter is
        an Int, and a choice becomes the one of its Categorical.

        Args:
            frame: A frame of pandas or polars.
            columns: The column of each name that is read. By default all names of the space are
                read, each from the column of that name.
        """
        columns = {name: name for name in self.names} if columns is None else columns
        rows, kinds = rows_in(frame, columns.values()), self.kinds
        if isinstance(kinds, Candidates):
            return [{name: row[column] for name, column in columns.items()} for row in rows]
        return [
            {name: _own(kinds[name], row[column]) for name, column in columns.items()}
            for row in rows
        ]

    def conditions_in(self, frame: Any) -> list[dict[str, Any]]:
        """Return the conditions in the rows of a data frame. Other columns are ignored."""
        found = columns_in(frame)
        return self.rows_in(frame, {name: name for name in self.conditions if name in found})

    def decode(self, x: ArrayLike) -> dict[str, Any]:
        """Return the parameters, in user units, of the legal point nearest to ``x``."""
        point = np.asarray(x, dtype=np.float64)
        params = self._decode(point)
        told = self.told.get(point.tobytes())
        if told is not None and not isinstance(self.kinds, Candidates):
            # A condition that is given decodes to its value, which was told with any other.
            fixed = {n for n, part in self.conditions.items() if isinstance(part, Given)}
            exact = (n for n, k in self.kinds.items() if isinstance(k, Float) and n not in fixed)
            params.update({name: float(told[name]) for name in exact})
        return params

    def _decode(self, point: Array) -> dict[str, Any]:
        """Return the parameters of a point, ignoring what was told."""
        cols: list[float] = point.tolist()
        if point.shape != (self.d,) or not all(map(math.isfinite, cols)):
            raise SpaceError(f"A point must be {self.d} finite numbers in [0, 1], got {point!r}.")
        if self.conditions:
            cols = self._points(point[None])[0].tolist()
        else:
            cols = [min(max(u, 0.0), 1.0) for u in cols]
        if isinstance(self.spec, Candidates):
            return self.spec.value(cols)
        return {name: part.value(cols[s]) for name, part, s in self._parts}

    def with_told(self, points: Mapping[bytes, Mapping[str, Any]]) -> Space:
        """Return the same space, where these points decode to the parameters they were told with.

        A user's floats may have more digits than a point of the cube keeps. Parameters that
        differ only in those digits are the same point.
        """
        # A copy keeps what this space has already computed and listed.
        other = copy.copy(self)
        object.__setattr__(other, "told", points)
        return other

    def canonical(self, x: ArrayLike) -> Array:
        """Return the exact fixed point ``encode(decode(x))``, used to compare points."""
        return self.encode(self._decode(np.asarray(x, dtype=np.float64)))

    def _points(self, X: ArrayLike) -> Array:
        return np.minimum(np.maximum(_matrix(X, self.d), self._limits[0]), self._limits[1])

    def _join(self, codes: Sequence[Array]) -> Array:
        """Return the points ``(m, d)`` of each part's codes ``(m,)``."""
        return np.hstack([p.units(c) for (_, p, _), c in zip(self._parts, codes, strict=True)])

    def snap(self, X: ArrayLike) -> Array:
        """Return the legal points ``(m, d)`` nearest to ``X (m, d)``."""
        X = self._points(X)
        return self._join([part.codes(X[:, s]) for _, part, s in self._parts])

    def from_uniform(self, U: ArrayLike) -> Array:
        """Return legal points ``(m, d)`` for uniform numbers ``(m, n_uniform)``.

        Each value of a parameter is equally likely.
        """
        U = np.minimum(np.maximum(_matrix(U, self.n_uniform), 0.0), 1.0)
        return self._join([p.draw(u) for (_, p, _), u in zip(self._parts, U.T, strict=True)])

    def is_valid(self, X: ArrayLike) -> Mask:
        """Return which points ``(m,)`` satisfy ``valid``."""
        X = self._points(X)
        if self.valid is None:
            return np.ones(len(X), dtype=bool)
        return np.array([self._ask(self._decode(x)) for x in X], dtype=bool)

    def _ask(self, params: dict[str, Any]) -> bool:
        try:
            return self.valid is None or bool(self.valid(params))
        except Exception as error:
            raise SpaceError(
                f"valid must return True or False, but raised {error!r} at {params}. Correct it."
            ) from error

    def enumerate(self) -> Array:
        """Return all legal points ``(n, d)`` that satisfy ``valid``.

        The last parameter varies fastest. The array is read-only, and the same each time.
        """
        return self._listed

    @cached_property
    def _listed(self) -> Array:
        if self.size > _MAX_LISTED:
            raise SpaceError(
                f"Only a space of at most {_MAX_LISTED} points can be listed, got {self.size}."
                " Use Int or Categorical with fewer values."
            )
        axes = [part.all() for _, part, _ in self._parts if not isinstance(part, Float)]
        X = self._join([codes.ravel() for codes in np.meshgrid(*axes, indexing="ij")])
        X = X[self.is_valid(X)]
        X.setflags(write=False)
        return X

    def neighbours(self, x: ArrayLike) -> Array:
        """Return legal points ``(m, d)`` that differ from ``x`` in one discrete parameter."""
        base = self.snap(np.asarray(x, dtype=np.float64)[None])
        blocks = [np.empty((0, self.d))]
        for _, part, s in self._parts:
            near = part.units(part.near(part.codes(base[:, s])[0]))
            block = np.repeat(base, len(near), axis=0)
            block[:, s] = near
            blocks.append(block)
        return np.vstack(blocks)


def _own(kind: Parameter, cell: Any) -> Any:
    """Return a cell as the value of a parameter, or as it is if it is not one."""
    if isinstance(kind, Int):
        return whole_if_equal(cell)
    if isinstance(kind, Categorical) and isinstance(cell, str | int | float):
        return next((c for c in kind.choices if c == cell and key(c) == key(cell)), cell)
    return cell


def _matrix(X: ArrayLike, width: int) -> Array:
    points: Array = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != width or not np.isfinite(points).all():
        raise SpaceError(f"Points must be finite, {width} numbers each, got {X!r}.")
    return points
