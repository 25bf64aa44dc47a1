"""The progress shown during a run."""

import io

import pytest
from rich.console import Console

import rahbo
from rahbo.cli.progress import watch
from rahbo.running import Done


def console(terminal):
    out = io.StringIO()
    return Console(
        file=out, force_terminal=terminal, width=100, highlight=False, markup=False, emoji=False,
        color_system=None,
    ), out  # fmt: skip


FAILED = Done({"x": 2.0, "c": "a\x1b[2J"}, None, "exit code 1: Traceback\n  line 3\nValueError: no")


def test_elsewhere_each_evaluation_is_a_line():
    printer, out = console(False)
    with watch(printer, 12, 3) as look:
        look.evaluated(Done({"x": 0.5, "c": "a"}, 1.23456789))
        look.evaluated(FAILED)
        look.evaluated(Done({"x": 0.5}, 1.5, outcomes="loss=6 (above 5)\x07"))
        look.told(rahbo.Optimizer({"x": (0.0, 1.0)}).state)
    assert out.getvalue().splitlines() == [
        "4/12  x=0.5, c=a: 1.23457",
        "5/12  x=2, c=a\\x1b[2J: failed, exit code 1: ValueError: no",
        "6/12  x=0.5: 1.5, loss=6 (above 5)\\x07",
    ]


def test_a_run_that_only_its_time_limits_has_no_total():
    for terminal in (False, True):
        printer, out = console(terminal)
        with watch(printer, None, 3) as look:
            look.evaluated(Done({"x": 0.5}, 1.0))
        assert "4" in out.getvalue()
        assert "4/" not in out.getvalue()
        assert "None" not in out.getvalue()


def test_on_a_terminal_there_is_a_bar():
    printer, out = console(True)
    optimizer = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    with watch(printer, 12, 3) as look:
        look.told(optimizer.state)
        look.evaluated(Done({"x": 0.5}, 1.0))
        look.evaluated(FAILED)
    assert "5/12" in out.getvalue()
    assert "ValueError: no" in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()


def test_confirmation_is_announced_once():
    printer, out = console(False)
    again = False
    with watch(printer, 12, 9, lambda: again) as look:
        look.evaluated(Done({"x": 0.5}, 1.0))
        again = True
        look.evaluated(Done({"x": 0.75}, 2.0))
        look.evaluated(Done({"x": 0.75}, 2.5))
    assert out.getvalue().splitlines() == [
        "10/12  x=0.5: 1",
        "Confirming: measuring the leading points again.",
        "11/12  x=0.75: 2",
        "12/12  x=0.75: 2.5",
    ]


@pytest.mark.parametrize(("confirming", "said"), [(False, "so far"), (True, "confirming")])
def test_the_bar_says_what_is_recommended_and_whether_it_is_confirmed(confirming, said):
    printer, out = console(True)
    optimizer = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    optimizer.tell({"x": 0.25}, [1.0, 2.0])
    with watch(printer, 12, 0, lambda: confirming) as look:
        look.told(optimizer.state)
        look.told(optimizer.state)
    assert f"{said} x=0.25: 1.5" in out.getvalue()


def test_the_bar_says_whether_limits_are_kept():
    for limit, said in ((9.0, "limits kept"), (0.1, "not sure to keep its limits")):
        printer, out = console(True)
        limits = {"loss": rahbo.AtMost(limit)}
        optimizer = rahbo.Optimizer({"x": (0.0, 1.0)}, constraints=limits, seed=0)
        for x in (0.1, 0.3, 0.5, 0.7, 0.9):
            optimizer.tell({"x": x}, [x, x + 0.01], outcomes={"loss": [x, x + 0.01]})
        with watch(printer, 12, 0) as look:
            look.told(optimizer.state)
        assert said in out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_noticed_is_a_line(terminal):
    printer, out = console(terminal)
    with watch(printer, 12, 9) as look:
        look.noticed("Repeats are identical.")
    assert "Repeats are identical.\n" in out.getvalue()
