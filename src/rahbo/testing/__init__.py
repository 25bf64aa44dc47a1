"""Conformance tests for what can be written outside the package.

Each function raises an `AssertionError` that says which promise is broken. The package's own
classes pass the same tests.
"""

from rahbo.testing.model import check_kernel, check_noise
from rahbo.testing.outcomes import check_outcome
from rahbo.testing.policy import check_repeats, check_strategy
from rahbo.testing.risk import check_risk
from rahbo.testing.runs import check_display, check_stop
from rahbo.testing.storages import check_storage

__all__ = [
    "check_display",
    "check_kernel",
    "check_noise",
    "check_outcome",
    "check_repeats",
    "check_risk",
    "check_stop",
    "check_storage",
    "check_strategy",
]
