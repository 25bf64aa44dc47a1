"""How a broken promise is said."""

import pytest

from rahbo.testing.checks import Promises, copied


def test_a_broken_promise_is_said_with_the_object():
    Promises(3).require(True, "kept")
    with pytest.raises(AssertionError, match="3: it must be 4"):
        Promises(3).require([], "it must be 4")


def test_what_cannot_be_sent_to_a_process_is_named():
    assert copied((1, 2)) == (1, 2)
    with pytest.raises(AssertionError, match="must be picklable"):
        copied(lambda: None)
