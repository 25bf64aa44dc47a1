"""Random generators of which several processes have the same copy, so that they draw alike.

It does not matter how a copy came about: by a fork, a pickle, or a module that makes the generator
from a fixed seed and is imported by each process. So workers tell what they drew from, and the
state it had before. Two processes that drew from the same state drew the same numbers.
"""

from __future__ import annotations

import gc
import hashlib
import os
import platform
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import Any, TypeVar

import numpy as np

COPIED = (
    "Two worker processes drew the same numbers from their copies of one random generator, {}, "
    "which was made before the evaluations. Repeats may then be equal, as if there were no noise. "
    "Give the objective an argument seed, and draw from numpy.random.default_rng(seed)."
)
# The calls of each process that are looked at. Copies draw alike from the first one on.
CALLS = 3

T = TypeVar("T")
_calls: Counter[int] = Counter()


@dataclass(frozen=True)
class Draw:
    """That a call drew from a generator which was there before.

    Attributes:
        process: Where: the machine and the process.
        kind: The type of the generator.
        state: A digest of its state before the call.
    """

    process: str
    kind: str
    state: str


def noting_draws(call: Callable[[], T]) -> tuple[T, tuple[Draw, ...]]:
    """Make a call, and return its result and what it drew from: empty after the first calls."""
    # A fork inherits the count of its parent under another number.
    process = os.getpid()
    _calls[process] += 1
    if _calls[process] > CALLS:
        return call(), ()
    # Wherever the objective has it: in a module, a closure, an object, or NumPy itself.
    before = [(generator, _state(generator)) for generator in _generators()]
    result = call()
    where = f"{platform.node()} {process}"
    drawn = [
        Draw(where, f"{type(generator).__module__}.{type(generator).__qualname__}", state)
        for generator, state in before
        if _state(generator) != state
    ]
    return result, tuple(drawn)


class Drawn:
    """What was drawn from so far, in all processes."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def copied(self, draws: tuple[Draw, ...]) -> str | None:
        """Return the kind of a generator that another process had too; None for none."""
        for draw in draws:
            if self._seen.setdefault(draw.state, draw.process) != draw.process:
                return draw.kind
        return None


def _generators() -> list[Any]:
    kinds = (np.random.Generator, np.random.RandomState, Random)
    # `isinstance` would call the code of objects that pretend to be of another class.
    return [
        thing
        for thing in gc.get_objects()
        if issubclass(type(thing), kinds) and not issubclass(type(thing), SystemRandom)
    ]


def _state(generator: Any) -> str:
    """Return a digest of the state of a generator."""
    if isinstance(generator, np.random.Generator):
        state = generator.bit_generator.state
    elif isinstance(generator, np.random.RandomState):
        state = generator.get_state(legacy=False)
    else:
        state = generator.getstate()
    return hashlib.sha256(repr(state).encode()).hexdigest()
