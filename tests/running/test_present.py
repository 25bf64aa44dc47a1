"""Where a run gets the present conditions from."""

import pytest

from rahbo.errors import ExhaustedError
from rahbo.running.present import context_of
from rahbo.space import Context, Space, Time

SPACE = Space.of({"x": (0.0, 1.0), "t": Context(0.0, 1.0)})
PLAIN = Space.of({"x": (0.0, 1.0)})


def test_a_function_is_called_and_an_iterable_is_walked():
    assert context_of(lambda: {"t": 0.5}, SPACE)() == {"t": 0.5}
    walked = context_of(({"t": t} for t in (0.1, 0.2)), SPACE)
    assert [walked(), walked()] == [{"t": 0.1}, {"t": 0.2}]
    with pytest.raises(ExhaustedError, match=r"no more conditions"):
        walked()


def test_without_conditions_there_is_nothing_to_pass():
    assert context_of(None, PLAIN)() is None
    assert context_of(None, Space.of({"x": (0.0, 1.0), "time": Time()}))() is None
