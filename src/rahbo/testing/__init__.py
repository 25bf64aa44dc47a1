"""Checks for classes of your own: each raises an `AssertionError` that says what is broken."""

from rahbo.testing.storages import check_storage

__all__ = ["check_storage"]
