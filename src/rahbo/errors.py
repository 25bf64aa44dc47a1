"""Every error that rahbo raises on purpose."""


class RahboError(Exception):
    """Base of all errors raised by rahbo; catch it to catch them all."""


class SpaceError(RahboError, ValueError):
    """Raised when a search space is ill-defined or a point does not belong to it."""


class DataError(RahboError, ValueError):
    """Raised when told observations are malformed, such as a NaN or a wrong shape."""


class SettingsError(RahboError, ValueError):
    """Raised when a setting is out of its range or two settings contradict each other."""


class ExhaustedError(RahboError, RuntimeError):
    """Raised when a point is asked for but no legal point is left to propose."""


class NotReadyError(RahboError, RuntimeError):
    """Raised when an answer is asked for before there is enough data to give it."""


class NumericalError(RahboError, RuntimeError):
    """Raised when a computation breaks down, such as a matrix that cannot be factorised."""


class JournalError(RahboError, RuntimeError):
    """Raised when the journal of a run cannot be read, written or gone on with."""


class ObjectiveError(RahboError, RuntimeError):
    """Raised when the objective of `maximize` or `minimize` gives no usable number.

    Attributes:
        optimizer: The run so far, or None; nothing that was measured is lost.
    """

    def __init__(self, message: str, optimizer: object = None) -> None:
        super().__init__(message)
        self.optimizer = optimizer


class ExecutorError(RahboError, RuntimeError):
    """Raised when the executor of `maximize` or `minimize` can run nothing more.

    Attributes:
        optimizer: The run so far, or None; nothing that was measured is lost.
    """

    def __init__(self, message: str, optimizer: object = None) -> None:
        super().__init__(message)
        self.optimizer = optimizer
