"""Ctrl-C during a run: at once where the user's code runs or is waited for, else a little later.

Between two evaluations a run asks, tells and writes. An interrupt there would gain nothing and
could lose a value that was paid for, so it waits until the next evaluation begins.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class Interrupts:
    """Holds Ctrl-C back, except during a `call`. A second one is raised wherever it comes.

    It does so in the main thread, unless the program handles Ctrl-C itself.

    Attributes:
        is_waiting: Whether Ctrl-C was pressed and has not been raised.
    """

    def __init__(self) -> None:
        self._is_open = self.is_waiting = False
        self._former: Any = None

    def __enter__(self) -> Interrupts:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._former = signal.signal(signal.SIGINT, self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)

    def _seen(self, _: int, __: FrameType | None) -> None:
        if self._is_open or self.is_waiting:
            raise KeyboardInterrupt
        self.is_waiting = True

    def call(self, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        """Call what may be interrupted."""
        self._is_open = True
        try:
            if self.is_waiting:
                self.is_waiting = False
                raise KeyboardInterrupt
            return function(*arguments, **keywords)
        finally:
            self._is_open = False
