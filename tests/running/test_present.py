"""Where a run gets the present conditions from."""

import pytest

from rahbo.errors import ExhaustedError, SettingsError
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


@pytest.mark.parametrize(
    ("given", "space", "problem"),
    [
        (None, SPACE, r"conditions \['t'\]"),
        (None, Space.of({"x": (0.0, 1.0), "h": Time(8.0, "hours")}), r"conditions \['h'\]"),
        (lambda: {}, PLAIN, r"the space has no conditions"),
        ({"t": 0.5}, SPACE, r"lambda"),
        ("t", SPACE, r"an iterable of dicts"),
        (3, SPACE, r"an iterable of dicts"),
    ],
)
def test_what_does_not_fit_is_refused(given, space, problem):
    with pytest.raises(SettingsError, match=problem):
        context_of(given, space)
