"""Conformance tests for what can be written outside the package.

Each function raises an `AssertionError` that says which promise is broken. The package's own
classes pass the same tests.
"""

from rahbo.testing.outcomes import check_outcome
from rahbo.testing.runs import check_display, check_stop

__all__ = ["check_display", "check_outcome", "check_stop"]
