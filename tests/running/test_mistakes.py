"""Failures that show a mistake in the objective's code."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import rahbo
from rahbo.errors import ObjectiveError
from rahbo.running.calls import RemoteError
from rahbo.running.mistakes import MISTAKES, Mistakes, without_values

SPACE = {"x": (0.0, 2.0)}
SMALL = {"n_initial": 4, "repeats": 2, "seed": 7}


def misspelt(x):
    return nump.sin(x)  # noqa: F821


class Objective:
    """Calls a function of the parameters and of the number of the call, and counts the calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, x):
        self.calls += 1
        return self.function(x, self.calls)


def raised(error):
    raise error


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: misspelt(x),
        lambda x, n: x + None,
        lambda x, n: __import__("no_such_module"),
        lambda x, n: x.no_such_attribute,
        lambda x, n: eval("1 +"),
        # A message that quotes the setting, or counts.
        lambda x, n: raised(TypeError(f"no x={x!r}, call {n}")),
        # Other failures in between.
        lambda x, n: misspelt(x) if n % 2 else float("nan"),
    ],
)
def test_a_mistake_ends_the_run_with_the_users_own_error(function):
    objective = Objective(function)
    with pytest.raises(MISTAKES) as caught:
        rahbo.maximize(objective, SPACE, evaluations=100, **SMALL)
    assert not isinstance(caught.value, ObjectiveError)
    # The first call at the third point, with two calls at each.
    assert objective.calls == 5
    assert caught.value.optimizer.n_evaluations == 5
    assert any("same at several points" in note for note in caught.value.__notes__)
    # The traceback ends in the user's code.
    assert caught.traceback[-1].path.samefile(__file__) or "import" in str(caught.traceback[-1])


def test_a_space_may_have_fewer_points():
    objective = Objective(lambda x, n: misspelt(x))
    with pytest.raises(NameError):
        rahbo.maximize(objective, {"x": ["a", "b"]}, evaluations=100, repeats=4, seed=0)
    assert objective.calls == 5


@pytest.mark.parametrize(
    "errors",
    [
        # Other errors, also of other messages, may depend on the setting.
        [ValueError("no beam")] * 6,
        [TypeError("a"), TypeError("a"), TypeError("b"), TypeError("b"), TypeError("c")],
        [NameError("a"), NameError("a"), AttributeError("a"), AttributeError("a"), TypeError("a")],
        # Three calls at two points.
        [NameError("a")] * 4,
    ],
)
def test_other_failures_do_not_end_a_run(errors):
    left = list(errors)
    objective = Objective(lambda x, n: raised(left.pop()) if left else x)
    assert rahbo.maximize(objective, SPACE, evaluations=12, **SMALL).n_evaluations == 12


def test_after_a_value_an_error_may_depend_on_the_setting():
    objective = Objective(lambda x, n: x if n == 1 else misspelt(x))
    with pytest.raises(ObjectiveError, match="times in a row"):
        rahbo.maximize(objective, SPACE, evaluations=100, **SMALL)


def test_past_results_are_no_success_of_the_objective():
    objective = Objective(lambda x, n: misspelt(x))
    with pytest.raises(NameError):
        rahbo.maximize(objective, SPACE, evaluations=100, data=[({"x": 1.0}, 0.5)], **SMALL)
    assert objective.calls == 5


def test_a_journal_continues_after_the_mistake_is_corrected(tmp_path):
    path = tmp_path / "run.jsonl"
    with pytest.raises(NameError):
        rahbo.maximize(misspelt, SPACE, evaluations=20, journal=path, **SMALL)
    result = rahbo.maximize(lambda x: x, SPACE, evaluations=20, journal=path, **SMALL)
    assert sum(len(trial.failures) for trial in result.trials) == 5
    assert result.n_evaluations == 20


def test_in_threads_what_was_measured_meanwhile_is_kept():
    with ThreadPoolExecutor(2) as executor, pytest.raises(NameError) as caught:
        rahbo.maximize(misspelt, SPACE, evaluations=100, executor=executor, parallel=2, **SMALL)
    assert caught.value.optimizer.n_evaluations <= 8
    # The worker's traceback comes first.
    assert isinstance(caught.value.__cause__, RemoteError)
    assert "nump.sin(x)" in str(caught.value.__cause__)


@pytest.mark.slow
def test_in_processes_the_error_is_the_users_own():
    with pytest.raises(NameError, match="nump") as caught:
        rahbo.maximize(misspelt, SPACE, evaluations=100, n_jobs=2, **SMALL)
    assert "nump.sin(x)" in str(caught.value.__cause__)
    assert caught.value.optimizer.n_evaluations <= 8


def test_only_the_given_kinds_count():
    counted = Mistakes((OSError,), 10.0)
    assert not any(counted.is_one(NameError("a"), {"x": i}) for i in range(5))
    assert not counted.is_one(None, {"x": 0})
    # A subclass is a kind of its own.
    assert not counted.is_one(FileNotFoundError("a"), {"x": 0})
    assert not counted.is_one(PermissionError("a"), {"x": 1})
    assert [counted.is_one(FileNotFoundError("a"), {"x": i}) for i in (0, 0, 1, 2)] == [
        False, False, False, True,
    ]  # fmt: skip


def test_what_varies_in_a_message_is_left_out():
    params = {"x": 1e-05, "kind": "(a", "n": 3, "flag": True}
    text = "kind '(a' at x=1e-05, n=3, True: got -2.5E+3, 0x7fAb and layer2"
    assert without_values(TypeError(text), params) == (
        "kind '#' at x=#, n=#, #: got -#, # and layer2"
    )

    class OddError(Exception):
        def __str__(self):
            raise RuntimeError

    assert without_values(OddError(), {"x": ""}) == ""
