"""Scrambled Sobol sequences."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from threading import Thread
from typing import Any

import numpy as np

QMC = "scipy.stats.qmc"


def sobol_sequence(d: int, rng: np.random.Generator) -> Any:
    """Return a scrambled `scipy.stats.qmc.Sobol` sequence in ``d`` dimensions."""
    return _qmc().Sobol(d, scramble=True, rng=rng)


@cache
def _qmc() -> Any:
    """Import `scipy.stats.qmc`, which takes longer than importing this whole package.

    A thread of its own does it. An interrupt is raised in the main thread, where it would leave
    modules behind that are only half imported or initialised.
    """
    thread = Thread(target=_load)
    try:
        thread.start()
    except RuntimeError:
        # Python is shutting down and starts no more threads.
        _load()
    else:
        try:
            thread.join()
        finally:
            # An interrupt waits, so that the import is not left half done.
            thread.join()
    return import_module(QMC)


def _load() -> None:
    # The main thread imports the module once more, and then raises what is wrong with it.
    with suppress(Exception):
        # The first sequence loads a table. An interrupt there is swallowed and leaves it empty.
        import_module(QMC).Sobol(2, scramble=False)
