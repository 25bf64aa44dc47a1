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
from rahbo.space.parameters import (
    Categorical,
    Float,
    Int,
    Parameter,
    check_name,
    is_real,
    plain,
)

__all__ = ["Candidates", "Categorical", "Float", "Int", "Space"]

_MAX_LISTED = 10_000_000

Predicate = Callable[[dict[str, Any]], bool]


def _parameter(name: Any, spec: Any) -> Parameter:
    check_name(name)
    if isinstance(spec, Float | Int | Categorical):
        return spec
    if isinstance(spec, list):
        return Categorical(spec)
    if isinstance(spec, tuple) and len(spec) == 2 and all(is_real(plain(v)) for v in spec):
        low, high = map(plain, spec)
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
        spec: The parameters by name, or the candidates. ``Space.of(spec, valid)`` makes an equal
            space.
        valid: A known constraint on the parameters, or None.
        told: The parameters of points that were told, by the bytes of the point. `decode` returns
            their floats exactly as they were told.
    """

    spec: Mapping[str, Parameter] | Candidates
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
            raise SpaceError(f"A space must be a non-empty dict or Candidates, got {spec!r}.")
        return cls({name: _parameter(name, value) for name, value in spec.items()}, valid)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.spec.rows[0] if isinstance(self.spec, Candidates) else self.spec)

    @cached_property
    def _parts(self) -> tuple[tuple[str, Parameter | Candidates, slice], ...]:
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

    @cached_property
    def continuous(self) -> Mask:
        """Which unit columns ``(d,)`` are real numbers."""
        return np.hstack([[isinstance(p, Float)] * (s.stop - s.start) for _, p, s in self._parts])

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

    def decode(self, x: ArrayLike) -> dict[str, Any]:
        """Return the parameters, in user units, of the legal point nearest to ``x``."""
        point = np.asarray(x, dtype=np.float64)
        params = self._decode(point)
        told = self.told.get(point.tobytes())
        if told is not None and not isinstance(self.spec, Candidates):
            exact = (name for name, part in self.spec.items() if isinstance(part, Float))
            params.update({name: float(told[name]) for name in exact})
        return params

    def _decode(self, point: Array) -> dict[str, Any]:
        """Return the parameters of a point, ignoring what was told."""
        cols: list[float] = point.tolist()
        if point.shape != (self.d,) or not all(map(math.isfinite, cols)):
            raise SpaceError(f"A point must be {self.d} finite numbers in [0, 1], got {point!r}.")
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

    def _matrix(self, X: ArrayLike, width: int) -> Array:
        points: Array = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != width or not np.isfinite(points).all():
            raise SpaceError(f"Points must be finite, {width} numbers each, got {X!r}.")
        return np.minimum(np.maximum(points, 0.0), 1.0)

    def _join(self, codes: Sequence[Array]) -> Array:
        """Return the points ``(m, d)`` of each part's codes ``(m,)``."""
        return np.hstack([p.units(c) for (_, p, _), c in zip(self._parts, codes, strict=True)])

    def snap(self, X: ArrayLike) -> Array:
        """Return the legal points ``(m, d)`` nearest to ``X (m, d)``."""
        X = self._matrix(X, self.d)
        return self._join([part.codes(X[:, s]) for _, part, s in self._parts])

    def from_uniform(self, U: ArrayLike) -> Array:
        """Return legal points ``(m, d)`` for uniform numbers ``(m, n_uniform)``.

        Each value of a parameter is equally likely.
        """
        U = self._matrix(U, self.n_uniform)
        return self._join([p.draw(u) for (_, p, _), u in zip(self._parts, U.T, strict=True)])

    def is_valid(self, X: ArrayLike) -> Mask:
        """Return which points ``(m,)`` satisfy ``valid``."""
        X = self._matrix(X, self.d)
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
