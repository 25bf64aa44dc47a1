"""Threads: one BLAS thread during computations, and objects that several threads may share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from threading import RLock
from typing import Any, TypeVar

import threadpoolctl
from threadpoolctl import ThreadpoolController

C = TypeVar("C", bound=type)


class SharedLock:
    """A re-entrant lock, which a fork of the process finds free and a copy does not share.

    Use it as ``with lock.here(): ...``. Python's own lock is handed out, because an interrupt in
    the methods of another one could leave it locked.
    """

    def __init__(self) -> None:
        self._process, self._lock = os.getpid(), RLock()

    def here(self) -> Any:
        """Return the lock of this process."""
        if self._process != os.getpid():
            # The thread that held it may not exist here.
            self._process, self._lock = os.getpid(), RLock()
        return self._lock

    def __reduce__(self) -> tuple[type[SharedLock], tuple[()]]:
        return SharedLock, ()


def shared_by_threads(*but: str) -> Callable[[C], C]:
    """Return a class decorator: every public method and property holds the lock ``self._lock``.

    Args:
        *but: Methods that take the lock themselves.
    """

    def locked(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def alone(self: Any, *args: Any, **keywords: Any) -> Any:
            with self._lock.here():
                return method(self, *args, **keywords)

        return alone

    def decorated(cls: C) -> C:
        for name, member in list(vars(cls).items()):
            if name.startswith("_") or name in but:
                continue
            if inspect.isfunction(member):
                setattr(cls, name, locked(member))
            elif isinstance(member, property) and member.fget is not None:
                setattr(cls, name, property(locked(member.fget)))
        return cls

    return decorated


# -- BLAS --------------------------------------------------------------------------------------

# Who is inside of `one_blas_thread`, and what lifts the limit when the last one leaves.
_lock = SharedLock()
_inside: set[object] = set()
_limits: list[Any] = []


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

    The limit is process-wide: the first thread to enter sets it, the last to leave lifts it. It is
    lifted even if an interrupt falls into the entry or the exit, at the latest by the next exit.
    """
    me = object()
    try:
        with _lock.here():
            _inside.add(me)
            if not _limits:
                _take_control()
                _limits.append(_controller().limit(limits=1, user_api="blas"))
        yield
    finally:
        with _lock.here():
            _inside.discard(me)
            if not _inside and _limits:
                _take_control()
                _limits[-1].restore_original_limits()
                _limits.clear()
                _take_control()


def _forget_other_threads() -> None:
    _inside.clear()


if hasattr(os, "register_at_fork"):
    # Only the thread that forks exists afterwards, and it does not compute meanwhile.
    os.register_at_fork(after_in_child=_forget_other_threads)
