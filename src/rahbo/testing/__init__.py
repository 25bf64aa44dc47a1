"""Conformance tests for what can be written outside the package.

Each function raises an `AssertionError` that says which promise is broken. The package's own
classes pass the same tests.
"""

from rahbo.testing.model import check_kernel, check_noise
from rahbo.testing.policy import check_repeats, check_strategy
from rahbo.testing.risk import check_risk

__all__ = [
    "check_kernel",
    "check_noise",
    "check_repeats",
    "check_risk",
    "check_strategy",
]
