"""Reports for people."""

import io
import re

import pytest
from rich.console import Console

import constrained
import rahbo
from rahbo.cli.tables import console, one_line, show, visible

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
    show(report, optimizer, printer)
    return out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_reports_are_shown_and_nothing_steers_the_terminal(optimizer, terminal):
    wanted = {
        "recommend": "risk value|90 % interval|pessimistic|measured|(expected gain |"
        "Measure this setting 3 more times before you rely on it.",
        "frontier": "alpha|noise std|inf|This run reports by MeanStd(kappa=1.0), which has no",
        "diagnose": "Is the noise uneven?|How many repeats are worth their cost?",
    }
    for name, words in wanted.items():
        text = shown(getattr(optimizer, name)(), optimizer, terminal)
        for word in words.split("|"):
            assert word in text
        if name == "recommend":
            found = optimizer.recommend()
            assert f"({found.tried_in})" in text
            assert all(said in " ".join(text.split()) for said in found.sentences)
        assert "Based on 11 evaluations (1 failed) at 5 points, maximising" in text
        assert "MeanStd(kappa=1.0)" in text
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
def test_limits_are_shown(terminal):
    opt = constrained.told(30)
    said = shown(opt.recommend(), opt, terminal)
    for text in ("cost", "at most 0.8", "kept"):
        assert text in " ".join(said.split())
    said = " ".join(shown(opt.frontier(), opt, terminal).split())
    assert re.search(r"\b\d+ of 30 are not", said)
    opt = constrained.told(12, constraints={"cost": rahbo.AtMost(-1.0)})
    for report in (opt.recommend(), opt.frontier()):
        said = shown(report, opt, terminal)
        assert "No evaluated setting is sure to keep its limits (cost)" in " ".join(said.split())


@pytest.mark.parametrize("terminal", [False, True])
def test_the_spread_between_blocks_is_shown(terminal):
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0)
    for x in (0.1, 0.4, 0.5, 0.9):
        opt.tell({"x": x}, [x, x + 1.0, x + 0.1, x + 1.2], block=["a", "b", "a", "b"])
    found = opt.recommend()
    said = shown(found, opt, terminal)
    assert all(text in said for text in found.blocks.std_interval.texts(found.blocks.std))
