"""Mean and noise around the recommended point: along one input, over two, or at listed points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rahbo.analysis import centre
from rahbo.numerics import Array, digits_of, one_blas_thread, rounded
from rahbo.optimizer import Optimizer
from rahbo.pages.report.inputs import (
    ReportInput,
    few_of,
    few_places,
    places,
    report_inputs,
    value_at,
)
from rahbo.policy import limits
from rahbo.space import Candidates

# Places along one input, places along each of two, the most inputs mapped, the most candidates.
FINE, COARSE, MOST, LISTED = 41, 17, 6, 1000
# The most choices of an input that is mapped, and the most places of a map.
CHOICES, CELLS = 1000, 2500


@dataclass(frozen=True)
class Band:
    """Estimates at some points, in user units; all None where a point is not allowed.

    Attributes:
        middle: The estimates.
        lower: Lower ends of their credible intervals.
        upper: Upper ends of their credible intervals.
    """

    middle: list[float | None]
    lower: list[float | None]
    upper: list[float | None]


@dataclass(frozen=True)
class Slice:
    """Estimates along one input.

    Attributes:
        input: The index of the input.
        at: Places on its axis.
        mean: Posterior means at these places.
        noise: Standard deviations of a single evaluation.
        outcomes: The quantile of each outcome with a limit.
    """

    input: int
    at: tuple[float, ...]
    mean: Band
    noise: Band
    outcomes: tuple[Band, ...]


@dataclass(frozen=True)
class Map:
    """Estimates over two inputs.

    Attributes:
        across: The index of the input along rows.
        up: The index of the input along columns.
        x: Places on the axis of ``across``.
        y: Places on the axis of ``up``.
        mean: Posterior means, row by row.
        noise: Noise standard deviations, row by row.
        outcomes: The quantiles of each outcome with a limit, row by row.
    """

    across: int
    up: int
    x: tuple[float, ...]
    y: tuple[float, ...]
    mean: list[float | None]
    noise: list[float | None]
    outcomes: tuple[list[float | None], ...] = ()


@dataclass(frozen=True)
class ListedMap:
    """Estimates at the points of a list of candidates.

    Attributes:
        places: The place of each point on each axis.
        mean: Posterior means.
        noise: Noise standard deviations.
        outcomes: The quantiles of each outcome with a limit.
    """

    places: list[list[float]]
    mean: list[float | None]
    noise: list[float | None]
    outcomes: tuple[list[float | None], ...] = ()


@dataclass(frozen=True)
class Maps:
    """Pictures of the space.

    Attributes:
        inputs: Indices of the inputs shown, those over which the noise varies most. An input with
            very many choices is left out.
        slices: One for each input shown.
        maps: One for each pair of inputs shown, unless both have many choices.
        listed: For a list of candidates, replaces slices and maps; None for other spaces.
    """

    inputs: tuple[int, ...]
    slices: tuple[Slice, ...]
    maps: tuple[Map, ...]
    listed: ListedMap | None


def maps_through(optimizer: Optimizer, at: Mapping[str, Any], shares: Sequence[float]) -> Maps:
    """Return slices and maps of a space through a point.

    Args:
        optimizer: The run.
        at: The point.
        shares: The share of the noise's variation that each input explains.
    """
    space = optimizer.settings.space
    order = np.argsort(-np.asarray(shares), kind="stable").tolist()
    if isinstance(space.kinds, Candidates):
        rows = space.kinds.rows
        some = [rows[i] for i in np.unique(np.linspace(0, len(rows) - 1, LISTED).astype(int))]
        listed = ListedMap(few_places(space, places(space, some)), *_centres(optimizer, some))
        return Maps(tuple(order[:MOST]), (), (), listed)
    fine, coarse = (dict(enumerate(report_inputs(space, n))) for n in (FINE, COARSE))
    first = [i for i in order if len(fine[i].grid) <= CHOICES][:MOST]
    slices = tuple(_slice(optimizer, at, i, fine[i]) for i in first)
    maps = tuple(
        _map(optimizer, at, (i, j), coarse)
        for i, j in combinations(sorted(first), 2)
        if len(coarse[i].grid) * len(coarse[j].grid) <= CELLS
    )
    return Maps(tuple(first), slices, maps, None)


def _slice(optimizer: Optimizer, at: Mapping[str, Any], i: int, axis: ReportInput) -> Slice:
    space = optimizer.settings.space
    name = space.names[i]
    points = [{**at, name: value_at(space, name, place)} for place in axis.grid]
    mean, noise, *outcomes = _bands(optimizer, points)
    return Slice(i, few_of(axis.grid), mean, noise, tuple(outcomes))


def _map(
    optimizer: Optimizer,
    at: Mapping[str, Any],
    pair: tuple[int, int],
    axes: Mapping[int, ReportInput],
) -> Map:
    space = optimizer.settings.space
    across, up = (space.names[i] for i in pair)
    x, y = (axes[i].grid for i in pair)
    points = [
        {**at, across: value_at(space, across, a), up: value_at(space, up, b)} for b in y for a in x
    ]
    mean, noise, outcomes = _centres(optimizer, points)
    return Map(*pair, few_of(x), few_of(y), mean, noise, outcomes)


def _bands(optimizer: Optimizer, points: Sequence[Mapping[str, Any]]) -> list[Band]:
    """Return mean, noise std and quantiles of outcomes, with None where a point is not allowed."""
    space = optimizer.settings.space
    there = optimizer.predict(points)
    forbidden = ~space.is_valid(space.encode_all(points))
    bands = []
    for rows in (
        [(p.mean, *p.mean_interval) for p in there],
        [(p.noise_std, *p.noise_std_interval) for p in there],
        *(
            [(check.quantile, *check.interval) for check in checks]
            for checks in zip(*(p.constraints for p in there), strict=True)
        ),
    ):
        found = np.array(rows)
        found[forbidden] = np.nan
        digits = digits_of(*found.T, few=4)
        bands.append(Band(*(_shown(column, digits) for column in found.T)))
    return bands


def _centres(
    optimizer: Optimizer, points: Sequence[Mapping[str, Any]]
) -> tuple[list[float | None], list[float | None], tuple[list[float | None], ...]]:
    """Return means, noise stds and quantiles of outcomes, without their costly intervals."""
    settings = optimizer.settings
    X = settings.space.encode_all(points)
    with one_blas_thread():
        f, v = centre(optimizer.model, X)
    legal = settings.space.is_valid(X)
    mean, noise = (
        np.where(legal, a, np.nan) for a in (optimizer.model.units.signed(f), np.sqrt(v))
    )
    kept = limits(optimizer.state)
    with one_blas_thread():
        outcomes = [] if kept is None else [limit.quantile(X) for limit in kept.each]
    columns = (mean, noise, *(np.where(legal, quantile, np.nan) for quantile in outcomes))
    first, second, *rest = (_shown(column, digits_of(column, few=4)) for column in columns)
    return first, second, tuple(rest)


def _shown(values: Array, digits: int) -> list[float | None]:
    return [rounded(v, digits) if np.isfinite(v) else None for v in values.tolist()]
