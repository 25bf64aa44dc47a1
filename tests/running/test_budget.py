"""What a run may spend: the search first, then confirmation."""

import math

import numpy as np
import pytest

import rahbo
from rahbo.policy import Fixed, RandomSearch
from rahbo.running import Budget
from rahbo.running.budget import confirmations

SPACE = {"x": (0.0, 1.0)}


def told(n, noise=0.1, **settings):
    """A run with ``n`` suggestions told."""
    opt = rahbo.Optimizer(SPACE, seed=0, method=rahbo.Method(strategy=RandomSearch()), **settings)
    rng = np.random.default_rng(0)
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, [s.params["x"] + noise * rng.standard_normal() for _ in s.indices])
    return opt


# -- what is kept --------------------------------------------------------------------------------


@pytest.mark.parametrize(("evaluations", "kept"), [(29, 0), (30, 5), (200, 20)])
def test_a_tenth_is_kept_where_repeats_are_adaptive(evaluations, kept):
    assert Budget(evaluations=evaluations).kept(told(8)) == kept


@pytest.mark.slow
def test_of_rounds_a_tenth_of_what_they_took_is_kept():
    assert Budget(rounds=30).kept(told(10)) == 0
    assert Budget(rounds=30).kept(told(30)) == 5
    assert Budget(rounds=60).kept(told(66)) == 7


@pytest.mark.parametrize("repeats", [1, 2, Fixed(3), rahbo.Folds(3)])
def test_nothing_is_kept_where_the_repeats_are_said(repeats):
    assert Budget(evaluations=100).kept(told(8, repeats=repeats)) == 0


def test_nothing_is_kept_where_points_may_not_be_measured_again():
    rows = rahbo.Candidates([{"x": i / 40} for i in range(40)], revisit=False)
    opt = rahbo.Optimizer(rows, seed=0, data=[(rows.rows[0], 1.0)])
    opt.tell(opt.ask(), [1.0, 1.5])
    assert Budget(evaluations=100).kept(opt) == 0


def test_nothing_is_kept_without_noise():
    assert Budget(evaluations=100).kept(told(8, noise=0.0)) == 0
    assert Budget(evaluations=100).kept(told(8, noise=1e-4)) == 0


def test_a_part_is_kept_from_the_start():
    assert Budget(evaluations=100).kept(told(0)) == 10
    assert Budget(evaluations=100, confirm=7).kept(told(0)) == 7


def test_a_number_is_kept_whatever_the_rule_says():
    assert Budget(evaluations=20, confirm=7).kept(told(8, noise=0.0)) == 7
    assert Budget(evaluations=100, confirm=0).kept(told(8)) == 0
    assert Budget(evaluations=100, confirm=7).kept(told(8, repeats=2)) == 7


def test_what_is_half_told_does_not_count_yet():
    # Two equal values at each of four points show that there is no noise, once all are told.
    opt = rahbo.Optimizer(SPACE, seed=0)
    suggestions = opt.ask(4)
    for k, suggestion in enumerate(suggestions):
        opt.tell(suggestion, [float(k)] * (2 if k < 3 else 1))
    assert Budget(evaluations=100).kept(opt) == 10
    opt.tell(suggestions[3], 3.0)
    assert Budget(evaluations=100).kept(opt) == 0


def test_nothing_is_reserved_while_every_point_has_all_its_blocks():
    budget = Budget(evaluations=100, confirm=7)
    opt = told(0, blocks=3, repeats=3)
    assert (budget.kept(opt), budget.reserved(opt)) == (7, 7)
    for _ in range(2):
        s = opt.ask()
        opt.tell(s, [1.0, 1.1, 1.2])
    assert (budget.kept(opt), budget.reserved(opt)) == (7, 0)
    assert budget.for_search(opt, 3, ()) == 100 - 6 - 3
    assert Budget(rounds=2, confirm=7).for_all(opt, 0, ()) == math.inf
    # A point with one block may be confirmed, unless the others are under way.
    opt.tell({"x": 0.5}, 1.0, block="0")
    assert budget.reserved(opt) == 7
    again = opt.confirm(2)
    assert budget.reserved(opt) == 0
    opt.cancel(again[0])
    assert budget.reserved(opt) == 7


def test_a_point_that_is_not_valid_reserves_nothing():
    opt = told(0, blocks=3, valid=lambda p: p["x"] > 0.2)
    opt.tell({"x": 0.1}, 1.0, block="0")
    opt.tell({"x": 0.5}, [1.0, 1.1, 1.2], block=["0", "1", "2"])
    assert Budget(evaluations=100, confirm=7).reserved(opt) == 0


# -- what is left --------------------------------------------------------------------------------


def test_evaluations_are_split_between_search_and_confirmation():
    opt = told(8)
    made = opt.n_evaluations
    budget = Budget(evaluations=made + 25, confirm=10)
    assert budget.left(opt.state.counts) == 25
    assert budget.for_search(opt, 0, ()) == 15
    assert budget.for_search(opt, 4, ()) == 11
    assert budget.for_search(opt, 20, ()) == 0
    assert budget.for_all(opt, 4, ()) == 21
    assert budget.for_all(opt, 25, ()) == 0


def test_confirmation_comes_after_the_rounds():
    opt = told(8)
    chosen = sum(t.source == "strategy" for t in opt.trials)
    assert Budget(rounds=chosen + 1, confirm=3).for_all(opt, 0, ()) == math.inf
    budget = Budget(rounds=chosen, confirm=3)
    assert (budget.for_search(opt, 0, ()), budget.for_all(opt, 0, ())) == (0, 3)
    (s,) = opt.confirm(2)
    assert budget.for_all(opt, 2, {s.id}) == 1
    # What an earlier run asked for is paid once it is asked for again.
    assert budget.for_all(opt, 0, ()) == 3
    opt.tell(s, [1.0, 1.1])
    assert budget.for_all(opt, 0, ()) == 1


def test_only_confirmations_since_the_last_search_count():
    opt = told(8)
    for n in (1, 2):
        for s in opt.confirm(n):
            opt.tell_failure(s)
    assert confirmations(opt.trials) == 3
    opt.tell({"x": 0.5}, 1.0)
    assert confirmations(opt.trials) == 3
    opt.tell(opt.ask(), 1.0)
    assert confirmations(opt.trials) == 0


def test_where_enough_is_left_the_exact_number_may_be_larger():
    opt = told(8, noise=0.0)
    budget = Budget(evaluations=100)
    exact = 100 - opt.n_evaluations
    assert budget.for_search(opt, 0, ()) == exact
    # The tenth that is kept if there is noise is left out.
    assert budget.for_search(opt, 0, (), enough=10) == exact - 10
    assert budget.for_search(opt, 0, (), enough=exact - 5) == exact


def test_rounds_are_left_until_so_many_suggestions_were_chosen():
    opt = told(8)
    chosen = sum(t.source == "strategy" for t in opt.trials)
    assert Budget(rounds=chosen + 3).rounds_left(opt) == 3
    assert Budget(evaluations=1).rounds_left(opt) == math.inf
