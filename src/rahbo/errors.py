"""Every error that rahbo raises on purpose."""

from collections.abc import Iterator
from contextlib import contextmanager


class RahboError(Exception):
    """Base class of every error that rahbo raises on purpose."""


class SpaceError(RahboError, ValueError):
    """Raised when a search space is ill-defined or a point lies outside it."""


class DataError(RahboError, ValueError):
    """Raised when told values are malformed, such as a NaN or a wrong shape."""


class SettingsError(RahboError, ValueError):
    """Raised when a setting is out of its range or two settings contradict each other."""


class ExhaustedError(RahboError, RuntimeError):
    """Raised when no legal point is left to propose."""


class NotReadyError(RahboError, RuntimeError):
    """Raised when there is not yet enough data for an answer."""


class MissingLibraryError(RahboError, ImportError):
    """Raised when a call needs a library that is not installed."""


class NumericalError(RahboError, RuntimeError):
    """Raised when a computation fails, for example on a matrix that cannot be factorised."""


class JournalError(RahboError, RuntimeError):
    """Raised when a journal cannot be read, written or continued."""


class ObjectiveError(RahboError, RuntimeError):
    """Raised when the objective of `maximize` or `minimize` returns no usable number.

    Attributes:
        optimizer: The run so far with all its measurements, or None.
    """

    def __init__(self, message: str, optimizer: object = None) -> None:
        super().__init__(message)
        self.optimizer = optimizer


class ExecutorError(RahboError, RuntimeError):
    """Raised when the executor of `maximize` or `minimize` cannot run any more tasks.

    Attributes:
        optimizer: The run so far with all its measurements, or None.
    """

    def __init__(self, message: str, optimizer: object = None) -> None:
        super().__init__(message)
        self.optimizer = optimizer


@contextmanager
def at(place: str) -> Iterator[None]:
    """Begin errors about the space or the data with the place where they occur.

    >>> with at("data[3]"):
    ...     raise DataError("tell() needs numbers, got 'a'.")
    Traceback (most recent call last):
    rahbo.errors.DataError: data[3]: tell() needs numbers, got 'a'.
    """
    try:
        yield
    except (SpaceError, DataError) as error:
        raise type(error)(f"{place}: {error}") from error
