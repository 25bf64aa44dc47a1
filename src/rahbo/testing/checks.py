"""What the conformance tests share: how a broken promise is said, and small runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rahbo.numerics import Array
from rahbo.optimizer import Optimizer

T = TypeVar("T")


@dataclass(frozen=True)
class Promises:
    """What an object promises; a broken promise raises an `AssertionError` that says so.

    Attributes:
        of: The object.
    """

    of: object

    def require(self, kept: object, promise: str) -> None:
        """Raise an error with a promise unless it is kept."""
        if not kept:
            raise AssertionError(f"{self.of!r}: {promise}")

    def equal(
        self, found: ArrayLike, wanted: ArrayLike, promise: str, rtol: float, atol: float = 1e-9
    ) -> None:
        """Raise an error with a promise unless two arrays agree, shapes included."""
        found, wanted = np.asarray(found), np.asarray(wanted)
        same = found.shape == wanted.shape
        self.require(same, f"{promise} Its shape is {found.shape} instead of {wanted.shape}.")
        close = np.isclose(found, wanted, rtol=rtol, atol=atol)
        if not close.all():
            at = tuple(np.argwhere(~close)[0])
            raise AssertionError(
                f"{self.of!r}: {promise} Got {found[at]:.8g} instead of {wanted[at]:.8g}."
            )


def copied(one: T) -> T:
    """Return what a process that is sent an object gets."""
    try:
        copy: T = pickle.loads(pickle.dumps(one))
    except Exception as error:
        raise AssertionError(f"{one!r} must be picklable, but pickle says: {error}") from error
    return copy


def slopes(function: Callable[[Array], Array], X: Array, step: float = 1e-5) -> Array:
    """Return central differences ``(m, d)`` of a function ``(m,)`` of points ``X (m, d)``."""
    steps = step * np.eye(X.shape[1])
    return np.column_stack([(function(X + h) - function(X - h)) / (2.0 * step) for h in steps])


def finite(*arrays: ArrayLike) -> bool:
    """Return whether all numbers are finite."""
    return all(bool(np.isfinite(array).all()) for array in arrays)


def answer(x: Array, rng: np.random.Generator) -> float:
    """Return a noisy value at a point ``x (d,)`` of the cube; the noise grows with x_1."""
    return float(-np.sum((x - 0.6) ** 2) + (0.02 + 0.3 * x[0]) * rng.standard_normal())


def run(
    space: Any,
    rounds: int,
    *,
    batch: int = 1,
    outcomes: bool = False,
    failing: bool = False,
    given: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Optimizer:
    """Return a run of so many rounds, in which each seventh evaluation may fail.

    Args:
        space: Where to look.
        rounds: How often is asked.
        batch: How many suggestions at a time.
        outcomes: Whether an outcome "cost" is told with each value.
        failing: Whether evaluations fail.
        given: The conditions at each ask.
        **settings: Those of the optimizer.
    """
    optimizer, rng = Optimizer(space, seed=1, **settings), np.random.default_rng(2)
    for i in range(rounds):
        context = {} if given is None else {"context": given}
        asked = optimizer.ask(batch, **context) if batch > 1 else [optimizer.ask(**context)]
        for one in asked:
            x = optimizer.settings.space.encode(one.params)
            for repeat in range(one.repeats):
                if failing and i % 7 == 3:
                    optimizer.tell_failure(one, "tried", repeat=repeat)
                    continue
                told = {"outcomes": {"cost": float(x.sum() + 0.05 * rng.normal())}}
                optimizer.tell(one, answer(x, rng), repeat=repeat, **(told if outcomes else {}))
    return optimizer


def proposed(optimizer: Optimizer) -> list[tuple[dict[str, Any], int]]:
    """Return what a run asked for: parameters, and how often."""
    return [(dict(trial.params), trial.n_requested) for trial in optimizer.trials]
