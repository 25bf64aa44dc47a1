"""Reports for people."""

import io

import pytest
from rich.console import Console

import rahbo
from rahbo.cli.tables import console, one_line, print_report, visible

EVIL = "[red]x[/red] :smile: \x1b[2J\rb"


@pytest.fixture(scope="module")
def optimizer():
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "c": ["a", EVIL]}, seed=0)
    for x in (0.1, 0.4, 0.5, 0.9, 0.2):
        opt.tell({"x": x, "c": EVIL}, [x**2, x**2 + 0.1])
    opt.tell_failure({"x": 0.3, "c": "a"})
    return opt


def shown(report, optimizer, terminal):
    out = io.StringIO()
    printer = Console(
        file=out, force_terminal=terminal, width=120, highlight=False, markup=False, emoji=False,
        color_system=None,
    )  # fmt: skip
    print_report(report, optimizer, printer)
    return out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_reports_are_shown_and_nothing_steers_the_terminal(optimizer, terminal):
    wanted = {
        "recommend": (
            "risk value",
            "90 % interval",
            "pessimistic",
            "measured",
            "The expected gain from a better setting is",
            "Measure this setting 3 more times before you rely on it.",
        ),
        "frontier": ("alpha", "noise std", "inf", "This run reports by alpha = 1."),
        "diagnose": ("Is the noise uneven?", "How many repeats are worth their cost?"),
    }
    for name, words in wanted.items():
        text = shown(getattr(optimizer, name)(), optimizer, terminal)
        for word in words:
            assert word in text
        assert "Based on 11 evaluations (1 failed) at 5 points, maximising" in text
        assert "MeanVariance(alpha=1.0)" in text
        assert "\x1b[2J" not in text
        assert "\r" not in text
        if name != "diagnose":
            assert "[red]x[/red] :smile: \\x1b" in " ".join(text.split())


def test_what_is_not_printable_is_written_out():
    assert visible("a\u202eb\ud800\tc\nd") == "a\\u202eb\\ud800\\tc\nd"
    assert one_line({"lr": 0.123456789, "c": "x\x07"}) == "lr=0.123457, c=x\\x07"


def test_a_console_takes_text_as_it_is(capsys):
    console().print("[b]x[/b] :smile: 1.5")
    console(stderr=True).print("[b]")
    assert capsys.readouterr() == ("[b]x[/b] :smile: 1.5\n", "[b]\n")


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("limit", [1.5, -1.0])
def test_whether_limits_are_kept_is_shown(terminal, limit):
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, constraints={"loss": rahbo.AtMost(limit)}, seed=0)
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        opt.tell({"x": x}, [x, x + 0.01], outcomes={"loss": [x, x + 0.01]}, block="a")
    text = " ".join(shown(opt.recommend(), opt, terminal).split())
    assert f"at most {limit:g} with" in text
    assert ("No evaluated setting is sure to keep its limits (loss)" in text) == (limit < 0)
    assert ("NOT SURE" in text) == (limit < 0)
