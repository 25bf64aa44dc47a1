"""How a broken promise is said."""

import pytest

from rahbo.testing.checks import Promises


def test_a_broken_promise_is_said_with_the_object():
    Promises(3).require(True, "kept")
    with pytest.raises(AssertionError, match="3: it must be 4"):
        Promises(3).require([], "it must be 4")
