"""Conformance tests for what can be written outside the package.

Each function raises an `AssertionError` that says which promise is broken. The package's own
classes pass the same tests.
"""

from rahbo.testing.storages import check_storage

__all__ = ["check_storage"]
