"""Scrambled Sobol sequences."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np


def sobol_sequence(d: int, rng: np.random.Generator) -> Any:
    """Return a scrambled `scipy.stats.qmc.Sobol` sequence in ``d`` dimensions."""
    return _qmc().Sobol(d, scramble=True, rng=rng)


@cache
def _qmc() -> Any:
    """Import `scipy.stats.qmc`, which takes longer than importing this whole package.

    A thread of its own does it. An interrupt is raised in the main thread, where it would leave
    modules behind that are only half imported, and every later call would fail.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(import_module, "scipy.stats.qmc").result()
