"""One BLAS thread during computations: on small matrices, several threads mostly wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[Any] = []


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread set the limit of OpenBLAS, whichever thread set it last.

    From version 3.8 on, threadpoolctl ignores all threads but the one that set the limit first.
    Our limit is shared: another thread may set it later, or lift it.
    """
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run BLAS on one thread inside this context.

    The limit is process-wide: the first thread to enter sets it, the last to leave lifts it.
    """
    with _lock:
        limit = None
        if not _inside:
            _take_control()
            limit = _controller().limit(limits=1, user_api="blas")
        _inside.append(limit)
    try:
        yield
    finally:
        with _lock:
            # The limit is lifted last, whichever thread set it.
            limit = _inside.pop() if len(_inside) == 1 else _inside.pop(_inside.index(None))
            if limit is not None:
                _take_control()
                limit.restore_original_limits()
                _take_control()
