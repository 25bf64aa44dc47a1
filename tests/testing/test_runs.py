"""The conformance tests of stop rules and displays."""

import io

import pytest

import rahbo
from rahbo.running import Display
from rahbo.running.display import FirstFailure, Lines, MovingLine, PlainLine, RichLine
from rahbo.testing import check_display, check_stop


@pytest.mark.slow
@pytest.mark.parametrize(
    "stop", [rahbo.Gap(0.5), rahbo.Gap(1e-6), lambda state: state.counts.made() >= 15]
)
def test_stop_rules_keep_their_promises(stop):
    check_stop(stop)


class Counts:
    """Ends a run after so many calls, wherever that is."""

    def __init__(self):
        self.n = 0

    def __call__(self, state):
        self.n += 1
        return self.n > 8


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        (rahbo.Gap, "stop must be Gap"),
        (lambda state: None, "True or False, got None"),
        (lambda state: len(state.trials), "True or False, got"),
        (Counts(), "the same answer"),
    ],
)
def test_a_broken_rule_is_named(stop, says):
    with pytest.raises(AssertionError, match=says):
        check_stop(stop)


def rich_line():
    pytest.importorskip("rich")
    return MovingLine(RichLine(io.StringIO(), True), every=True)


OWN = {
    "none": Display,
    "lines": lambda: Lines(io.StringIO()),
    "first failure": lambda: FirstFailure(io.StringIO()),
    "plain": lambda: MovingLine(PlainLine(io.StringIO()), every=False),
    "rich": rich_line,
}


@pytest.mark.slow
@pytest.mark.parametrize("make", OWN.values(), ids=OWN)
def test_own_displays_keep_their_promises(make):
    check_display(make)


class Careless(Display):
    """Knows neither failures nor a run without values."""

    def evaluated(self, done):
        self.line = f"{done.value:.2f}"


def test_a_broken_display_is_named():
    with pytest.raises(AssertionError, match=r"it fails: \[TypeError"):
        check_display(Careless)
    with pytest.raises(AssertionError, match="subclass of Display"):
        check_display(lambda: print)
