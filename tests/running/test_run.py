"""What the loops share: the budget, what is recorded."""

import numpy as np
import pytest

import rahbo
from rahbo.errors import ExhaustedError, ObjectiveError
from rahbo.numerics import evaluation_seed
from rahbo.policy import RandomSearch
from rahbo.running import Budget, CallResult, Run

SPACE = {"x": (0.0, 2.0)}


def a_run(objective=lambda x: x, stop=None, callback=None, **budget):
    optimizer = rahbo.Optimizer(SPACE, repeats=2, n_initial=2, seed=3)
    return Run(objective, optimizer, Budget(**budget), stop, callback)


def test_arguments_are_the_parameters_and_a_seed_where_one_is_wanted():
    run = a_run(lambda x, seed: x)
    suggestion = run.optimizer.ask()
    assert run.arguments(suggestion, 1) == suggestion.params | {"seed": evaluation_seed(3, 0, 1)}
    assert a_run().arguments(suggestion, 1) == suggestion.params


# -- the budget ------------------------------------------------------------------------------


def test_evaluations_under_way_are_paid():
    run = a_run(evaluations=3)
    suggestion = run.optimizer.ask()
    assert (run.left, run.is_spent(2), run.is_spent(3)) == (3, False, True)
    run.record(suggestion, 0, CallResult(1.0))
    run.record(suggestion, 1, CallResult(failure="no beam"))
    assert (run.left, run.is_spent(), run.is_spent(1)) == (1, False, True)


def test_rounds_are_spent_once_no_other_suggestion_is_open():
    run = a_run(rounds=1)
    for _ in range(2):
        run.optimizer.tell(run.optimizer.ask(), [1.0, 1.1])
    assert not run.is_spent()
    chosen = run.optimizer.ask()
    assert not run.is_spent(0, asked=())
    assert run.is_spent(2, asked={chosen.id})
    run.optimizer.tell(chosen, [1.0, 1.2])
    assert run.is_spent()


def test_a_stop_is_not_looked_at_within_the_initial_design():
    run = a_run(evaluations=100, stop=rahbo.Gap(1e9))
    first, second = run.optimizer.ask(2)
    run.optimizer.tell(second, [1.0, 1.1])
    run.optimizer.ask()
    assert not run.has_enough()
    run.optimizer.tell(first, [1.0, 1.1])
    assert run.has_enough()


# -- several at once -------------------------------------------------------------------------------


def asking(repeats=2, **budget):
    """A run past its design."""
    optimizer = rahbo.Optimizer(
        SPACE, repeats=repeats, n_initial=2, seed=3, method=rahbo.Method(strategy=RandomSearch())
    )
    for _ in range(2):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, np.arange(suggestion.repeats))
    return Run(lambda x: x, optimizer, Budget(**budget))


def test_as_many_suggestions_come_as_their_repeats_keep_busy():
    run = asking(evaluations=100)
    assert [paid for _, paid in run.ask(1)] == [2]
    asked = {s.id for s in run.optimizer.open}
    assert [paid for _, paid in run.ask(7, under_way=2, asked=asked)] == [2, 2, 2]


def test_rounds_limit_how_many_come_at_once():
    run = asking(rounds=4, repeats=1)
    assert len(run.ask(10)) == 4
    assert run.is_spent(4, {s.id for s in run.optimizer.open})


def test_what_the_budget_does_not_pay_is_cancelled():
    run = asking(evaluations=4 + 5)
    # Nobody knows yet that each of them wants two evaluations.
    assert [paid for _, paid in run.ask(5)] == [2, 2, 1]
    assert [t.cancelled for t in run.optimizer.trials[2:]] == [False] * 3 + [True] * 2


def test_what_an_earlier_run_left_open_comes_first_and_alone():
    earlier = rahbo.Optimizer(SPACE, repeats=1, n_initial=2, seed=3)
    first = earlier.ask()
    again = rahbo.Optimizer(SPACE, repeats=1, n_initial=2, seed=3, trials=earlier.trials)
    run = Run(lambda x: x, again, Budget(evaluations=100))
    assert [s.id for s, _ in run.ask(5)] == [first.id]


def test_points_that_were_found_before_a_list_ended_are_handed_out():
    rows = rahbo.Candidates([{"x": i / 4} for i in range(4)], revisit=False)
    optimizer = rahbo.Optimizer(rows, repeats=1, n_initial=2, seed=0)
    for _ in range(2):
        optimizer.tell(optimizer.ask(), 1.0)
    run = Run(lambda x: x, optimizer, Budget(evaluations=100))
    given = [run.ask(5)[0][0]]
    given += [s for s, _ in run.ask(5, 1, {given[0].id})]
    assert sorted(t.params["x"] for t in optimizer.trials) == [0.0, 0.25, 0.5, 0.75]
    with pytest.raises(ExhaustedError):
        run.ask(5, 2, {s.id for s in given})


# -- ends ------------------------------------------------------------------------------------


def test_an_end_needs_something_to_report():
    run = a_run(evaluations=4)
    with pytest.raises(ExhaustedError):
        run.ended_by(ExhaustedError("none left"))
    run.record(run.optimizer.ask(), 0, CallResult(1.0))
    assert run.ended_by(ExhaustedError("none left")) == "exhausted"
    assert run.ended_by(KeyboardInterrupt()) == "interrupt"


def test_a_suggestion_cut_short_is_cancelled_before_the_callback():
    seen = []
    run = a_run(evaluations=1, callback=lambda optimizer: seen.append(optimizer.open))
    suggestion = run.optimizer.ask()
    run.record(suggestion, 0, CallResult(1.0))
    run.evaluated(suggestion, complete=False)
    assert seen == [()]


def test_no_number_is_an_error_that_carries_the_run():
    run = a_run(evaluations=4)
    with pytest.raises(ObjectiveError, match="got 'seven' at") as caught:
        run.record(run.optimizer.ask(), 0, CallResult(no_number="'seven'"))
    assert caught.value.optimizer is run.optimizer
