"""The inputs of a run as axes of a picture: numbers in user units, choices by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import MaxNLocator

from rahbo.analysis import Prediction, newest_times
from rahbo.errors import SettingsError, SpaceError
from rahbo.model import Kernel, as_told
from rahbo.numerics import Array, Mask, is_whole
from rahbo.optimizer import Optimizer
from rahbo.plots.style import fitting
from rahbo.running import Result
from rahbo.space import Candidates, Categorical, Float, Int
from rahbo.trials import Observations

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Input:
    """One parameter as an axis, on which choices are at 0, 1, 2 and so on.

    Attributes:
        name: The name of the parameter.
        kind: The kind of the parameter.
    """

    name: str
    kind: Float | Int | Categorical

    @property
    def log(self) -> bool:
        """Whether it is on a log scale."""
        return not isinstance(self.kind, Categorical) and self.kind.log

    @property
    def choices(self) -> tuple[Any, ...]:
        """The choices at 0, 1, 2 and so on; empty for a number."""
        return tuple(self.kind.choices) if isinstance(self.kind, Categorical) else ()

    def grid(self, n: int) -> Array:
        """Return at most ``n`` legal places, evenly spaced on the scale, or all choices."""
        if isinstance(self.kind, Categorical):
            return np.arange(float(len(self.choices)))
        grid = {self.kind.value([u]) for u in np.linspace(0.0, 1.0, n).tolist()}
        return np.array(sorted(grid), dtype=float)

    def places(self, params: Sequence[Params]) -> Array:
        """Return the places of points on the axis, ``(m,)``."""
        if not self.choices:
            return np.array([p[self.name] for p in params], dtype=float)
        return np.array([self.kind.code(self.name, p[self.name]) for p in params], dtype=float)

    def value(self, place: float) -> Any:
        """Return the value at a place."""
        return self.choices[int(place)] if self.choices else place

    def label(self, axis: Axis) -> None:
        """Label an axis of a picture with this input, and set its scale."""
        axis.set_label_text(fitting(self.name))
        across = isinstance(axis, XAxis)
        if self.log:
            axis.axes.set(**{"xscale" if across else "yscale": "log"})
        elif isinstance(self.kind, Int):
            axis.set_major_locator(MaxNLocator("auto", integer=True))
        if self.choices:
            named = [fitting(str(choice), 12) for choice in self.choices]
            axis.set_ticks(np.arange(len(named)), named)
            if across and sum(map(len, named)) > 12:
                axis.set_tick_params(rotation=25)


def run_in(given: Optimizer | Result) -> Optimizer:
    """Return the optimizer that is to be drawn: the given one, or that of a result."""
    if isinstance(given, Result):
        return given.optimizer
    if isinstance(given, Optimizer):
        return given
    raise SettingsError(f"A picture needs an Optimizer or a Result, got {type(given).__name__}.")


def inputs_of(optimizer: Optimizer) -> dict[str, Input]:
    """Return the inputs by name.

    Raises:
        SpaceError: The space is a list of candidates.
    """
    spec = optimizer.settings.space.kinds
    if isinstance(spec, Candidates):
        raise SpaceError(
            f"This picture needs a space of parameters, got {spec!r}. For a list of candidates, "
            "use ranking() or trade_off()."
        )
    times = newest_times(optimizer.settings.space, optimizer.trials)
    # A time goes on for longer than its span.
    later = {name: Float(0.0, t) for name, t in times.items() if t > 0.0}
    return {name: Input(name, later.get(name, kind)) for name, kind in spec.items()}


def input_named(optimizer: Optimizer, name: str) -> Input:
    """Return the input with a name."""
    inputs = inputs_of(optimizer)
    if name not in inputs:
        raise SettingsError(f"The input must be one of {list(inputs)}, got {name!r}.")
    return inputs[name]


def check_size(name: str, n: int) -> None:
    """Refuse a grid of fewer than two points."""
    if not is_whole(n) or n < 2:
        raise SettingsError(f"{name} needs a whole number >= 2, got {n!r}.")


def shown_point(optimizer: Optimizer, at: Params | None) -> Params:
    """Return the point that a picture goes through, by default the recommended one."""
    return optimizer.tried_at(optimizer.recommend().params) if at is None else at


def predictions(optimizer: Optimizer, params: Sequence[Params]) -> tuple[list[Prediction], Mask]:
    """Return the prediction at each point, and which points satisfy ``valid``; some must."""
    space = optimizer.settings.space
    legal = space.is_valid(np.array([space.encode(p) for p in params]))
    if not legal.any():
        raise SpaceError(
            f"A picture needs a point that satisfies valid=, but none of its {len(params)} points "
            "does. Use a larger n, or another point with at=."
        )
    return optimizer.predict(params), legal


def data_of(optimizer: Optimizer) -> Observations:
    """Return the data, in the sense of maximisation, less the effects of blocks."""
    model = optimizer.model
    return optimizer.observations if model.blocks is None else as_told(model.observations)


def nearness(optimizer: Optimizer, kernel: Kernel, at: Params, names: Sequence[str]) -> Array:
    """Return how near each evaluated point is to a slice through a point, ``(n,)`` from 0 to 1.

    It is the prior correlation between the point and its projection onto the slice.

    Args:
        optimizer: The run.
        kernel: The kernel of the mean GP or of the noise GP.
        at: A point of the slice.
        names: The inputs that vary within the slice.
    """
    space, X = optimizer.settings.space, optimizer.observations.X
    rows = [space.decode(x) for x in X]
    P = np.array([space.encode({**at, **{name: row[name] for name in names}}) for row in rows])
    size = np.sqrt(kernel.diagonal(X) * kernel.diagonal(P))
    pairs = zip(X, P, strict=True)
    together = np.array([kernel(x[None], p[None])[0, 0] for x, p in pairs])
    return np.clip(together / np.maximum(size, 1e-300), 0.0, 1.0)
