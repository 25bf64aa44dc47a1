"""The inputs of a run as the axes of its pictures: numbers in user units, choices by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axis import Axis, XAxis

from rahbo.analysis import Prediction
from rahbo.errors import SettingsError, SpaceError
from rahbo.model import Kernel
from rahbo.numerics import Array, Mask, is_whole
from rahbo.optimizer import Optimizer
from rahbo.plots.style import fitting
from rahbo.space import Candidates, Categorical, Float, Int

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Input:
    """One parameter as an axis, on which choices stand at 0, 1, 2 and so on.

    Attributes:
        name: The parameter.
        kind: What it may be.
    """

    name: str
    kind: Float | Int | Categorical

    @property
    def log(self) -> bool:
        """Whether it is on a log scale."""
        return not isinstance(self.kind, Categorical) and self.kind.log

    @property
    def choices(self) -> tuple[Any, ...]:
        """What stands at 0, 1, 2 and so on; nothing for a number."""
        return tuple(self.kind.choices) if isinstance(self.kind, Categorical) else ()

    def grid(self, n: int) -> Array:
        """Legal places from low to high, evenly spaced on the scale, at most ``n``; all choices."""
        if isinstance(self.kind, Categorical):
            return np.arange(float(len(self.choices)))
        grid = {self.kind.value([u]) for u in np.linspace(0.0, 1.0, n).tolist()}
        return np.array(sorted(grid), dtype=float)

    def places(self, params: Sequence[Params]) -> Array:
        """Where points stand on the axis, ``(m,)``."""
        if not self.choices:
            return np.array([p[self.name] for p in params], dtype=float)
        return np.array([self.kind.code(self.name, p[self.name]) for p in params], dtype=float)

    def value(self, place: float) -> Any:
        """The value at a place."""
        return self.choices[int(place)] if self.choices else place

    def label(self, axis: Axis) -> None:
        """Name an axis of a picture, and give it this scale."""
        axis.set_label_text(fitting(self.name))
        across = isinstance(axis, XAxis)
        if self.log:
            axis.axes.set(**{"xscale" if across else "yscale": "log"})
        if self.choices:
            named = [fitting(str(choice), 12) for choice in self.choices]
            axis.set_ticks(np.arange(len(named)), named)
            if across and sum(map(len, named)) > 12:
                axis.set_tick_params(rotation=25)


def inputs_of(optimizer: Optimizer) -> dict[str, Input]:
    """The inputs by name.

    Raises:
        SpaceError: The space is a list, between whose points there is nothing.
    """
    spec = optimizer.settings.space.spec
    if isinstance(spec, Candidates):
        raise SpaceError(
            f"This picture needs a space of parameters, got {spec!r}, between which there is "
            "nothing to show. Draw their points: ranking() or trade_off()."
        )
    return {name: Input(name, kind) for name, kind in spec.items()}


def input_named(optimizer: Optimizer, name: str) -> Input:
    """One of the inputs."""
    inputs = inputs_of(optimizer)
    if name not in inputs:
        raise SettingsError(f"A picture needs an input of {list(inputs)}, got {name!r}.")
    return inputs[name]


def check_size(name: str, n: int) -> None:
    """Refuse a grid that is none."""
    if not is_whole(n) or n < 2:
        raise SettingsError(f"{name} needs a whole number >= 2, got {n!r}.")


def shown_point(optimizer: Optimizer, at: Params | None) -> Params:
    """The point that a picture goes through: by default the recommended one."""
    return optimizer.recommend().params if at is None else at


def predictions(optimizer: Optimizer, params: Sequence[Params]) -> tuple[list[Prediction], Mask]:
    """What is believed of each point, and which of them satisfy ``valid``; some must."""
    space = optimizer.settings.space
    legal = space.is_valid(np.array([space.encode(p) for p in params]))
    if not legal.any():
        raise SpaceError(
            f"None of the {len(params)} points of this picture satisfies valid=. Take a larger n, "
            "or another point with at=."
        )
    return optimizer.predict(params), legal


def nearness(optimizer: Optimizer, kernel: Kernel, at: Params, names: Sequence[str]) -> Array:
    """How near each evaluated point is to a slice through a point, ``(n,)`` from 0 to 1.

    It is the prior correlation of the point with the place where it falls onto the slice.

    Args:
        optimizer: The run.
        kernel: Of the mean GP or of the noise GP.
        at: A point of the slice.
        names: The inputs that vary in it.
    """
    space, X = optimizer.settings.space, optimizer.observations.X
    rows = [space.decode(x) for x in X]
    P = np.array([space.encode({**at, **{name: row[name] for name in names}}) for row in rows])
    size = np.sqrt(kernel.diagonal(X) * kernel.diagonal(P))
    pairs = zip(X, P, strict=True)
    together = np.array([kernel(x[None], p[None])[0, 0] for x, p in pairs])
    return np.clip(together / np.maximum(size, 1e-300), 0.0, 1.0)
