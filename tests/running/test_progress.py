"""What is shown and logged of a run, as data and text."""

import logging

import pytest

import rahbo
from rahbo.policy import RandomSearch
from rahbo.running import progress as module
from rahbo.running.budget import Budget
from rahbo.running.clock import Clock
from rahbo.running.progress import Course, Display, Done, Leader, harmless, leading, one_line

SPACE = {"x": (0.0, 2.0)}
FEW = {"n_initial": 3, "seed": 0, "method": rahbo.Method(strategy=RandomSearch())}


def told(n, opt=None):
    opt = opt or rahbo.Optimizer(SPACE, repeats=1, **FEW)
    for _ in range(n):
        suggestion = opt.ask()
        opt.tell(suggestion, suggestion.params["x"])
    return opt


def test_an_evaluation_in_words():
    assert str(Done({"x": 0.5, "c": "a"}, 1.23456789)) == "x=0.5, c=a: 1.23457"
    assert str(Done({"x": 0.5}, 1.0, outcomes="loss=6")) == "x=0.5: 1, loss=6"
    lost = Done({"c": "a\x1b[2J"}, None, "exit code 1: Traceback\n  line 3\nValueError: no")
    assert str(lost) == "c=a\\x1b[2J: failed, exit code 1: ValueError: no"


def test_a_display_that_fails_is_only_told_of_the_end():
    calls, errors = [], []

    class Failing(Display):
        def noticed(self, text):
            calls.append(text)
            raise OSError("gone")

        def ended(self, state):
            calls.append("end")
            raise ValueError("gone too")

    shown = harmless(Failing(), errors.append)
    shown.noticed("first"), shown.noticed("second"), shown.evaluated(Done({}, 1.0))
    shown.ended(told(0).state)
    assert calls == ["first", "end"]
    assert [type(error) for error in errors] == [OSError]


@pytest.mark.parametrize(
    ("budget", "n", "share", "spent"),
    [
        (Budget(evaluations=20), 5, 0.25, "5/20"),
        (Budget(rounds=5), 4, 0.5, "round 1/5, 4 made"),
        (Budget(seconds=10.0), 4, 0.6, "4 made"),
        (Budget(evaluations=20, seconds=10.0), 5, 0.6, "5/20"),
    ],
)
def test_how_far_a_run_is(monkeypatch, budget, n, share, spent):
    now = 0.0
    monkeypatch.setattr("rahbo.running.clock.monotonic", lambda: now)
    course = Course(budget, Clock(budget.seconds), opt := told(0))
    assert course.now().share == 0.0
    now = 6.0
    told(n, opt)
    stage = course.now()
    assert stage.share == pytest.approx(share)
    assert stage.spent == spent
    left = [6.0 * (1 - share) / share] if budget.seconds is None else [4.0, 6.0 * 3]
    assert stage.left == pytest.approx(min(left))


def test_the_time_left_of_a_resumed_run_follows_from_its_own_pace(monkeypatch):
    now = 0.0
    monkeypatch.setattr("rahbo.running.clock.monotonic", lambda: now)
    course = Course(Budget(evaluations=20), Clock(), opt := told(10))
    assert course.now().left is None
    now = 5.0
    told(5, opt)
    assert course.now().left == pytest.approx(5.0)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_leader_is_what_would_be_recommended(direction, rng):
    opt = rahbo.Optimizer(SPACE, repeats=2, n_initial=4, seed=0, direction=direction)
    assert leading(opt.state) is None
    for _ in range(8):
        s = opt.ask()
        opt.tell(s, (s.params["x"] - 1.0) ** 2 + 0.05 * rng.standard_normal(2))
    params, risk = leading(opt.state)
    best = opt.recommend()
    assert params == best.params
    assert risk == pytest.approx(best.risk, rel=0.05)


def test_a_leader_that_breaks_its_limit_does_not_lead():
    opt = rahbo.Optimizer(SPACE, constraints={"loss": rahbo.AtMost(1.0)}, seed=0)
    for x, loss in ((0.5, 0.0), (1.0, 0.1), (1.9, 9.0)):
        opt.tell({"x": x}, [x, x + 0.01], outcomes={"loss": [loss, loss + 0.01]})
    assert leading(opt.state)[0] == opt.recommend().params != {"x": 1.9}


def test_the_leader_takes_a_small_part_of_the_time(monkeypatch):
    """The clock stands still but for 3 s that each look takes."""
    now, looks = 0.0, []

    def look(state):
        nonlocal now
        now += 3.0
        looks.append(now)
        return {"x": 0.5}, 1.0

    monkeypatch.setattr(module, "monotonic", lambda: now)
    monkeypatch.setattr(module, "leading", look)
    leader = Leader()
    assert leader.now(None) == "best so far 1 at x=0.5"
    for _ in range(1000):
        now += 1.0
        leader.now(None)
    assert 3.0 * len(looks) <= now / 20 + 3.0


def test_suggestions_and_failures_are_logged(caplog):
    caplog.set_level(logging.INFO, logger="rahbo")

    def objective(x):
        if x > 1.4:
            raise ValueError("no beam")
        return x

    result = rahbo.maximize(objective, SPACE, evaluations=6, **FEW)
    info = [r for r in caplog.records if r.levelno == logging.INFO]
    warned = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert {r.name for r in caplog.records} == {"rahbo"}
    assert len(info) == len(result.trials)
    assert len(warned) == sum(len(t.failures) for t in result.trials) > 0
    assert "no beam" in warned[0].getMessage()
    assert one_line(result.trials[0].params) in info[0].getMessage()


def test_without_logging_nothing_is_printed(capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    module.log_failure(Done({"x": 1.0}, None, "no beam"), 3, 0)
    assert logging.getLogger("rahbo").handlers == []
    assert capsys.readouterr().err == ""
