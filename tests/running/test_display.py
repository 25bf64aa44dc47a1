"""What a run shows on stderr."""

import io
import sys
from types import SimpleNamespace

import pytest

import rahbo
from rahbo.analysis import short
from rahbo.errors import ObjectiveError
from rahbo.policy import RandomSearch
from rahbo.running import display as module
from rahbo.running.display import PlainLine
from rahbo.running.progress import Stage

SPACE = {"x": (0.0, 2.0)}
FEW = {"n_initial": 3, "seed": 0, "method": rahbo.Method(strategy=RandomSearch())}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(params=["rich", "plain"])
def terminal(request, monkeypatch):
    """A terminal in the place of stderr, with and without rich."""
    if request.param == "rich":
        pytest.importorskip("rich")
    else:
        for name in ("rich", "rich.console", "rich.progress"):
            monkeypatch.setitem(sys.modules, name, None)
    out = Terminal()
    # Between a fixture and its test, pytest sets sys.stderr again.
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=out))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return out


def always_failing(x):
    raise ValueError("no\nbeam")


def failing_above(limit):
    def objective(x):
        if x > limit:
            raise ValueError("no beam")
        return x

    return objective


@pytest.mark.slow
def test_a_terminal_shows_a_bar_the_evaluations_and_the_best_so_far(terminal):
    rahbo.maximize(lambda x: x, SPACE, evaluations=12, **FEW)
    text = terminal.getvalue()
    assert "12/12" in text
    assert "best so far 1." in text
    assert "at x=1." in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "shown"),
    [({"rounds": 4}, "round 4/4, 7 made"), ({"seconds": 1e-9}, "1 made")],
)
def test_other_budgets_are_shown_in_their_own_terms(terminal, budget, shown):
    rahbo.maximize(lambda x: x, SPACE, repeats=1, **budget, **FEW)
    assert shown in terminal.getvalue()


def test_failures_are_shown_as_they_come(terminal):
    rahbo.maximize(failing_above(1.4), SPACE, evaluations=12, **FEW)
    assert "failed, ValueError('no beam')" in terminal.getvalue()


@pytest.mark.parametrize("verbose", [None, True])
def test_verbose_adds_a_line_for_each_evaluation(terminal, verbose):
    rahbo.maximize(lambda x: x, SPACE, evaluations=4, verbose=verbose, **FEW)
    assert ("3/4  x=" in terminal.getvalue()) is (verbose is True)


def test_nothing_is_shown_on_request(terminal):
    rahbo.maximize(failing_above(1.4), SPACE, evaluations=6, verbose=False, **FEW)
    assert terminal.getvalue() == ""


def test_a_terminal_that_cannot_move_its_cursor_stays_empty(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    rahbo.maximize(lambda x: x, SPACE, evaluations=4, **FEW)
    assert terminal.getvalue() == ""


@pytest.mark.slow
def test_a_run_within_a_run_is_not_drawn(terminal):
    def outer(x):
        return x + rahbo.maximize(lambda x: x, SPACE, evaluations=3, **FEW).n_evaluations

    rahbo.maximize(outer, SPACE, evaluations=2, **FEW)
    assert "2/2" in terminal.getvalue()
    assert "/3 " not in terminal.getvalue()
    # The next run is drawn again.
    rahbo.maximize(lambda x: x, SPACE, evaluations=4, **FEW)
    assert "4/4" in terminal.getvalue()


@pytest.mark.slow
def test_a_display_changes_no_run(terminal, monkeypatch):
    shown = rahbo.maximize(lambda x: x, SPACE, evaluations=12, n_initial=4, seed=3)
    quiet = rahbo.maximize(lambda x: x, SPACE, evaluations=12, n_initial=4, seed=3, verbose=False)
    assert [t.params for t in shown.trials] == [t.params for t in quiet.trials]
    assert shown.recommendation == quiet.recommendation


def test_a_terminal_that_breaks_does_not_end_the_run(terminal, monkeypatch):
    def broken(text):
        raise OSError("gone")

    monkeypatch.setattr(terminal, "write", broken)
    assert rahbo.maximize(lambda x: x, SPACE, evaluations=4, **FEW).n_evaluations == 4


def test_elsewhere_nothing_is_shown_but_the_first_failure(capsys):
    seen = []

    def objective(x):
        # What is on stderr by the time of this call.
        seen.append(capsys.readouterr().err)
        return failing_above(1.0)(x)

    result = rahbo.maximize(objective, SPACE, evaluations=8, **FEW)
    out, err = capsys.readouterr()
    failed = [trial.params for trial in result.trials if trial.failures]
    assert len(failed) > 1
    assert out == ""
    (line,) = "".join([*seen, err]).splitlines()
    assert f"at x={short(failed[0]['x'])} failed: ValueError('no beam')" in line
    # It is there before the next evaluation.
    assert any(seen)


@pytest.mark.parametrize("verbose", [None, False])
def test_elsewhere_a_run_without_failures_is_silent(capsys, verbose):
    rahbo.maximize(lambda x: x, SPACE, evaluations=6, verbose=verbose, **FEW)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_the_first_failure_is_shown_from_processes_too(capsys):
    with pytest.raises(ObjectiveError):
        rahbo.maximize(always_failing, SPACE, evaluations=4, n_jobs=2, **FEW)
    (line,) = capsys.readouterr().err.splitlines()
    assert "failed: ValueError('no\\nbeam')" in line


def test_elsewhere_verbose_writes_lines(capsys):
    rahbo.maximize(failing_above(1.4), SPACE, evaluations=6, verbose=True, **FEW)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == [f"{i}/6" for i in range(1, 7)]
    assert any("failed, ValueError('no beam')" in line for line in lines)


def test_a_closed_or_missing_stderr_does_no_harm(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for out in (None, closed):
        monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=out))
        rahbo.maximize(lambda x: x, SPACE, evaluations=3, verbose=True, **FEW)


def test_a_plain_line_overwrites_a_longer_one_and_fits_its_terminal():
    out = io.StringIO()
    line = PlainLine(out)
    line.draw(Stage(0.5, "5/10", 90.0), "best so far " + "9" * 100)
    line.draw(Stage(1.0, "10/10", 0.0), "")
    line.say("failed")
    line.close()
    first, second, said = out.getvalue().split("\r")[1:]
    assert first.startswith("############------------  5/10  1 min 30 s left  best so far 99")
    assert len(first) == 79
    assert second.rstrip() == "#" * 24 + "  10/10"
    assert len(second) == 79
    assert said.rstrip() == "failed"
