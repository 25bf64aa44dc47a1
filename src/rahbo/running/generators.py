"""Random generators of which every forked worker has the same copy."""

from __future__ import annotations

import dis
import functools
import inspect
from random import Random, SystemRandom
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from rahbo.running.pool import Pool

SHARED = (
    "The objective uses the random generator {!r} of its module, and each worker process has its "
    "own copy, which draws the same numbers. Repeats may then be equal, as if there were no noise. "
    "Give the objective an argument seed, and draw from numpy.random.default_rng(seed)."
)


def shared_generator(objective: object, pool: Pool) -> str | None:
    """Return the name of a generator of which each worker has the same copy; None for none."""
    if pool.workers < 2 or not pool.forks:
        return None
    name = generator_in(objective)
    prepares = getattr(pool.initializer, "__code__", None)
    # An initializer may make the generator anew in each worker.
    return None if prepares is not None and name in _globals_in(prepares) else name


def generator_in(function: object) -> str | None:
    """Return the name of a random generator of its module that a function uses; None for none.

    Functions of the same module that it calls are looked at too. A generator that asks the system
    for each number does not count.
    """
    waiting: list[Any] = [function]
    if isinstance(function, functools.partial):
        waiting = [function.func]
    seen: set[FunctionType] = set()
    while waiting:
        try:
            used_by = inspect.unwrap(waiting.pop())
        except ValueError:
            # An object that has every attribute seems to wrap itself.
            continue
        if not isinstance(used_by, FunctionType) or used_by in seen:
            continue
        seen.add(used_by)
        for name in _globals_in(used_by.__code__):
            used = used_by.__globals__.get(name)
            stateful = isinstance(used, np.random.Generator | np.random.RandomState | Random)
            if stateful and not isinstance(used, SystemRandom):
                return name
            if isinstance(used, FunctionType) and used.__module__ == used_by.__module__:
                waiting.append(used)
    return None


def _globals_in(code: CodeType) -> list[str]:
    """Return the names of a module that code reads or sets, functions and loops in it included."""
    own = [step.argval for step in dis.get_instructions(code) if step.opname.endswith("_GLOBAL")]
    inner = [_globals_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return [*own, *(name for names in inner for name in names)]
